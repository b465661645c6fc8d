"""Fitting a bridge on a study, and using it as an encoder like any other."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image as Pillow
from studies import put, study_of

from sightline import registry
from sightline.encoders.fit_bridge import captioned, fit_bridge
from sightline.errors import DataError, UsageError
from sightline.measures.score import score
from sightline.records import Image, ImageKey, Prompt, PromptKey, Record
from sightline.statistics import bridge as arithmetic
from sightline.study import reading
from sightline.study.running.embedding import embed_images, embed_texts
from sightline.study.study import Study
from sightline.systems.bridge_answers import bridge_answers
from sightline.systems.retrieve import retrieve

PAINTS = {"red": (220, 20, 20), "green": (20, 200, 20), "blue": (20, 20, 220), "yellow": (230, 220, 20)}
PLACES = ("left", "right", "top", "bottom")
LIGHT = {"image": "colour_layout", "text": "hashed_words"}
INSIDE = {f"{name}_encoder": encoder for name, encoder in LIGHT.items()}


def scenes(folder: Path, n: int = 4) -> Iterator[Record]:
    """One half of each picture has one colour and the other another; captions say so."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    for here, colour in PAINTS.items():
        for there, other in PAINTS.items():
            for place in PLACES:
                for copy in range(n if here != there else 0):
                    pixels = np.tile(np.array(other), (32, 32, 1))
                    half = {
                        "left": np.s_[:, :16],
                        "right": np.s_[:, 16:],
                        "top": np.s_[:16],
                        "bottom": np.s_[16:],
                    }
                    pixels[half[place]] = colour
                    pixels = np.clip(pixels + rng.integers(-15, 15, pixels.shape), 0, 255).astype(np.uint8)
                    name = f"{here}-{place}-{there}-{copy}"
                    Pillow.fromarray(pixels).save(folder / f"{name}.png")
                    captions = [
                        f"{here} at the {place} and {there} beside it",
                        f"a {here} {place} on {there}",
                    ]
                    yield Image(ImageKey("halves", name), str(folder / f"{name}.png"), captions)


@pytest.fixture
def halves(tmp_path: Path) -> Iterator[Study]:
    records = [
        *scenes(tmp_path / "files", 1),
        Prompt(PromptKey("s", "1"), "red at the left and blue beside it"),
    ]
    records.append(Image(ImageKey("halves", "no file"), None, ["a caption of nothing"]))
    with study_of(tmp_path / "study", records) as made:
        yield made


def test_a_bridge_is_fitted_told_about_and_used(halves: Study, tmp_path: Path) -> None:
    fitted = fit_bridge(halves, "halves", **LIGHT, folds=4)
    assert (fitted.images, fitted.captions, fitted.left_out, fitted.among) == (48, 96, 0, 12)
    digest = hashlib.sha256(fitted.path.read_bytes()).hexdigest()
    assert fitted.path == halves.home / "bridges" / f"halves_{digest[:16]}.npz"
    assert [hit.k for hit in fitted.hits] == [1, 5, 10]
    first, _, tenth = fitted.hits
    assert first.chance == pytest.approx(1 / 12) and tenth.chance == pytest.approx(10 / 12)
    assert first.value > 3 * first.chance
    assert all(hit.low <= hit.value <= hit.high for step in fitted.curve for hit in step.hits)  # type: ignore[operator]
    assert [step.images for step in fitted.curve] == [9, 18, 36]
    assert fitted.curve[-1].hits == fitted.hits

    ready = registry.configure("encoder", fitted.encoder)
    encoder = ready.load()
    assert repr(encoder) == "<bridge fitted on 48 images of halves>"
    assert encoder.about["image"].startswith("colour_layout") and encoder.about["date"] == fitted.date
    images = reading.images(halves).filter(reading.images(halves)["sha256"].is_not_null())
    rows = embed_images(halves, ready, images["sha256"].to_list())
    asked = embed_texts(halves, ready, ["green at the top and yellow beside it"])
    best = images["name"].to_list()[int((asked @ rows.T).argmax())]
    assert best.startswith("green-top-yellow")

    found = retrieve(halves, "bridged", f"exact(encoder={fitted.encoder})", collection="halves", k=3)
    assert found.answers == 3
    (ran,) = score(halves, f"bridge_similarity(name={fitted.called!r})").runs
    assert ran.computed == 3 and not ran.reasons


@pytest.mark.slow
def test_captions_are_answered_by_a_bridge_that_did_not_see_their_image(halves: Study) -> None:
    keys = [PromptKey("captions", str(n)) for n in range(4)]
    texts = [
        "red at the left and green beside it",
        "a blue top on yellow",
        "a blue top on yellow ",
        "something blue",
    ]
    asked = [Prompt(key, text) for key, text in zip(keys, texts, strict=True)]
    put(halves, asked, "asked")
    done = bridge_answers(halves, "bridge", "halves", **LIGHT, folds=4, k=5)
    assert (done.unseen, done.others, done.torn, done.images) == (4, 1, 0, 48)
    answers = reading.answers(halves, "retriever")
    assert answers.group_by("prompt_id").len()["len"].to_list() == [5] * 5
    assert bridge_answers(halves, "bridge", "halves", **LIGHT, folds=4, k=5).already
    fitted_before = fit_bridge(halves, "halves", **LIGHT, folds=4)
    assert bridge_answers(halves, "bridge", "halves", **LIGHT, folds=4, k=5, fitted=fitted_before).already
    # Fitted without its image, by the arithmetic itself.
    learned = captioned(halves, "halves", **LIGHT, folds=4)
    mine = int(learned.owner[list(learned.captions).index(texts[0])])
    (fitted,) = [
        each
        for held, each in arithmetic.cross_fitted(learned.features, learned.said, learned.owner, folds=4)
        if mine in held
    ]
    text = embed_texts(halves, learned.encoders["text"], [texts[0]]).astype(np.float64)
    products = (fitted.text(text) @ fitted.image(learned.features).T)[0]
    prompt = dict(reading.prompts(halves).select("ref", "prompt_id").iter_rows())["0"]
    shas = answers.filter(answers["prompt_id"] == prompt).sort("position")
    best = np.argsort(-products)[:5]
    assert shas["sha256"].to_list() == [learned.contents[number] for number in best]
    np.testing.assert_allclose(shas["score"].to_numpy(), products[best], atol=1e-6)


def test_a_rephrasing_goes_with_its_original(halves: Study) -> None:
    """Rephrased or spelled otherwise, a caption is still one that the other bridges were fitted on."""
    original, plain, other, free = (PromptKey("captions", name) for name in ("o", "p", "c", "f"))
    asked = [
        Prompt(original, "red at the left and green beside it"),
        Prompt(plain, "a photo of red at the left", links=[("rephrases", original)]),
        Prompt(other, "Red at the left, and green beside it."),
        Prompt(free, "something else"),
    ]
    put(halves, asked, "asked")
    done = bridge_answers(halves, "bridge", "halves", **LIGHT, folds=4)
    # The fixture's own prompt is a caption as well.
    assert (done.unseen, done.others, done.torn) == (4, 1, 0)


def test_a_suite_that_is_not_there_is_reported(halves: Study) -> None:
    with pytest.raises(UsageError, match="suite"):
        bridge_answers(halves, "bridge", "halves", **LIGHT, suite="none")


def test_a_caption_of_images_in_several_folds_has_no_answer(halves: Study) -> None:
    images = [
        Image(ImageKey("halves", name), None, ["the same"]) for name in ("red-left-green-0", "blue-top-red-0")
    ]
    put(halves, images, "same")
    put(halves, [Prompt(PromptKey("captions", "same"), "the same")], "p")
    told = [bridge_answers(halves, f"s{seed}", "halves", **LIGHT, folds=4, seed=seed) for seed in range(3)]
    assert {each.torn + each.unseen for each in told} == {2}
    torn = [each.system for each in told if each.torn]
    assert torn
    # Not asked on purpose: that is no empty ranking either.
    (same,) = reading.prompts(halves).filter(pl.col("text") == "the same")["prompt_id"]
    held = reading.answers(halves).filter(pl.col("prompt_id") == same)["system"].unique().to_list()
    assert sorted(held) == sorted(each.system for each in told if not each.torn)


def test_the_name_stands_for_the_content(halves: Study, tmp_path: Path) -> None:
    fitted = fit_bridge(halves, "halves", **LIGHT, folds=4)
    again = fit_bridge(halves, "halves", **LIGHT, folds=4, seed=1)
    assert fitted.path.exists() and again.path.exists() and fitted.path != again.path
    one, two = (registry.configure("encoder", each.encoder).identity for each in (fitted, again))
    assert one != two
    # Shared under another folder it is still itself; another bridge put in its place is noticed.
    shared = tmp_path / f"ours-{fitted.path.stem.rpartition('_')[2]}.npz"
    shutil.copy(fitted.path, shared)
    registry.configure("encoder", "bridge", path=str(shared), **INSIDE).load()
    shutil.copy(again.path, shared)
    with pytest.raises(DataError, match="ends in the hash of its content"):
        # Another form of the same path, since what is loaded is kept by identity.
        registry.configure("encoder", "bridge", path=f"{tmp_path}/./{shared.name}", **INSIDE).load()
    with np.load(fitted.path, allow_pickle=False) as arrays:
        about = json.loads(str(arrays["about"]))
    assert about["images"] == 48 and len(about["image_identity"]) == 64


def test_the_same_seed_gives_the_same_figures(halves: Study) -> None:
    one, two = (fit_bridge(halves, "halves", **LIGHT, folds=4) for _ in range(2))
    assert (one.hits, one.curve, one.settings) == (two.hits, two.curve, two.settings)


def test_other_encoders_than_those_of_the_fit_are_refused(halves: Study) -> None:
    fitted = fit_bridge(halves, "halves", **LIGHT, folds=4)
    for told in ({"image_encoder": "colour_layout(grid=2)"}, {"text_encoder": "hashed_words(words=1)"}):
        with pytest.raises(UsageError, match="fitted on another") as caught:
            registry.configure("encoder", "bridge", path=str(fitted.path), **{**INSIDE, **told}).load()
        assert "colour_layout(grid=4, directions=8)" in caught.value.remedy


def test_what_is_no_bridge_is_refused(tmp_path: Path) -> None:
    def loaded(path: str) -> None:
        registry.configure("encoder", "bridge", path=path, **INSIDE).load()

    with pytest.raises(UsageError, match="needs the path"):
        loaded("")
    with pytest.raises(UsageError, match="no fitted bridge"):
        loaded(str(tmp_path / "none.npz"))
    (tmp_path / "text.npz").write_text("no arrays")
    np.savez(tmp_path / "other.npz", about=np.array("{}"), centre=np.zeros(3))
    np.savez(tmp_path / "pickled.npz", about=np.array([{"a": 1}], dtype=object))
    for name in ("text", "other", "pickled"):
        file = tmp_path / f"{name}.npz"
        digest = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
        with pytest.raises(DataError, match="no fitted bridge"):
            loaded(str(file.rename(tmp_path / f"{name}-{digest}.npz")))


def test_too_little_to_fit_on_is_reported(painted: Study) -> None:
    with pytest.raises(DataError, match="only 4 images of 'paints'"):
        fit_bridge(painted, "paints", **LIGHT)
    with pytest.raises(UsageError, match="no collection called 'paint'") as caught:
        fit_bridge(painted, "paint", **LIGHT)
    assert "paints" in caught.value.remedy
    with pytest.raises(UsageError, match="encodes no images"):
        fit_bridge(painted, "paints", image="hashed_words", text="hashed_words")
    with pytest.raises(UsageError, match="1 folds"):
        fit_bridge(painted, "paints", **LIGHT, folds=1)
