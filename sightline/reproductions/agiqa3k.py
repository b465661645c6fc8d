"""AGIQA-3K (Li et al. 2023): mean opinion by system, length, style and setting; quality with alignment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sightline.data.sources import Source
from sightline.errors import DataError
from sightline.reproductions.card import Obtained, Paper, Part, Printed
from sightline.statistics.correlation import kendall, pearson, spearman
from sightline.statistics.logistic import mapped_pearson

TABLE = "data.csv"
OPINIONS = {"quality": "mos_quality", "alignment": "mos_align"}
NORMAL = "normal"
# System as the files spell it -> mean quality at the normal setting.
SYSTEMS = {
    "AttnGAN": "0.9863",
    "glide": "1.0924",
    "DALLE2": "2.6243",
    "sd1.5": "2.8274",
    "xl2.2": "3.2982",
    "midjourney": "3.6260",
}
SETTINGS = ("midjourney.lowstep", "sd1.5.lowstep", "sd1.5.lowcorr", "sd1.5.highcorr")
LENGTHS = {"0": "594", "1": "1194", "2": "795", "3": "399"}
STYLES = ("none", "abstract", "anime", "baroque", "realistic", "sci-fi")
HALF_STEPS = (
    "At half the steps. The paper says almost GLIDE's quality, which is 1.0924; the data says no such thing."
)


@dataclass(frozen=True)
class Image:
    """One row: what drew the image, how its prompt was made, and the two mean opinions."""

    system: str
    setting: str
    length: int
    style: str
    opinions: Mapping[str, float]


def _images(source: Source) -> list[Image]:
    images = []
    wanted = ("name", "adj1", "adj2", "style", *OPINIONS.values())
    for row in source.rows(TABLE, required=wanted):
        parts = row.text("name").split("_")
        if len(parts) != 3:
            raise DataError(
                f"name {row.text('name')!r} is not system_setting_index",
                where=row.at,
                remedy="Correct the name.",
            )
        details = [row.text(column, None) for column in ("adj1", "adj2", "style")]
        images.append(
            Image(
                system=parts[0],
                setting=parts[1],
                length=sum(detail is not None for detail in details),
                style=(details[2] or "none").removesuffix(" style"),
                opinions={name: row.number(column) for name, column in OPINIONS.items()},
            )
        )
    return images


def _means(images: list[Image], stem: str, group: Callable[[Image], str | None]) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for image in images:
        name = group(image)
        if name is not None:
            for opinion, value in image.opinions.items():
                values.setdefault(f"{opinion}.{stem}.{name}", []).append(value)
    return {name: sum(own) / len(own) for name, own in values.items()}


def _opinions(source: Source) -> Obtained:
    images = _images(source)
    obtained: dict[str, float] = {"rows": len(images)}
    for length in LENGTHS:
        obtained[f"rows.length.{length}"] = sum(str(image.length) == length for image in images)
    obtained |= _means(images, "system", lambda image: image.system if image.setting == NORMAL else None)
    obtained |= _means(images, "setting", _unusual_setting)
    obtained |= _means(images, "length", lambda image: str(image.length))
    obtained |= _means(images, "style", lambda image: image.style)
    # What a newer release might add is not on the card.
    known = {figure.id for figure in OPINION_FIGURES}
    return {name: value for name, value in obtained.items() if name in known}


def _unusual_setting(image: Image) -> str | None:
    return None if image.setting == NORMAL else f"{image.system}.{image.setting}"


def _agreement(source: Source) -> Obtained:
    images = _images(source)
    quality, alignment = ([image.opinions[name] for image in images] for name in OPINIONS)
    return {
        "mapping.plcc": mapped_pearson(quality, alignment).value,
        "mapping.plcc_raw": pearson(quality, alignment).value,
        "mapping.srocc": spearman(quality, alignment).value,
        "mapping.krocc": kendall(quality, alignment).value,
    }


def _mean_figures(stem: str, names: Mapping[str, str | None], note: str = "") -> list[Printed]:
    return [
        Printed(f"{opinion}.{stem}.{name}", value if opinion == "quality" else None, note)
        for name, value in names.items()
        for opinion in OPINIONS
    ]


OPINION_FIGURES = (
    Printed("rows", "2982"),
    *(Printed(f"rows.length.{n}", rows, "Details and styles in the prompt.") for n, rows in LENGTHS.items()),
    *_mean_figures("system", SYSTEMS, "At the normal setting."),
    Printed("quality.setting.midjourney.lowstep", "2.3873", HALF_STEPS),
    Printed("alignment.setting.midjourney.lowstep", None),
    *_mean_figures("setting", dict.fromkeys(SETTINGS[1:])),
    *_mean_figures("length", dict.fromkeys(LENGTHS)),
    *_mean_figures("style", dict.fromkeys(STYLES)),
)

PAPER = Paper(
    "AGIQA-3K: image quality and alignment",
    {TABLE: tuple(OPINIONS.values())},
    (
        Part(OPINION_FIGURES, _opinions, (TABLE,)),
        Part(
            (
                Printed("mapping.plcc", "0.8376", "Quality to alignment; bad starts end at .8310 or .8141."),
                Printed("mapping.plcc_raw", "0.8141", "Without the mapping."),
                Printed("mapping.srocc", "0.7419"),
                Printed("mapping.krocc", "0.5547"),
            ),
            _agreement,
            (TABLE,),
        ),
    ),
)
