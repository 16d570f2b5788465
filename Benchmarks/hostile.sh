#!/usr/bin/env bash
# A prefetch from an origin that misbehaves by number (hostile-origin.py), with and without a random worker killed every
# second: every good row must succeed, every bad one fail with a fitting code, and no process be left behind.
#   hostile.sh LARDER [ROWS] [plain|killed]
set -euo pipefail
larder=$(realpath "$1") rows=${2:-10000}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
port=$((20000 + $$ % 20000))
trap 'kill ${origin:-} 2>/dev/null || true; rm -rf "$work"' EXIT
python3 -c 'import sys; sys.stdout.buffer.write(bytes.fromhex("ffd8ffe000104a46494600010100000100010000ffdb004300" + "01"*64 + "ffc0000b080001000101011100ffc4001f0000010501010101010100000000000000000102030405060708090a0bffc400b5100002010303020403050504040000017d01020300041105122131410613516107227114328191a1082342b1c11552d1f02433627282090a161718191a25262728292a3435363738393a434445464748494a535455565758595a636465666768696a737475767778797a838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9faffda0008010100003f00d2cf20ffd9"))' >"$work/image.jpg"
python3 "$here/hostile-origin.py" "$port" "$work/image.jpg" 2>/dev/null &
origin=$!
seq -f "http://127.0.0.1:$port/%.0f" 0 $((rows - 1)) >"$work/urls.txt"
sleep 1

run() {
    status=0
    "$larder" prefetch --cache "$work/cache-$1" --workers 4 --per-host 16 --max-time 5 --retry 1 --retry-delay 0.1 \
        --report "$work/report-$1" --json "$work/urls.txt" >"$work/summary-$1" 2>"$work/log-$1" || status=$?
    python3 - "$work/report-$1" "$rows" "$status" "$1" <<'PYTHON'
import collections, json, sys
report, rows, status, name = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
lines = [json.loads(line) for line in open(report)]
assert sorted(line["row"] for line in lines) == list(range(1, rows + 1)), "each row exactly once"
found = collections.Counter()
wrong = []
for line in lines:
    number = line["row"] - 1
    wanted = ("worker_crashed" if number % 50 == 49 else "unreachable" if number % 70 == 69
              else "timed_out" if number % 90 == 89 else "success")
    code = line["error"]["code"] if line["phase"] == "failure" else "success"
    found[code] += 1
    # One that drips alone for seconds while workers are killed is killed five times.
    if code != wanted and (name, wanted, code) != ("killed", "timed_out", "worker_crashed"): wrong.append((number, wanted, code))
print(name, dict(found), "exit status", status, "wrong:", wrong[:5], len(wrong))
sys.exit(1 if status != 1 or wrong else 0)
PYTHON
}

failed=0
[ "${3:-plain}" = killed ] || run plain || failed=1
[ "${3:-killed}" = plain ] && exit "$failed"
(
    while sleep 1; do
        victim=$(pgrep -s 0 -f "^/proc/self/exe worker|$larder worker" | shuf -n 1) && kill -KILL "$victim" 2>/dev/null || true
    done
) &
killer=$!
run killed || failed=1
kill "$killer"
left=$(pgrep -s 0 -fc "^/proc/self/exe worker|$larder worker" || true)
echo "processes left behind: $left"
[ "$failed" = 0 ] && [ "$left" = 0 ]
