#!/bin/sh
# URLSession alone against HTTPClient over URLSessionTransport, turn by turn, on 2,000 files of 100 KB.
#   Benchmarks/Transports/urlsession.sh [ROUNDS] [PARALLEL]
set -eu
rounds=${1:-5} parallel=${2:-4}
here=$(cd "$(dirname "$0")" && pwd)
swift build -c release --package-path "$here" --product URLSessionBench >&2
bench=$(swift build -c release --package-path "$here" --show-bin-path)/URLSessionBench
dir=$(mktemp -d)
chmod 755 "$dir"
trap '"$here/../origin.sh" stop "$dir"; rm -rf "$dir"' EXIT
port=$((20000 + $$ % 20000))
mkdir -p "$dir/www"
for i in $(seq 0 1999); do head -c 102400 /dev/urandom >"$dir/www/$i"; done
"$here/../origin.sh" start "$dir" "$port"
sleep 0.5
for _ in $(seq "$rounds"); do
    "$bench" bare "http://127.0.0.1:$port/" 2000 "$parallel"
    "$bench" client "http://127.0.0.1:$port/" 2000 "$parallel"
done
