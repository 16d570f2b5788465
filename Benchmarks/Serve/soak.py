"""Readers, a writer and evictions on one directory: soak.py LARDER [SECONDS] [CLIENTS].

A prefetch writes again and again into a directory too small for its manifest, so that it evicts all the time, a
second process trims, and clients read through a server. Every byte is compared; a 500 or a wrong byte fails.
"""
import hashlib, http.client, http.server, os, random, re, struct, subprocess, sys, tempfile, threading, time, urllib.parse, zlib
larder = os.path.abspath(sys.argv[1])
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 60
clients = int(sys.argv[3]) if len(sys.argv) > 3 else 64
COUNT = 400

def png(index):
    rnd = random.Random(index)
    height = 60 + index % 200
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + rnd.randbytes(192) for _ in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 64, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b""))

images = [png(index) for index in range(COUNT)]

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def do_GET(self):
        body = images[int(re.sub(r"\D", "", self.path))]
        self.send_response(200)
        self.send_header("Content-Type", "image/png")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=3600")
        self.end_headers()
        self.wfile.write(body)

class Origin(http.server.ThreadingHTTPServer):
    request_queue_size = 512

origin = Origin(("127.0.0.1", 0), Handler)
threading.Thread(target=origin.serve_forever, daemon=True).start()
base = f"http://127.0.0.1:{origin.server_port}/"
with tempfile.TemporaryDirectory() as work:
    cache, manifest = work + "/cache", work + "/urls.txt"
    open(manifest, "w").write("".join(f"{base}{index}.png\n" for index in range(COUNT)))
    small = str(sum(map(len, images)) // 2)
    prefetch = [larder, "prefetch", manifest, "--cache", cache, "-q", "--max-size", small, "-s", "32"]
    subprocess.run(prefetch, check=False, stderr=subprocess.DEVNULL)
    server = subprocess.Popen([larder, "serve", cache, "--port", "0", "--max-size", small], stderr=subprocess.PIPE, text=True)
    port = int(re.search(r":(\d+)/", server.stderr.readline()).group(1))
    threading.Thread(target=server.stderr.read, daemon=True).start()
    end, counts, wrong = time.monotonic() + seconds, {}, []

    def write():
        while time.monotonic() < end: subprocess.run(prefetch, stderr=subprocess.DEVNULL)

    def trim():
        while time.monotonic() < end:
            subprocess.run([larder, "trim", "--cache", cache, "--max-size", str(int(small) * 3 // 4), "-q"], stderr=subprocess.DEVNULL)
            time.sleep(1)

    def read(seed):
        rnd, connection = random.Random(seed), http.client.HTTPConnection("127.0.0.1", port)
        while time.monotonic() < end:
            index = rnd.randrange(COUNT)
            thumbnail = rnd.random() < .2
            target = "/image?url=" + urllib.parse.quote(f"{base}{index}.png", safe="") + ("&w=32&h=32" if thumbnail else "")
            connection.request("GET", target)
            response = connection.getresponse()
            body = response.read()
            key = (response.status, "thumbnail" if thumbnail else "image")
            counts[key] = counts.get(key, 0) + 1
            if response.status == 200 and not thumbnail and body != images[index] or response.status not in (200, 404, 503):
                wrong.append((index, response.status, len(body)))
            if response.status == 200 and thumbnail and body[:3] != b"\xff\xd8\xff": wrong.append((index, "thumbnail"))

    threads = [threading.Thread(target=write), threading.Thread(target=trim)]
    threads += [threading.Thread(target=read, args=(seed,)) for seed in range(clients)]
    [t.start() for t in threads]; [t.join() for t in threads]
    server.terminate()
    status = server.wait(timeout=30)
    for key, count in sorted(counts.items()): print(*key, count)
    print("wrong:", len(wrong), wrong[:5], " server ended with", status)
    sys.exit(1 if wrong or status else 0)
