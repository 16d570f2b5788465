#!/usr/bin/env bash
# An origin to measure against: nginx on 127.0.0.1 over a folder of images.
#   origin.sh start DIR PORT [WORKERS]    origin.sh stop DIR    origin.sh run DIR PORT [WORKERS], in the foreground
set -euo pipefail
directory=$(realpath "$2")
case $1 in
start | run)
    daemon=on
    [ "$1" = start ] || daemon=off
    cat >"$directory/nginx.conf" <<CONF
user root;
daemon $daemon;
worker_processes ${4:-1};
pid $directory/nginx.pid;
error_log $directory/error.log;
events { worker_connections 20000; }
http {
    access_log off; sendfile on; tcp_nopush on; tcp_nodelay on;
    keepalive_requests 100000; types { image/jpeg jpg; image/png png; }
    server { listen 127.0.0.1:$3 backlog=4096; root $directory/www; }
}
CONF
    exec /usr/sbin/nginx -c "$directory/nginx.conf"
    ;;
stop) kill "$(cat "$directory/nginx.pid")" ;;
esac
