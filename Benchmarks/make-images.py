#!/usr/bin/env python3
"""Writes N JPEG files of about the given size in KB: make-images.py DIR N KB. Needs Pillow."""
import io, os, random, sys
from PIL import Image, ImageFilter

directory, count, kilobytes = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
os.makedirs(directory, exist_ok=True)
random.seed(1)
side = max(32, int((kilobytes * 1024 * 5) ** 0.5))
for index in range(count):
    noise = Image.effect_noise((side, side), 90)
    base = Image.new("RGB", (side, side), tuple(random.randrange(256) for _ in range(3)))
    picture = Image.merge("RGB", [Image.blend(noise, channel, 0.5) for channel in base.split()])
    picture = picture.filter(ImageFilter.GaussianBlur(0.6))
    low, high = 5, 98
    while high - low > 1:
        quality = (low + high) // 2
        data = io.BytesIO()
        picture.save(data, "JPEG", quality=quality)
        low, high = (quality, high) if data.tell() <= kilobytes * 1024 else (low, quality)
    data = io.BytesIO()
    picture.save(data, "JPEG", quality=low)
    with open(os.path.join(directory, f"{index}.jpg"), "wb") as file:
        file.write(data.getvalue())
