#!/bin/sh
# CurlTransport on one nginx on loopback.
#   run.sh rate [ROUNDS] [PARALLEL]   against `curl --parallel` and URLSession, turn by turn: 8 KB and 100 KB (default)
#   run.sh pair [ROUNDS]              two processes at once, which must not stall each other
#   run.sh storm [COUNT]              random cancels: descriptors and memory stay where they were
#   run.sh prefetch [ROUNDS] [LARDER] `larder prefetch --transport curl` against `curl --parallel`, files on disk both;
#                                     ends with 1 below 0.8 (100 KB) or 0.6 (8 KB) of its rate, by the median
set -eu
what=${1:-rate}
here=$(cd "$(dirname "$0")" && pwd)
PATH=$PATH:/usr/sbin
command -v nginx >/dev/null || { echo "run.sh: nginx is missing: apt-get install nginx-light" >&2; exit 1; }
if [ "$what" != prefetch ]; then
    swift build -c release --package-path "$here" >&2
    bench=$(swift build -c release --package-path "$here" --show-bin-path)/TransportBench
fi
dir=$(mktemp -d)
trap 'kill ${origin:-} 2>/dev/null || true; rm -rf "$dir"' EXIT
chmod 755 "$dir"
port=$((20000 + $$ % 20000))
head -c 8192 /dev/urandom >"$dir/8k.bin"
head -c 102400 /dev/urandom >"$dir/100k.bin"
cat >"$dir/nginx.conf" <<CONF
worker_processes 1;
daemon off;
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
# In this session, and so in the clients' scheduling group: a daemon would be one of its own.
nginx -c "$dir/nginx.conf" -p "$dir" &
origin=$!
base=http://127.0.0.1:$port
until curl -sf -o "$dir/first" "$base/8k/0"; do sleep 0.1; done

rate() {
    for pair in 8k:20000 100k:8000; do
        size=${pair%:*} count=${pair#*:}
        awk -v n="$count" -v b="$base/$size/" \
            'BEGIN { for (i = 0; i < n; i++) print "url = \"" b i "\"\noutput = \"/dev/null\"" }' >"$dir/list"
        i=0
        while [ $i -lt "$1" ]; do
            begin=$(date +%s.%N)
            curl -q -s --fail --no-progress-meter --parallel --parallel-max "$2" -K "$dir/list" 2>/dev/null
            end=$(date +%s.%N)
            ours=$("$bench" curl "$base/$size/" "$count" "$2" | sed 's/.*: \([0-9]*\) GETs.*/\1/')
            # URLSession is slower by far: an eighth of the requests, and four at once, its own limit.
            theirs=$("$bench" urlsession "$base/$size/" $((count / 8)) 4 | sed 's/.*: \([0-9]*\) GETs.*/\1/')
            awk -v s="$size" -v n="$count" -v b="$begin" -v e="$end" -v o="$ours" -v u="$theirs" 'BEGIN {
                t = n / (e - b)
                printf "%s: curl %d/s, CurlTransport %d/s (%.2f), URLSession %d/s (%.2f)\n", s, t, o, o / t, u, u / t
            }'
            i=$((i + 1))
        done
    done
}

pair() {
    i=0
    while [ $i -lt "$1" ]; do
        timeout 60 "$bench" curl "$base/8k/" 4000 8 >"$dir/one" &
        timeout 60 "$bench" curl "$base/100k/" 2000 8 >"$dir/two" &&
            wait $! || { echo "run.sh: a process failed or stalled" >&2; exit 1; }
        echo "$((i + 1)): $(cat "$dir/one") | $(cat "$dir/two")"
        i=$((i + 1))
    done
}

# A PNG of that many pixels on each side, of noise that nothing packs.
png() {
    python3 - "$1" "$2" <<'PY'
import os, struct, sys, zlib
n = int(sys.argv[1])
chunk = lambda t, d: struct.pack(">I", len(d)) + t + d + struct.pack(">I", zlib.crc32(t + d))
rows = b"".join(b"\0" + os.urandom(3 * n) for _ in range(n))
open(sys.argv[2], "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", n, n, 8, 2, 0, 0, 0))
    + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))
PY
}

prefetch() {
    larder=${2:-$here/../../.build/release/larder}
    png 52 "$dir/8k.bin"
    png 184 "$dir/100k.bin"
    status=0
    for pair in 8k:8000:0.6 100k:4000:0.8; do
        size=${pair%%:*} target=${pair##*:} count=${pair#*:}
        count=${count%:*}
        awk -v n="$count" -v b="$base/$size/" 'BEGIN { for (i = 0; i < n; i++) print b i }' >"$dir/urls.txt"
        i=0
        while [ $i -lt "$1" ]; do
            # Nothing is deleted before the end: ext4 passes over inodes freed within the last minute, one by one.
            files=$dir/files.$size.$i cache=$dir/cache.$size.$i
            mkdir "$files"
            awk -v n="$count" -v b="$base/$size/" -v d="$files/" \
                'BEGIN { for (i = 0; i < n; i++) print "url = \"" b i "\"\noutput = \"" d i "\"" }' >"$dir/list"
            begin=$(date +%s.%N)
            curl -q -s --fail --no-progress-meter --parallel --parallel-max 16 -K "$dir/list" 2>/dev/null
            middle=$(date +%s.%N)
            "$larder" prefetch "$dir/urls.txt" --transport curl -j 16 --per-host 16 --cache "$cache" --no-sync -q
            end=$(date +%s.%N)
            awk -v s="$size" -v n="$count" -v b="$begin" -v m="$middle" -v e="$end" 'BEGIN {
                printf "%s: curl %d/s, larder prefetch %d/s: %.2f\n", s, n / (m - b), n / (e - m), (m - b) / (e - m)
            }'
            i=$((i + 1))
        done | tee "$dir/ratios"
        median=$(sed 's/.*: //' "$dir/ratios" | sort -n | awk '{ r[NR] = $1 } END { print r[int((NR + 1) / 2)] }')
        echo "$size: median $median, target $target"
        awk -v m="$median" -v t="$target" 'BEGIN { exit m < t }' || status=1
    done
    return $status
}

case $what in
rate) rate "${2:-3}" "${3:-16}" ;;
pair) pair "${2:-20}" ;;
prefetch) prefetch "${2:-5}" "${3:-}" ;;
storm) "$bench" storm "$base/100k/" "${2:-100000}" 32 ;;
*) echo "usage: run.sh rate|pair|storm|prefetch" >&2; exit 2 ;;
esac
