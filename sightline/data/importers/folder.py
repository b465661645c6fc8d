"""Images in folders: one folder per system, and the prompt is the name of the file or of the folder below."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from sightline.data.sources import TABLES, Once, Source, composed, prompt_ref
from sightline.extension import importer
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record, System


def claims(source: Source) -> float:
    """Folders with images in them or one level below, and no table at the top that would say more."""
    if source.is_file or any(file.lower().endswith((*TABLES, ".json")) for file in source.files()):
        return 0.0
    for system in source.folders()[:50]:
        if source.pictures(system):
            return 0.3
        if any(source.pictures(prompt) for prompt in source.folders(system)[:50]):
            return 0.3
    return 0.0


@importer(
    claims=claims,
    source="Sightline's plain form",
    licence="Apache-2.0",
    files={
        "runs/careful/a red ball.png": "red",
        "runs/careful/two dogs/0.png": "tan",
        "runs/sloppy/a red ball.png": "blue",
    },
)
def folder(source: Source, *, suite: str = "prompts", collection: str = "images") -> Iterator[Record]:
    """Folders of images: system/prompt text.png, or system/prompt text/0.png, 1.png, ..."""
    once = Once()
    for file in source.pictures():
        source.skip(file, "images outside any system's folder")
    for system in source.folders():
        name = composed(system)
        found = False
        for prompt, position, file in _images(source, system):
            if not found:
                yield System(name, at=system)
            found = True
            key = PromptKey(suite, prompt_ref(prompt))
            if once.new(key):
                yield Prompt(key, prompt, at=file)
            image = ImageKey(collection, file)
            yield Image(image, str(source.inside(file)), at=file)
            yield Answer(key, name, position, image, at=file)
        if not found:
            source.skip(system, "folders without images")


def _images(source: Source, system: str) -> Iterator[tuple[str, int, str]]:
    named = [(PurePosixPath(file).stem, file) for file in source.pictures(system)]
    for below in source.folders(system):
        files = source.pictures(below)
        if not files:
            source.skip(below, "folders without images")
        named += [(PurePosixPath(below).name, file) for file in files]
    # `a dog.png` next to `a dog.jpg` or `a dog/0.png`: the same prompt, so the next position.
    counted: Counter[str] = Counter()
    for name, file in named:
        prompt = composed(name).strip()
        yield prompt, counted[prompt], file
        counted[prompt] += 1
