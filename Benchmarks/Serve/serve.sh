#!/usr/bin/env bash
# larder serve beside nginx, on the same bytes, in one run: wrk with 64 connections, both with two threads or workers.
# Usage: serve.sh [SECONDS]; LARDER names the binary. Needs nginx with its image filter, wrk and curl.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-5}
larder=${LARDER:-.build/release/larder}
photo=${PHOTO:-../shared/corpus/photos/photo__storm_422.jpg}
work=$(mktemp -d)
trap 'kill $nginx $serve 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$work"' EXIT
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
  server { listen 127.0.0.1:18081; root $work/www;
    ${module:+location = /thumb.jpg { alias $work/www/photo.jpg; image_filter resize 256 256; image_filter_jpeg_quality 85; image_filter_buffer 20M; \}} } }
N
sed -i 's/\\}/}/' "$work/nginx.conf"
nginx -c "$work/nginx.conf" -p "$work" 2>"$work/logs/start.log" & nginx=$!
sleep 0.7
printf 'http://127.0.0.1:18081/%s\n' small.png large.png photo.jpg >"$work/urls.txt"
"$larder" prefetch "$work/urls.txt" --cache "$work/cache" -q
"$larder" serve "$work/cache" --port 18082 --threads 2 -q & serve=$!
sleep 0.7
rate() { wrk -t2 -c64 -d"${seconds}s" "$1" | awk '/Requests\/sec/ {print $2}'; }
encode() { printf '%s' "http%3A%2F%2F127.0.0.1%3A18081%2F$1"; }
for name in small.png large.png; do
  a=$(rate "http://127.0.0.1:18081/$name"); b=$(rate "http://127.0.0.1:18082/image?url=$(encode $name)")
  a2=$(rate "http://127.0.0.1:18081/$name"); b2=$(rate "http://127.0.0.1:18082/image?url=$(encode $name)")
  awk -v n="$name" -v a="$a" -v b="$b" -v c="$a2" -v d="$b2" 'BEGIN { printf "%-24s nginx %8.0f %8.0f /s   larder %8.0f %8.0f /s   ratio %.2f\n", n, a, c, b, d, (b+d)/(a+c) }'
done
thumb="http://127.0.0.1:18082/image?url=$(encode photo.jpg)&w=256&h=256"
curl -s -o "$work/thumb.jpg" "$thumb"; cp "$work/thumb.jpg" "$work/www/cached.jpg"
a=$(rate http://127.0.0.1:18081/cached.jpg); b=$(rate "$thumb")
awk -v a="$a" -v b="$b" -v n="$(stat -c %s "$work/thumb.jpg")" 'BEGIN { printf "%-24s nginx %8.0f /s   larder %8.0f /s   ratio %.2f\n", "cached thumbnail " n " B", a, b, b/a }'
if [ -n "$module" ]; then
  # Each request of a quality of its own, so that none is cached.
  a=$(rate http://127.0.0.1:18081/thumb.jpg)
  cat >"$work/uncached.lua" <<L
local n = 0
local id = 0
function setup(thread) thread:set("base", id * 1000000); id = id + 1 end
function request() n = n + 1; local k = base + n
  return wrk.format("GET", "/image?url=$(encode photo.jpg)&w=256&h=" .. 256 + math.floor(k / 80) % 7000 .. "&q=" .. 21 + k % 80) end
L
  b=$(wrk -t2 -c8 -d"${seconds}s" -s "$work/uncached.lua" http://127.0.0.1:18082 | awk '/Requests\/sec/ {print $2}')
  awk -v a="$a" -v b="$b" 'BEGIN { printf "%-24s nginx %8.1f /s   larder %8.1f /s   ratio %.2f\n", "uncached thumbnail", a, b, b/a }'
fi
