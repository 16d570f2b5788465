#!/bin/sh
# CurlTransport against `curl --parallel`, turn by turn against one nginx on loopback: 8 KB and 100 KB files.
#   Benchmarks/Transports/run.sh [ROUNDS] [PARALLEL]
set -eu
rounds=${1:-3} parallel=${2:-16}
here=$(cd "$(dirname "$0")" && pwd)
swift build -c release --package-path "$here" >&2
bench=$(swift build -c release --package-path "$here" --show-bin-path)/TransportBench
dir=$(mktemp -d)
chmod 755 "$dir"
trap 'kill "$(cat "$dir/pid")" 2>/dev/null; rm -rf "$dir"' EXIT
port=$((20000 + $$ % 20000))
mkdir -p "$dir/8k" "$dir/100k"
head -c 8192 /dev/urandom >"$dir/8k.bin"
head -c 102400 /dev/urandom >"$dir/100k.bin"
cat >"$dir/nginx.conf" <<CONF
worker_processes 1;
pid $dir/pid;
error_log $dir/error.log;
events { worker_connections 1024; }
http {
    access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
    client_body_temp_path $dir/body; proxy_temp_path $dir/proxy; fastcgi_temp_path $dir/fastcgi;
    uwsgi_temp_path $dir/uwsgi; scgi_temp_path $dir/scgi;
    server {
        listen 127.0.0.1:$port;
        location ~ ^/(8k|100k)/[0-9]+$ { root $dir; rewrite ^/(8k|100k)/ /\$1.bin break; }
    }
}
CONF
nginx -c "$dir/nginx.conf" -p "$dir"

for pair in 8k:20000 100k:8000; do
    size=${pair%:*} count=${pair#*:}
    base=http://127.0.0.1:$port/$size/
    awk -v n="$count" -v b="$base" 'BEGIN { for (i = 0; i < n; i++) print "url = \"" b i "\"\noutput = \"/dev/null\"" }' >"$dir/list"
    i=0
    while [ $i -lt "$rounds" ]; do
        begin=$(date +%s.%N)
        curl -q -s --fail --no-progress-meter --parallel --parallel-max "$parallel" -K "$dir/list" 2>/dev/null
        end=$(date +%s.%N)
        ours=$("$bench" curl "$base" "$count" "$parallel" | tee /dev/stderr | sed 's/.*: \([0-9]*\) GETs.*/\1/')
        awk -v s="$size" -v n="$count" -v b="$begin" -v e="$end" -v o="$ours" \
            'BEGIN { t = n / (e - b); printf "%s: curl %d/s, CurlTransport %d/s, ratio %.2f\n", s, t, o, o / t }'
        i=$((i + 1))
    done
done
