"""An engine of our own that finds nothing is not let off: its prompts count as empty rankings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from studies import put, study_of

import sightline
from sightline.comparison.compare import compare
from sightline.measures.rankings import rankings_of
from sightline.measures.score import score
from sightline.records import (
    Answer,
    Image,
    ImageKey,
    Item,
    Prompt,
    PromptKey,
    Question,
    Record,
    System,
    Truth,
)
from sightline.study import reading
from sightline.study.study import Study
from sightline.systems.fuse import fuse
from sightline.systems.ranking import NOTHING
from sightline.systems.rerank import rerank


def key(n: int) -> PromptKey:
    return PromptKey("q", str(n))


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    """Four prompts `zebraN`, relevant image iN; only i0 and i2 have a caption that says so.

    The imported run `run` has i1, which is right for prompt 1 alone, for all but prompt 3.
    """
    records: list[Record] = [Question("relevance", "ordinal", 0, 1, 1), System("run", "retriever", "images")]
    for n in range(4):
        records.append(Prompt(key(n), f"zebra{n} dog", {"kind": "odd" if n % 2 else "even"}))
        said = [f"zebra{n} runs"] if n % 2 == 0 else ["cat"]
        records.append(Image(ImageKey("images", f"i{n}"), captions=said))
        records.append(Truth("relevance", Item(key(n), image=ImageKey("images", f"i{n}")), 1.0))
        if n < 3:
            records.append(Answer(key(n), "run", 0, ImageKey("images", "i1"), 1.0))
    with study_of(tmp_path / "study", records) as made:
        yield made


def failures(study: Study, system: str) -> list[str]:
    refs = dict(reading.prompts(study).select("prompt_id", "ref").iter_rows())
    told = reading.answers(study).filter((pl.col("system") == system) & (pl.col("failure") == NOTHING))
    return [refs[prompt] for prompt in told["prompt_id"]]


def means(study: Study, where: str = "") -> dict[str, tuple[float | None, int]]:
    found = compare(study, "reciprocal_rank", where=where)
    return {each.system: (each.mean.value, each.mean.n) for each in found.systems}


def test_what_was_asked_empty_results_counts_as_zero(study: Study) -> None:
    sightline.retrieve(study, "bm", "bm25", collection="images")
    assert failures(study, "bm") == ["1", "3"]
    (ran,) = score(study, "reciprocal_rank").runs
    assert "bm: 2 of the 4 prompts with known relevance have empty results and count as 0." in ran.notes
    assert (
        "run: 1 of the 4 prompts with known relevance have no ranking and are excluded from its means."
        in (ran.notes)
    )
    # bm finds 0 and 2 at once and nothing else: (1 + 0 + 1 + 0) / 4. run has 1 of its three.
    assert means(study) == {"bm": (0.5, 4), "run": (pytest.approx(1 / 3), 3)}
    assert means(study, "kind=odd") == {"run": (1.0, 1), "bm": (0.0, 2)}
    kept = reading.scores(study, sightline.registry.find_measure("reciprocal_rank").identity)
    assert kept.height == 7


def test_a_run_kept_before_gets_its_notes_and_undo_takes_them(study: Study) -> None:
    first = sightline.retrieve(study, "bm", "bm25", collection="images")
    again = sightline.retrieve(study, "bm", "bm25", collection="images")
    assert again.already and again.number == first.number
    assert failures(study, "bm") == ["1", "3"]
    sightline.undo(study, first.number)
    assert "bm" not in reading.systems(study)["system"].to_list()


def test_an_engine_that_finds_nothing_at_all_has_zeros(study: Study) -> None:
    put(study, [Image(ImageKey("mute", "x"), captions=["nothing"])], "m")
    sightline.retrieve(study, "mute", "bm25", collection="mute")
    score(study, "reciprocal_rank")
    assert means(study)["mute"] == (0.0, 4)
    alone = rankings_of(study)
    assert "mute" in alone.names.values() and len(alone) == 7


def test_a_prompt_that_came_later_was_not_asked(study: Study) -> None:
    sightline.retrieve(study, "bm", "bm25", collection="images")
    late = [Prompt(key(9), "late"), Truth("relevance", Item(key(9), image=ImageKey("images", "i0")), 1.0)]
    put(study, late, "l")
    score(study, "reciprocal_rank")
    assert means(study)["bm"] == (0.5, 4)
    assert any(note.startswith("bm: 1 of the 5 prompts") for note in rankings_of(study).notes())


def test_fused_engines(study: Study) -> None:
    sightline.retrieve(study, "bm", "bm25", collection="images")
    fuse(study, "both", ["bm", "run"])
    # Prompt 1 has the answer of run; 3 was asked of bm, and neither has anything.
    assert failures(study, "both") == ["3"]
    score(study, "reciprocal_rank")
    assert means(study)["both"][1] == 4


def test_a_reranked_engine(painted: Study, tmp_path: Path) -> None:
    (tmp_path / "plugins" / "flat.py").write_text(
        "from sightline.extension import measure\n\n"
        '@measure.of_answer(direction="higher", source="me", licence="MIT")\n'
        'def flat(prompts, images):\n    """One."""\n    return [1.0 for _ in images]\n'
    )
    prompts = [PromptKey("suite", ref) for ref in "bg"]
    records: list[Record] = [
        System("first", "retriever", "paints"),
        Answer(prompts[0], "first", 0, ImageKey("paints", "sea"), 1.0),
        Answer(prompts[1], "first", 0, None, failure=NOTHING),
    ]
    put(painted, records, "run")
    done = rerank(painted, "closer", "first", "flat")
    assert (done.prompts, failures(painted, "closer")) == (1, ["g"])
