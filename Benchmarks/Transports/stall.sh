#!/bin/sh
# The stall of URLSession (Documentation/decisions/urlsession-faults.md): two processes at once, so many transfers
# each, over and over; prints the best and the worst run, and how many took 2 s more than the best.
#   Benchmarks/Transports/stall.sh [bare|client] [PARALLEL] [RUNS] [favour]
# `favour` runs the origin with real-time priority (root): the stalls are then gone, which shows where they come from.
# A run is given up after 30 s.
set -eu
mode=${1:-client} parallel=${2:-4} runs=${3:-20} favour=${4:-}
here=$(cd "$(dirname "$0")" && pwd)
swift build -c release --package-path "$here" --product URLSessionBench >&2
bench=$(swift build -c release --package-path "$here" --show-bin-path)/URLSessionBench
dir=$(mktemp -d)
chmod 755 "$dir"
trap '"$here/../origin.sh" stop "$dir"; rm -rf "$dir"' EXIT
port=$((20000 + $$ % 20000))
mkdir -p "$dir/www"
for i in $(seq 0 599); do head -c 7500 /dev/urandom >"$dir/www/$i"; done
"$here/../origin.sh" start "$dir" "$port"
sleep 0.5
if [ "$favour" = favour ]; then
    for pid in $(pgrep -P "$(cat "$dir/nginx.pid")"); do chrt -f -p 5 "$pid"; done
fi
for _ in $(seq "$runs"); do
    begin=$(date +%s.%N)
    timeout 30 "$bench" "$mode" "http://127.0.0.1:$port/" 600 "$parallel" >/dev/null 2>&1 &
    first=$!
    timeout 30 "$bench" "$mode" "http://127.0.0.1:$port/" 600 "$parallel" >/dev/null 2>&1 || true
    wait $first || true
    echo "$begin $(date +%s.%N)"
done | awk '
    { t[NR] = $2 - $1; if (NR == 1 || t[NR] < best) best = t[NR]; if (t[NR] > worst) worst = t[NR] }
    END {
        for (i = 1; i <= NR; i++) { if (t[i] > best + 2) late++; printf "%.2f ", t[i] }
        printf "\nbest %.2f s, worst %.2f s, %d of %d more than 2 s behind the best\n", best, worst, late, NR
    }'
