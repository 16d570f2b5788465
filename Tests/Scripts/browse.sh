#!/usr/bin/env bash
# Drives `larder browse` in tmux and holds its screens against what they must show:
#   browse.sh PATH-TO-LARDER FOLDER-OF-AT-LEAST-12-IMAGES
set -euo pipefail
larder=$(realpath "$1")
work=$(mktemp -d)
session="larder-browse-$$"
trap 'tmux kill-session -t "$session" 2>/dev/null || true; kill "$origin" 2>/dev/null || true; rm -rf "$work"' EXIT

images=$(realpath "$2")
(cd "$images" && exec python3 -u -m http.server 0 --bind 127.0.0.1 >"$work/log" 2>&1) &
origin=$!
until grep -q 'port [0-9]' "$work/log" 2>/dev/null; do sleep 0.05; done
port=$(sed -n 's/.*port \([0-9]*\).*/\1/p' "$work/log" | head -1)
for file in "$images"/*.*; do echo "http://127.0.0.1:$port/$(basename "$file")"; done | head -12 >"$work/urls.txt"
echo "http://127.0.0.1:$port/missing.jpg" >>"$work/urls.txt"
echo "nonsense" >>"$work/urls.txt"

screen() { tmux capture-pane -t "$session" -p; }
expect() {
    for _ in $(seq 200); do
        screen | grep -qF -- "$1" && return 0
        sleep 0.05
    done
    echo "browse.sh: '$1' was not shown; the screen was:" >&2
    screen >&2
    exit 1
}
start() {
    tmux new-session -d -s "$session" -x 90 -y 26 \
        "sh -c 'stty -a >$work/before; \"$larder\" browse $work/urls.txt --cache $work/cache; echo status \$?; stty -a >$work/after; exec cat'"
}
restored() {
    expect "$1"
    cmp -s "$work/before" "$work/after" || { echo "browse.sh: the terminal was not put back" >&2; exit 1; }
    tmux kill-session -t "$session"
}

start
expect "success network"
expect "1/14"
tmux send-keys -t "$session" End
expect "failure: There is no image at this address"
expect "14/14"
tmux send-keys -t "$session" Home / m i s s
expect "1/1"
tmux send-keys -t "$session" Enter Enter
expect "http_status"
tmux send-keys -t "$session" x Escape
expect "1/14"
tmux send-keys -t "$session" q
restored "status 0"

start
expect "success"
tmux send-keys -t "$session" C-c
restored "status 130"

start
expect "success"
pid=$(pgrep -f "browse $work/urls.txt" | tail -1)
kill -SEGV "$pid"
restored "status 139"
echo "browse.sh: passed"
