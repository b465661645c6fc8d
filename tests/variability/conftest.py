"""What tests of variability share: studies of small pictures whose distances are known."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import pytest
from PIL import Image as Pillow

from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record, System
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load

Sample = int | tuple[int, int, int] | bytes | None
Samples = Mapping[tuple[str, str], Sequence[Sample]]
Settings = Mapping[tuple[str, str], Sequence[object]]


def _bytes(picture: int | tuple[int, int, int] | bytes) -> bytes:
    if isinstance(picture, bytes):
        return picture
    file = io.BytesIO()
    colour = (picture,) * 3 if isinstance(picture, int) else picture
    Pillow.new("RGB", (8, 8), colour).save(file, "PNG")
    return file.getvalue()


def _sample(
    folder: Path, system: str, ref: str, n: int, sample: Sample, setting: object = None
) -> list[Record]:
    prompt = PromptKey("s", ref)
    if sample is None:
        return [Answer(prompt, system, n, None, failure="refused by a filter")]
    file = folder / f"{system}-{ref}-{n}.png"
    file.write_bytes(_bytes(sample))
    image = ImageKey(system, f"{ref}-{n}")
    settings = None if setting is None else {"guidance": setting}
    return [Image(image, str(file)), Answer(prompt, system, n, image, seed=n, settings=settings)]


@pytest.fixture(scope="session")
def study_of() -> Callable[..., Study]:
    """A study of (system, prompt) -> samples; `texts` may be (text, tags), `settings` are of each sample.

    Two flat greys are their difference / 255 apart by pixel_l2.
    """

    def make(
        folder: Path,
        samples: Samples,
        texts: Mapping[str, str | tuple[str, Mapping[str, str]]] | None = None,
        settings: Settings | None = None,
        more: Iterable[Record] = (),
    ) -> Study:
        folder.mkdir(parents=True, exist_ok=True)
        worded = texts or {ref: ref for ref in sorted({ref for _, ref in samples})}
        records: list[Record] = []
        for ref, text in worded.items():
            records.append(Prompt(PromptKey("s", ref), *([text] if isinstance(text, str) else text)))
        records += [System(name) for name in dict.fromkeys(name for name, _ in samples)]
        for (system, ref), mine in samples.items():
            own = (settings or {}).get((system, ref), [None] * len(mine))
            for n, (sample, setting) in enumerate(zip(mine, own, strict=True)):
                records += _sample(folder, system, ref, n, sample, setting)
        study = create_study(folder / "study")
        load(study, [*records, *more], importer="test", path="test", digest="1")
        return study

    return make


@pytest.fixture(scope="session")
def sampled() -> Callable[..., list[Record]]:
    """The records of one sample: a shade of grey, a colour, a file's bytes, or None for a refused answer."""
    return _sample
