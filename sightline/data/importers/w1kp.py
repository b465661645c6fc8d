"""W1KP's folders: system, prompt, seed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from sightline.data.importers._w1kp import TRIPLETS, triplets
from sightline.data.sources import Once, Source
from sightline.errors import DataError
from sightline.extension import importer
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record, System


def claims(source: Source) -> float:
    """A prompt.txt three folders down."""
    if source.is_file:
        return 0.0
    for system in source.folders()[:20]:
        for prompt in source.folders(system)[:20]:
            if any(source.has(f"{seed}/prompt.txt") for seed in source.folders(prompt)[:5]):
                return 0.95
    return 0.0


@importer(
    claims=claims,
    source="Tang et al. 2024, W1KP",
    licence="MIT",
    files={
        **{f"w1kp/sdxl/0/{seed}/prompt.txt": "a dog" for seed in (1, 2, 3)},
        **{f"w1kp/sdxl/0/{seed}/image.png": colour for seed, colour in enumerate(("red", "tan", "blue"), 1)},
        "w1kp/sdxl/0/1/metadata.json": '{"guidance": 7.5}',
        "w1kp/2afc.jsonl": '{"ref_seed": "3", "seed1": "1", "seed2": "2", "id": "0", "model_name": "sdxl", '
        '"judgement": 0.6}\n',
    },
)
def w1kp(source: Source, *, suite: str = "w1kp", collection: str = "w1kp") -> Iterator[Record]:
    """W1KP folders: system/prompt id/seed/{image.png, prompt.txt, metadata.json}, in the order of seeds.

    A 2afc.jsonl next to the systems is imported with them.
    """
    once = Once()
    for system in source.folders():
        yield System(system, at=system)
        for prompt in source.folders(system):
            key = PromptKey(suite, PurePosixPath(prompt).name)
            position = 0
            for folder in source.folders(prompt):
                files = source.pictures(folder)
                if len(files) != 1 or not source.has(f"{folder}/prompt.txt"):
                    source.skip(folder, "folders without prompt.txt and just one image")
                    continue
                text = source.text(f"{folder}/prompt.txt").strip()
                if once.new((key, text)):
                    yield Prompt(key, text, at=f"{folder}/prompt.txt:1")
                image = ImageKey(collection, files[0])
                yield Image(image, str(source.inside(files[0])), at=files[0])
                name = PurePosixPath(folder).name
                seed = int(name) if name.isdecimal() and len(name) < 19 else None
                settings = _settings(source, f"{folder}/metadata.json")
                yield Answer(key, system, position, image, None, seed, settings, at=files[0])
                position += 1
    if source.has(TRIPLETS):
        yield from triplets(source, TRIPLETS, collection)


def _settings(source: Source, file: str) -> dict[str, Any] | None:
    if not source.has(file):
        return None
    content = source.json(file)
    if not isinstance(content, dict):
        raise DataError(
            "the metadata are not a JSON object", where=file, remedy='Expected {"name": value, ...}.'
        )
    return content or None
