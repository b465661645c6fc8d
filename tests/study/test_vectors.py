"""Vectors: kept once an encoder and content, read through memory maps, whole after a crash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sightline.errors import DataError, StudyError
from sightline.study import vectors
from sightline.study.schema import database
from sightline.study.study import Study, create_study, open_study


def some(n: int, dimensions: int = 4, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, dimensions)).astype(np.float32)


def shards(study: Study) -> list[str]:
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
    assert shards(study) == ["000000.npy"]
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
    assert shards(study) == ["000000.npy"]
    np.testing.assert_array_equal(study.vectors.get("clip", ["a", "b"])[0], some(2))
    study.vectors.put("clip", ["b", "c", "c"], some(3, seed=9))
    assert np.load(study.vectors.folder / "clip" / "000000.npy").shape == (3, 4)
    np.testing.assert_array_equal(study.vectors.get("clip", ["c"])[0], some(3, seed=9)[1:2])


def test_a_crash_between_file_and_rows_does_no_harm(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    study.vectors.put("clip", ["a"], some(1))

    def crash(*given: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(database, "upsert", crash)
    with pytest.raises(KeyboardInterrupt):
        study.vectors.put("clip", ["b"], some(1, seed=1))
    monkeypatch.undo()
    assert np.load(study.vectors.folder / "clip" / "000000.npy").shape == (2, 4)  # the second is nobody's
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
    (study.vectors.folder / "clip" / "000000.npy").unlink()
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

    def late(engine: Any) -> Any:
        monkeypatch.undo()
        with open_study(study.home) as other:
            other.vectors.put("clip", ["a"], some(1, seed=5))
        return writing(engine)

    monkeypatch.setattr(database, "writing", late)
    study.vectors.put("clip", ["a", "b"], some(2))
    found, known = study.vectors.get("clip", ["a", "b"])
    assert known.all()
    np.testing.assert_array_equal(found, np.stack([some(1, seed=5)[0], some(2)[1]]))


def test_a_few_vectors_at_a_time_share_a_shard(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "SHARD_ROWS", 5)
    rows = some(12)
    for n in range(12):
        study.vectors.put("clip", [f"t{n}"], rows[n : n + 1])
    assert shards(study) == ["000000.npy", "000001.npy", "000002.npy"]
    found, known = study.vectors.get("clip", [f"t{n}" for n in range(12)])
    assert known.all()
    np.testing.assert_array_equal(found, rows)
