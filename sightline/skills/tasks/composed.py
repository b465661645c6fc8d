"""Prompts composed of a subject, details and a style."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from sightline.errors import DataError, UsageError
from sightline.extension import task
from sightline.records import NewPrompt

SUBJECTS: Mapping[str, Sequence[str]] = {
    "people": (
        "a fisherman mending a net", "two children on a swing", "an old woman reading", "a baker with a loaf",
        "a dancer on a stage", "a boy with a kite", "a nurse on a night shift", "a climber on a ledge",
    ),
    "animals": (
        "a fox in the snow", "a parrot on a branch", "a herd of zebras", "a sleeping cat", "a leaping whale",
        "a horse by a fence", "an owl at dusk", "a beetle on a leaf",
    ),
    "places": (
        "a harbour at dawn", "a narrow street", "a mountain lake", "a ruined castle", "a desert road",
        "a railway station", "a forest path", "a lighthouse on a cliff",
    ),
    "things": (
        "a brass telescope", "a bowl of cherries", "a red bicycle", "a stack of old books", "a paper boat",
        "a violin on a chair", "a cracked teapot", "a pair of boots",
    ),
    "imagined": (
        "a castle on a cloud", "a dragon made of glass", "a robot gardener", "a city under the sea",
        "a train through the stars", "a tree with doors", "a moon in a jar", "a clockwork bird",
    ),
}  # fmt: skip
DETAILS = (
    "soft light", "heavy rain", "seen from above", "close up", "at night", "strong shadows", "warm colours",
    "thick fog", "golden hour", "symmetrical composition", "muted colours", "backlit", "wide angle",
    "fine detail", "long exposure", "reflections in water",
)  # fmt: skip
STYLES = (
    "oil painting", "watercolour", "photograph", "pencil sketch", "pixel art", "woodcut", "anime style",
    "baroque style", "low poly render", "poster",
)  # fmt: skip
MOST_DETAILS = 2
TRIES = 200


@task(
    skill="complex",
    source="Li et al. 2023 (AGIQA-3K): subject, details, style",
    licence="Apache-2.0",
    version=2,
)
def composed(
    rng: np.random.Generator, n: int, *, subjects: str = "", details: str = "", styles: str = ""
) -> Iterator[NewPrompt]:
    """Prompts of a subject, none to two details and perhaps a style, separated by commas.

    The tag `length` is the number of details and styles, 0 to 3, every length equally often as long as no
    subject comes twice. Categories of
    subjects come in the shares that the list of subjects has, as closely as whole prompts allow. `subjects`
    is a CSV with the columns subject and category in place of our list, whose categories are equally large;
    `details` and `styles` are text files, a line each. Expects every phrase, none of
    which is an object by itself, so that it is not complete. No two prompts are the same.
    """
    by_category = _subjects(subjects) if subjects else dict(SUBJECTS)
    some = (_lines(details) if details else DETAILS, _lines(styles) if styles else STYLES)
    if len(some[0]) < MOST_DETAILS or not some[1]:
        raise UsageError("composed needs two details and a style", remedy="Add lines to the files.")
    possible = _possible(sum(map(len, by_category.values())), *map(len, some))
    if n > possible:
        raise UsageError(
            f"composed has {possible:,} different prompts of these lists, not {n:,}",
            remedy="Ask for fewer prompts, or give longer lists of subjects, details and styles.",
        )
    seen: set[str] = set()
    categories = _in_shares({name: len(own) for name, own in by_category.items()}, n, rng)
    orders = {name: [int(k) for k in rng.permutation(len(own))] for name, own in by_category.items()}
    used = dict.fromkeys(by_category, 0)
    for place, category in enumerate(categories):
        own = by_category[category]
        subject = own[orders[category][used[category] % len(own)]]
        used[category] += 1
        made = _one(rng, subject, category, place % (MOST_DETAILS + 2), *some, seen)
        if made is None:
            raise UsageError(
                f"composed found no new prompt for {subject!r} after {len(seen)} prompts",
                remedy="Ask for fewer prompts, or give longer lists of subjects, details and styles.",
            )
        seen.add(made.text)
        yield made


def _possible(subjects: int, details: int, styles: int) -> int:
    """How many prompts there are: none, one or two details in either order, with a style or without."""
    return subjects * (1 + details + details * (details - 1)) * (1 + styles)


def _one(
    rng: np.random.Generator,
    subject: str,
    category: str,
    length: int,
    details: Sequence[str],
    styles: Sequence[str],
    seen: set[str],
) -> NewPrompt | None:
    """A prompt of this length that is not there yet; one detail more, or less, where there is none left."""
    for attempt in range(TRIES):
        wanted = length if attempt < TRIES // 2 else int(rng.integers(0, MOST_DETAILS + 2))
        styled = wanted == MOST_DETAILS + 1 or (wanted > 0 and bool(rng.integers(2)))
        places = rng.choice(len(details), size=wanted - styled, replace=False)
        chosen = [details[int(k)] for k in places]
        style = styles[int(rng.integers(len(styles)))] if styled else ""
        phrases = [subject, *chosen, *([style] if style else [])]
        text = ", ".join(phrases)
        if text not in seen:
            tags = {"skill": "complex", "category": category, "length": str(wanted)}
            tags |= {f"adj{number}": each for number, each in enumerate(chosen, start=1)}
            expects = {"phrases": phrases, "complete": False}
            return NewPrompt(text, tags | ({"style": style} if style else {}), expects)
    return None


def _in_shares(sizes: Mapping[str, int], n: int, rng: np.random.Generator) -> list[str]:
    """n categories in the proportions of their sizes (largest remainder), in random order."""
    total = sum(sizes.values())
    exact = {name: n * size / total for name, size in sizes.items()}
    counts = {name: int(share) for name, share in exact.items()}
    # Equal remainders are settled by chance, so that no category is favoured by its place in the list.
    names = [list(sizes)[int(k)] for k in rng.permutation(len(sizes))]
    left = sorted(names, key=lambda name: counts[name] - exact[name])
    for name in left[: n - sum(counts.values())]:
        counts[name] += 1
    everything = [name for name, count in counts.items() for _ in range(count)]
    return [everything[int(k)] for k in rng.permutation(len(everything))]


def _subjects(path: str) -> dict[str, list[str]]:
    remedy = "A CSV with the columns subject and category."
    found: dict[str, list[str]] = {}
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            for number, row in enumerate(csv.DictReader(file), start=2):
                subject, category = ((row.get(name) or "").strip() for name in ("subject", "category"))
                if not subject or not category:
                    what = "a subject or its category is missing"
                    raise DataError(what, where=f"{path}:{number}", remedy=remedy)
                if subject not in found.setdefault(category, []):
                    found[category].append(subject)
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"the subjects cannot be read ({error})", where=path, remedy=remedy) from None
    if not found:
        raise DataError("there is no subject", where=path, remedy=remedy)
    return found


def _lines(path: str) -> list[str]:
    try:
        lines = Path(path).read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        remedy = "A text file, a line each."
        raise DataError(f"the list cannot be read ({error})", where=path, remedy=remedy) from None
    return list(dict.fromkeys(line.strip() for line in lines if line.strip()))
