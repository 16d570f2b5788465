#!/usr/bin/env bash
# 200 hosts (127.0.0.x), a tenth of which accept and never answer: the run may take no longer than the healthy ones
# need plus one --max-time, and no row of a healthy host may be lost.
#   hosts.sh LARDER [ROWS-A-HOST] [OPTIONS OF PREFETCH…]
set -euo pipefail
larder=$(realpath "$1") rows=${2:-20}
shift $(($# < 2 ? $# : 2))
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
chmod 755 "$work"
port=$((20000 + $$ % 20000))
max=10
trap 'kill ${hanging:-} ${healthy_origin:-} 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir "$work/www"
/usr/bin/python3 "$here/make-images.py" "$work/www" 1 8
{
    echo "daemon off; worker_processes 1; pid $work/nginx.pid; error_log $work/error.log; events { worker_connections 4096; }"
    echo "http { access_log off; keepalive_requests 100000; server { root $work/www;"
    for host in $(seq 2 201); do [ $((host % 10)) = 5 ] || echo "listen 127.0.0.$host:$port;"; done
    echo "rewrite ^ /0.jpg break; } }"
} >"$work/nginx.conf"
# In this session, so that the scheduler shares the processors evenly between the origin and its clients.
PATH=$PATH:/usr/sbin nginx -c "$work/nginx.conf" -p "$work" &
healthy_origin=$!
python3 - "$port" <<'PYTHON' &
import select, socket, sys
sockets = []
for host in range(5, 202, 10):
    server = socket.create_server((f"127.0.0.{host}", int(sys.argv[1])), backlog=512)
    sockets.append(server)
held = []
while True:
    for server in select.select(sockets, [], [])[0]: held.append(server.accept()[0])
PYTHON
hanging=$!
for row in $(seq "$rows"); do
    for host in $(seq 2 201); do echo "http://127.0.0.$host:$port/$row.jpg"; done
done >"$work/all.txt"
grep -Ev "127\.0\.0\.[0-9]*5:" "$work/all.txt" >"$work/healthy.txt"
sleep 1

seconds() {
    "$larder" prefetch --cache "$work/cache-$1" --max-time $max --report "$work/report-$1" --json "${@:2}" "$work/$1.txt" \
        2>"$work/log" >"$work/summary" || true
    success=$(sed 's/.*"success":\([0-9]*\).*/\1/' "$work/summary")
    [ "$success" = "$(wc -l <"$work/healthy.txt")" ] || {
        echo "hosts.sh: $success rows of $(wc -l <"$work/healthy.txt") from healthy hosts had" >&2
        exit 1
    }
    sed 's/.*"seconds":\([0-9.]*\).*/\1/' "$work/summary"
}
healthy=$(seconds healthy "$@")
[ -z "${ONLY_HEALTHY:-}" ] || { echo "healthy $healthy"; exit 0; }
all=$(seconds all "$@")
echo "healthy hosts alone $healthy s, with a tenth that hangs $all s: $(echo "$all - $healthy" | bc) s more, at most $max"
[ "$(echo "$all <= $healthy + $max" | bc)" = 1 ]
