"""Vectors: kept once an encoder and content, read through memory maps, whole after a crash."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from processes import start

from sightline.errors import DataError, StudyError
from sightline.study import shards as shards_module
from sightline.study import vectors as vectors_module
from sightline.study.schema import database, tables
from sightline.study.shards import MOST_ROWS, Shard, to_join
from sightline.study.study import Study, create_study, open_study
from sightline.study.vectors import Vectors
from sightline.study.writing.copying import copy_study


def some(n: int, dimensions: int = 4, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, dimensions)).astype(np.float32)


def shards(study: Study) -> list[str]:
    assert study.vectors.folder is not None
    return sorted(path.name for path in study.vectors.folder.rglob("*.npy"))


def test_vectors_come_back_in_the_order_asked_for(study: Study) -> None:
    first, second = some(3), some(2, seed=1)
    study.vectors.put("clip", ["a", "b", "c"], first)
    study.vectors.put("clip", ["d", "e"], second)
    found, known = study.vectors.get("clip", ["e", "nobody", "a", "c", "a", "d"])
    assert known.tolist() == [True, False, True, True, True, True]
    expected = np.stack([second[1], np.zeros(4, np.float32), first[0], first[2], first[0], second[0]])
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == np.float32
    assert shards(study) == ["0000000000-0000000003.npy", "0000000003-0000000005.npy"]
    with open_study(study.home) as again:
        np.testing.assert_array_equal(again.vectors.get("clip", ["b"])[0], first[1:2])


def test_encoders_are_apart(study: Study) -> None:
    study.vectors.put("clip", ["a"], some(1))
    study.vectors.put("text", ["a"], some(1, 7, seed=3))
    assert study.vectors.get("clip", ["a"])[0].shape == (1, 4)
    assert study.vectors.get("text", ["a"])[0].shape == (1, 7)
    _, known = study.vectors.get("other", ["a"])
    assert known.tolist() == [False]


def test_shards_are_memory_mapped(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    study.vectors.put("clip", ["a", "b"], some(2))
    opened: list[Any] = []
    load = np.load

    def watched(*given: Any, **more: Any) -> Any:
        opened.append(load(*given, **more))
        return opened[-1]

    monkeypatch.setattr(np, "load", watched)
    study.vectors.get("clip", ["b", "a"])
    assert [type(each) for each in opened] == [np.memmap]


def test_known_contents_cost_nothing(study: Study) -> None:
    study.vectors.put("clip", ["a", "b"], some(2))
    study.vectors.put("clip", ["b", "a", "b"], some(3, seed=9))
    assert shards(study) == ["0000000000-0000000002.npy"]
    np.testing.assert_array_equal(study.vectors.get("clip", ["a", "b"])[0], some(2))
    study.vectors.put("clip", ["b", "c", "c"], some(3, seed=9))
    assert shards(study) == ["0000000000-0000000002.npy", "0000000002-0000000003.npy"]
    np.testing.assert_array_equal(study.vectors.get("clip", ["c"])[0], some(3, seed=9)[1:2])


def test_a_crash_between_file_and_rows_does_no_harm(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    study.vectors.put("clip", ["a"], some(1))

    def crash(*given: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Vectors, "_has", crash)
    with pytest.raises(KeyboardInterrupt):
        study.vectors.put("clip", ["b"], some(1, seed=1))
    monkeypatch.undo()
    assert shards(study) == [
        "0000000000-0000000001.npy",
        "0000000001-0000000002.npy",
    ]  # the second is nobody's
    assert study.vectors.get("clip", ["a", "b"])[1].tolist() == [True, False]
    study.vectors.put("clip", ["c", "b"], some(2, seed=2))
    np.testing.assert_array_equal(study.vectors.get("clip", ["c", "b"])[0], some(2, seed=2))
    np.testing.assert_array_equal(study.vectors.get("clip", ["a"])[0], some(1))


def test_what_is_not_finite_is_refused(study: Study) -> None:
    for bad in (np.nan, np.inf):
        matrix = some(2)
        matrix[1, 2] = bad
        with pytest.raises(DataError, match="not finite"):
            study.vectors.put("clip", ["a", "b"], matrix)
    assert study.vectors.get("clip", ["a", "b"])[1].tolist() == [False, False]
    assert shards(study) == []


def test_a_wrong_length_is_refused(study: Study) -> None:
    with pytest.raises(ValueError, match="2 contents but 3 vectors"):
        study.vectors.put("clip", ["a", "b"], some(3))


def test_nothing_asked_nothing_given(study: Study) -> None:
    study.vectors.put("clip", [], some(0))
    found, known = study.vectors.get("clip", [])
    assert (len(found), len(known)) == (0, 0)


def test_a_missing_shard_is_explained(study: Study) -> None:
    study.vectors.put("clip", ["a"], some(1))
    (study.home / "vectors" / "clip" / "0000000000-0000000001.npy").unlink()
    with pytest.raises(StudyError, match="vectors of the study cannot be read") as caught:
        study.vectors.get("clip", ["a"])
    assert "doctor" in caught.value.remedy


contents = st.lists(st.sampled_from("abcdefgh"), max_size=6)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(puts=st.lists(contents, max_size=5), asked=contents)
def test_the_first_vector_of_a_content_stays(
    tmp_path_factory: pytest.TempPathFactory, puts: list[list[str]], asked: list[str]
) -> None:
    first: dict[str, np.ndarray] = {}
    folder: Path = tmp_path_factory.mktemp("v") / "s"
    with create_study(folder) as study:
        for i, told in enumerate(puts):
            matrix = some(len(told), seed=i)
            study.vectors.put("clip", told, matrix)
            for content, row in zip(told, matrix, strict=True):
                first.setdefault(content, row)
        found, known = study.vectors.get("clip", asked)
        assert known.tolist() == [content in first for content in asked]
        for row, content in zip(found, asked, strict=True):
            assert np.array_equal(row, first[content]) if content in first else not row.any()


def test_two_writers_of_the_same_contents(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process keeps the same content between our look and our write: the first stays."""
    writing: Callable[..., Any] = database.writing

    def late(engine: Any, **more: Any) -> Any:
        monkeypatch.undo()
        with open_study(study.home) as other:
            other.vectors.put("clip", ["a"], some(1, seed=5))
        return writing(engine, **more)

    monkeypatch.setattr(database, "writing", late)
    study.vectors.put("clip", ["a", "b"], some(2))
    found, known = study.vectors.get("clip", ["a", "b"])
    assert known.all()
    np.testing.assert_array_equal(found, np.stack([some(1, seed=5)[0], some(2)[1]]))
    assert shards(study) == ["0000000000-0000000001.npy", "0000000001-0000000002.npy"]


def test_a_few_vectors_at_a_time_share_a_file(study: Study) -> None:
    rows = some(40)
    for n in range(40):
        study.vectors.put("clip", [f"t{n}"], rows[n : n + 1])
    assert len(shards(study)) < shards_module.FEW
    found, known = study.vectors.get("clip", [f"t{n}" for n in range(40)])
    assert known.all()
    np.testing.assert_array_equal(found, rows)


def test_a_file_is_plain_npy_with_its_hash_behind(study: Study) -> None:
    study.vectors.put("clip", ["a", "b"], some(2))
    (path,) = (study.home / "vectors").rglob("*.npy")
    np.testing.assert_array_equal(np.load(path), some(2))
    (shard,) = study.vectors.shards("clip")
    assert (shard.rows, shard.width) == (2, 4)
    assert path.read_bytes()[-32:] == hashlib.sha256(some(2).tobytes()).digest()
    assert study.vectors.is_whole("clip", shard)
    rotten = bytearray(path.read_bytes())
    rotten[shards_module.HEADER] ^= 1
    path.write_bytes(rotten)
    assert not study.vectors.is_whole("clip", shard)


sizes = st.lists(st.integers(1, 3000), min_size=1, max_size=60)


@settings(max_examples=30)
@given(sizes=sizes)
def test_joining_copies_each_row_a_logarithm_of_times(sizes: list[int]) -> None:
    """Hand arithmetic: each copy at least doubles a row's file, so 65,536 rows allow 16 copies of it."""
    held: list[Shard] = []
    at = copied = 0
    for rows in sizes:
        held.append(Shard(at, at + rows, 128 + 40 + rows * 16))
        at += rows
        while group := to_join(held):
            first, end = group[0].first, group[-1].end
            assert 2 * max(each.rows for each in group) <= end - first <= MOST_ROWS
            assert [each.end for each in group[:-1]] == [each.first for each in group[1:]]
            copied += end - first
            held = sorted(
                [*(each for each in held if each not in group), Shard(first, end, 168 + (end - first) * 16)]
            )
    assert copied <= at * 16
    assert [(0, held[-1].end)] == [(held[0].first, at)]
    # Between two files that are large enough to stay there are few small ones.
    assert len(held) <= 2 * (1 + at // (MOST_ROWS // 2)) + 16 * shards_module.FEW


def test_shards_that_cannot_be_joined() -> None:
    size = 168 + 4 * 16
    eight = [Shard(n * 4, n * 4 + 4, size) for n in range(8)]
    assert to_join(eight) == eight
    assert not to_join(eight[:7])
    assert not to_join([*eight[:4], *eight[5:]])  # rows between them may be on their way
    assert not to_join([*eight[:7], Shard(28, 32, size + 64)])  # another width
    assert not to_join([Shard(0, 1000, 168 + 16_000), *(Shard(n, n + 1, 184) for n in range(1000, 1007))])


def test_a_file_that_is_joined_meanwhile_is_looked_for_again(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = some(8)
    for n in range(7):
        study.vectors.put("clip", [f"t{n}"], rows[n : n + 1])
    opened = vectors_module.open_shard

    def late(path: Path) -> Any:
        monkeypatch.undo()
        with open_study(study.home) as other:
            other.vectors.put("clip", ["t7"], rows[7:])
        assert not path.exists()
        return opened(path)

    monkeypatch.setattr(vectors_module, "open_shard", late)
    np.testing.assert_array_equal(study.vectors.get("clip", [f"t{n}" for n in range(7)])[0], rows[:7])


def test_a_damaged_file_is_not_joined(study: Study) -> None:
    for n in range(7):
        study.vectors.put("clip", [f"t{n}"], some(1, seed=n))
    path = study.home / "vectors" / "clip" / "0000000003-0000000004.npy"
    rotten = bytearray(path.read_bytes())
    rotten[shards_module.HEADER + 1] ^= 1
    path.write_bytes(rotten)
    study.vectors.put("clip", ["t7"], some(1, seed=7))
    assert len(shards(study)) == 8
    np.testing.assert_array_equal(study.vectors.get("clip", ["t7"])[0], some(1, seed=7))


def test_a_sweep_between_file_and_entry_is_made_good(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    has = Vectors._has

    def swept(self: Vectors, encoder: str, shard: Shard) -> bool:
        monkeypatch.undo()
        for path in (study.home / "vectors").rglob("*.npy"):
            path.unlink()
        return has(self, encoder, shard)

    monkeypatch.setattr(Vectors, "_has", swept)
    study.vectors.put("clip", ["a", "b"], some(2))
    np.testing.assert_array_equal(study.vectors.get("clip", ["a", "b"])[0], some(2))


def test_rows_of_lost_files_are_not_given_out_twice(study: Study) -> None:
    study.vectors.put("clip", ["a", "b"], some(2))
    shutil.rmtree(study.home / "vectors")
    assert study.vectors.lost() == {"clip": 2}
    study.vectors.put("clip", ["c"], some(1, seed=1))
    np.testing.assert_array_equal(study.vectors.get("clip", ["c"])[0], some(1, seed=1))
    with pytest.raises(StudyError, match="cannot be read"):
        study.vectors.get("clip", ["a"])
    study.vectors.forget_lost()
    assert study.vectors.lost() == {}
    assert study.vectors.get("clip", ["a", "c"])[1].tolist() == [False, True]


def test_a_database_that_knows_less_than_the_files(study: Study) -> None:
    """As after a backup of the database was restored: rows that are in files are nobody's, and stay so."""
    study.vectors.put("clip", ["a", "b"], some(2))
    with database.writing(study.engine) as connection:
        connection.exec_driver_sql("DELETE FROM vector")
        connection.exec_driver_sql("DELETE FROM setting WHERE name LIKE 'vectors:%%'")
    with open_study(study.home) as again:
        again.vectors.put("clip", ["c"], some(1, seed=1))
        assert shards(again) == ["0000000000-0000000002.npy", "0000000002-0000000003.npy"]
        np.testing.assert_array_equal(again.vectors.get("clip", ["c"])[0], some(1, seed=1))


def former(study: Study, shards: list[int]) -> np.ndarray:
    """Vectors as they were written before 0.3: files with numbers, rows counted in each."""
    rows = some(sum(shards))
    at = 0
    for number, n in enumerate(shards):
        path = study.home / "vectors" / "clip" / f"{number:06d}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, rows[at : at + n])
        with database.writing(study.engine) as connection:
            entries = [("clip", f"t{at + row}", number, row) for row in range(n)]
            database.insert(connection, tables.vector, ["encoder", "content", "shard", "row"], entries)
        at += n
    return rows


def test_vectors_of_before_are_read_and_renumbered(study: Study) -> None:
    rows = former(study, [3, 2])
    names = [f"t{n}" for n in range(5)]
    np.testing.assert_array_equal(study.vectors.get("clip", names)[0], rows)
    study.vectors.put("clip", ["new"], some(1, seed=9))
    np.testing.assert_array_equal(study.vectors.get("clip", [*names, "new"])[0][:5], rows)
    assert study.vectors.lost() == {}
    assert study.vectors.renumber() == 5
    assert study.vectors.renumber() == 0
    found, known = study.vectors.get("clip", [*names, "new"])
    assert known.all()
    np.testing.assert_array_equal(found, np.concatenate([rows, some(1, seed=9)]))
    assert not list((study.home / "vectors").rglob("00000?.npy"))


def test_files_of_before_that_are_lost(study: Study) -> None:
    former(study, [3, 2])
    (study.home / "vectors" / "clip" / "000001.npy").unlink()
    assert study.vectors.lost() == {"clip": 2}
    study.vectors.forget_lost()
    assert study.vectors.get("clip", [f"t{n}" for n in range(5)])[1].tolist() == [True] * 3 + [False] * 2


WRITER = """
import sys
import numpy as np
from sightline.study.study import open_study
place, start, step = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with open_study(place) as study:
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(start, start + 20 * step, step):
        names = [str(n), str(n + 1), "both" + str(n // step)]
        study.vectors.put("clip", names, np.array([[n, 0], [n + 1, 0], [7, n // step]], dtype=np.float32))
"""


def test_two_processes_write_at_once(study: Study) -> None:
    writers = [start(WRITER, study.address, 1_000_000 * n, 2) for n in range(3)]
    for each in writers:
        assert each.stdout is not None and each.stdout.readline() == "ready\n"
    for each in writers:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    for each in writers:
        _, complaint = each.communicate()
        assert each.returncode == 0, complaint
    names = [str(1_000_000 * n + m) for n in range(3) for m in range(40)]
    found, known = study.vectors.get("clip", names)
    assert known.all()
    np.testing.assert_array_equal(found[:, 0], [float(name) for name in names])
    both = [f"both{1_000_000 * n // 2 + m}" for n in range(3) for m in range(20)]
    np.testing.assert_array_equal(study.vectors.get("clip", both)[0], [[7, float(b[4:])] for b in both])
    assert study.vectors.lost() == {}
    assert len(shards(study)) < 40


def test_copies_of_a_study_have_its_vectors(study: Study, tmp_path: Path) -> None:
    rows = some(20)
    study.vectors.put("clip", [f"t{n}" for n in range(15)], rows[:15])
    study.vectors.put("clip", [f"t{n}" for n in range(15, 20)], rows[15:])
    study.vectors.put("other", ["x"], some(1, 3))
    with copy_study(study, tmp_path / "copy") as copied:
        np.testing.assert_array_equal(copied.vectors.get("clip", [f"t{n}" for n in range(20)])[0], rows)
        copied.vectors.put("clip", ["new"], some(1, seed=3))
        np.testing.assert_array_equal(copied.vectors.get("clip", ["new"])[0], some(1, seed=3))
    path = next((study.home / "vectors" / "clip").glob("*15-*.npy"))
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with copy_study(study, tmp_path / "second") as copied:
        assert copied.vectors.get("clip", ["t14", "t15", "t19"])[1].tolist() == [True, False, False]
