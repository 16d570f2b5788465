#!/usr/bin/env python3
"""How soon `larder browse` answers keys, on a terminal of its own: browse.py LARDER MANIFEST|DIR [OPTION...]

From the moment that a key is written to the moment that the status line shows what it did. The terminal reads as fast
as it can, so this is larder's time alone."""
import fcntl, os, pty, re, select, statistics, struct, sys, termios, time

larder, target, *options = sys.argv[1:]
child, screen = pty.fork()
began = time.monotonic()
if child == 0:
    os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
    os.execv(larder, [larder, "browse", target, *options])
fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 100, 0, 0))
page = (50 - 1) // 4
seen = b""


def wait(pattern, limit=120):
    """Reads until the pattern is shown."""
    global seen
    end = time.monotonic() + limit
    while not (found := re.search(pattern, seen)):
        if not select.select([screen], [], [], max(0, end - time.monotonic()))[0]:
            sys.exit(f"{pattern} was not shown")
        try:
            seen = (seen + os.read(screen, 1 << 16))[-(1 << 18):]
        except OSError:
            sys.exit("larder has ended: " + seen[-300:].decode(errors="replace"))
    return found


def press(key, pattern):
    global seen
    seen = b""
    start = time.monotonic()
    os.write(screen, key)
    wait(pattern)
    return time.monotonic() - start


def tell(name, times):
    times = sorted(1e3 * value for value in times)
    print(f"{name:<24} median {statistics.median(times):6.1f} ms, 99 % {times[int(len(times) * 0.99)]:6.1f}, "
          f"greatest {times[-1]:6.1f}, {len(times)} keys")


def memory():
    lines = dict(line.split(":") for line in open(f"/proc/{child}/status") if line.startswith("Vm"))
    return f"{int(lines['VmRSS'].split()[0]) >> 10} MB resident, {int(lines['VmHWM'].split()[0]) >> 10} MB at most"


wait(rb"m 1/\d+")
print(f"first rows after         {time.monotonic() - began:.2f} s")
count = int(wait(rb"m 1/(\d+) ", 600)[1])
print(f"all {count} rows after {time.monotonic() - began:.2f} s, {memory()}")


def steps(name, key, step, times, pause):
    global place
    taken = []
    for _ in range(times):
        place = max(1, min(count, place + step))
        time.sleep(pause)
        taken.append(press(key, rb"m %d/%d " % (place, count)))
    tell(name, taken)


place = 1
steps("down", b"\x1b[B", 1, 150, 0.02)
steps("page down", b"\x1b[6~", page, 150, 0.03)
steps("page up", b"\x1b[5~", -page, 100, 0.03)
tell("end and home", [press(*pair) for _ in range(10)
                      for pair in ((b"G", rb"m %d/" % count), (b"g", rb"m 1/"))])
os.write(screen, b"/")
taken = []
for _ in range(5):
    texts = ["9", "99", "991", "9912", "991", "99", "9", ""]
    for before, text in zip([""] + texts, texts):
        key = text[-1:] if len(text) > len(before) else "\x7f"
        taken.append(press(key.encode(), f"/{text}\u258f".encode()))
tell("search", taken)
print(f"then                     {memory()}")
os.write(screen, b"\x1b")
time.sleep(0.2)
os.write(screen, b"q")
try:
    while os.read(screen, 1 << 16): pass
except OSError:
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
