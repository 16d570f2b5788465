"""Slow clients beside healthy ones: slow.py PORT TARGET [CONNECTIONS] [SECONDS] [PID].

Opens the connections, sends a byte on each now and then, opens a new one for each that the server ends, and
measures what healthy clients see before and meanwhile, and the server's memory.
"""
import http.client, multiprocessing, resource, selectors, socket, sys, threading, time
port, target = int(sys.argv[1]), sys.argv[2]
count = int(sys.argv[3]) if len(sys.argv) > 3 else 10_000
seconds = float(sys.argv[4]) if len(sys.argv) > 4 else 60
pid = sys.argv[5] if len(sys.argv) > 5 else None
resource.setrlimit(resource.RLIMIT_NOFILE, (min(count + 500, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)

def memory():
    if not pid: return 0
    return next(int(l.split()[1]) // 1024 for l in open(f"/proc/{pid}/status") if l.startswith("VmRSS"))

def healthy(until, out):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    while time.monotonic() < until:
        begin = time.perf_counter()
        connection.request("GET", target)
        response = connection.getresponse()
        response.read()
        assert response.status == 200, response.status
        out.append(time.perf_counter() - begin)
        time.sleep(0.002)

def measure(span):
    out, until = [], time.monotonic() + span
    threads = [threading.Thread(target=healthy, args=(until, out)) for _ in range(4)]
    [t.start() for t in threads]; [t.join() for t in threads]
    out.sort()
    return out[len(out) // 2] * 1000, out[int(len(out) * .99)] * 1000, len(out)

def open_slow(index):
    s = socket.socket()
    # A source address has 28,000 ports.
    s.bind((f"127.0.0.{2 + index % 4}", 0))
    s.setblocking(False)
    s.connect_ex(("127.0.0.1", port))
    return s

before = measure(5)
print("alone:   p50 %.2f ms  p99 %.2f ms  (%d requests)  %d MB" % (*before, memory()))
# A process of its own: in this one it would hold the interpreter's lock while the healthy ones measure.
stop, reopened, peak = multiprocessing.Event(), multiprocessing.Value("i", 0), multiprocessing.Value("i", 0)
text = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + b"a" * 4000
def slow():
    clients = []
    for index in range(count):
        clients.append([open_slow(index), 0])
        if index % 500 == 0: time.sleep(.05)
    print("opened", len(clients), flush=True)
    turn = 0
    while not stop.is_set():
        for index in range(turn % 20, count, 20):
            client = clients[index]
            try:
                client[0].send(text[client[1]:client[1] + 1])
                client[1] += 1
                if client[0].recv(1) == b"": raise OSError
            except BlockingIOError: pass
            except OSError:
                client[0].close()
                reopened.value += 1
                client[:] = [open_slow(index), 0]
        turn += 1
        peak.value = max(peak.value, memory())
        time.sleep(.05)
attack = multiprocessing.Process(target=slow)
attack.start()
time.sleep(6)
during = measure(seconds)
print("beside:  p50 %.2f ms  p99 %.2f ms  (%d requests)  peak %d MB, %d ended by the server" % (*during, peak.value, reopened.value))
stop.set()
attack.join()
