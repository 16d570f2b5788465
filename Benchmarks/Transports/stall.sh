#!/bin/sh
# The stall of URLSession (Documentation/decisions/urlsession-faults.md): two processes at once, 600 transfers each, over
# and over; prints every run, the best and the worst, and how many took 2 s more than the best. Fails where one did.
#   Benchmarks/Transports/stall.sh [engine|client|bare] [PARALLEL] [RUNS] [together|apart]
# engine: PARALLEL requests at once over URLSessionTransport as it comes; client: that many transfers at once, which is
# more than it lets through by itself; bare: URLSession alone.
# together: the origin is in the clients' session, and so in their scheduling group; apart: in one of its own, as daemons
# are, where two clients that spin leave it without a processor on a busy machine. A run is given up after 30 s.
set -eu
mode=${1:-engine} parallel=${2:-8} runs=${3:-20} where=${4:-together}
here=$(cd "$(dirname "$0")" && pwd)
swift build -c release --package-path "$here" --product URLSessionBench >&2
bench=$(swift build -c release --package-path "$here" --show-bin-path)/URLSessionBench
dir=$(mktemp -d)
chmod 755 "$dir"
port=$((20000 + $$ % 20000))
mkdir -p "$dir/www"
for i in $(seq 0 599); do head -c 7500 /dev/urandom >"$dir/www/$i"; done
if [ "$where" = apart ]; then
    trap '"$here/../origin.sh" stop "$dir"; rm -rf "$dir"' EXIT
    "$here/../origin.sh" start "$dir" "$port"
else
    trap 'kill $origin; rm -rf "$dir"' EXIT
    "$here/../origin.sh" run "$dir" "$port" &
    origin=$!
fi
until curl -sf -o "$dir/first" "http://127.0.0.1:$port/0"; do sleep 0.1; done
for _ in $(seq "$runs"); do
    begin=$(date +%s.%N)
    timeout 30 "$bench" "$mode" "http://127.0.0.1:$port/" 600 "$parallel" >>"$dir/one" 2>&1 &
    first=$!
    timeout 30 "$bench" "$mode" "http://127.0.0.1:$port/" 600 "$parallel" >>"$dir/two" 2>&1 || true
    wait $first || true
    echo "$begin $(date +%s.%N)"
done | awk '
    { t[NR] = $2 - $1; if (NR == 1 || t[NR] < best) best = t[NR]; if (t[NR] > worst) worst = t[NR] }
    END {
        for (i = 1; i <= NR; i++) { if (t[i] > best + 2) late++; printf "%.2f ", t[i] }
        printf "\nbest %.2f s, worst %.2f s, %d of %d more than 2 s behind the best\n", best, worst, late, NR
        exit late > 0
    }' && status=0 || status=1
cat "$dir/one" "$dir/two" | awk '{ n += $(NF - 2); f += $(NF - 4) } END { print f + 0, "failed,", n + 0, "begun anew" }'
exit $status
