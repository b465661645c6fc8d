"""The predictor that ships: what it says of prompts, good ones and bad ones."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from sightline.errors import MissingPackage, UsageError
from sightline.prediction import model as models
from sightline.prediction.fitted import fit, save
from sightline.prediction.model import SHIPPED, SHOWN, TARGETS, TIERS, best_tier
from sightline.prediction.predict import predict, rank

PROMPTS = [
    "A woman in white sports gear hitting a tennis ball",
    "This is a yellow and blue double decker bus",
]


@pytest.mark.parametrize("tier", TIERS)
def test_every_tier_tells_the_papers_hard_prompt_from_its_easy_one(tier: str) -> None:
    """Two prompts that PQPP prints: HBPP 0.25 of the tennis player, 2.0 of the bus."""
    found = predict(PROMPTS, tier=tier)
    hard, easy = (prediction.expected["hbpp"] for prediction in found.predictions)
    assert hard.value + 0.5 < easy.value
    assert found.tier == tier and found.why == "" and found.coverage == 0.9
    for prediction in found.predictions:
        assert tuple(prediction.expected) == TARGETS and not prediction.refused and not prediction.warnings
        for target, expected in prediction.expected.items():
            scale = SHIPPED[target.partition(".")[0]]
            assert scale.low <= expected.low <= expected.value <= expected.high <= scale.high


def test_the_best_tier_is_the_default_and_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert best_tier() == ("large", "")
    whole = models.shipped

    def lacking(tier: str) -> object:
        if tier == "large":
            raise MissingPackage("no weights for mpnet_layers on this machine", remedy="Install them.")
        return whole(tier)

    monkeypatch.setattr(models, "shipped", lacking)
    found = predict(PROMPTS[:1])
    assert found.tier == "medium"
    assert "no weights for mpnet_layers" in found.why and "large" in found.why


def test_a_tier_that_does_not_exist() -> None:
    with pytest.raises(UsageError, match="no tier 'ofline'") as error:
        predict(PROMPTS, tier="ofline")
    assert "medium" in str(error.value)


def test_words_are_what_the_prediction_loses_without_them() -> None:
    prompt = "A woman hitting a tennis ball, a bus"
    found = predict([prompt], tier="small").predictions[0]
    told = dict(found.effects["hbpp"])
    assert set(told) == {"A", "woman", "hitting", "a", "tennis", "ball", "bus"}
    without = predict(["A woman hitting a ball, a bus"], tier="small").predictions[0]
    wanted = found.expected["hbpp"].value - without.expected["hbpp"].value
    assert told["tennis"] == pytest.approx(wanted, abs=1e-9)
    effects = [abs(effect) for _, effect in found.effects["hbpp"]]
    assert effects == sorted(effects, reverse=True)
    assert not predict([prompt], tier="small", explain=False).predictions[0].effects


@pytest.mark.parametrize("prompt", ["", "  \n\t", "!!! ...", "\U0001f389\U0001f389", "—"])
def test_nothing_to_go_by_is_refused(prompt: str) -> None:
    prediction = predict([prompt, PROMPTS[0]], tier="small").predictions[0]
    assert prediction.refused and not prediction.expected


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("word " * 10_000, "Of 50,000 characters only the first 20,000 are read"),
        ("word " * 2_000, "Of 2,000 words only the first 1,000 are read"),
        ("x" * 300_000, "Of 300,000 characters only the first 20,000 are read"),
        ("a cat and a dog " * 12, "more than the predictor was fitted on"),
        ("Ein Hund läuft über die grüne Wiese", "another language"),
        ("\u732b\u5728\u684c\u5b50\u4e0a", "does not look like English"),
        ("Кошка сидит на столе", "does not look like English"),
        ("a cat \U0001f389 on a chair", "Emoji are not read"),
        ("xqzt brrgl vlompf", "were in no prompt that it was fitted on"),
    ],
)
@pytest.mark.parametrize("tier", TIERS)
def test_strange_prompts_get_a_prediction_with_a_warning(prompt: str, said: str, tier: str) -> None:
    prediction = predict([prompt], tier=tier, explain=False).predictions[0]
    assert any(said in warning for warning in prediction.warnings), prediction.warnings
    assert all(np.isfinite(each.value) for each in prediction.expected.values()) and prediction.expected


def test_order_and_company_do_not_matter() -> None:
    together = predict([*PROMPTS, "", PROMPTS[0]], tier="small", explain=False).predictions
    assert [prediction.prompt for prediction in together] == [*PROMPTS, "", PROMPTS[0]]
    alone = predict(PROMPTS[1:], tier="small", explain=False).predictions[0]
    # BLAS may add up the rows of one product in different orders.
    for one, two in ((together[1], alone), (together[0], together[3])):
        assert one.expected.keys() == two.expected.keys()
        for target, expected in one.expected.items():
            other = two.expected[target]
            assert (other.value, other.low, other.high) == pytest.approx(
                (expected.value, expected.low, expected.high), rel=1e-4, abs=1e-5
            )


def test_rewordings_are_ranked_by_what_is_expected() -> None:
    found = rank(PROMPTS[0], [PROMPTS[1], "", PROMPTS[0], "a bus"], tier="small")
    assert [prediction.prompt for prediction in found.predictions][-1] == ""
    assert len(found.predictions) == 4
    values = [prediction.expected["hbpp"].value for prediction in found.predictions[:-1]]
    assert values == sorted(values, reverse=True)
    by_rank = rank(PROMPTS[0], ["a bus"], by="rr", tier="small").predictions
    assert by_rank[0].expected["rr"].value >= by_rank[1].expected["rr"].value
    with pytest.raises(UsageError, match="nothing called 'hbp' is predicted"):
        rank("a", ["b"], by="hbp", tier="small")


def test_a_predictor_of_ones_own(tmp_path: Path) -> None:
    texts = [f"a {thing} number {n}" for n in range(30) for thing in ("cat", "dog")]
    truth = np.array([[5.0], [1.0]] * 30)
    about = {"ends": {"fun": [1, 5]}}
    save(tmp_path / "own.npz", fit("tfidf_ridge", texts, truth, targets=["fun"], about=about))
    found = predict(["a cat", "a dog"], model=tmp_path / "own.npz")
    cat, dog = (prediction.expected["fun"] for prediction in found.predictions)
    assert cat.value > 4 and dog.value < 2 and cat.high <= 5 and dog.low >= 1
    assert found.targets == ("fun",)
    with pytest.raises(UsageError, match="exclude each other"):
        predict(["a"], tier="small", model=tmp_path / "own.npz")


def test_what_ships_says_whose_data_it_was_learned_from_and_holds_none_of_it(data: Path) -> None:
    with (data / "pqpp" / "dataset" / "train.csv").open(encoding="utf-8", newline="") as file:
        texts = [row["best_caption"] for row in csv.DictReader(file)]
    for tier in TIERS:
        used = models.shipped(tier)
        assert "PQPP" in used.about["data"] and "CC BY 4.0" in used.about["data"]
        assert used.about["prompts"] == 8000
        kept = b"\n".join(
            array.tobytes() if array.dtype.kind != "U" else "\n".join(array.ravel()).encode()
            for array in [*used.model.state().values(), *used.terms.state().values()]
        ).lower()
        assert not any(text.lower().encode() in kept for text in texts[::10] if len(text.split()) > 4)


def test_figures_that_the_docs_give_are_those_of_the_files() -> None:
    """Out-of-fold Pearson / Kendall on the 8,000 prompts, as docs/predictions.md prints them."""
    page = (Path(__file__).parents[2] / "docs" / "predictions.md").read_text("utf-8")
    rows = [
        line.strip("| ").split(" | ") for line in page.splitlines() if re.match(r"\| (HBPP|P@10|RR)", line)
    ]
    assert len(rows) == len(TARGETS)
    for target, row in zip(TARGETS, rows, strict=True):
        for tier, cell in zip(TIERS, row[1:], strict=False):
            told = models.shipped(tier).about["held_out"][target]
            assert [float(each) for each in cell.split(" / ")] == pytest.approx(told, abs=5.1e-4), (
                target,
                tier,
            )
    quality = {tier: models.shipped(tier).about["held_out"] for tier in TIERS}
    for target in SHOWN:
        for lower, higher in pairwise(TIERS):
            assert quality[higher][target][0] > quality[lower][target][0]
            assert quality[higher][target][1] > quality[lower][target][1]


def test_where_nothing_can_be_unpacked_a_lower_tier_answers(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    env = {name: value for name, value in os.environ.items() if not name.startswith("SIGHTLINE_WEIGHTS_")}
    program = "from sightline.prediction.model import best_tier; print(*best_tier(), sep='|')"
    told = subprocess.run(
        [sys.executable, "-c", program],
        env={**env, "SIGHTLINE_CACHE": str(blocked)},
        capture_output=True,
        text=True,
        check=True,
    )
    tier, why = told.stdout.split("|")
    assert tier == "medium" and "SIGHTLINE_CACHE" in why
