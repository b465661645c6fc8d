"""A study as a dataset of Hugging Face: images inside Parquet files, and a card."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.data.exporters import parts, whole, write_parquet
from sightline.data.exporters._pictured import NOTES, Sample, columns, file_name, samples
from sightline.errors import DataError
from sightline.extension import exporter

if TYPE_CHECKING:
    import polars as pl

SHARD_BYTES = 256 * 1024**2
ROW_GROUP = 100
"""Rows that are read at once: as few as the datasets package writes where there are images."""
PIECE, PIECE_BYTES = 1_000, 64 * 1024**2
"""Rows, and bytes of their images, that are in memory at once."""
WHOLE_NUMBERS = ("position", "seed")
CARD = "README.md"
FURTHER = ("truths", "scores")


@exporter(source="Hugging Face datasets: Parquet with images", licence="Apache-2.0")
def huggingface(
    tables: Mapping[str, pl.DataFrame], folder: Path, *, split: str = "train", judgements: bool = False
) -> Sequence[Path]:
    """Parquet files with the image bytes of every answer, its prompt, system, seed and tags; and a card.

    `datasets.load_dataset("TO")` reads the folder, and `sightline import` reads it back, each image with the
    bytes it had. Images that answer no prompt follow with their captions. Truths and scores are tables next
    to it, configurations of their own; with `judgements` the votes are too, with the names of annotators.
    `split` names the split that all rows are in.
    """
    notes: list[str] = []
    written: list[Path] = []
    names = columns(tables)
    features: dict[str, str] = {}
    total = 0
    rows = iter(samples(tables, notes))
    while (first := next(rows, None)) is not None:
        path = folder / f"{split}-{len(written):05d}.parquet"
        counted: list[int] = []
        pieces = _pieces(chain((first,), rows), counted)
        frames = (_frame(piece, names)[0] for piece in pieces)
        features = _frame([], names)[1]
        about = {
            "huggingface": json.dumps({"info": {"features": {k: _feature(v) for k, v in features.items()}}})
        }
        with whole(path) as draft:
            write_parquet(frames, draft, ROW_GROUP, about)
        total += sum(counted)
        written.append(path)
    if not written:
        raise DataError("there are no images to export", remedy="Export as csv instead.")
    wanted = (*FURTHER, *(["judgements"] if judgements else []))
    further = [name for name in wanted if name in tables and _is_table(tables, name)]
    for name in further:
        with whole(folder / f"{name}.parquet") as draft:
            write_parquet(parts(tables, name), draft)
        written.append(folder / f"{name}.parquet")
    written.append(_write(folder / CARD, _card(tables, split, total, features, further, notes)))
    if notes:
        written.append(_write(folder / NOTES, notes))
    return written


def _is_table(tables: Mapping[str, pl.DataFrame], name: str) -> bool:
    """Whether a table has rows, and what it is about: in the example of a test it may be anything."""
    return any(
        part.height and "value" in part.columns and "prompt_id" in part.columns
        for part in parts(tables, name)
    )


def _pieces(rows: Iterator[Sample], counted: list[int]) -> Iterator[list[Sample]]:
    """Samples until a shard is full, as many at a time as fit into memory; notes how many."""
    held = 0
    while held < SHARD_BYTES:
        piece: list[Sample] = []
        size = 0
        for row in rows:
            piece.append(row)
            size += len(row.data or b"")
            if len(piece) >= PIECE or size >= PIECE_BYTES or held + size >= SHARD_BYTES:
                break
        if not piece:
            return
        held += size
        counted.append(len(piece))
        yield piece


def _frame(part: Sequence[Sample], names: Sequence[str]) -> tuple[pl.DataFrame, dict[str, str]]:
    """The rows as a frame, and what kind each column is of."""
    import polars as pl

    kinds: dict[str, Any] = {name: pl.String for name in names}
    kinds |= {name: pl.Int64 for name in WHOLE_NUMBERS if name in kinds}
    kinds |= {"score": pl.Float64} if "score" in kinds else {}
    kinds |= {"captions": pl.List(pl.String)} if "captions" in kinds else {}
    picture = pl.Struct({"bytes": pl.Binary, "path": pl.String})
    cells: dict[str, Any] = {
        "image": pl.Series(
            [
                None if row.data is None else {"bytes": row.data, "path": file_name(row.name, row.data)}
                for row in part
            ],
            dtype=picture,
        )
    }
    for name in names:
        cells[name] = pl.Series([row.fields.get(name) for row in part], dtype=kinds[name])
    spoken = {pl.Int64: "int64", pl.Float64: "float64", pl.String: "string"}
    features = {"image": "image", **{name: spoken.get(kinds[name], "list") for name in names}}
    return pl.DataFrame(cells), features


def _feature(kind: str) -> dict[str, Any]:
    if kind == "image":
        return {"_type": "Image"}
    if kind == "list":
        return {"feature": {"dtype": "string", "_type": "Value"}, "_type": "List"}
    return {"dtype": kind, "_type": "Value"}


def _card(
    tables: Mapping[str, pl.DataFrame], split: str, total: int, features: Mapping[str, str],
    further: Sequence[str], notes: Sequence[str],
) -> Iterator[str]:  # fmt: skip
    """The card: its head says how to read the files, its text what is in them."""
    yield from ("---", "pretty_name: A study of text-to-image systems", "task_categories:", "- text-to-image")
    yield from (
        "tags:",
        "- sightline",
        "configs:",
        "- config_name: default",
        "  default: true",
        "  data_files:",
    )
    yield from (f"  - split: {split}", f'    path: "{split}-*.parquet"')
    for name in further:
        yield from (f"- config_name: {name}", "  data_files:", f"  - split: {split}")
        yield f'    path: "{name}.parquet"'
    yield from ("dataset_info:", "- config_name: default", "  features:")
    for name, kind in features.items():
        yield f"  - name: {json.dumps(name)}"
        yield "    list: string" if kind == "list" else f"    dtype: {kind}"
    yield from ("---", "", "# Images of text-to-image systems, with their prompts", "")
    answers = parts(tables, "answers") if "answers" in tables else ()
    systems = list(
        dict.fromkeys(name for part in answers for name in part["system"].unique(maintain_order=True))
    )
    named = ", ".join(map(str, systems)) or "none"
    yield f"{total:,} rows, one image each, of {len(systems)} systems: {named}."
    yield "Written by `sightline export --as huggingface`; `sightline import` reads it back."
    yield ""
    yield from ("| column | type |", "| --- | --- |")
    yield from (f"| `{name}` | {kind} |" for name, kind in features.items())
    yield ""
    if further:
        yield f"Further configurations: {', '.join(further)}."
    yield from notes
    yield "Licence, consent of annotators and intended use are for whoever publishes this to state."


def _write(path: Path, lines: Iterator[str] | Sequence[str]) -> Path:
    with whole(path) as draft:
        draft.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path
