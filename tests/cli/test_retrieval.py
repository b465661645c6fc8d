"""Search engines by command: rephrase, retrieve, rerank, fuse, pool, bridge."""

from __future__ import annotations

import csv
import itertools
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

Run = Callable[..., Any]
PAINTS = {"rose.png": (255, 0, 0), "sea.png": (0, 0, 255), "leaf.png": (0, 128, 0)}
CAPTIONS = {"rose.png": "a red flower", "sea.png": "the blue sea", "leaf.png": "a green leaf"}


@pytest.fixture
def search(run: Run, tmp_path: Path) -> Path:
    """A study of three painted and captioned images, two queries, and an engine over the captions."""
    study = tmp_path / "study"
    (tmp_path / "photos").mkdir()
    for name, colour in PAINTS.items():
        Image.new("RGB", (32, 32), colour).save(tmp_path / "photos" / name)
    with (tmp_path / "captions.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["image", "caption"])
        table.writerows([f"photos/{name}", text] for name, text in CAPTIONS.items())
    (tmp_path / "queries.csv").write_text("prompt_id,prompt\nq1,a red thing\nq2,the blue sea\n")
    assert run("import", study, tmp_path / "captions.csv", "--option", "collection=photos").code == 0
    assert run("import", study, tmp_path / "queries.csv").code == 0
    words = ("retrieve", study, "words", "--with", "caption_words", "--collection", "photos", "--json")
    assert run(*words).json["rows"][0]["prompts"] == 2 and run(*words).json["already"] is True
    assert run("retrieve", study, "dense", "--with", "text_only", "--collection", "photos").code == 0
    return study


def test_fuse_and_pool_and_write(run: Run, search: Path, tmp_path: Path) -> None:
    fused = run("fuse", search, "both", "words", "dense", "--json").json
    assert fused["rule"] == "rrf(constant=60)" and fused["of"] == ["words", "dense"]
    again = run("fuse", search, "both", "words", "dense")
    assert again.code == 0 and "nothing was changed" in again.out
    scaled = run("fuse", search, "sum", "words", "dense", "--by", "combsum", "--scaling", "z")
    assert scaled.code == 0 and "combsum(scaling=z)" in scaled.out
    pooled = run("pool", search, "--depth", 2, "--to", tmp_path / "pairs.csv")
    assert pooled.code == 0 and 'systems = ["pool"]' in pooled.out
    rows = list(csv.DictReader((tmp_path / "pairs.csv").open()))
    assert {row["prompt_id"] for row in rows} == {"q1", "q2"} and rows[0]["image"] == "photos/rose.png"
    shallow = run("pool", search, "one", "--system", "words", "--depth", 1, "--json").json
    assert shallow["pools"]["rows"][0]["pairs"] == 2
    by_captions = ("--by", "captions", "--encoder", "hashed_words", "--above", 0.9)
    wide = run("pool", search, "wide", *by_captions, "--csv")
    assert wide.code == 0 and wide.out.splitlines()[1].startswith("wide,1,1,")


def test_own_captions_are_reported_and_ignored(run: Run, search: Path) -> None:
    again = ("--with", "caption_words", "--collection", "photos")
    assert "1 prompts are captions of this collection" in run("retrieve", search, "again", *again).out
    left = run("retrieve", search, "left", *again, "--without-own", "--json").json
    assert left["own_captions"] == 1 and left["rows"][0]["empty"] == 1


def test_bridge(run: Run, tmp_path: Path) -> None:
    study, folder = tmp_path / "study", tmp_path / "photos"
    folder.mkdir()
    paints = {"red": (200, 20, 20), "green": (20, 200, 20), "blue": (20, 20, 200), "white": (240, 240, 240)}
    rows = []
    for one, two in itertools.permutations(paints, 2):
        for wide in (10, 20):
            picture = Image.new("RGB", (32, 32), paints[one])
            picture.paste(paints[two], (0, 0, wide, 32))
            picture.save(folder / f"{one}-{two}-{wide}.png")
            rows.append(f"photos/{one}-{two}-{wide}.png,{two} next to {one} {wide}")
    (tmp_path / "captions.csv").write_text("\n".join(["image,caption", *rows]) + "\n")
    (tmp_path / "queries.csv").write_text("prompt_id,prompt\nq1,red next to blue 20\nq2,something green\n")
    assert run("import", study, tmp_path / "captions.csv", "--option", "collection=photos").code == 0
    assert run("import", study, tmp_path / "queries.csv").code == 0
    light = ("--image", "colour_layout", "--text", "hashed_words", "--folds", 3)
    fitted = run("bridge", study, "photos", *light)
    assert fitted.code == 0 and "Captions that find their image among 8 held out" in fitted.out
    # The command that is offered next can be run as it stands.
    (line,) = [line for line in fitted.out.splitlines() if line.startswith("Next: sightline retrieve")]
    done = run(*shlex.split(line.partition("sightline")[2]), "--json")
    assert done.code == 0 and done.json["rows"][0]["answers"] == 48
    figures = run("bridge", study, "photos", *light, "--json").json
    assert [row["k"] for row in figures["hits"]["rows"]] == [1, 5, 10] and figures["images"] == 24
    answered = run("bridge-answers", study, "unseen", "photos", *light, "--json").json
    assert answered["rows"] == [{"system": "unseen", "images": 24, "unseen": 1, "others": 1, "torn": 0}]
    wrong = run("bridge", study, "photo", *light)
    assert wrong.code == 2 and "Did you mean photos" in wrong.err


def test_rephrase(run: Run, search: Path) -> None:
    line = f"{shlex.quote(sys.executable)} -c \"import sys; print('so', sys.argv[1])\" {{prompt}}"
    done = run("rephrase", search, "mine", "--with", line, "--json").json
    assert done["rows"][0]["made"] == 2
    again = run("rephrase", search, "mine", "--with", line)
    assert again.code == 0 and f"sightline undo {search}" in again.out
    assert run("rephrase", search, "mine", "--with", "echo").code == 2
    assert run("undo", search, done["number"]).code == 0


def test_rerank_by_what_the_images_show(run: Run, search: Path) -> None:
    done = run("rerank", search, "closer", "dense", "--by", "colour_match", "--json").json
    assert done["systems"]["rows"][0]["prompts"] == 2 and done["measure"].startswith("colour_match(")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("retrieve", "--with"),
        ("retrieve --with caption_words", "--collection"),
        ("retrieve --with caption_words --collection photo", "Did you mean photos"),
        ("retrieve --with caption_words --collection photos --fuse a,b", "--fuse"),
        ("rerank dense", "--by"),
        ("fuse words dense --suite x", "--suite"),
        ("fuse words", "one ranking alone"),
        ("fuse words dens", "Did you mean dense"),
        ("fuse words dense --by borda", "rrf"),
        ("pool --systems words", "--system"),
    ],
)
def test_wrong_words_are_refused(run: Run, search: Path, words: str, said: str) -> None:
    name, *others = words.split()
    wrong = run(name, search, "new", *others)
    assert wrong.code == 2 and said in wrong.err


def test_a_pool_that_cannot_be(run: Run, search: Path) -> None:
    wrong = run("pool", search, "--relations")
    assert wrong.code == 2 and "--relations chooses among" in wrong.err
    assert run("pool", search, "words").code == 2
    seeds = run("pool", search, "--by", "neighbours", "--collection", "photos")
    assert seeds.code == 2 and "no question is called 'seed'" in seeds.err
