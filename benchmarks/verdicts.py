"""How often verdicts are right: on drawn scenes whose truth is known, on photographs, and against people.

    SIGHTLINE_DATA=... python benchmarks/verdicts.py

Per material and kind of demand: how many questions, the accuracy where a verdict was given (yes or no), the
proportion of cannot tell, and the accuracy of the best constant answer on the same questions. Every question
that is asked with a true answer of yes is asked a second time so that the answer is no, unless people gave
the answers.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from sightline import registry
from sightline.data.importers.coco_boxes import coco_boxes
from sightline.data.sources import Source
from sightline.demands import CANNOT_TELL, YES, Expects, Scene, read_expects, read_scene
from sightline.pictures import Picture
from sightline.samples.facts import verdicts as true_facts
from sightline.samples.scenes import scenes
from sightline.samples.systems import SYSTEMS, answer
from sightline.skills.deciding import decide
from sightline.skills.looking import vocabulary_of
from sightline.statistics.agreement import cohen_kappa
from sightline.statistics.colours import object_colours

DATA = Path(os.environ.get("SIGHTLINE_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
OBJECTS = "ssd_mobilenet_v2(least={})"
LEAST = 0.05, 0.1, 0.2, 0.3, 0.4
"""How sure the detector must be to report an object: less sure ones turn no into cannot tell.

Which is used is chosen on every second photograph of coco64, which is not evaluated then.
"""
PUBLISHED = {"stable-diffusion": (0.2986, 0.1881, 0.6298)}
"""Gokhale et al. 2022, on all prompts: both objects there, relation too, relation where both are there."""


class Asked(NamedTuple):
    """A question with its true answer, and what was decided."""

    group: str
    true: bool
    verdict: str


class Eyes:
    """The small detector and the reader, each looking at a picture once."""

    def __init__(self, objects: str, text: str = "rapidocr") -> None:
        self.objects, self.text = (registry.configure("detector", name) for name in (objects, text))
        self._known: dict[tuple[str, str], dict[str, Any]] = {}

    def see(self, picture: Picture, *, objects: bool = True, text: bool = False) -> Scene:
        raw: dict[str, Any] = {}
        for wanted, detector in ((objects, self.objects), (text, self.text)):
            if not wanted:
                continue
            key = (detector.name, picture.sha256)
            if key not in self._known:
                (self._known[key],) = detector.load().detect([picture])
            raw |= self._known[key]
        return read_scene(raw, vocabulary_of(self.objects), sure=self.objects.spec.details["sure"])


def table(title: str, asked: Sequence[Asked], people: bool = False) -> None:
    print(f"\n{title}")
    head = f"  {'':28} {'n':>5} {'decided':>8} {'accuracy':>9} {'constant':>9} {'cannot tell':>12}"
    print(head + ("     kappa" if people else ""))
    groups = [*dict.fromkeys(each.group for each in asked)]
    for group in [*groups, *(["all"] if len(groups) > 1 else [])]:
        rows = [each for each in asked if group in ("all", each.group)]
        given = [each for each in rows if each.verdict != CANNOT_TELL]
        right = np.mean([(each.verdict == YES) == each.true for each in given]) if given else float("nan")
        yes = np.mean([each.true for each in given]) if given else float("nan")
        line = f"  {group:28} {len(rows):5} {len(given):8} {right:9.3f} {max(yes, 1 - yes):9.3f}"
        line += f" {1 - len(given) / len(rows):12.3f}"
        if people and given:
            said = np.array([(each.verdict == YES, each.true) for each in given], dtype=np.float64)
            line += f" {cohen_kappa(said[:, 0], said[:, 1]).value or float('nan'):9.3f}"
        print(line)


def drawn(eyes: Eyes | None, n: int, size: int) -> Iterator[Asked]:
    """Scenes drawn by systems that err at known rates; seen exactly, or by a detector and a reader."""
    for scene in scenes(n):
        for system in SYSTEMS:
            made = answer(system, scene, 0, size=size)
            true = all(true_facts(scene, made.scene).values())
            if eyes is None:
                result = decide(scene.expects, made.known)
            else:
                seen = eyes.see(encoded(made.image), objects=bool(scene.groups), text=bool(scene.words))
                result = decide(scene.expects, seen)
            yield Asked(scene.tags["skill"], true, result.verdict)


FACTS = {
    "object": "presence", "counting": "count", "colour": "colour", "size": "size", "spatial": "relation",
    "negation": "absence", "writing": "text",
}  # fmt: skip


def drawn_demands(eyes: Eyes, n: int, size: int) -> Iterator[Asked]:
    """The same scenes, each demand by itself."""
    for scene in scenes(n):
        for system in SYSTEMS:
            made = answer(system, scene, 0, size=size)
            seen = eyes.see(encoded(made.image), objects=True, text=bool(scene.words))
            said = {(each.demand, each.about): each.verdict for each in decide(scene.expects, seen).decisions}
            for fact, true in true_facts(scene, made.scene).items():
                kind = FACTS[fact.skill]
                about = [verdict for (demand, words), verdict in said.items() if demand == kind and (
                    fact.about in words or kind == "text")]  # fmt: skip
                yield Asked(kind, true, about[0])


def drawn_colours(n: int, size: int) -> Iterator[Asked]:
    """The colour of drawn objects by their pixels alone, in boxes that are known."""
    for scene in scenes(n):
        for system in SYSTEMS:
            made = answer(system, scene, 0, size=size)
            rgb = np.asarray(made.image.convert("RGB"))
            things = [
                {**each, "colour": None, "colours": object_colours(rgb, tuple(each["box"]))}
                for each in made.known["objects"]
            ]
            for kind in dict.fromkeys(each["kind"] for each in things):
                worn = next(each["colour"] for each in made.known["objects"] if each["kind"] == kind)
                for colour in (worn, OTHER[worn]):
                    expects = {"objects": [{"kind": kind, "colour": colour}], "complete": True}
                    seen = {"objects": things, "complete": True}
                    group = "sloppy (blur, noise, haze)" if system == "sloppy" else "careful, innumerate"
                    yield Asked(group, colour == worn, decide(expects, seen).verdict)


OTHER = {
    "red": "green", "orange": "blue", "yellow": "purple", "green": "red", "blue": "orange",
    "purple": "yellow", "pink": "black", "black": "pink",
}  # fmt: skip


def photographs(eyes: Eyes, half: int) -> Iterator[Asked]:
    """COCO's photographs: is a class there that is, or one that is not; are there as many, or one more.

    Half 0 is what the detector's `least` is chosen on, half 1 what is reported.
    """
    rng = np.random.default_rng(half)
    images = sorted(coco_boxes(Source(DATA / "coco64")), key=lambda each: each.key.name)
    vocabulary = vocabulary_of(eyes.objects) or ()
    for image in images[half::2]:
        truth = [each["kind"] for each in (image.scene or {}).get("objects", ())]
        there = sorted(set(truth))
        absent = [kind for kind in vocabulary if kind not in there]
        others = [absent[int(k)] for k in rng.choice(len(absent), len(there), replace=False)]
        seen = eyes.see(Picture(path=image.path))
        for kind, true in [*((kind, True) for kind in there), *((kind, False) for kind in others)]:
            expects = {"objects": [{"kind": kind}], "complete": True}
            yield Asked("presence", true, decide(expects, seen).verdict)
        for kind in there:
            number = truth.count(kind)
            group = "count, 1 to 3 there" if number <= 3 else "count, 4 or more there"
            for asked in (number, number + int(rng.choice([-1, 1])) if number > 1 else 2):
                expects = {"objects": [{"kind": kind, "count": asked}], "complete": True}
                yield Asked(group, asked == number, decide(expects, seen).verdict)


def choose_objects() -> str:
    """The detector whose right answers exceed its wrong ones the most, on the half that is not reported."""
    gains = []
    print("coco64, the half that is not reported: right minus wrong answers among all questions")
    for least in LEAST:
        asked = list(photographs(Eyes(OBJECTS.format(least)), 0))
        given = [(each.verdict == YES) == each.true for each in asked if each.verdict != CANNOT_TELL]
        gains.append((2 * sum(given) - len(given)) / len(asked))
        print(
            f"  least {least:4}: {gains[-1]:.3f}, accuracy {np.mean(given):.3f}, "
            f"cannot tell {1 - len(given) / len(asked):.3f}, n {len(asked)}"
        )
    return OBJECTS.format(LEAST[int(np.argmax(gains))])


def written(eyes: Eyes) -> Iterator[Asked]:
    """Words cut out of photographs: the word itself, the next one, and the word with one letter wrong."""
    home = DATA / "ocr_small"
    lines = [line.split() for line in (home / "word_crops/gt.txt").read_text().splitlines() if line.strip()]
    crops = [(home / "word_crops" / Path(name).name, word) for name, word in lines]
    listed = json.loads((home / "rec_toy_dataset/labels.json").read_text())["data_list"]
    crops += [
        (home / "rec_toy_dataset/imgs" / each["img_path"], each["instances"][0]["text"]) for each in listed
    ]
    for number, (path, word) in enumerate(crops):
        seen = eyes.see(Picture(path=path), objects=False, text=True)
        middle = len(word) // 2
        other = next(each for _, each in [*crops[number + 1 :], *crops] if each.lower() != word.lower())
        wrong = word[:middle] + ("x" if word[middle].lower() != "x" else "o") + word[middle + 1 :]
        for group, asked in (("the word itself", word), ("another word", other), ("one letter wrong", wrong)):
            yield Asked(group, asked == word, decide({"text": asked, "complete": True}, seen).verdict)


def visor(eyes: Eyes) -> None:
    """Both objects there, the relation as asked and its opposite, next to what is published."""
    prompts = {row["prompt_id"]: row for row in read(DATA / "visor/prompts.csv")}
    order = list(prompts)
    counts: dict[str, list[list[str]]] = {}
    for row in read(DATA / "visor/images.csv"):
        seen = eyes.see(Picture(path=DATA / "visor" / row["path"]))
        asked = prompts[row["prompt_id"]]
        other = prompts[order[(order.index(row["prompt_id"]) + 37) % len(order)]]
        opposite = {**asked, "relation": OPPOSITE[asked["relation"]]}
        questions = ((asked, False), (asked, True), (opposite, True), (other, False))
        outcomes = [decide(spatial(*each), seen, verdicts=VISOR).verdict for each in questions]
        counts.setdefault(row["model"], []).append(outcomes)
    print("\nvisor: yes among all images (proportion), next to Gokhale et al. 2022, all prompts, OWL-ViT")
    for model, rows in counts.items():
        yes = [np.mean([row[k] == YES for row in rows]) for k in range(4)]
        unsure = np.mean([row[0] == CANNOT_TELL for row in rows])
        both = [row for row in rows if row[0] == YES]
        given = np.mean([row[1] == YES for row in both]) if both else float("nan")
        turned = np.mean([row[2] == YES for row in both]) if both else float("nan")
        known = [f" (published {each:.3f})" for each in PUBLISHED.get(model, ())] or [""] * 3
        print(
            f"  {model:18} n {len(rows)}; both objects {yes[0]:.3f}{known[0]}; objects of another prompt "
            f"{yes[3]:.3f}; cannot tell {unsure:.3f}; relation {yes[1]:.3f}{known[1]}; where both are there "
            f"{given:.3f} of {len(both)}{known[2]}, the opposite relation {turned:.3f}"
        )


VISOR = ("relation(geometry='visor')",)
OPPOSITE = {
    "to the left of": "to the right of", "to the right of": "to the left of", "above": "below",
    "below": "above",
}  # fmt: skip


def spatial(row: dict[str, str], with_relation: bool) -> Expects:
    relation = {"first": row["obj1"], "where": row["relation"], "second": row["obj2"]}
    objects = [{"kind": row[name]} for name in ("obj1", "obj2")]
    return read_expects(
        {"objects": objects, "relation": relation if with_relation else None, "complete": True}
    )


def kinds(*names: str) -> list[dict[str, Any]]:
    return [{"kind": name} for name in names]


def place(first: str, where: str, second: str) -> dict[str, Any]:
    return {"objects": kinds(first, second), "relation": {"first": first, "where": where, "second": second}}


IMAGENHUB: dict[str, dict[str, Any]] = {
    "Four cars on the street.": {"objects": [{"kind": "car", "count": 4}]},
    "Four dogs on the street.": {"objects": [{"kind": "dog", "count": 4}]},
    "One car on the street.": {"objects": [{"kind": "car", "count": 1}]},
    "A pizza on the right of a suitcase.": place("pizza", "right of", "suitcase"),
    "A stop sign on the right of a refrigerator.": place("stop sign", "right of", "refrigerator"),
    "A tennis racket underneath a traffic light.": place("tennis racket", "below", "traffic light"),
    "A train on top of a surfboard.": place("train", "on top of", "surfboard"),
    "A wine glass on top of a dog.": place("wine glass", "on top of", "dog"),
    "A storefront with 'Diffusion' written on it.": {"text": "Diffusion"},
    "A storefront with 'Google Brain Toronto' written on it.": {"text": "Google Brain Toronto"},
    "New York Skyline with 'Diffusion' written with fireworks on the sky.": {"text": "Diffusion"},
    "New York Skyline with 'NeurIPS' written with fireworks on the sky.": {"text": "NeurIPS"},
}
"""What these prompts expect; street, storefront and skyline cannot be checked, so that none is complete."""


def generated(eyes: Eyes) -> Iterator[Asked]:
    """Three raters per image: it matches where at least two of them gave full semantic consistency."""
    votes: dict[tuple[str, str], list[float]] = {}
    for row in read(DATA / "imagenhub/human_ratings.csv"):
        votes.setdefault((row["model"], row["uid"]), []).append(float(row["SC"]))
    for row in read(DATA / "imagenhub/images.csv"):
        expects = IMAGENHUB.get(row["prompt"])
        given = votes.get((row["model"], row["uid"]), [])
        if expects is None or not given:
            continue
        seen = eyes.see(
            Picture(path=DATA / "imagenhub" / row["path"]),
            objects="objects" in expects,
            text="text" in expects,
        )
        # What was checked: a verdict on the whole would never be yes, since no street is looked for.
        said = decide(expects, seen).checked or CANNOT_TELL
        yield Asked(row["category"], sum(vote == 1 for vote in given) * 2 > len(given), said)


def read(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        yield from csv.DictReader(file)


def encoded(image: Image.Image) -> Picture:
    file = io.BytesIO()
    image.convert("RGB").save(file, "PNG")
    return Picture(file.getvalue())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "only", nargs="*", help="known, drawn, demands, colours, coco64, ocr_small, visor or imagenhub"
    )
    parser.add_argument("--objects", help="the detector of objects; by default one chosen on half of coco64")
    wanted = parser.parse_args()
    objects = wanted.objects or choose_objects()
    print(f"by {objects}")
    eyes = Eyes(objects)
    parts: dict[str, Callable[[], None]] = {
        "known": lambda: table("drawn scenes, seen exactly", list(drawn(None, 160, 64))),
        "drawn": lambda: table("drawn scenes, by detector and reader", list(drawn(eyes, 80, 320))),
        "demands": lambda: table(
            "drawn scenes, by detector and reader, each demand", list(drawn_demands(eyes, 80, 320))
        ),
        "colours": lambda: table(
            "drawn objects in known boxes: colour by pixels", list(drawn_colours(80, 192))
        ),
        "coco64": lambda: table("coco64, the other half, by detector", list(photographs(eyes, 1))),
        "ocr_small": lambda: table("ocr_small, by reader", list(written(eyes))),
        "visor": lambda: visor(eyes),
        "imagenhub": lambda: table(
            "imagenhub, by detector and reader, against people", list(generated(eyes)), people=True
        ),
    }
    for name in wanted.only or parts:
        parts[name]()


if __name__ == "__main__":
    main()
