"""What a user can get wrong: a message with the place and what to do, exit code 3, nothing half-written."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

Run = Callable[..., Any]


def state(run: Run, study: Path) -> Any:
    """What the study says it holds; every file among its images is whole: its name is its hash."""
    for file in (study / "images").rglob("*"):
        assert file.is_dir() or hashlib.sha256(file.read_bytes()).hexdigest() == file.name
    told = run("status", study, "--json").json
    return told["counts"], told["imports"]


def png() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (12, 9), "teal").save(out, "PNG")
    return out.getvalue()


def bomb() -> bytes:
    """A tiny PNG that claims 100,000 x 100,000 pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")


def answers(*rows: bytes) -> dict[str, bytes]:
    return {"t.csv": b"\n".join((b"prompt,image,system", *rows, b""))}


def votes(*rows: bytes) -> dict[str, bytes]:
    return {"t.csv": b"\n".join((b"annotator,question,prompt,value", *rows, b""))}


DOG, CAT = b"a dog,1.png,one", b"a cat,2.png,one"
BROKEN = b"\x89PNG\r\n\x1a\nnot really"
TOO_LARGE = ("pixels", "more than can be decoded safely")
JSONL = b'{"prompt": "a dog", "image": "1.png", "system": "x"}\n{"prompt"\n'
OTHER = b"prompt_id,prompt,image,system\np0,another wording,9.png,careful\n"
# The files that are made, the one that is imported, and which places and words the message must hold.
BAD: dict[str, tuple[dict[str, bytes], str, tuple[str, ...]]] = {
    "missing file": ({}, "nothing.csv", ("nothing.csv", "no such file")),
    "empty file": ({"t.csv": b""}, "t.csv", ("t.csv", "empty")),
    "only a header": (answers(), "t.csv", ("t.csv", "no rows")),
    "empty folder": ({"empty/": b""}, "empty", ("empty", "nothing in this folder")),
    "wrong column": (
        {"t.csv": b"promt,picture,sytem\na dog,1.png,one\n"},
        "t.csv",
        ("t.csv", "promt, picture, sytem", "--column prompt=promt --column system=sytem"),
    ),
    "half a row": (answers(DOG, b"a cat,2.png"), "t.csv", ("t.csv:3",)),
    "empty cell": (answers(DOG, b",2.png,one"), "t.csv", ("t.csv:3",)),
    "no number": (
        votes(b"ann,q,two red balls,4", b"ann,q,two blue balls,much"),
        "t.csv",
        ("t.csv:3", "number"),
    ),
    "not utf-8": (answers(DOG, b"un caf\xe9,2.png,one"), "t.csv", ("t.csv:3", "UTF-8")),
    "path that leaves": (
        {"../secret.png": png(), **answers(b"a dog,../secret.png,one")},
        "t.csv",
        ("t.csv:2", "leaves the folder"),
    ),
    "some images missing": ({"1.png": png(), **answers(DOG, CAT)}, "t.csv", ("t.csv:3", "2.png")),
    "unreadable image": (
        {"1.png": png(), "2.png": BROKEN, **answers(DOG, CAT)},
        "t.csv",
        ("t.csv:3", "not a readable image", "--keep-broken"),
    ),
    "bomb": ({"1.png": png(), "2.png": bomb(), **answers(DOG, CAT)}, "t.csv", ("t.csv:3", *TOO_LARGE)),
    "bomb in a folder": (
        {"one/a dog.png": png(), "one/a huge cat.png": bomb()},
        "",
        ("a huge cat.png", *TOO_LARGE),
    ),
    "contradiction": ({"t.csv": OTHER}, "t.csv", ("t.csv:2",)),
    "unknown prompt": (votes(b"ann,q,never asked,4"), "t.csv", ("t.csv:2",)),
    "broken json": ({"t.jsonl": JSONL}, "t.jsonl", ("t.jsonl:2",)),
    "broken parquet": ({"t.parquet": b"PAR1 but not really"}, "t.parquet", ("t.parquet",)),
}


def make(folder: Path, case: str) -> Path:
    files, imported, _ = BAD[case]
    folder.mkdir(parents=True)
    for name, content in files.items():
        path = folder / name
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            path.write_bytes(content)
    return folder / imported


@pytest.mark.parametrize("case", BAD)
def test_bad_data_changes_nothing(run: Run, study: Path, tmp_path: Path, case: str) -> None:
    bad = make(tmp_path / "in" / "data", case)
    before = state(run, study)
    refused = run("import", study, bad)
    assert refused.code == 3, refused.out
    for words in BAD[case][2]:
        assert words in refused.err
    what, _, remedy = refused.err.partition("\n")
    assert what.startswith("Error: ") and remedy.strip()
    assert refused.out == ""
    assert state(run, study) == before


@pytest.mark.parametrize("case", ["half a row", "unreadable image", "bomb in a folder", "broken json"])
def test_bad_data_leaves_no_study_behind(run: Run, tmp_path: Path, case: str) -> None:
    bad = make(tmp_path / "in" / "data", case)
    (tmp_path / "here").mkdir()
    assert run("import", tmp_path / "here" / "deep" / "new", bad).code == 3
    assert list((tmp_path / "here").iterdir()) == []


def test_a_layout_that_misses_a_column(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("prompt,image\na dog,1.png\n", encoding="utf-8")
    refused = run("import", tmp_path / "s", tmp_path / "t.csv", "--format", "answers")
    assert refused.code == 3
    assert "t.csv" in refused.err and "system" in refused.err and "--column" in refused.err


def test_broken_images_can_be_kept_as_broken(run: Run, tmp_path: Path) -> None:
    bad = make(tmp_path / "data", "unreadable image")
    done = run("import", tmp_path / "s", bad, "--keep-broken", "--json")
    assert done.code == 0
    assert {row["what"]: row["n"] for row in done.json["rows"]}["answers"] == 2
    scored = run("score", tmp_path / "s", "sharpness", "--json")
    assert scored.code == 0
    (row,) = scored.json["measures"]["rows"]
    assert row["computed"] - row["without"] == 1


READING = ["status", "check", "truth", "score", "variability", "fit", "trust", "compare", "report", "cache"]


@pytest.mark.parametrize("name", READING)
def test_a_study_that_is_not_there(run: Run, tmp_path: Path, name: str) -> None:
    refused = run(name, f"{tmp_path}/no/such/")
    if name == "score":
        # Its first word could have been a measure.
        assert refused.code == 2
    else:
        assert refused.code == 3
        assert "sightline init" in refused.err
    (tmp_path / "folder").mkdir()
    refused = run(name, tmp_path / "folder")
    assert refused.code == 3
    assert "not a study" in refused.err and "sightline init" in refused.err


@pytest.mark.parametrize("name", [name for name in READING if name not in ("status", "cache")])
def test_an_empty_study(run: Run, tmp_path: Path, name: str) -> None:
    assert run("init", tmp_path / "s").code == 0
    refused = run(name, tmp_path / "s")
    assert refused.code == 3
    assert refused.err.startswith("Error: ")


def test_a_damaged_study(run: Run, study: Path) -> None:
    (study / "study.toml").write_text("[truth\n", encoding="utf-8")
    refused = run("truth", study)
    assert refused.code == 3
    assert "study.toml" in refused.err
    (study / "study.toml").unlink()
    for file in study.glob("study.sqlite*"):
        file.unlink()
    (study / "study.sqlite").write_bytes(b"this is no database, and it is long enough to look at" * 20)
    refused = run("status", study)
    assert refused.code == 3
    assert "damaged" in refused.err


@contextmanager
def somebody_else() -> Iterator[None]:
    """Permissions do not bind the superuser: be nobody for a moment."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def locked(study: Path) -> Iterator[Path]:
    """A study that may be read and not written, where others can get to: pytest's own folders are closed."""
    with tempfile.TemporaryDirectory(prefix="sightline-") as folder:
        Path(folder).chmod(0o755)
        copy = Path(shutil.copytree(study, Path(folder) / "study"))
        for path in (copy, *copy.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        yield copy
        for path in (copy, *copy.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)


def test_a_study_that_cannot_be_written(run: Run, locked: Path, tmp_path: Path) -> None:
    extra = locked.parent / "extra.csv"
    extra.write_text("prompt_id,prompt\nnew,a zebra\n", encoding="utf-8")
    # Whatever these commands import is imported now, as somebody who may read it.
    for words in (["status", locked], ["compare", locked]):
        assert run(*words).code == 0
    run("import", tmp_path / "other", extra)
    with somebody_else():
        refused = run("import", locked, extra)
    assert refused.code == 3
    assert "cannot be written" in refused.err and "ermission" in refused.err
    assert run("select", locked, 12, "--csv").out.count("\n") == 1 + 12


def test_output_that_cannot_be_written(run: Run, study: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    for words in (
        ["export", study, tmp_path / "file"],
        ["export", study, tmp_path / "file" / "below"],
        ["report", study, "--to", tmp_path / "file" / "r.html"],
        ["select", study, 2, "--to", tmp_path / "file" / "s.csv"],
        ["init", tmp_path / "file"],
        ["import", tmp_path / "file", study],
        ["annotate", study, "--sheets", tmp_path / "file", "--question", "alignment", "--annotators", "a"],
        ["demo", tmp_path / "file"],
    ):
        refused = run(*words)
        assert refused.code == 3, words
        assert str(tmp_path / "file") in refused.err


def test_hostile_text_does_not_command_the_terminal(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "t.jsonl"
    table.write_text('{"prompt_id": "1", "prompt": "\\u001b[2J[red]=1+1"}\n', encoding="utf-8")
    assert run("import", tmp_path / "s", table).code == 0
    shown = run("select", tmp_path / "s", 1)
    assert "\x1b" not in shown.out and "[red]=1+1" in shown.out


def test_errors_name_the_study_in_what_they_advise(run: Run, tmp_path: Path) -> None:
    rows = "".join(f"x,{system},ann,{asked},1\n" for system in "ab" for asked in "qr")
    (tmp_path / "votes.csv").write_text(f"prompt,system,annotator,question,value\n{rows}")
    study = tmp_path / "my study"
    assert run("import", study, tmp_path / "votes.csv").code == 0
    ran = run("compare", study, "--by", "q")
    assert ran.code == 3 and f"sightline truth '{study}'" in ran.err and "STUDY" not in ran.err
    assert run("truth", study).code == 0
    ran = run("powered", study, "q", "r")
    assert ran.code == 3 and "r is a question" in ran.err and "sightline score" not in ran.err
