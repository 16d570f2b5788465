#!/usr/bin/env bash
# larder serve beside nginx, on the same bytes, in one run: wrk with 64 connections, both with two threads or workers.
# Usage: serve.sh [SECONDS [ROUNDS]]; LARDER names the binary, PHOTO the image for thumbnails. Needs nginx with its image filter, wrk and curl.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-2} rounds=${2:-5}
larder=${LARDER:-.build/release/larder}
photo=${PHOTO:-../shared/corpus/photos/storm_422.jpg}
work=$(mktemp -d) && chmod 755 "$work"  # nginx drops to another user
nginx= serve=
trap 'kill $nginx $serve 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$work"' EXIT
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
theirs=$(free_port) ours=$(free_port)
mkdir -p "$work/www" "$work/logs"
python3 Benchmarks/Serve/png.py 8192 >"$work/www/small.png"
python3 Benchmarks/Serve/png.py 102400 >"$work/www/large.png"
cp "$photo" "$work/www/photo.jpg"
module=$(ls /usr/lib/nginx/modules/ngx_http_image_filter_module.so /usr/share/nginx/modules/ngx_http_image_filter_module.so 2>/dev/null | head -1 || true)
cat >"$work/nginx.conf" <<N
${module:+load_module $module;}
worker_processes 2; daemon off; pid $work/nginx.pid; error_log $work/logs/error.log;
events { worker_connections 4096; }
http {
  access_log off; sendfile on; keepalive_requests 1000000000; types { image/png png; image/jpeg jpg; }
  client_body_temp_path $work/b; proxy_temp_path $work/p; fastcgi_temp_path $work/f; uwsgi_temp_path $work/u; scgi_temp_path $work/s;
  server { listen 127.0.0.1:$theirs; root $work/www;
    ${module:+location = /thumb.jpg { alias $work/www/photo.jpg; image_filter resize 256 256; image_filter_jpeg_quality 85; image_filter_buffer 20M; \}} } }
N
sed -i 's/\\}/}/' "$work/nginx.conf"
nginx -c "$work/nginx.conf" -p "$work" 2>"$work/logs/start.log" & nginx=$!
sleep 0.7
printf "http://127.0.0.1:$theirs/%s\n" small.png large.png photo.jpg >"$work/urls.txt"
"$larder" prefetch "$work/urls.txt" --cache "$work/cache" -q || { cat "$work/logs/error.log" >&2; exit 1; }
"$larder" serve "$work/cache" --port $ours --threads 2 -q & serve=$!
sleep 0.7
encode() { printf '%s' "http%3A%2F%2F127.0.0.1%3A$theirs%2F$1"; }
# Requests a second; whatever is no 200 fails the run.
rate() {
  local out
  out=$(wrk -t2 -c"${connections:-64}" -d"${seconds}s" "$@")
  if grep -q 'Non-2xx' <<<"$out"; then echo "$out" >&2; exit 1; fi
  awk '/Requests\/sec/ { print $2 }' <<<"$out"
}
# Both by turns, so that what else the machine does meets both; medians, and the ratios of the turns.
compare() {
  local name=$1 theirs_args=$2 ours_args=$3 pairs=""
  for _ in $(seq "$rounds"); do pairs+="$(rate $theirs_args) $(rate $ours_args)"$'\n'; done
  printf '%s' "$pairs" | python3 -c '
import statistics, sys
pairs = [tuple(map(float, line.split())) for line in sys.stdin]
theirs, ours = (statistics.median(side) for side in zip(*pairs))
ratios = sorted(b / a for a, b in pairs)
print("%-28s nginx %8.1f /s   larder %8.1f /s   ratio %.2f (%.2f to %.2f)"
      % (sys.argv[1], theirs, ours, statistics.median(ratios), ratios[0], ratios[-1]))' "$name"
}
compare "8 KB file" "http://127.0.0.1:$theirs/small.png" "http://127.0.0.1:$ours/image?url=$(encode small.png)"
compare "100 KB file" "http://127.0.0.1:$theirs/large.png" "http://127.0.0.1:$ours/image?url=$(encode large.png)"
thumb="http://127.0.0.1:$ours/image?url=$(encode photo.jpg)&w=256&h=256"
curl -s -o "$work/thumb.jpg" "$thumb"
cp "$work/thumb.jpg" "$work/www/cached.jpg"
chmod 644 "$work/www/cached.jpg"
compare "cached thumbnail, $(stat -c %s "$work/thumb.jpg") B" "http://127.0.0.1:$theirs/cached.jpg" "$thumb"
if [ -n "$module" ]; then
  # Each request of a quality and a size of its own, so that none is cached; the thumbnails are 256 pixels wide.
  cat >"$work/uncached.lua" <<L
local n = 0
local id = 0
function setup(thread) thread:set("base", (os.time() * 2 + id) % 1000000 * 100000); id = id + 1 end
function request() n = n + 1; local k = base + n
  return wrk.format("GET", "/image?url=$(encode photo.jpg)&w=256&h=" .. 256 + math.floor(k / 80) % 7000 .. "&q=" .. 21 + k % 80) end
L
  # nginx has answered none of 64 within two seconds.
  seconds=$((seconds * 2)) connections=16 compare "uncached thumbnail" "http://127.0.0.1:$theirs/thumb.jpg" "-s $work/uncached.lua http://127.0.0.1:$ours"
fi
