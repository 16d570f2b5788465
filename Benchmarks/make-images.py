#!/usr/bin/env python3
"""Writes N JPEG files of about the given size in KB: make-images.py DIR N KB [PHOTOS]. Needs Pillow.

Of noise, 715 pixels a side at 100 KB; or, where PHOTOS is a folder of photographs, crops of these at quality 80, as
large as the size allows.
"""
import io, os, random, sys
from PIL import Image, ImageFilter

directory, count, kilobytes = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
photos = sorted(os.path.join(sys.argv[4], name) for name in os.listdir(sys.argv[4])) if len(sys.argv) > 4 else []
limit = kilobytes * 1024
os.makedirs(directory, exist_ok=True)
random.seed(1)


def encoded(picture, quality):
    data = io.BytesIO()
    picture.save(data, "JPEG", quality=quality)
    return data.getvalue()


def greatest(low, high, make):
    """The greatest of low to high of which make gives no more than the limit, and what it gives."""
    best = make(low)
    while high - low > 1:
        middle = (low + high) // 2
        data = make(middle)
        low, high, best = (middle, high, data) if len(data) <= limit else (low, middle, best)
    return best


def noise():
    side = max(32, int((limit * 5) ** 0.5))
    grain = Image.effect_noise((side, side), 90)
    base = Image.new("RGB", (side, side), tuple(random.randrange(256) for _ in range(3)))
    picture = Image.merge("RGB", [Image.blend(grain, channel, 0.5) for channel in base.split()])
    picture = picture.filter(ImageFilter.GaussianBlur(0.6))
    return greatest(5, 98, lambda quality: encoded(picture, quality))


def photograph(index):
    picture = Image.open(photos[index % len(photos)]).convert("RGB")
    turn = index // len(photos)
    width, height = (int(side * max(0.3, 1 - 0.04 * turn)) for side in picture.size)
    left, top = (picture.width - width) * (turn % 3) // 2, (picture.height - height) * (turn % 2)
    picture = picture.crop((left, top, left + width, top + height))

    def scaled(side):
        small = picture.copy()
        small.thumbnail((side, side), Image.LANCZOS, reducing_gap=3.0)
        return encoded(small, 80)

    return greatest(32, 4000, scaled)


for index in range(count):
    with open(os.path.join(directory, f"{index}.jpg"), "wb") as file:
        file.write(photograph(index) if photos else noise())
