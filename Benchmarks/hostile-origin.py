#!/usr/bin/env python3
"""An origin that misbehaves by number: hostile-origin.py PORT IMAGE

GET /N answers with the image, but closes inside the headers where N % 50 == 49, resets where N % 70 == 69, and sends
one byte a second where N % 90 == 89. Loopback only."""
import asyncio, socket, struct, sys

port, image = int(sys.argv[1]), open(sys.argv[2], "rb").read()
head = f"HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\nCache-Control: max-age=3600\r\nContent-Length: {len(image)}\r\n\r\n"


async def serve(reader, writer):
    try:
        while True:
            request = await reader.readuntil(b"\r\n\r\n")
            number = int(request.split()[1].split(b"/")[-1])
            if number % 50 == 49:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Le")
                await writer.drain()
                break
            if number % 70 == 69:
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                writer.transport.abort()
                return
            writer.write(head.encode())
            if number % 90 == 89:
                for byte in image:
                    writer.write(bytes([byte]))
                    await writer.drain()
                    await asyncio.sleep(1)
            else:
                writer.write(image)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError, ValueError):
        pass
    writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", port, backlog=2048)
    async with server:
        await server.serve_forever()


asyncio.run(main())
