"""Files that somebody could have made to do harm: bombs, lies, half files, and things that are no files."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import random
import socket
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, PngImagePlugin

START = b"\x89PNG\r\n\x1a\n"
EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 20 20\n0 0 20 20 rectfill\nshowpage\n%%EOF\n"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script></svg>'
NOISE = random.Random(0).randbytes(20_000)


def chunk(kind: bytes, body: bytes, check: int | None = None) -> bytes:
    summed = zlib.crc32(kind + body) if check is None else check
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", summed)


def png(
    width: int, height: int, depth: int = 8, colour: int = 2, more: Iterable[bytes] = (), body: bytes = b""
) -> bytes:
    """A PNG that claims a size; without a body of its own it holds almost nothing."""
    claims = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
    picture = chunk(b"IDAT", body or zlib.compress(bytes(100)))
    return START + claims + b"".join(more) + picture + chunk(b"IEND", b"")


def rows(count: int, length: int) -> bytes:
    """So many rows of nothing, packed."""
    packer = zlib.compressobj(9)
    return b"".join(packer.compress(bytes(length)) for _ in range(count)) + packer.flush()


def saved(image: Image.Image, form: str, **more: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, form, **more)
    return out.getvalue()


def small(mode: str = "RGB", side: int = 32) -> Image.Image:
    return Image.effect_noise((side, side), 80).convert(mode)


def jpeg_that_claims(width: int, height: int) -> bytes:
    data = bytearray(saved(small(), "JPEG"))
    at = data.index(b"\xff\xc0")
    data[at + 5 : at + 9] = struct.pack(">HH", height, width)
    return bytes(data)


def webp_that_claims(width: int, height: int) -> bytes:
    inner = saved(small(), "WEBP")[12:]
    sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    extended = b"VP8X" + struct.pack("<I", 10) + bytes(4) + sides
    body = b"WEBP" + extended + inner
    return b"RIFF" + struct.pack("<I", len(body)) + body


def jpeg_of_many_scans(scans: int) -> bytes:
    """A progressive JPEG whose last scan is there again and again."""
    data = saved(Image.new("RGB", (4_000, 4_000)), "JPEG", progressive=True)
    last = data.rindex(b"\xff\xda")
    tables = data.rindex(b"\xff\xc4", 0, last)
    return data[:-2] + data[tables:-2] * scans + b"\xff\xd9"


def gif_of(frames: int) -> bytes:
    pictures = [Image.new("P", (16, 16), n % 256) for n in range(frames)]
    return saved(pictures[0], "GIF", save_all=True, append_images=pictures[1:], disposal=2)


def gif_that_claims(width: int, height: int) -> bytes:
    data = bytearray(gif_of(1))
    data[6:10] = struct.pack("<HH", width, height)
    return bytes(data)


def tiff_that_claims(width: int, height: int) -> bytes:
    data = bytearray(saved(small(), "TIFF"))
    at = struct.unpack_from("<I", data, 4)[0]
    for n in range(struct.unpack_from("<H", data, at)[0]):
        tag = at + 2 + 12 * n
        number = struct.unpack_from("<H", data, tag)[0]
        if number in (256, 257):
            struct.pack_into("<HII", data, tag + 2, 4, 1, width if number == 256 else height)
    return bytes(data)


def tiff_of_itself() -> bytes:
    """A TIFF whose next directory is the first."""
    data = bytearray(saved(small(), "TIFF"))
    at = struct.unpack_from("<I", data, 4)[0]
    entries = struct.unpack_from("<H", data, at)[0]
    struct.pack_into("<I", data, at + 2 + 12 * entries, at)
    return bytes(data)


def bmp_that_claims(width: int, height: int) -> bytes:
    data = bytearray(saved(small(), "BMP"))
    struct.pack_into("<ii", data, 18, width, height)
    return bytes(data)


def text_of(letters: int) -> bytes:
    info = PngImagePlugin.PngInfo()
    info.add_text("parameters", "x" * letters, zip=True)
    return saved(small(), "PNG", pnginfo=info)


IMAGES: dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "one byte": lambda: b"\x89",
    "only a signature": lambda: START,
    "noise": lambda: NOISE,
    "text": lambda: b"prompt,image\n",
    "eps": lambda: EPS,
    "eps after a png signature": lambda: START + EPS,
    "svg": lambda: SVG,
    "pdf": lambda: saved(small(), "PDF"),
    "html": lambda: b"<!doctype html><script>alert(1)</script>",
    "zip": lambda: npz(a=np.zeros(3)),
    "png and zip": lambda: saved(small(), "PNG") + npz(a=np.zeros(3)),
    "gif and javascript": lambda: b"GIF89a/*" + gif_of(2)[8:] + b"*/=1;alert(1)",
    "ppm": lambda: saved(small(), "PPM"),
    "ico": lambda: saved(small(), "ICO"),
    "jpeg 2000": lambda: b"\x00\x00\x00\x0cjP  \r\n\x87\n" + NOISE,
    "psd": lambda: b"8BPS\x00\x01" + bytes(6) + struct.pack(">HIIHH", 3, 30_000, 30_000, 8, 3) + NOISE,
    "png of no size": lambda: png(0, 0),
    "png of one row": lambda: png(2**31 - 1, 1),
    "png of 10 billion pixels": lambda: png(100_000, 100_000),
    "png of 16 bits at the limit": lambda: png(5_999, 5_999, 16, 0, body=rows(5_999, 1 + 2 * 5_999)),
    "png of 16 bits beyond it": lambda: png(10_000, 10_000, 16, 0, body=rows(10_000, 1 + 2 * 10_000)),
    "png that holds more than it claims": lambda: png(10, 10, body=rows(50_000, 4_000)),
    "png without its palette": lambda: png(10, 10, 8, 3),
    "png of an unknown type": lambda: png(10, 10, 7, 9),
    "png with a wrong sum": lambda: START + chunk(b"IHDR", struct.pack(">IIBBBBB", 9, 9, 8, 2, 0, 0, 0), 1),
    "png with a chunk of 4 GB": lambda: START + b"\xff\xff\xff\xffIHDR" + bytes(100),
    "png with a million chunks": lambda: png(10, 10, more=[chunk(b"abCd", b"")] * 1_000_000),
    "png with 90 MB of text": lambda: text_of(90_000_000),
    "png with a hundred packed texts": lambda: png(
        10, 10, more=[chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(1_000_000)))] * 100
    ),
    "png with a packed profile": lambda: png(
        10, 10, more=[chunk(b"iCCP", b"a\0\0" + zlib.compress(bytes(50_000_000)))]
    ),
    "png with a profile of noise": lambda: saved(small(), "PNG", icc_profile=NOISE),
    "png with metadata of noise": lambda: png(10, 10, more=[chunk(b"eXIf", NOISE)]),
    "png cut short": lambda: saved(small(side=200), "PNG")[:5_000],
    "animated png": lambda: saved(small(), "PNG", save_all=True, append_images=[small() for _ in range(50)]),
    "animated png of a billion frames": lambda: png(
        10, 10, more=[chunk(b"acTL", struct.pack(">II", 10**9, 0))]
    ),
    "jpeg of 4 billion pixels": lambda: jpeg_that_claims(65_500, 65_500),
    "jpeg that is larger than it is": lambda: jpeg_that_claims(5_000, 5_000),
    "jpeg of many scans": lambda: jpeg_of_many_scans(2_000),
    "jpeg cut short": lambda: saved(small(side=200), "JPEG")[:2_000],
    "jpeg for print": lambda: saved(small("CMYK"), "JPEG"),
    "jpeg with a profile of noise": lambda: saved(small(), "JPEG", icc_profile=NOISE),
    "jpeg with metadata of noise": lambda: saved(small(), "JPEG", exif=b"Exif\0\0" + NOISE),
    "jpeg of markers": lambda: b"\xff\xd8" + b"\xff" * 1_000_000,
    "gif of 4 billion pixels": lambda: gif_that_claims(65_535, 65_535),
    "gif of a thousand frames": lambda: gif_of(1_000),
    "gif cut short": lambda: gif_of(3)[:60],
    "webp of 268 million pixels": lambda: webp_that_claims(16_383, 16_383),
    "webp that is larger than it is": lambda: webp_that_claims(5_000, 5_000),
    "webp cut short": lambda: saved(small(side=200), "WEBP")[:500],
    "animated webp": lambda: saved(small(), "WEBP", save_all=True, append_images=[small()] * 50),
    "tiff of 4 billion pixels": lambda: tiff_that_claims(65_535, 65_535),
    "tiff of itself": tiff_of_itself,
    "tiff of floats": lambda: saved(Image.new("F", (20, 20), float("nan")), "TIFF"),
    "tiff cut short": lambda: saved(small(side=200), "TIFF")[:700],
    "bmp of 4 billion pixels": lambda: bmp_that_claims(65_535, 65_535),
    "bmp of negative size": lambda: bmp_that_claims(-5, -(2**31)),
}


def npz(**arrays: Any) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def npz_that_claims(shape: tuple[int, ...]) -> bytes:
    """An archive of two arrays that claim a shape and hold nothing."""
    header = repr({"descr": "<f8", "fortran_order": False, "shape": shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    array = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("x", "y"):
            archive.writestr(f"{name}.npy", array)
    return out.getvalue()


def parquet(columns: dict[str, Any], **more: Any) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, compression="zstd", **more)
    return out.getvalue()


def repeated(value: Any, count: int) -> Any:
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array([value]))


def unfolding(levels: int, make: type = list) -> Any:
    made: Any = make((1,))
    for _ in range(levels):
        made = make((made, made))
    return made


def as_key(levels: int) -> bytes:
    """A pickle, written by hand, of a dictionary whose key unfolds: hashing it would take for ever."""
    return b"\x80\x02}" + b"K\x01" + b"2\x86" * levels + b"K\x01s."


TABLES: dict[str, Callable[[], bytes]] = {
    "long.jsonl": lambda: json.dumps({"prompt": "x" * 30_000_000}).encode(),
    "deep.jsonl": lambda: b'{"prompt":"a","expects":' + b"[" * 200_000 + b"]" * 200_000 + b"}\n",
    "deep enough.jsonl": lambda: b'{"prompt":"a","tags":' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}\n",
    "digits.jsonl": lambda: b'{"prompt":"a","prompt_id":' + b"9" * 5_000_000 + b"}\n",
    "exponent.jsonl": lambda: b'{"prompt":"a","prompt_id":1e999999}\n',
    "lists.jsonl": lambda: b'{"prompt":[' + b"[]," * 5_000_000 + b"0]}\n",
    "keys.jsonl": lambda: b"{" + b",".join(b'"k%d":0' % n for n in range(300_000)) + b',"k299999":0}\n',
    "every line its own.jsonl": lambda: b"".join(
        b'{"prompt":"p%d","k%d":1}\n' % (n, n) for n in range(20_000)
    ),
    "nan.jsonl": lambda: b'{"prompt":"a","prompt_id":NaN}\n',
    "mark and NUL.jsonl": lambda: b'\xef\xbb\xbf{"prompt":"a\x00b"}\n',
    "not utf-8.jsonl": lambda: b'{"prompt":"\xff\xfe\xc3\x28"}\n',
    "half a character.jsonl": lambda: b'{"prompt":"\\ud800"}\n',
    "columns.csv": lambda: b",".join([b"prompt"] + [b"tags.t%d" % n for n in range(100_000)]) + b"\na\n",
    "unknown columns.csv": lambda: (
        b",".join([b"prompt"] + [b"unknown%d" % n for n in range(4_000)]) + b"\na\n"
    ),
    "cell.csv": lambda: b'prompt\n"' + b"x" * 40_000_000,
    "open quote.csv": lambda: b'prompt\n"' + b"x\n" * 2_000_000,
    "cells.csv": lambda: b"prompt\n" + b"," * 10_000_000 + b"\n",
    "wide.csv": lambda: "prompt\nä\n".encode("utf-16"),
    "NUL.csv": lambda: bytes(1_000_000),
    "texts.parquet": lambda: parquet({"prompt": repeated("A" * 1_000_000, 20_000)}),
    "rows.parquet": lambda: parquet({"prompt": repeated("A", 30_000_000)}),
    "cells.parquet": lambda: parquet({"prompt": repeated("A" * 100_000, 30_000)}),
    "lists.parquet": lambda: parquet({"prompt": ["a"], "tags": [[list(range(2_000_000))]]}),
    "page.parquet": lambda: parquet({"prompt": ["A" * 20_000_000]}, use_dictionary=False),
    "noise.parquet": lambda: b"PAR1" + NOISE + b"PAR1",
    "footer.parquet": lambda: b"PAR1" + NOISE + struct.pack("<I", 2**31 - 1) + b"PAR1",
    "unfolding.pickle": lambda: pickle.dumps(unfolding(60)),
    "key.pickle": lambda: as_key(60),
    "memo.pickle": lambda: b"\x80\x02K\x01r\xff\xff\xff\x7f.",
    "length.pickle": lambda: b"\x80\x04\x8e" + (2**40).to_bytes(8, "little") + b"abc.",
    "code.pickle": lambda: b"cos\nsystem\n(S'touch hostile_was_here'\ntR.",
    "zeros.npz": lambda: npz(x=np.zeros(30_000_000), y=np.zeros(3)),
    "shape.npz": lambda: npz_that_claims((10**12,)),
    "cut.npz": lambda: npz(x=np.zeros(3), y=np.zeros(3))[:-30],
    "sums.json": lambda: b'{"x":' + b"[" * 100_000,
    "packed.csv": lambda: b"\x1f\x8b" + NOISE,
}
READ_AS = {".pickle": "pqpp", ".npz": "w1kp_cdf", ".json": "conqa"}
"""The format that reads such files; tables are recognised."""


def make_images(folder: Path) -> list[Path]:
    """The images, each called .png whatever it is, as one answer in a folder of its own."""
    made = []
    for name, content in IMAGES.items():
        path = folder / name / "system" / "prompt.png"
        path.parent.mkdir(parents=True)
        path.write_bytes(content())
        made.append(path)
    return made


def make_tables(folder: Path) -> list[Path]:
    made = []
    for name, content in TABLES.items():
        path = folder / name
        path.write_bytes(content())
        made.append(path)
    return made


def make_odd(folder: Path) -> list[Path]:
    """Folders of things that are no files, and paths that are none."""
    places = {
        name: folder / name / "system" for name in ("pipe", "loop", "device", "outside", "folder", "sparse")
    }
    for place in places.values():
        place.mkdir(parents=True)
    os.mkfifo(places["pipe"] / "prompt.png")
    os.mkfifo(folder / "pipe.csv")
    (places["loop"] / "prompt.png").symlink_to("prompt.png")
    (places["loop"] / "again").symlink_to("..")
    (places["device"] / "prompt.png").symlink_to("/dev/zero")
    (places["outside"] / "prompt.png").symlink_to("/etc/passwd")
    (places["folder"] / "prompt.png").mkdir()
    with (places["sparse"] / "prompt.png").open("wb") as file:
        file.truncate(10**12)
    with (folder / "sparse.csv").open("wb") as file:
        file.truncate(10**12)
    (folder / "none.csv").symlink_to("none.csv")
    # The name of a socket has a hundred letters at most, however long the path of the folder is.
    with socket.socket(socket.AF_UNIX) as listening, contextlib.chdir(folder):
        listening.bind("socket.csv")
    files = [folder / name for name in ("pipe.csv", "sparse.csv", "none.csv", "socket.csv")]
    return [*(place.parent for place in places.values()), *files, Path("/dev/zero"), Path("/dev/stdin")]
