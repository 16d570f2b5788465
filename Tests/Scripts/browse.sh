#!/usr/bin/env bash
# Drives `larder browse` in tmux and compares its screens with those in Tests/Scripts/browse:
#   browse.sh PATH-TO-LARDER [--write]      --write keeps the screens as they are now
set -euo pipefail
larder=$(realpath "$1")
write=${2:-}
screens=$(dirname "$(realpath "$0")")/browse
work=$(mktemp -d)
session="larder-browse-$$"
origin=
trap 'tmux kill-session -t "$session" 2>/dev/null || true; [ -z "$origin" ] || kill "$origin"; rm -rf "$work"' EXIT

# Twelve pictures of one colour each, and one that is none.
mkdir "$work/images"
python3 - "$work/images" <<'END'
import struct, sys, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
for number in range(12):
    width, height = 40 + 10 * number, 60
    row = b"\0" + bytes((20 * number, 200 - 10 * number, 90)) * width
    png = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
           + chunk(b"IDAT", zlib.compress(row * height)) + chunk(b"IEND", b""))
    open(f"{sys.argv[1]}/{number:02}.png", "wb").write(png)
open(f"{sys.argv[1]}/words.png", "w").write("no picture")
END
(cd "$work/images" && exec python3 -u -m http.server 0 --bind 127.0.0.1 >"$work/log" 2>&1) &
origin=$!
until grep -q 'port [0-9]' "$work/log" 2>/dev/null; do sleep 0.05; done
port=$(sed -n 's/.*port \([0-9]*\).*/\1/p' "$work/log" | head -1)
for file in "$work"/images/*.png; do echo "http://127.0.0.1:$port/$(basename "$file")"; done >"$work/urls.txt"
echo "http://127.0.0.1:$port/missing.png" >>"$work/urls.txt"
echo "nonsense" >>"$work/urls.txt"

# Whether a prefetch has been quicker than the list is no matter of the screen.
screen() {
    tmux capture-pane -t "$session" -p | sed -E "s/:$port/:PORT/g; s/success (network|memory|disk|revalidated)(, stale)?/success/; s/ *$//"
}
fail() {
    echo "browse.sh: $1; the screen was:" >&2
    screen >&2
    exit 1
}
# Waits until the screen shows the text.
expect() {
    for _ in $(seq 200); do
        screen | grep -qF -- "$1" && return 0
        sleep 0.05
    done
    fail "'$1' was not shown"
}
# Waits until the whole screen is the one that is kept under the name.
compare() {
    if [ "$write" = --write ]; then
        sleep 1
        screen >"$screens/$1.txt"
        return
    fi
    for _ in $(seq 200); do
        screen | cmp -s - "$screens/$1.txt" && return 0
        sleep 0.05
    done
    screen | diff "$screens/$1.txt" - >&2 || true
    fail "the screen is not that of $1"
}
start() {
    tmux new-session -d -s "$session" -x 90 -y 26 \
        "sh -c 'stty -a >$work/before; env LC_ALL=$1 \"$larder\" browse $2 --cache $work/cache; echo status \$?; stty -a >$work/after; exec cat'"
}
restored() {
    expect "$1"
    cmp -s "$work/before" "$work/after" || fail "the terminal was not put back"
    tmux kill-session -t "$session"
}
keys() { tmux send-keys -t "$session" "$@"; }

# Opens, scrolls, searches, shows details, quits. What fails is shown as failed.
start C.UTF-8 "$work/urls.txt"
compare first
keys Down Down PageDown
compare scrolled
keys End
compare last
keys Home / w o r d s
compare found
keys Enter Enter
compare details
keys x Escape
compare first
keys q
restored "status 0"

# A long list: shown before it is read to the end; jumps and searches as a short one.
seq 100000 | sed "s|.*|http://127.0.0.1:$port/00.png?row=&|" >"$work/long.txt"
start C.UTF-8 "$work/long.txt"
expect " 1/100000 "
keys End
expect " 100000/100000 "
expect "success"
keys / r o w = 9 9 9 9 9
expect " 1/1  /row=99999"
keys Escape q
restored "status 0"

# What the cache holds, without a network, its messages in Korean.
kill "$origin"
wait "$origin" 2>/dev/null || true
origin=
start ko_KR.UTF-8 "$work/urls.txt"
expect "success"
keys End
expect "이미지"
keys q
restored "status 0"
start C.UTF-8 "$work/cache"
expect "/12"
expect "success"
keys / 0 7 . p n g
compare cached
keys Escape q
restored "status 0"

# Ctrl-C, and a crash of the list.
start C.UTF-8 "$work/cache"
expect "success"
keys C-c
restored "status 130"
start C.UTF-8 "$work/cache"
expect "success"
pid=$(pgrep -f "browse $work/cache" | tail -1)
kill -SEGV "$pid"
restored "status 139"
echo "browse.sh: passed"
