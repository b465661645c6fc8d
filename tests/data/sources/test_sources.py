"""Reading what people hand in: every fault is told with file, line and remedy."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import pickle
import random
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.data.sources import Once, Row, Source, natural, prompt_ref
from sightline.errors import DataError, UsageError


def written(folder: Path, name: str, content: str | bytes) -> Source:
    data = content.encode() if isinstance(content, str) else content
    (folder / name).write_bytes(data)
    return Source(folder / name)


def all_rows(source: Source, *required: str) -> list[Row]:
    return list(source.rows(source.the_file(), required=required))


def test_rows_know_the_line_they_begin_on(tmp_path: Path) -> None:
    source = written(tmp_path, "a.csv", 'prompt,n\n"one\ntwo\nthree",1\n\nfour,2\r\n"fi""ve",3\n')
    found = all_rows(source)
    assert [(row.at, row.text("prompt"), row.whole("n")) for row in found] == [
        ("a.csv:2", "one\ntwo\nthree", 1),
        ("a.csv:6", "four", 2),
        ("a.csv:7", 'fi"ve', 3),
    ]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_every_kind_of_table_gives_the_same_cells(
    tmp_path: Path, table: Callable[..., Path], suffix: str
) -> None:
    told: list[dict[str, Any]] = [
        {"prompt": "a, b", "n": 3, "x": 0.25, "yes": True, "tags.a": "é"},
        {"prompt": "c\nd", "n": 4, "x": -1.0},
    ]
    if suffix == "jsonl":
        told[0]["tags"] = {"a": told[0].pop("tags.a")}
    first, second = all_rows(Source(table(tmp_path / f"t.{suffix}", told)))
    assert (first.text("prompt"), first.whole("n"), first.number("x")) == ("a, b", 3, 0.25)
    assert first.flag("yes") is True and first.group("tags.") == {"a": "é"}
    assert (second.text("prompt"), second.whole("n"), second.number("x")) == ("c\nd", 4, -1.0)
    assert second.flag("yes") is False and second.group("tags.") == {}
    assert second.at == {"csv": "t.csv:3", "tsv": "t.tsv:3", "jsonl": "t.jsonl:2"}.get(
        suffix, "t.parquet:row 2"
    )


BAD_FILES = {
    "empty": ("a.csv", b"", "a.csv", "empty"),
    "header only": ("a.csv", b"prompt,n\n", "a.csv", "no rows"),
    "missing column": ("a.csv", b"promt,n\nx,1\n", "a.csv:1", "no column prompt"),
    "half a row": ("a.csv", b"prompt,n\nx,1\ny\n", "a.csv:3", "1 cells where the header has 2"),
    "too many cells": ("a.csv", b"prompt,n\nx,1\na, b,1\n", "a.csv:3", "3 cells where the header has 2"),
    "latin-1": ("a.csv", b"prompt,n\nx,1\ncaf\xe9,2\n", "a.csv:3", "byte 0xe9 at offset 16"),
    "utf-16": ("a.csv", "prompt,n\nx,1\n".encode("utf-16"), "a.csv:1", "UTF-16"),
    "NUL": ("a.csv", b"prompt,n\nx\0,1\n", "a.csv:2", "NUL byte at offset 10"),
    "semicolons": ("a.csv", b"prompt;n\nx;1\n", "a.csv:1", "a semicolon between"),
    "tabs": ("a.csv", b"prompt\tn\nx\t1\n", "a.csv:1", "a tab between"),
    "open quote": ("a.csv", b'prompt,n\nx,1\n"y,2\nz,3\n', "a.csv:3", "never closed"),
    "stray quote": ("a.csv", b'prompt,n\n"x"y,1\n', "a.csv:2", "quotes"),
    "old line ends": ("a.csv", b"prompt,n\rx,1\r", "a.csv:1", "carriage return"),
    "same column twice": ("a.csv", b"prompt,n,n\nx,1,2\n", "a.csv:1", "two columns called 'n'"),
    "no JSON": ("a.jsonl", b'{"prompt": "x"}\n{"prompt": \n', "a.jsonl:2", "not JSON"),
    "no object": ("a.jsonl", b"[1]\n", "a.jsonl:1", "not a JSON object"),
    "key twice": ("a.jsonl", b'{"prompt": "x", "prompt": "y"}\n', "a.jsonl:1", "'prompt' is there twice"),
    "NaN": ("a.jsonl", b'{"prompt": "x", "n": NaN}\n', "a.jsonl:1", "NaN"),
    "lone surrogate": ("a.jsonl", b'{"prompt": "\\ud800"}\n', "a.jsonl:1", "half a character"),
    "escaped NUL": ("a.jsonl", b'{"prompt": "a\\u0000"}\n', "a.jsonl:1", "NUL"),
    "deep": ("a.jsonl", b'{"prompt": ' + b"[" * 100_000 + b"\n", "a.jsonl:1", "not JSON"),
    "no key": ("a.jsonl", b'{"prompt": "x"}\n{"n": 1}\n', "a.jsonl:2", "no column prompt"),
    "no Parquet": ("a.parquet", b"PAR1 nonsense", "a.parquet", "not a readable Parquet file"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_told_with_place_and_remedy(tmp_path: Path, name: str) -> None:
    file, content, where, what = BAD_FILES[name]
    with pytest.raises(DataError) as caught:
        all_rows(written(tmp_path, file, content), "prompt")
    assert caught.value.where == where
    assert what in caught.value.what
    assert caught.value.remedy
    assert caught.value.exit_code == 3


def test_a_missing_column_suggests_the_near_one_and_the_mapping(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        all_rows(written(tmp_path, "a.csv", "promt,n\nx,1\n"), "prompt")
    assert "promt" in caught.value.remedy and "--column prompt=THEIRS" in caught.value.remedy


def test_text_that_only_looks_suspicious_is_taken_as_it_is(tmp_path: Path) -> None:
    source = written(tmp_path, "a.jsonl", '{"prompt": "back\\\\u0000slash \\u00e9 \\ud83d\\ude00"}\n')
    assert all_rows(source)[0].text("prompt") == "back\\u0000slash é 😀"
    with_mark = written(tmp_path, "b.csv", b"\xef\xbb\xbfprompt\ncaf\xc3\xa9\n")
    assert all_rows(with_mark, "prompt")[0].text("prompt") == "café"


@pytest.mark.parametrize(
    ("getter", "cell", "what"),
    [
        ("number", "nan", "finite"),
        ("number", "inf", "finite"),
        ("number", "1e999", "finite"),
        ("number", "1_000", "finite"),
        ("number", "four", "finite"),
        ("number", "", "empty"),
        ("whole", "2.5", "whole"),
        ("whole", "9" * 30, "whole"),
        ("whole", "nan", "whole"),
        ("count", "-1", "0 or more"),
        ("flag", "maybe", "yes or no"),
        ("text", "  ", "empty"),
    ],
)
def test_a_bad_cell_is_told_with_place_and_column(tmp_path: Path, getter: str, cell: str, what: str) -> None:
    row = all_rows(written(tmp_path, "a.csv", f"x,y\n1,1\n{cell},1\n"))[1]
    with pytest.raises(DataError) as caught:
        getattr(row, getter)("x")
    assert caught.value.where == "a.csv:3"
    assert "x " in caught.value.what and what in caught.value.what and caught.value.remedy


def test_numbers_as_table_programs_write_them(tmp_path: Path) -> None:
    row = all_rows(written(tmp_path, "a.csv", "a,b,c,d\n3.0,+7, 8 ,-2\n"))[0]
    assert (row.whole("a"), row.whole("b"), row.whole("c"), row.whole("d")) == (3, 7, 8, -2)
    assert row.number("c") == 8.0
    assert row.whole("absent", None) is None


def test_column_mapping(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("caption,kind\nx,y\n")
    source = Source(tmp_path / "a.csv", columns={"prompt": "caption", "tags.kind": "kind"})
    row = next(source.rows("a.csv", required=("prompt",)))
    assert row.text("prompt") == "x" and row.group("tags.") == {"kind": "y"}
    assert {"prompt", "tags.kind"} <= set(source.header("a.csv"))
    source.check_columns_used()
    wrong = Source(tmp_path / "a.csv", columns={"prompt": "captoin"})
    with pytest.raises(DataError, match=r"no column 'captoin'.*\n.*caption"):
        next(wrong.rows("a.csv", required=("prompt",)))
    idle = Source(tmp_path / "a.csv", columns={"tags.x": "nothing"})
    list(idle.rows("a.csv"))
    with pytest.raises(UsageError, match=r"tags\.x=nothing was not used"):
        idle.check_columns_used()


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), min_size=1), min_size=1
    )
)
def test_any_text_comes_through_csv_and_jsonl_unchanged(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("texts")
    with (folder / "a.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
        writer.writerows([["prompt"], *([text] for text in texts)])
    (folder / "a.jsonl").write_text("".join(json.dumps({"prompt": text}) + "\n" for text in texts))
    for name in ("a.csv", "a.jsonl"):
        assert [row.get("prompt") for row in Source(folder / name).rows(name)] == texts
    # Each row begins after all the line ends of the rows before it.
    begun = 2
    for row, text in zip(Source(folder / "a.csv").rows("a.csv"), texts, strict=True):
        assert row.line == begun
        begun += 1 + text.count("\n")


@pytest.mark.parametrize(
    "path",
    ["../out.png", "a/../../out.png", "/etc/hostname", "C:\\x.png", "\\\\host\\x", "a\\..\\..\\x", "a\0b"],
)
def test_a_path_that_leaves_the_folder_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out.png").write_bytes(b"x")
    with pytest.raises(DataError, match="leaves the folder") as caught:
        Source(tmp_path / "in").inside(path, "a.csv:7")
    assert caught.value.where == "a.csv:7" and caught.value.remedy


def test_links_may_not_lead_out(tmp_path: Path) -> None:
    inner = tmp_path / "in"
    (inner / "deep").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("x")
    (inner / "real.png").write_bytes(b"x")
    os.symlink(inner / "real.png", inner / "good.png")
    source = Source(inner)
    assert source.picture("good.png") is not None
    assert source.pictures() == ["good.png", "real.png"]
    os.symlink(tmp_path / "secret.txt", inner / "deep" / "bad.png")
    os.symlink(tmp_path, inner / "up")
    with pytest.raises(DataError, match="leaves the folder"):
        Source(inner).picture("deep/bad.png")
    with pytest.raises(DataError, match="leaves the folder"):
        Source(inner).picture("up/secret.txt")
    with pytest.raises(DataError, match="leaves the folder"):
        Source(inner).pictures("deep")


def test_a_link_back_to_its_own_folder_does_not_go_round_in_circles(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.png").write_bytes(b"x")
    os.symlink(tmp_path / "a", tmp_path / "a" / "again")
    source = Source(tmp_path)
    assert len(source.digest()) == 64
    assert source.skipped == {"links to folders or to nothing": ["a/again"]}


def test_odd_paths_that_stay_inside_are_fine(tmp_path: Path) -> None:
    (tmp_path / "..dots").mkdir()
    (tmp_path / "..dots" / "a..b.png").write_bytes(b"x")
    source = Source(tmp_path)
    assert source.picture("..dots/a..b.png") == str(tmp_path / "..dots" / "a..b.png")
    assert source.picture("https://example.org/x.png") is None
    assert source.picture("x" * 5000) is None


class Hostile:
    def __reduce__(self) -> tuple[Any, ...]:
        return (os.system, ("touch was_here",))


@pytest.mark.parametrize("protocol", range(2, 6))
def test_a_pickle_cannot_run_code(tmp_path: Path, protocol: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.pickle").write_bytes(pickle.dumps({1: Hostile()}, protocol))
    with pytest.raises(DataError) as caught:
        Source(tmp_path).pickle("a.pickle")
    assert "posix.system" in caught.value.what and caught.value.where == "a.pickle"
    assert not (tmp_path / "was_here").exists()
    pickle.loads((tmp_path / "a.pickle").read_bytes())
    assert (tmp_path / "was_here").exists(), "the pickle would have run"


@pytest.mark.parametrize("protocol", range(2, 6))
def test_plain_pickles_and_arrays_come_through(tmp_path: Path, protocol: int) -> None:
    told: dict[Any, Any] = {
        0: [np.int64(7), 8, 2.5, "text", None, True, b"bytes"],
        "set": {1, 2},
        "order": OrderedDict(a=1),
        "array": np.arange(6, dtype=">f4").reshape(2, 3),
        "columns first": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "words": np.array(["a", "bcd"]),
        "pair": (1, np.float32(0.5)),
    }
    (tmp_path / "a.pickle").write_bytes(pickle.dumps(told, protocol))
    found = Source(tmp_path).pickle("a.pickle")
    assert found[0] == [7, 8, 2.5, "text", None, True, b"bytes"] and type(found[0][0]) is int
    assert found["set"] == {1, 2} and found["order"] == {"a": 1} and found["pair"] == (1, 0.5)
    for name in ("array", "columns first", "words"):
        assert np.array_equal(found[name], told[name]) and found[name].dtype == told[name].dtype


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps(np.array([{}], dtype=object)),
        pickle.dumps(np.dtype("f8")),
        pickle.dumps(np.zeros(2, dtype=[("a", "f8")])),
        pickle.dumps(OrderedDict),
        b"\x80\x04nonsense",
        b"",
    ],
    ids=["objects", "dtype", "records", "a bare class", "damaged", "empty"],
)
def test_other_pickles_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.pickle").write_bytes(content)
    with pytest.raises(DataError) as caught:
        Source(tmp_path).pickle("a.pickle")
    assert caught.value.where == "a.pickle"


def test_the_digest_follows_what_is_imported(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("prompt\nx\n")
    (tmp_path / "a.png").write_bytes(b"one")
    (tmp_path / ".hidden").write_text("x")
    before = Source(tmp_path).digest()
    (tmp_path / ".hidden").write_text("y")
    assert Source(tmp_path).digest() == before
    (tmp_path / "a.csv").write_text("prompt\ny\n")
    after = Source(tmp_path).digest()
    assert after != before
    (tmp_path / "a.png").write_bytes(b"three")
    assert Source(tmp_path).digest() != after
    alone = Source(tmp_path / "a.csv").digest()
    assert alone == Source(tmp_path / "a.csv").digest()
    assert alone != Source(tmp_path / "a.csv", columns={"prompt": "x"}).digest()


def test_missing_things(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file or folder"):
        Source(tmp_path / "nothing")
    with pytest.raises(DataError, match="no such file"):
        list(Source(tmp_path).rows("nothing.csv"))
    with pytest.raises(DataError, match=r"cannot be read from a \.xlsx file"):
        list(written(tmp_path, "a.xlsx", b"PK").rows("a.xlsx"))
    with pytest.raises(DataError, match=r"a\.json:2: not JSON"):
        (tmp_path / "a.json").write_text('{"a": 1,\n oops}')
        Source(tmp_path).json("a.json")


def test_small_tools() -> None:
    assert sorted(["10.png", "2.png", "a1", "1.png"], key=natural) == ["1.png", "2.png", "10.png", "a1"]
    # printf 'a red ball' | sha256sum
    assert prompt_ref("a red ball") == "9bc68b58423cea50"
    once = Once()
    assert [once.new(each) for each in ("a", "b", "a")] == [True, True, False]


def test_a_row_costs_little_more_than_csv(tmp_path: Path) -> None:
    out = io.StringIO()
    csv.writer(out).writerows([["prompt", "n"], *([f"prompt {n}", n] for n in range(50_000))])
    source = written(tmp_path, "a.csv", out.getvalue())
    began = time.process_time()
    total = sum(row.whole("n") for row in source.rows("a.csv") if row.text("prompt") and row.at)
    ours = time.process_time() - began
    plain = sum(int(row["n"]) for row in csv.DictReader(io.StringIO(out.getvalue())) if row["prompt"])
    theirs = time.process_time() - began - ours
    assert total == plain == 50_000 * 49_999 // 2 and ours < 10 * theirs


def test_packed_files_are_told_as_such_even_if_cut_short(tmp_path: Path) -> None:
    whole = gzip.compress(b"prompt,image,system\na,b.png,c\n")
    for data in (whole, whole[:12]):
        (tmp_path / "x.csv.gz").write_bytes(data)
        with pytest.raises(DataError, match="packed") as caught:
            Source(tmp_path / "x.csv.gz")
        assert "gunzip -k x.csv.gz" in caught.value.remedy


def nested(levels: int) -> list[Any]:
    """A list of two references to a list of two references, and so on."""
    made: list[Any] = [1]
    for _ in range(levels):
        made = [made, made]
    return made


def itself() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


def test_a_pickle_that_unfolds_is_read_once_and_refused(tmp_path: Path) -> None:
    (tmp_path / "a.pickle").write_bytes(pickle.dumps(nested(10)))
    assert Source(tmp_path).pickle("a.pickle") == nested(10)
    for content, what in ((nested(60), "unfolds to more than"), (itself(), "contains itself")):
        (tmp_path / "a.pickle").write_bytes(pickle.dumps(content))
        with pytest.raises(DataError, match=what):
            Source(tmp_path).pickle("a.pickle")


@pytest.mark.parametrize(
    "content",
    [
        # A place in the memo far beyond what is there: the table of places would take 16 GB.
        b"\x80\x02K\x01r\xff\xff\xff\x7f.",
        # Bytes of a length that is not there.
        b"\x80\x04\x8e" + (2**40).to_bytes(8, "little") + b"abc.",
        b"\x80\x02" + b"(" * 1_000_000,
        b"\x80\x02}" + b"(" + b"K\x01t" * 5_000 + b"K\x01s.",
    ],
    ids=["memo", "length", "marks", "tuples"],
)
def test_a_pickle_that_lies_about_its_size_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.pickle").write_bytes(content)
    with pytest.raises(DataError) as caught:
        Source(tmp_path).pickle("a.pickle")
    assert caught.value.where == "a.pickle"


def test_a_parquet_file_that_unfolds_is_refused(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def repeated(text: str, rows: int) -> Any:
        indices = pa.array([0] * rows, pa.int32())
        return pa.DictionaryArray.from_arrays(indices, pa.array([text]))

    path = tmp_path / "a.parquet"
    for column, what in (
        (repeated("A" * 1_000_000, 20_000), "a text of more than 131,072 bytes"),
        (repeated("A" * 100_000, 20_000), "unfold to more than"),
        (repeated("A", 5_000_000), "5,000,000 rows: more than"),
    ):
        pq.write_table(pa.table({"prompt": column}), path, compression="zstd")
        assert path.stat().st_size < 100_000
        with pytest.raises(DataError, match=what) as caught:
            all_rows(Source(path), "prompt")
        assert caught.value.where.startswith("a.parquet")
    pq.write_table(pa.table({"prompt": repeated("A" * 1_000, 20_000)}), path)
    assert len(all_rows(Source(path), "prompt")) == 20_000


def test_rows_of_many_slices_keep_their_numbers(tmp_path: Path) -> None:
    import polars as pl

    chance = random.Random(0)
    texts = [f"{n:06d}" + chance.randbytes(5_000).hex() for n in range(12_000)]
    pl.DataFrame({"prompt": texts}).write_parquet(tmp_path / "a.parquet")
    rows = Source(tmp_path).rows("a.parquet", required=("prompt",))
    assert [(row.at, row.text("prompt")[:6]) for row in rows] == [
        (f"a.parquet:row {n + 1}", f"{n:06d}") for n in range(12_000)
    ]


BUDGETS = {
    "long line": (
        "a.jsonl",
        b'{"prompt": "x"}\n{"prompt": "' + b"x" * 17_000_000,
        "a.jsonl:2",
        "a line of more",
    ),
    "long text": (
        "a.jsonl",
        b'{"prompt": "' + b"x" * 140_000 + b'"}\n',
        "a.jsonl:1",
        "prompt: a text of more",
    ),
    "long cell": ("a.csv", b"prompt\n" + b"x" * 140_000 + b"\n", "a.csv:2", "131,072 characters"),
    "many lists": (
        "a.jsonl",
        b'{"prompt": [' + b"[]," * 2_500_000 + b"0]}\n",
        "a.jsonl:1",
        "more than 2,000,000 lists",
    ),
    "many columns": ("a.csv", b",".join(b"c%d" % n for n in range(6_000)), "a.csv:1", "6,000 columns"),
    "one key at the end twice": (
        "a.jsonl",
        b"{" + b",".join(b'"k%d":0' % n for n in range(200_000)) + b',"k199999":0}',
        "a.jsonl:1",
        "'k199999' is there twice",
    ),
    "deep escapes": (
        "a.jsonl",
        b'{"prompt": "x", "n": ' + b"[" * 200 + b'"\\u0041"' + b"]" * 200 + b"}\n",
        "a.jsonl:1",
        "nested too deeply",
    ),
}


@pytest.mark.parametrize("name", BUDGETS)
def test_text_has_its_budget(tmp_path: Path, name: str) -> None:
    file, content, where, what = BUDGETS[name]
    with pytest.raises(DataError) as caught:
        all_rows(written(tmp_path, file, content), "prompt")
    assert caught.value.where == where
    assert what in caught.value.what


def test_json_has_its_budget(tmp_path: Path) -> None:
    with (tmp_path / "a.json").open("wb") as file:
        file.truncate(65_000_000)
    with pytest.raises(DataError, match="more than the 64,000,000 that are read"):
        Source(tmp_path).json("a.json")


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.csv")
    os.mkfifo(tmp_path / "b.png")
    with pytest.raises(DataError, match="it is a pipe, not a file"):
        Source(tmp_path / "a.csv")
    source = Source(tmp_path)
    assert list(source.files()) == [] and source.pictures() == []
    assert source.skipped_count == {"pipes, sockets or devices": 2}
    with pytest.raises(DataError, match="it is a pipe, not a file"):
        source.text("a.csv")
    with pytest.raises(DataError, match="it is a device, not a file"):
        Source("/dev/zero")
