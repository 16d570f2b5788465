#!/usr/bin/env python3
"""Writes decoded.json: what djpeg and pngtopam make of the corpus, for the tests of decoding.

For each file: size, SHA-256 of the RGBA bytes, and 32 sample pixels in hexadecimal.
Usage: make_decoded.py CORPUS > decoded.json (needs djpeg, pngtopam and Pillow)
"""
import hashlib, json, subprocess, sys

from PIL import Image

# pngtopam compares a tRNS colour with all 16 bits where the image has fewer: Pillow and libpng do not.
BY_PILLOW = ("good/png-trns__1_trns.png", "good/png-trns__tbrn2c08.png")
SAMPLES = 32


def read_pnm(data):
    """Returns width, height, depth, maxval and the samples of a P5, P6 or P7 picture."""
    if data[:2] == b"P7":
        head, body = data.split(b"ENDHDR\n", 1)
        fields = dict(line.split(None, 1) for line in head.split(b"\n")[1:] if line)
        return int(fields[b"WIDTH"]), int(fields[b"HEIGHT"]), int(fields[b"DEPTH"]), int(fields[b"MAXVAL"]), body
    parts, rest = [], data
    while len(parts) < 4:
        word, rest = rest.split(None, 1) if len(parts) < 3 else (rest[: rest.index(b"\n")], rest[rest.index(b"\n") + 1 :])
        parts.append(word)
    return int(parts[1]), int(parts[2]), 1 if parts[0] == b"P5" else 3, int(parts[3]), rest


def rgba(width, height, depth, maxval, body):
    step = 2 if maxval > 255 else 1
    values = [int.from_bytes(body[i : i + step], "big") for i in range(0, width * height * depth * step, step)] if step == 2 else body
    scale = lambda v: (v * 255 * 2 + maxval) // (2 * maxval)
    table = None if maxval > 255 else bytes(scale(min(v, maxval)) for v in range(256))
    flat = bytes(scale(v) for v in values) if table is None else bytes(values).translate(table)
    count = width * height
    out = bytearray(b"\xff" * (4 * count))
    color = depth if depth in (1, 3) else depth - 1
    for channel in range(3):
        out[channel::4] = flat[(channel if color == 3 else 0) : depth * count : depth]
    if depth in (2, 4):
        out[3::4] = flat[depth - 1 : depth * count : depth]
    return bytes(out)


def entry(width, height, pixels):
    places = (width * height * step // SAMPLES for step in range(SAMPLES))
    samples = "".join(pixels[4 * place : 4 * place + 4].hex() for place in places)
    return {"width": width, "height": height, "sha256": hashlib.sha256(pixels).hexdigest(), "samples": samples}


def main(corpus):
    result = {}
    for record in json.load(open(corpus + "/index.json")):
        name = record["file"]
        if record["format"] not in ("jpeg", "png") or not name.startswith(("good/", "photos/")):
            continue
        if name in BY_PILLOW:
            image = Image.open(corpus + "/" + name)
            result[name] = entry(*image.size, image.convert("RGBA").tobytes())
            continue
        tool = ["djpeg", "-pnm"] if record["format"] == "jpeg" else ["pngtopam", "-alphapam"]
        run = subprocess.run(tool + [corpus + "/" + name], capture_output=True)
        if run.returncode not in (0, 2) or not run.stdout:
            print(name, run.stderr.decode()[:200], file=sys.stderr)
            continue
        width, height, depth, maxval, body = read_pnm(run.stdout)
        pixels = rgba(width, height, depth, maxval, body)
        result[name] = entry(width, height, pixels)
    json.dump(result, sys.stdout, indent=0, sort_keys=True)
    print()


main(sys.argv[1])
