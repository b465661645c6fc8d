"""T2I-CompBench: prompts a category, cut into train and validation."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.sources import Source, prompt_ref
from sightline.errors import DataError
from sightline.extension import importer
from sightline.records import Prompt, PromptKey, Record

CATEGORIES = ("color", "shape", "texture", "spatial", "non_spatial", "complex", "3d_spatial", "numeracy")
SKILLS = {
    "color": "compositional",
    "shape": "compositional",
    "texture": "compositional",
    "spatial": "spatial",
    "3d_spatial": "spatial",
    "non_spatial": "directed_actions",
    "complex": "complex",
    "numeracy": "counting",
}
SPLITS = ("train", "val")
# What a part of a split says of its prompts beyond the split.
PARTS = {
    "seen": ("pairs", "seen"),
    "unseen": ("pairs", "unseen"),
    "action": ("relation", "action"),
    "spatial": ("relation", "spatial"),
    "spatialaction": ("relation", "spatialaction"),
}


def claims(source: Source) -> float:
    """At least two categories with their train and val lists, such as color_train.txt and color_val.txt."""
    if source.is_file:
        return 0.0
    whole = [name for name in CATEGORIES if all(source.has(f"{name}_{split}.txt") for split in SPLITS)]
    return 0.95 * (len(whole) >= 2)


@importer(
    claims=claims,
    source="Huang et al. 2023, T2I-CompBench",
    licence="MIT",
    suite={
        "prompts": 7_959,
        "home": "https://github.com/Karine-Huang/T2I-CompBench",
        "files": "examples/dataset: CATEGORY.txt, CATEGORY_train.txt, CATEGORY_val.txt and their parts",
        "skills": SKILLS,
    },
    files={
        f"compbench/{category}{end}.txt": text
        for category in ("color", "shape")
        for end, text in (
            ("", f"a {category}\nb {category}\n"),
            ("_train", f"a {category}\n"),
            ("_val", f"b {category}\n"),
        )
    },
)
def t2i_compbench(source: Source, *, suite: str = "t2i_compbench") -> Iterator[Record]:
    """T2I-CompBench: CATEGORY.txt with its _train, _val and their parts; their names become tags.

    A category's prompts are those of all its files; it decides on the tag `skill`. `split` is train, val,
    "train and val" for the few that are in both, and absent for those that only CATEGORY.txt has. `pairs`
    says whether the objects' pairing was seen in training, `relation` what kind a complex prompt is.
    """
    taken: set[str] = set()
    for category in CATEGORIES:
        files = _files(source, category)
        if files:
            taken.update(files.values())
            yield from _category(source, suite, category, files)
    for file in source.files():
        if file not in taken:
            source.skip(file, "files that hold no prompts of a category")


def _files(source: Source, category: str) -> dict[str, str]:
    """The files of a category by the end of their names; a category that is there is there as a whole."""
    ends = ("", *(f"_{split}" for split in SPLITS))
    found = {end: f"{category}{end}.txt" for end in ends if source.has(f"{category}{end}.txt")}
    if found and len(found) < len(ends):
        missing = next(f"{category}{end}.txt" for end in ends if end not in found)
        raise DataError(
            f"{next(iter(found.values()))} is here, but not {missing}",
            where=missing,
            remedy="Obtain the whole data set; a single list can be imported as prompts.",
        )
    if found:
        for end in (f"_{split}_{part}" for split in SPLITS for part in PARTS):
            if source.has(f"{category}{end}.txt"):
                found[end] = f"{category}{end}.txt"
    return found


def _category(source: Source, suite: str, category: str, files: dict[str, str]) -> Iterator[Record]:
    tags: dict[str, dict[str, str]] = {}
    places: dict[str, str] = {}
    for end, file in files.items():
        _, split, part = (*end.split("_"), "", "")[:3]
        met: set[str] = set()
        for at, line in source.lines(file):
            text = line.strip()
            if text in met:
                source.skip(at, f"lines that repeat a prompt of {file}")
                continue
            met.add(text)
            if part and split not in tags.get(text, {}).get("split", ""):
                raise DataError(
                    f"{text!r} is not in {category}_{split}.txt",
                    where=at,
                    remedy="A part of a split holds prompts of that split: obtain the files again.",
                )
            places.setdefault(text, at)
            first = {"category": category, "skill": SKILLS[category]}
            _note(source, tags.setdefault(text, first), split, part, at)
    for text, values in tags.items():
        key = PromptKey(suite, f"{category}/{prompt_ref(text)}")
        yield Prompt(key, text, values, at=places[text])


def _note(source: Source, tags: dict[str, str], split: str, part: str, at: str) -> None:
    if part:
        name, value = PARTS[part]
        earlier = tags.setdefault(name, value)
        if earlier != value:
            source.skip(f"{at} ({earlier} and {value})", f"prompts of two {name}: the first was taken")
    elif split and tags.setdefault("split", split) != split:
        tags["split"] = " and ".join(SPLITS)
        source.skip(at, "prompts both in train and in val (their split says so)")
