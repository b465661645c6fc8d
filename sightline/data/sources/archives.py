"""Reads the archives that data sets come in: WebDataset shards (tar) and TFRecord files.

Both are streams of records. Sizes that a file claims are checked against the file before anything is read,
names that lead out of a folder are refused, and a file that ends too early is reported with the last whole
record.
"""

from __future__ import annotations

import struct
import tarfile
from collections.abc import Iterator, Mapping
from io import BufferedReader
from pathlib import Path, PurePosixPath, PureWindowsPath

from sightline.errors import DataError
from sightline.pictures import MOST_BYTES
from sightline.regular import MOST_TEXT, open_regular

_MASK = 0xA282EAD8
_LENGTH = 12
"""Bytes before the content of a TFRecord: its length, and the checksum of that."""


class Sample:
    """The files of a shard that belong together: the same name, one extension each."""

    def __init__(self, key: str, at: str) -> None:
        self.key = key
        self.at = at
        self.parts: dict[str, bytes] = {}


def samples(path: Path, where: str) -> Iterator[Sample]:
    """The samples of a WebDataset shard, in the order of the archive."""
    current: Sample | None = None
    for name, data in _members(path, where):
        folder, _, file = name.rpartition("/")
        stem, _, extension = file.partition(".")
        key = f"{folder}/{stem}" if folder else stem
        if current is None or current.key != key:
            if current is not None:
                yield current
            current = Sample(key, f"{where}: {key}")
        if extension.lower() in current.parts:
            raise DataError(
                f"sample {key!r} has two files with the extension {extension!r}",
                where=f"{where}: {name}",
                remedy="Give samples different names.",
            )
        current.parts[extension.lower()] = data
    if current is not None:
        yield current


def _members(path: Path, where: str) -> Iterator[tuple[str, bytes]]:
    last = ""
    with open_regular(path, where) as stream:
        try:
            with tarfile.open(fileobj=stream, mode="r:", ignore_zeros=False) as archive:
                for member in archive:
                    if member.isdir():
                        continue
                    _refuse(member, where)
                    held = archive.extractfile(member)
                    data = b"" if held is None else held.read()
                    if len(data) != member.size:
                        raise tarfile.ReadError("unexpected end of data")
                    last = member.name
                    yield member.name, data
        except (tarfile.TarError, EOFError, ValueError, OverflowError, RecursionError) as error:
            after = f" after {last!r}" if last else ""
            raise DataError(
                f"the archive is damaged or cut short{after} ({error})",
                where=where,
                remedy="Get the shard again; every sample before that is whole.",
            ) from None
        _need_end(stream, where, last)


def _need_end(stream: BufferedReader, where: str, last: str) -> None:
    """A tar file ends with blocks of zeros: one that was cut between two files has none."""
    size = stream.seek(0, 2)
    stream.seek(max(0, size - 512))
    if size < 1024 or any(stream.read(512)):
        raise DataError(
            f"the archive is cut short after {last!r}", where=where, remedy="Get the shard again."
        )


def _refuse(member: tarfile.TarInfo, where: str) -> None:
    name = member.name
    parts = name.replace("\\", "/").split("/")
    if name.startswith(("/", "\\")) or ".." in parts or PureWindowsPath(name).drive:
        raise DataError(
            f"the name {name[:80]!r} leads out of the archive",
            where=where,
            remedy="Whoever made it may mean harm: do not use it.",
        )
    if not member.isreg() or member.issparse():
        raise DataError(
            f"{name[:80]!r} is a link or a device, not a file", where=where, remedy="Pack plain files."
        )
    if member.size > MOST_BYTES:
        raise DataError(
            f"{name[:80]!r} has {member.size:,} bytes: more than the {MOST_BYTES:,} that are read",
            where=where,
            remedy="Shrink it, or leave it out.",
        )


def is_shard(path: Path) -> bool:
    """Whether a file is a tar archive, by its suffix and its first block."""
    if PurePosixPath(path.name).suffix.lower() != ".tar":
        return False
    with open_regular(path) as stream:
        return stream.read(262)[257:] == b"ustar"


Features = Mapping[str, bytes | float | int]


def tfrecords(path: Path, where: str) -> Iterator[tuple[int, Features]]:
    """The first value of each feature of every tf.train.Example in a TFRecord file, numbered from 1."""
    with open_regular(path, where) as stream:
        size = stream.seek(0, 2)
        stream.seek(0)
        number = 0
        while stream.tell() < size:
            number += 1
            at = f"{where}:record {number}"
            head = stream.read(_LENGTH)
            if len(head) < _LENGTH:
                raise _cut(at)
            (length, check) = struct.unpack("<QI", head)
            if _masked(head[:8]) != check:
                raise DataError(
                    "this is not a TFRecord file, or it is damaged here",
                    where=at,
                    remedy="Get the file again; a file of Git LFS must be pulled first.",
                )
            if length > MOST_TEXT or length + 4 > size - stream.tell():
                raise _cut(at)
            data = stream.read(length)
            stream.read(4)
            try:
                yield number, _example(memoryview(data))
            except (LookupError, struct.error, ValueError):
                raise DataError(
                    "the record is no tf.train.Example", where=at, remedy="Get the file again."
                ) from None


def _cut(at: str) -> DataError:
    return DataError("the file ends in the middle of a record", where=at, remedy="Get the file again.")


def _example(data: memoryview) -> Features:
    """Example { Features features = 1 } with Features { map<string, Feature> feature = 1 }."""
    found: dict[str, bytes | float | int] = {}
    for _, features in _fields(data):
        for _, entry in _fields(features):
            pair = dict(_fields(entry))
            name = bytes(pair[1]).decode()
            for kind, values in _fields(pair[2]) if 2 in pair else ():
                first = next((value for _, value in _fields(values)), None)
                if first is None:
                    continue
                if kind == 1:
                    found[name] = bytes(first)
                elif kind == 2:
                    (found[name],) = struct.unpack_from("<f", first)
                else:
                    found[name] = _number(first, 0)[0]
    return found


def _fields(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """The fields of a message of the wire format of Protocol Buffers: their numbers and contents."""
    at = 0
    while at < len(data):
        tag, at = _number(data, at)
        kind = tag & 7
        if kind == 2:
            length, at = _number(data, at)
        elif kind == 0:
            start = at
            _, at = _number(data, at)
            yield tag >> 3, data[start:at]
            continue
        else:
            length = {1: 8, 5: 4}[kind] if kind in (1, 5) else -1
        if length < 0 or at + length > len(data):
            raise ValueError("a field is longer than its message")
        yield tag >> 3, data[at : at + length]
        at += length


def _number(data: memoryview, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, at
        if shift > 63:
            raise ValueError("a number of more than 64 bits")


def _masked(data: bytes) -> int:
    """The checksum of TFRecord: CRC-32C, turned and shifted."""
    check = 0xFFFFFFFF
    for byte in data:
        check ^= byte
        for _ in range(8):
            check = (check >> 1) ^ (0x82F63B78 if check & 1 else 0)
    check ^= 0xFFFFFFFF
    return (((check >> 15) | (check << 17)) + _MASK) & 0xFFFFFFFF


def as_tfrecord(features: Mapping[str, str | bytes | float]) -> bytes:
    """A record of a TFRecord file with these features: what examples and tests write."""

    def field(number: int, content: bytes) -> bytes:
        length, size = len(content), b""
        while length > 0x7F:
            size += bytes([length & 0x7F | 0x80])
            length >>= 7
        return bytes([number << 3 | 2]) + size + bytes([length]) + content

    entries = b""
    for name, value in features.items():
        raw = value.encode() if isinstance(value, str) else value
        kind, packed = (1, raw) if isinstance(raw, bytes) else (2, struct.pack("<f", raw))
        entries += field(1, field(1, name.encode()) + field(2, field(kind, field(1, packed))))
    data = field(1, entries)
    head = struct.pack("<Q", len(data))
    return head + struct.pack("<I", _masked(head)) + data + struct.pack("<I", _masked(data))
