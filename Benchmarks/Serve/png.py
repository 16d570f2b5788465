"""A valid PNG of about so many bytes: noise does not compress."""
import os, struct, sys, zlib
size = int(sys.argv[1])
width = 64
height = max(1, (size - 100) // (width * 3 + 1))
chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
rows = b"".join(b"\0" + os.urandom(width * 3) for _ in range(height))
sys.stdout.buffer.write(
    b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b""))
