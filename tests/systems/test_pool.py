"""Pools: depth across engines, PQPP's captions, ConQA's neighbours; judged by a round and settled."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from studies import put, rankings, study_of

import sightline
from sightline.data.imports import undo
from sightline.errors import ConflictError, DataError, UsageError
from sightline.extension import Spec
from sightline.judging.items import build
from sightline.judging.rounds import round_settings
from sightline.records import (
    AnnotatorKey,
    Answer,
    Image,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Question,
    Record,
    System,
    Truth,
)
from sightline.study import reading
from sightline.study.pools import pools
from sightline.study.study import Study, create_study, open_study
from sightline.systems.pool import pool


def run(system: str, ref: str, *images: str, collection: str = "paints") -> list[Record]:
    records: list[Record] = [System(system, "retriever", collection)]
    for place, name in enumerate(images):
        key = ImageKey(collection, name)
        records.append(Answer(PromptKey("suite", ref), system, place, key, 1.0 - place / 100))
    return records


@pytest.fixture
def ranked(painted: Study) -> Study:
    records = [*run("one", "r", "rose", "grape", "sea"), *run("two", "r", "leaf", "rose", "grape")]
    records += run("two", "b", "sea", "leaf", "grape")
    put(painted, records, "runs")
    return painted


def test_depth_is_the_union_of_the_first_ones(ranked: Study) -> None:
    done = pool(ranked, depth=2)
    # For r: one gives rose, grape; two gives leaf, rose. Best ranks: rose 1, leaf 1, grape 2.
    assert rankings(ranked, "pool") == {
        "r": [("rose", 1.0), ("leaf", 1.0), ("grape", 0.5)],
        "b": [("sea", 1.0), ("leaf", 0.5)],
    }
    assert (done.prompts, done.pairs, done.fewest, done.most, done.unseen) == (2, 5, 2, 3, 0)
    assert pools(ranked) == {"pool"}
    pool(ranked, "narrow", systems=["one"], depth=1)
    assert rankings(ranked, "narrow") == {"r": [("rose", 1.0)]}


def test_a_pool_is_no_engine_to_pool_from(ranked: Study) -> None:
    pool(ranked, "first", depth=1)
    pool(ranked, "second", depth=1)
    assert rankings(ranked, "second") == rankings(ranked, "first")


def test_twice_is_as_once_and_undone_at_once(ranked: Study) -> None:
    first = pool(ranked, depth=2)
    assert pool(ranked, depth=2).already
    with pytest.raises(ConflictError):
        pool(ranked, depth=3)
    assert pool(ranked, depth=3, replace=True).pairs == 7
    undo(ranked, first.number + 1)
    assert rankings(ranked, "pool") == {} and pools(ranked) == set()


def test_a_pool_is_judged_and_settled(ranked: Study, tmp_path: Path) -> None:
    pool(ranked, depth=2)
    settings = '\n[annotate.pool]\nmode = "binary_relevance"\nsystems = ["pool"]\n'
    with (ranked.home / "study.toml").open("a") as file:
        file.write(settings)
    with open_study(ranked.home) as study:
        items = build(study, round_settings(study, "pool"))
        shown = {slot.ids[:3] for item in items for slot in item.slots}
        answers = reading.answers(study).filter(pl.col("system") == "pool")
        assert shown == {(p, 0, i) for p, i in answers.select("prompt_id", "image_id").iter_rows()}
        # What people say of the pool is the relevance of every engine that found the same image.
        votes = [
            Judgement(
                "relevance",
                Item(PromptKey("suite", "r"), image=ImageKey("paints", name)),
                float(name == "leaf"),
                AnnotatorKey("people", "ann"),
            )
            for name in ("rose", "leaf", "grape")
        ]
        asked = [Question("relevance", "ordinal", 0, 1, 1), *votes]
        put(study, asked, "votes")
        sightline.truth(study, "relevance", rule="any_relevant")
        sightline.score(study, "reciprocal_rank")
        scores = reading.scores(study, reading.measures(study)["identity"][0])
        names = dict(reading.systems(study).select("system_id", "system").iter_rows())
        found = {names[row[1]]: row[3] for row in scores.iter_rows() if row[0] == 1}
        assert found["two"] == 1.0 and found["one"] == 0.0


def test_the_pairs_as_a_file(ranked: Study, tmp_path: Path) -> None:
    written = pl.read_csv(pool(ranked, depth=1, to=tmp_path / "pairs.csv").path)
    assert written.columns == ["suite", "prompt_id", "prompt", "collection", "image", "score"]
    assert written.select("prompt_id", "image").rows() == [("r", "rose"), ("r", "leaf"), ("b", "sea")]


# -- PQPP -------------------------------------------------------------------------------------------------


def test_captions_above_a_cosine(painted: Study, colours: str) -> None:
    done = pool(painted, by="captions", encoder=colours, above=0.7)
    half = pytest.approx(1 / np.sqrt(2))
    # "red blue fruit" has a cosine of .7071 with "red" and with "blue".
    assert rankings(painted, "pool") == {
        "r": [("rose", pytest.approx(1.0)), ("grape", half)],
        "b": [("sea", pytest.approx(1.0)), ("grape", half)],
        "g": [("leaf", pytest.approx(1.0))],
    }
    assert done.how.startswith("by=captions, encoder=colours")
    pool(painted, "strict", by="captions", encoder=colours, above=0.71)
    assert rankings(painted, "strict")["r"] == [("rose", pytest.approx(1.0))]


@pytest.fixture
def words(tmp_path: Path, colours: str) -> Iterator[Study]:
    """Twelve images whose captions all have cosine 1 with the query; every third says all of its words."""
    records: list[Record] = [Prompt(PromptKey("suite", "q"), "red and red"), Image(ImageKey("words", "none"))]
    for n in range(12):
        captions = ["red", "and Red again"] if n % 3 == 0 else ["red"]
        records.append(Image(ImageKey("words", f"{n:02}"), captions=captions))
    with study_of(tmp_path / "words", records) as made:
        yield made


def test_past_a_rank_all_words_must_be_there(words: Study) -> None:
    told = {"by": "captions", "collection": "words", "encoder": "colours"}
    pool(words, "all", **told, contained_after=12)  # type: ignore[arg-type]
    assert len(rankings(words, "all")["q"]) == 12
    pool(words, "few", **told, contained_after=4)  # type: ignore[arg-type]
    # Equal cosines keep the order of the collection: 00 to 03 stay, then 06 and 09: "and", and "red" twice.
    assert [name for name, _ in rankings(words, "few")["q"]] == ["00", "01", "02", "03", "06", "09"]
    # The cap counts what stays, not what was looked at.
    pool(words, "cap", **told, contained_after=4, most=5)  # type: ignore[arg-type]
    assert [name for name, _ in rankings(words, "cap")["q"]] == ["00", "01", "02", "03", "06"]
    done = pool(words, "none", **told, contained_after=0, most=9)  # type: ignore[arg-type]
    assert [name for name, _ in rankings(words, "none")["q"]] == ["00", "03", "06", "09"]
    assert done.unseen == 4


# -- ConQA ------------------------------------------------------------------------------------------------


def with_seeds(study: Study, **seeds: list[str]) -> None:
    records: list[Record] = [Question("seed", "ordinal", 0, 1, 1)]
    for ref, names in seeds.items():
        for name in names:
            records.append(Truth("seed", Item(PromptKey("suite", ref), image=ImageKey("paints", name)), 1.0))
    put(study, records, "seeds")


def test_seeds_grow_by_their_nearest_images(painted: Study, colours: str) -> None:
    with_seeds(painted, r=["rose"], b=["sea", "leaf"])
    done = pool(painted, by="neighbours", encoder=colours, neighbours=1)
    half = pytest.approx(1 / np.sqrt(2))
    # Grape is half red, half blue: next to the rose, and of the set sea, leaf next to the sea.
    assert rankings(painted, "pool") == {
        "r": [("rose", 1.0), ("grape", half)],
        "b": [("sea", 1.0), ("leaf", 1.0), ("grape", half)],
    }
    assert (done.prompts, done.pairs, dict(done.left_out)) == (2, 5, {})
    pool(painted, "wide", by="neighbours", encoder=colours, neighbours=100)
    assert [len(rows) for rows in rankings(painted, "wide").values()] == [4, 4]


def test_growth_equals_a_loop_over_all_images(painted: Study, tmp_path: Path, colours: str) -> None:
    from PIL import Image as Pillow

    rng = np.random.default_rng(0)
    records: list[Record] = []
    for n in range(60):
        Pillow.new("RGB", (4, 4), tuple(int(x) for x in rng.integers(1, 255, 3))).save(tmp_path / f"{n}.png")
        records.append(Image(ImageKey("paints", str(n)), str(tmp_path / f"{n}.png")))
    put(painted, records, "more")
    seeds = ["3", "17", "40"]
    with_seeds(painted, g=seeds)
    pool(painted, by="neighbours", encoder=colours, neighbours=12)
    images = reading.images(painted).filter(pl.col("collection") == "paints")
    rows = np.array([painted.files.picture(sha).rgb.mean(axis=(0, 1)) for sha in images["sha256"]])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    names = images["name"].to_list()
    nearest = (rows @ rows[[names.index(seed) for seed in seeds]].T).max(axis=1)
    others = sorted(
        (name for name in names if name not in seeds), key=lambda name: -nearest[names.index(name)]
    )
    assert [name for name, _ in rankings(painted, "pool")["g"]] == [*seeds, *others[:12]]


def test_seeds_without_a_file_are_counted(painted: Study, colours: str) -> None:
    put(painted, [Image(ImageKey("paints", "ghost"))], "ghost")
    with_seeds(painted, r=["rose", "ghost"], b=["ghost"])
    done = pool(painted, by="neighbours", encoder=colours, neighbours=1)
    assert set(rankings(painted, "pool")) == {"r"}
    assert done.left_out == {"a seed has no readable file in this collection": 2}


@pytest.mark.parametrize(
    ("told", "error", "said"),
    [
        ({"by": "deph"}, UsageError, "Did you mean depth"),
        ({"depth": 0}, UsageError, "1 or more"),
        ({"above": 1.5}, UsageError, "above from -1"),
        ({"systems": ["on"]}, UsageError, "Did you mean one"),
        ({"suite": "sute"}, UsageError, "Did you mean suite"),
        ({"name": "one"}, UsageError, "is an engine of this study"),
        ({"by": "captions", "encoder": "colour_layout"}, UsageError, "encodes no texts"),
        ({"by": "captions", "encoder": "colours", "collection": "paint"}, UsageError, "Did you mean paints"),
        ({"by": "captions", "encoder": "colours", "above": 0.9999999}, DataError, "the pool is empty"),
        ({"by": "neighbours", "encoder": "hashed_words"}, UsageError, "encodes no images"),
        ({"by": "neighbours", "encoder": "colours"}, UsageError, "no question is called 'seed'"),
    ],
)
def test_wrong_calls_are_refused(
    ranked: Study, told: dict[str, object], error: type[Exception], said: str
) -> None:
    if told.get("above") == 0.9999999:
        put(ranked, [Prompt(PromptKey("x", "x"), "zebra")], "t")
        told = {**told, "suite": "x"}
    with pytest.raises(error, match=said):
        pool(ranked, **told)  # type: ignore[arg-type]
    assert rankings(ranked, "pool") == {}


def test_a_study_without_engines_captions_or_files(painted: Study, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no engine has answered yet"):
        pool(painted)
    with create_study(tmp_path / "bare") as bare:
        records = [Prompt(PromptKey("s", "q"), "red"), Image(ImageKey("c", "x")), Question("seed")]
        put(bare, records, "t")
        with pytest.raises(DataError, match="no image of collection 'c' has a caption"):
            pool(bare, by="captions", encoder="colours")
        with pytest.raises(DataError, match="no image of collection 'c' has its file"):
            pool(bare, by="neighbours", encoder="colours")


def test_only_some_images_are_rankings(painted: Study, colours: str) -> None:
    only = [ImageKey("paints", "leaf"), ImageKey("paints", "sea"), ImageKey("elsewhere", "grape")]
    pool(painted, "captions", by="captions", encoder=colours, only=only)
    assert {name for rows in rankings(painted, "captions").values() for name, _ in rows} == {"leaf", "sea"}
    with_seeds(painted, r=["rose"])
    pool(painted, "grown", by="neighbours", encoder=colours, only=only, neighbours=9)
    assert [name for name, _ in rankings(painted, "grown")["r"]] == ["rose", "sea", "leaf"]


def kept(study: Study, name: str) -> dict[str, object]:
    """The settings that a pool is kept with."""
    rows = reading.fetch_rows(
        study,
        "SELECT DISTINCT CAST(t.json AS TEXT) FROM answer a JOIN system s ON s.id = a.system_id "
        "JOIN settings t ON t.id = a.settings_id WHERE s.name = :name",
        name=name,
    )
    settings: dict[str, object] = json.loads(rows[0][0])["pool"]
    return settings


def test_what_was_left_out_beforehand_is_kept_with_the_pool(painted: Study, colours: str) -> None:
    only = [ImageKey("paints", "leaf"), ImageKey("paints", "sea"), ImageKey("elsewhere", "grape")]
    told = {"by": "captions", "encoder": colours}
    pool(painted, "all", **told)  # type: ignore[arg-type]
    assert "only" not in kept(painted, "all")
    done = pool(painted, "some", **told, only=only)  # type: ignore[arg-type]
    digest = hashlib.sha256(b"leaf\0sea").hexdigest()[:16]
    assert kept(painted, "some")["only"] == f"named images (2, sha256 {digest})"
    assert f"only=named images (2, sha256 {digest})" in done.how
    # The same pairs of other images to choose from are another pool.
    assert pool(painted, "some", **told, only=only[::-1]).already  # type: ignore[arg-type]
    more = [*only, ImageKey("paints", "ghost")]
    with pytest.raises(ConflictError):
        pool(painted, "some", **told, only=more)  # type: ignore[arg-type]


def test_looks_are_those_of_a_network_where_there_is_one(
    painted: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_seeds(painted, r=["rose"])
    done = pool(painted, "network", by="neighbours", neighbours=1)
    assert "encoder=efficientnet_lite0(" in done.how and "encoder_because" not in kept(painted, "network")
    missing = Spec.missing
    monkeypatch.setattr(
        Spec, "missing", lambda self: ["nothing"] if self.name == "efficientnet_lite0" else missing(self)
    )
    done = pool(painted, "plain", by="neighbours", neighbours=1)
    assert "encoder=colour_layout" in done.how and "efficientnet_lite0 cannot be loaded here" in done.how
    assert "needs nothing" in str(kept(painted, "plain")["encoder_because"])
