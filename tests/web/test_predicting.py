"""Predicting prompts over the wire: what is marked, what is answered, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.estimate import Estimate
from sightline.prediction import SHOWN, TIERS, Prediction, Predictions, predict_prompts
from sightline.web import predicting as prediction
from sightline.web.predicting import MOST_CHARACTERS, MOST_PROMPTS, as_table, pieces, shown

ROUND = '[annotate.r]\nmode = "yes_no"\nper_item = 3\n'
PROMPTS = ["A dog catching a red frisbee on the grass", "A man riding a wave on top of a surfboard"]
EVIL = "<img src=x onerror=alert(1)>"
SMALL = {"prompts": 2, "images": 1}


@pytest.fixture
def owner(live: Any, client: Callable[[str], Any]) -> Any:
    return client(live(ROUND, **SMALL).owner())


def post(who: Any, body: Any, what: str = "", status: int = 200) -> Any:
    reply = who.http.post(f"/api/owner/predict{what}", json=body)
    assert reply.status_code == status, (reply.status_code, reply.text)
    return reply if what.endswith(".csv") and status == 200 else reply.json()


def cut(prompt: str, *words: tuple[str, float]) -> str:
    """The prompt with what is marked in brackets, and what it adds."""
    parts = pieces(prompt, words)
    return "".join(part.text if part.adds is None else f"[{part.text}{part.adds:+}]" for part in parts)


# -- which words are marked ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "words", "marked"),
    [
        (
            "A Dog, a dog and a hotdog.",
            [("dog", 0.25), ("and", -0.5)],
            "A [Dog+0.25], a [dog+0.25] [and-0.5] a hotdog.",
        ),
        # The longest word is marked.
        (
            "a black-and-white  cat",
            [("black-and-white", -0.25), ("black", 0.5), ("white cat", 0.125)],
            "a [black-and-white-0.25]  cat",
        ),
        ("it don't fit", [("don't", 0.5)], "it [don't+0.5] fit"),
        ("a hot \n dog", [("Hot dog,", 0.5)], "a [hot \n dog+0.5]"),
        # What would show as nothing is not marked.
        ("a dog", [("dog", 0.0049), ("a", -0.005)], "[a-0.005] dog"),
        ("a dog", [("cat", 0.5), ("?!", 0.5)], "a dog"),
        ("", [], ""),
        # Of a word told twice the stronger counts.
        ("dog", [("dog", 0.125), ("Dog", -0.5)], "[dog-0.5]"),
    ],
)
def test_words_are_marked_where_they_stand(prompt: str, words: list[tuple[str, float]], marked: str) -> None:
    assert cut(prompt, *words) == marked


@given(
    st.lists(st.sampled_from(["dog", "Dog", "ß", "don't", "-", ", ", " ", "\n", "日本", "🐕", "a"])),
    st.lists(st.tuples(st.sampled_from(["dog", "a dog", "don't", "日本", "SS", ""]), st.floats(-1, 1))),
)
def test_pieces_put_together_are_the_prompt(parts: list[str], words: list[tuple[str, float]]) -> None:
    prompt = "".join(parts)
    found = pieces(prompt, words)
    assert "".join(piece.text for piece in found) == prompt
    assert all(piece.text for piece in found)
    told = {adds for _, adds in words if abs(adds) >= prediction.LEAST}
    assert {piece.adds for piece in found if piece.adds is not None} <= told


# -- what is sent -------------------------------------------------------------------------------------------


def made(*predictions: Prediction) -> Predictions:
    return Predictions("small", "the others are not installed", 0.9, predictions)


def expecting(
    prompt: str, words: Sequence[tuple[str, float]] = (), warnings: Sequence[str] = ()
) -> Prediction:
    values = {name: Estimate(place / 4, place / 8, place / 2) for place, name in enumerate(SHOWN, 1)}
    told = {**values, "hbpp.glide": Estimate(0.5, 0.25, 0.75)}
    return Prediction(prompt, told, {SHOWN[0]: list(words)}, warnings)


def test_all_that_is_told_is_sent() -> None:
    words = list(zip("xabcdAfe", (-0.5, 0.25, 0.125, 0.0625, 0.03125, -0.125, 0.02, 0.001), strict=True))
    found = shown(made(expecting("x a e", words, ["odd"]), Prediction("?", refused="no word in it")))
    assert (found.tier, found.why, found.coverage) == ("small", "the others are not installed", 0.9)
    ends = {name: (each.low, each.high) for name, each in found.targets.items()}
    assert ends == {"hbpp": (-1, 2), "p_at_10": (0, 1), "rr": (0, 1)}
    first, second = found.predictions
    assert list(first.words) == list(SHOWN)
    assert first.expected["p_at_10"] == Estimate(0.5, 0.25, 1.0)
    assert [word for word, _ in first.words["hbpp"].easier] == ["a", "b", "c", "d"]
    assert [word for word, _ in first.words["hbpp"].harder] == ["x"]
    assert first.warnings == ["odd"] and not first.refused
    assert (second.expected, second.words, second.refused) == ({}, {}, "no word in it")


def test_the_table_has_every_prompt_and_runs_nothing() -> None:
    table = as_table(made(expecting("=1+1", [("a", 0.25), ("b", -0.5)]), Prediction("?", refused="no word")))
    first, second = csv.DictReader(io.StringIO(table.to_csv()))
    assert first["prompt"] == "'=1+1"
    assert [first[f"hbpp{end}"] for end in ("", "_low", "_high")] == ["0.25", "0.125", "0.5"]
    assert [first[f"rr{end}"] for end in ("", "_low", "_high")] == ["0.75", "0.375", "1.5"]
    assert (first["easier"], first["harder"], first["tier"]) == ("a +0.25", "b -0.50", "small")
    assert (second["prompt"], second["hbpp"], second["reason"]) == ("?", "", "no word")


# -- what is asked and answered -----------------------------------------------------------------------------


def test_the_page_says_what_the_stage_says(owner: Any) -> None:
    told = post(owner, {"prompts": PROMPTS, "explain": True})
    found = predict_prompts(PROMPTS)
    assert told == json.loads(shown(found).model_dump_json())
    assert told["tier"] in TIERS
    for each in told["predictions"]:
        assert list(each["words"]) == list(SHOWN)
        for target, words in each["words"].items():
            scale, one = told["targets"][target], each["expected"][target]
            assert scale["low"] <= one["low"] <= one["value"] <= one["high"] <= scale["high"]
            assert "".join(piece["text"] for piece in words["pieces"]) == each["prompt"]
    # A caption of a dog has words that matter for it.
    assert any(piece["adds"] for piece in told["predictions"][0]["words"]["hbpp"]["pieces"])


def test_odd_prompts_get_a_word_of_care_or_a_refusal(owner: Any) -> None:
    odd = ["", " ", "?!?", "🐕", "犬が走っている", "word " * 10_000, "\x00"]
    found = post(owner, {"prompts": [*odd, EVIL], "tier": "small"})["predictions"]
    assert [each["prompt"] for each in found] == [*odd, EVIL]
    assert all(bool(each["refused"]) != bool(each["expected"]) for each in found)
    assert all(each["refused"] or each["warnings"] for each in found[:-1])


def test_the_table_is_what_the_page_shows(owner: Any) -> None:
    told = post(owner, {"prompts": PROMPTS, "tier": "small", "explain": True})
    reply = post(owner, {"prompts": PROMPTS, "tier": "small"}, "/table.csv")
    assert reply.headers["content-type"].startswith("text/csv")
    assert 'filename="predicted.csv"' in reply.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(reply.text)))
    assert [row["prompt"] for row in rows] == PROMPTS
    for row, each in zip(rows, told["predictions"], strict=True):
        for target in SHOWN:
            assert float(row[target]) == each["expected"][target]["value"]
            assert float(row[f"{target}_high"]) == each["expected"][target]["high"]
        # Words that were weighed for the page are in the table without being weighed again.
        words = [f"{word} {adds:+.2f}" for word, adds in each["words"]["hbpp"]["easier"]]
        assert row["easier"] == ", ".join(words)
        assert row["tier"] == told["tier"]


@pytest.mark.parametrize("by", SHOWN)
def test_rewordings_are_ranked(owner: Any, by: str) -> None:
    candidates = [PROMPTS[1], "the notion of regret", "a dog"]
    told = post(
        owner, {"prompt": PROMPTS[0], "candidates": candidates, "by": by, "tier": "small"}, "/suggest"
    )
    assert sorted(each["prompt"] for each in told["predictions"]) == sorted([PROMPTS[0], *candidates])
    values = [each["expected"][by]["value"] for each in told["predictions"]]
    assert len(values) == 4 and values == sorted(values, reverse=True)


WRONG: list[tuple[str, Any, int, str]] = [
    ("", {"prompts": ["a"] * (MOST_PROMPTS + 1)}, 400, "501 prompts are too many: 500 at once"),
    ("", {"prompts": ["x" * (MOST_CHARACTERS + 1)]}, 400, "100,001 characters are too many: 100,000 at once"),
    ("", {"prompts": ["a"] * 21, "explain": True}, 400, "21 prompts are too many: 20 at once"),
    ("/table.csv", {"prompts": ["a"] * (MOST_PROMPTS + 1)}, 400, "501 prompts"),
    ("/suggest", {"prompt": "a", "candidates": ["b"] * 20}, 400, "21 prompts are too many: 20 at once"),
    ("", {"prompts": ["\U0001f415" * 600_000]}, 413, "larger than 2 MiB"),
    ("", {"prompts": []}, 422, "prompts"),
    ("", {}, 422, "prompts"),
    ("", {"prompts": "a dog"}, 422, "prompts"),
    ("", {"prompts": [1]}, 422, "prompts"),
    ("", {"prompts": ["a"], "more": 1}, 422, "more"),
    ("", {"prompts": ["a"], "tier": "heavy"}, 422, "tier"),
    ("/suggest", {"prompt": "a", "candidates": ["b"], "by": "hbpp.glide"}, 422, "by"),
    ("/suggest", {"prompt": "a", "candidates": []}, 422, "candidates"),
]


def test_wrong_requests_are_told_why(owner: Any) -> None:
    for what, body, status, said in WRONG:
        told = post(owner, body, what, status)
        assert set(told) == {"error", "remedy"}
        assert said in told["error"] and told["remedy"], (what, said, told)


def test_as_much_as_is_allowed_gets_through(owner: Any) -> None:
    """So many characters that each take twelve bytes on the way: nothing before the stage refuses them."""
    body = json.dumps({"prompts": ["\U0001f415" * MOST_CHARACTERS], "tier": "small"})
    assert len(body) > 12 * MOST_CHARACTERS
    reply = owner.http.post("/api/owner/predict", content=body, headers={"Content-Type": "application/json"})
    assert reply.status_code == 200, reply.text[:500]


def test_words_are_weighed_where_asked(owner: Any) -> None:
    def marked(told: Any) -> list[bool]:
        return [
            any(piece["adds"] for words in each["words"].values() for piece in words["pieces"])
            for each in told["predictions"]
        ]

    first, second = PROMPTS
    body = {"prompts": [first, second, first], "tier": "small"}
    plain = post(owner, body)
    assert marked(plain) == [False, False, False]
    assert marked(post(owner, {"prompts": [first], "tier": "small", "explain": True})) == [True]
    again = post(owner, body)
    assert marked(again) == [True, False, True]
    for before, after in zip(plain["predictions"], again["predictions"], strict=True):
        assert before["prompt"] == after["prompt"]
        assert before["expected"]["rr"]["value"] == pytest.approx(after["expected"]["rr"]["value"], abs=1e-9)


def test_only_so_much_is_remembered() -> None:
    known = prediction.Known()
    for start in range(0, 1_500, 250):
        prompts = [f"a dog and {number} cats" for number in range(start, start + 250)]
        found = known.predict(prompts, "small", explain=False)
        assert [each.prompt for each in found.predictions] == prompts
    assert len(known._held) == prediction.MOST_KEPT
    assert len(known.predict(["a dog and 0 cats"] * 3, "small", explain=False).predictions) == 3


def test_nothing_is_written(live: Any, client: Any, tmp_path: Path) -> None:
    server = live(ROUND, **SMALL)
    who = client(server.owner())

    def kept() -> list[str]:
        (file,) = (tmp_path / "study").glob("*.sqlite")
        with sqlite3.connect(file) as connection:
            return list(connection.iterdump())

    before = kept()
    assert len(before) > 20
    post(who, {"prompts": PROMPTS, "tier": "small"})
    post(who, {"prompt": PROMPTS[0], "candidates": PROMPTS[1:], "tier": "small"}, "/suggest")
    assert kept() == before


def test_others_are_served_while_it_works(live: Any, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The work is held up on purpose: two askers wait, one of them for its turn, and judging goes on."""
    begun, go_on = threading.Event(), threading.Event()
    running: list[int] = []

    def slowly(prompts: Sequence[str], *, tier: str | None, explain: bool) -> Predictions:
        running.append(len(running))
        begun.set()
        assert go_on.wait(20)
        return made(*(Prediction(prompt, refused="held up") for prompt in prompts))

    monkeypatch.setattr(prediction, "predict_prompts", slowly)
    server = live(ROUND, **SMALL)
    askers = [client(server.owner()), client(server.owner())]
    annotator = client(server.invite("ann"))
    told: list[Any] = []
    threads = [
        threading.Thread(target=lambda who=who, text=text: told.append(post(who, {"prompts": [text]})))
        for who, text in zip(askers, "ab", strict=True)
    ]
    for thread in threads:
        thread.start()
    assert begun.wait(60)
    assert annotator.get("/healthz") == {"ok": True} and annotator.work()["pages"]
    # Long enough for the other to have begun as well, if it could.
    time.sleep(0.5)
    assert running == [0] and told == []
    go_on.set()
    for thread in threads:
        thread.join(60)
    assert sorted(each["predictions"][0]["prompt"] for each in told) == ["a", "b"]
