"""Archives that mean harm or are damaged: an error that names the file, never a crash."""

from __future__ import annotations

import struct
import tarfile
from pathlib import Path

import pytest

from sightline.data.sources.archives import as_tfrecord, samples, tfrecords
from sightline.errors import DataError


def test_a_tar_of_extended_headers_alone_is_refused(tmp_path: Path) -> None:
    """Each extended header is read inside the one before: thousands of them exhaust the stack."""
    header = tarfile.TarInfo("x")
    header.type, body = tarfile.XHDTYPE, b"12 path=abc\n"
    header.size = len(body)
    block = header.tobuf(tarfile.USTAR_FORMAT) + body.ljust(512, b"\0")
    (tmp_path / "a.tar").write_bytes(block * 3_000 + b"\0" * 1_024)
    with pytest.raises(DataError, match="damaged or cut short"):
        list(samples(tmp_path / "a.tar", "a.tar"))


def test_a_feature_without_a_name_is_refused(tmp_path: Path) -> None:
    whole = as_tfrecord({"name": "a"})
    (length,) = struct.unpack("<Q", whole[:8])
    # The field of the name, number 1 of an entry, becomes number 3.
    at = whole.index(b"\n\x04name")
    damaged = whole[:at] + bytes([3 << 3 | 2]) + whole[at + 1 :]
    (tmp_path / "a.tfrecord").write_bytes(damaged)
    assert len(damaged) == 12 + length + 4
    with pytest.raises(DataError, match=r"a\.tfrecord:record 1: .*no tf\.train\.Example"):
        list(tfrecords(tmp_path / "a.tfrecord", "a.tfrecord"))
