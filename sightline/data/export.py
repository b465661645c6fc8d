"""Export: the tables of a study as files that can be imported again, or a copy of the whole study."""

from __future__ import annotations

import json
import shlex
import shutil
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from sightline import registry
from sightline.data.export_settings import FILES, named_files
from sightline.data.sources import Source, prompt_ref
from sightline.data.sources.plain import (
    EXPORT_NOTE,
    EXPORT_VERSION,
    LEFT_BEHIND,
    TRANSLATION,
    export_note,
    setting_cell,
)
from sightline.errors import DataError, SightlineError, StudyError, UsageError, near
from sightline.extension import Configured, Extension
from sightline.records import NewPrompt
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.study import listing, predicted, reading
from sightline.study.study import SETTINGS_FILE, Study
from sightline.study.writing.copying import copy_study, portable_settings
from sightline.study.writing.references import references
from sightline.study.writing.scenes import scenes
from sightline.study.writing.translations import translations
from sightline.verbs import argument, option, verb

STUDY = "study"
UNSETTLED = "unsettled"
"""The table of items without consensus, which goes along with the truths."""
NOTES = "notes.txt"
"""The file in which an exporter with its own layout notes what it had to leave out or change."""


@dataclass(frozen=True)
class Export(Result):
    """What was written where: rows per table or file, and notes on what could not be written as it is."""

    form: str
    folder: str
    files: Sequence[str]
    rows: Mapping[str, int]
    notes: Sequence[str] = ()

    @property
    def sentence(self) -> str:
        return "" if self.form == STUDY else f"{len(self.files)} files in {self.folder}."

    @property
    def next(self) -> Sequence[str]:
        return (f"sightline status {shlex.quote(self.folder)}",) if self.form == STUDY else ()

    def tables(self) -> dict[str, Table]:
        rows = [(name.replace("_", " "), n) for name, n in self.rows.items()]
        return {"": Table([Column("table"), Column("rows")], rows, f"Written to {self.folder}")}


@verb("collect")
def export(
    study: Study,
    to: Annotated[str | Path, argument("The folder to write to.", "TO")],
    *,
    form: Annotated[
        str,
        option(
            "Write csv, jsonl or parquet (one file per table), huggingface or webdataset (with the images), "
            "trec (rankings and relevance), or study (a full copy).",
            "--as",
            metavar="FORM",
        ),
    ] = "csv",
    tables: Annotated[
        str | Sequence[str] | None,
        option(
            "Write this table: prompts, tags, links, systems, answers, images, image_tags, captions, scenes, "
            "references, questions, annotators, controls, rounds, round_items, tasks, remarks, judgements, "
            "truths, scores or predictions; repeatable.",
            "--table",
            metavar="TABLE",
            shown="every table",
        ),
    ] = None,
) -> Export:
    """Write tables of a study to files, or copy the whole study.

    sightline import STUDY TO imports the folder again, scores with their evidence included; predictions are
    computed again. Roles, exclusions, adjudications, control answers and rounds go along, so that the truth
    of the imported study is the same; a selection that leaves them behind says so. Prompts, answers,
    captions, judgements and truths have the columns of the plain import forms. A copy is safe to make while
    others work on the study.
    """
    folder = Path(to)
    if folder.exists() and not folder.is_dir():
        raise StudyError("there is a file of that name", where=str(folder), remedy="Name a folder.")
    if form == STUDY:
        return _copy(study, folder, tables)
    known = [STUDY, *registry.names("exporter")]
    if form.partition("(")[0] not in known:
        raise UsageError(f"there is no form called {form!r}", remedy=near(form, known))
    chosen = [tables] if isinstance(tables, str) else list(tables or TABLES)
    for name in chosen:
        if name not in TABLES:
            raise UsageError(f"there is no table called {name!r}", remedy=near(name, TABLES))
    exporter = registry.configure("exporter", form)
    exporter.require()
    with_rounds = ("round_items", "tasks", "remarks")
    chosen += [each for each in with_rounds if "rounds" in chosen and each not in chosen]
    if not exporter.spec.details["suffix"]:
        return _own_layout(study, exporter, folder, chosen)
    if "truths" in chosen and listing.unsettled(study):
        chosen.insert(chosen.index("truths") + 1, UNSETTLED)
    contents = _Tables(study, chosen)
    if not any(next(contents.parts(name)).height for name in chosen):
        reading.need_prompts(study)
    contents.rows.clear()

    def write() -> list[Path]:
        made = list(exporter.load()(contents, folder))
        if tables is None and (study.home / SETTINGS_FILE).is_file():
            # Without these rules and questions, the truth of the imported study would differ.
            (folder / SETTINGS_FILE).write_text(portable_settings(study), "utf-8")
            made.append(folder / SETTINGS_FILE)
            made += _copy_named_files(study, folder)
        rows = {f"{name}{suffix}": contents.rows[name] for name in chosen}
        _leave_note(folder, rows, _left_behind(study, chosen))
        return [*made, folder / EXPORT_NOTE]

    suffix = str(exporter.spec.details["suffix"])
    written = _written(write, folder)
    rows = {name: contents.rows[name] for name in chosen}
    left = _left_behind(study, chosen)
    return Export(exporter.short, str(folder), [str(path) for path in written], rows, _warned(left))


def _copy_named_files(study: Study, folder: Path) -> list[Path]:
    """Copy what the rounds of study.toml name: files of control answers, and pictures of examples."""
    made = []
    for name in named_files(study.settings):
        file = Source(study.home).picture(name, SETTINGS_FILE)
        if file is not None:
            target = folder / FILES / name
            target.parent.mkdir(parents=True, exist_ok=True)
            made.append(Path(shutil.copyfile(file, target)))
    return made


def _left_behind(study: Study, tables: Sequence[str]) -> str:
    """The decisions behind the truth that these tables lack; empty where they have all, or no judgements."""
    if not {"judgements", "truths"} & set(tables):
        return ""
    people = listing.named_annotators(study) if "annotators" not in tables else None
    lacking: list[tuple[int, str]] = []
    if people is not None:
        lacking.append((people["excluded"].count(), "excluded annotator"))
        lacking += [
            (people.filter(role=role).height, name)
            for role, name in (("control", "control annotator"), ("adjudicator", "adjudicator"))
        ]
    if "controls" not in tables:
        lacking.append((listing.named_controls(study).height, "control answer"))
    if "rounds" not in tables:
        lacking.append((listing.named_rounds(study).height, "round"))
    return ", ".join(f"{n:,} {name}{'s' if n > 1 else ''}" for n, name in lacking if n)


def _warned(left: str) -> Sequence[str]:
    if not left:
        return ()
    return (
        f"Not exported, and needed for the same truth: {left}. Export all tables, or add "
        "--table annotators --table controls --table rounds.",
    )


def _leave_note(folder: Path, rows: Mapping[str, int], left: str) -> None:
    """Note which tables the folder holds; those of an earlier export to the same folder stay noted."""
    try:
        earlier = export_note(Source(folder))
    except DataError:
        # A note that cannot be read is replaced.
        earlier = {}
    files: dict[str, dict[str, Any]] = {
        file: entry for file, entry in earlier.items() if (folder / file).is_file() and file not in rows
    }
    for file, n in rows.items():
        # Of the forms only CSV is opened by spreadsheets, and has formulas guarded.
        files[file] = {"rows": n, **({"guard": True} if file.endswith(".csv") else {})}
    note = {"sightline_export": EXPORT_VERSION, "files": files, LEFT_BEHIND: left}
    (folder / EXPORT_NOTE).write_text(json.dumps(note, ensure_ascii=False, indent=1) + "\n", "utf-8")


class _Tables(Mapping[str, "pl.DataFrame"]):
    """Tables that are read when an exporter asks for them, whole or in parts; and the images' bytes."""

    def __init__(self, study: Study, names: Sequence[str]) -> None:
        self._study = study
        self._names = names
        self.rows: Counter[str] = Counter()
        """That were read of each table."""

    def __getitem__(self, name: str) -> pl.DataFrame:
        return pl.concat(self.parts(name))

    def parts(self, name: str) -> Iterator[pl.DataFrame]:
        """The rows of a table as frames, read as they are asked for; at least one."""
        if name not in self._names:
            raise KeyError(name)
        self.rows[name] = 0
        return self._counted(name)

    def _counted(self, name: str) -> Iterator[pl.DataFrame]:
        read = _unsettled if name == UNSETTLED else TABLES[name]
        for part in read(self._study):
            self.rows[name] += part.height
            yield part

    def picture(self, sha256: str) -> bytes:
        """The bytes of an image by its content hash."""
        return self._study.files.read(sha256)

    def described(self, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], listing.Described]:
        """What the tables say of these images, given by collection and name."""
        found = listing.described_images(self._study, keys)
        fields: dict[str, tuple[str, Any]] = {
            "images": ("sha256", None),
            "captions": ("captions", []),
            "image_tags": ("tags", {}),
        }
        lacking = dict(field for name, field in fields.items() if name not in self._names)
        return {key: each._replace(**lacking) for key, each in found.items()} if lacking else found

    def unanswered(self) -> Iterator[pl.DataFrame]:
        """Images that are no answer, by collection and name, in parts."""
        return listing.unanswered_images(self._study) if "images" in self._names else iter(())

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _own_layout(study: Study, exporter: Configured, folder: Path, tables: Sequence[str]) -> Export:
    reading.need_prompts(study)
    written = _written(lambda: exporter.load()(_Tables(study, tables), folder), folder)
    notes = [line for path in written if path.name == NOTES for line in path.read_text("utf-8").splitlines()]
    rows = {}
    for path in written:
        if path.name != NOTES:
            rows[str(path.relative_to(folder))] = _rows_in(path)
    # Such a file has what was decided, not the decisions.
    left = _left_behind(study, ["truths"])
    if left:
        notes.append(f"This form carries no decisions: {left} stay behind. Export as csv to keep them.")
    return Export(exporter.short, str(folder), [str(path) for path in written], rows, notes)


def _rows_in(path: Path) -> int:
    """The rows of a Parquet file, the samples of a shard, or the lines of a text."""
    if path.suffix == ".parquet":
        return int(pl.scan_parquet(path).select(pl.len()).collect().item())
    if path.suffix == ".tar":
        with tarfile.open(path) as archive:
            return sum(member.name.endswith(".json") for member in archive)
    with path.open("rb") as file:
        return sum(1 for _ in file)


def _copy(study: Study, folder: Path, tables: str | Sequence[str] | None) -> Export:
    if tables:
        raise UsageError("a copy of the study holds all tables", remedy="Leave out which, or use form csv.")
    with copy_study(study, folder) as copied:
        rows = {name: n for name, n in reading.counts(copied).items() if n}
    return Export(STUDY, str(folder), [str(folder)], rows)


def write_table(table: pl.DataFrame, path: str | Path, *others: str) -> Path:
    """One table to one file, in the form its suffix names; `others` are suffixes that the caller writes."""
    target = Path(path)
    forms = {
        str(each.spec.details["suffix"]): each.spec.name
        for each in registry.everything("exporter")
        if isinstance(each, Extension) and each.spec.details["suffix"]
    }
    if target.suffix not in forms:
        raise UsageError(
            f"cannot write a {target.suffix or 'nameless'} file",
            where=str(path),
            remedy=f"Give the file one of the suffixes {', '.join([*sorted(forms), *others])}.",
        )
    exporter = registry.configure("exporter", forms[target.suffix])
    exporter.require()
    (written,) = _written(lambda: exporter.load()({target.stem: table}, target.parent), target)
    return written


def prompt_table(refs: Sequence[str], prompts: Sequence[NewPrompt]) -> pl.DataFrame:
    """Prompts in the plain form: prompt_id, prompt, expects as JSON, builds_on and one column per tag.

    Of the simpler prompts that they build on those are named that are in the table themselves.
    """
    tags = dict.fromkeys(name for prompt in prompts for name in prompt.tags)
    columns: dict[str, list[str | None]] = {
        "prompt_id": list(refs),
        "prompt": [prompt.text for prompt in prompts],
    }
    if any(prompt.expects is not None for prompt in prompts):
        columns["expects"] = [_json(prompt.expects) for prompt in prompts]
    there = set(refs)
    built = [[prompt_ref(each.text) for each in prompt.builds_on] for prompt in prompts]
    simpler = [_ids([ref for ref in dict.fromkeys(each) if ref in there]) for each in built]
    if any(simpler):
        columns["builds_on"] = [each or None for each in simpler]
    for name in tags:
        columns[f"tags.{name}"] = [prompt.tags.get(name) for prompt in prompts]
    return pl.DataFrame(columns, schema={name: pl.String for name in columns})


def _written(write: Callable[[], Sequence[Path]], where: Path) -> Sequence[Path]:
    try:
        return write()
    except SightlineError:
        raise
    except OSError as error:
        raise StudyError(
            f"cannot write here ({error.strerror or error})",
            where=str(where),
            remedy="Check the disk and your permissions.",
        ) from None


def study_prompts(study: Study) -> pl.DataFrame:
    """Every prompt of a study in the plain form, with its suite, its links and its translations."""
    records, translations_of = reading.prompt_records(study), translations(study)
    prompts = [NewPrompt(prompt.text, prompt.tags, prompt.expects) for prompt in records.values()]
    table = prompt_table([prompt.key.ref for prompt in records.values()], prompts)
    suites = pl.Series("suite", [prompt.key.suite for prompt in records.values()], dtype=pl.String)
    links = listing.named_links(study)
    table = table.insert_column(0, suites)
    translated = [translations_of.get(key, {}) for key in records]
    for language in sorted({language for texts in translated for language in texts}):
        cells = pl.Series(
            TRANSLATION + language, [each.get(language) for each in translated], dtype=pl.String
        )
        table = table.with_columns(cells)
    for kind in ("builds_on", "rephrases"):
        # The plain form names linked prompts by id within the suite; the table `links` holds all of them.
        within = links.filter((pl.col("kind") == kind) & (pl.col("suite") == pl.col("to_suite")))
        if not within.is_empty():
            listed = within.group_by("suite", "prompt_id").agg(pl.col("to_prompt_id").sort().alias(kind))
            listed = listed.with_columns(pl.col(kind).map_elements(_ids, return_dtype=pl.String))
            table = table.join(listed, on=["suite", "prompt_id"], how="left", maintain_order="left")
    return table


def _answers(study: Study) -> Iterator[pl.DataFrame]:
    names = listing.setting_names(study)
    for table in listing.answer_parts(study):
        settings = [None if cell is None else json.loads(cell) for cell in table["settings"]] if names else []
        table = table.drop("settings")
        for name in names:
            cells = [None if not each or name not in each else setting_cell(each[name]) for each in settings]
            table = table.with_columns(pl.Series(f"settings.{name}", cells, dtype=pl.String))
        yield table


def _judgements(study: Study) -> Iterator[pl.DataFrame]:
    return (part.with_columns(pl.col("control") == 1) for part in listing.judgement_parts(study))


def _round_items(study: Study) -> pl.DataFrame:
    return _one_collection(listing.named_round_items(study)).with_columns(pl.col("control") == 1)


def _truths(study: Study) -> Iterator[pl.DataFrame]:
    return (part.drop_nulls("value").drop("reason") for part in listing.truth_parts(study))


def _unsettled(study: Study) -> Iterator[pl.DataFrame]:
    """Items without consensus: no truth to import again, but their reasons are exported."""
    without = pl.col("value").is_null()
    return (part.filter(without).drop("value", "low", "high") for part in listing.truth_parts(study))


def _one_collection(table: pl.DataFrame) -> pl.DataFrame:
    """Without the columns of a second and third collection where all images of an item are of the first."""
    for other in ("collection_b", "collection_c"):
        if table.filter(
            pl.col(other).is_not_null() & pl.col(other).ne_missing(pl.col("collection"))
        ).is_empty():
            table = table.drop(other)
    return table


def _json(value: Mapping[str, Any] | None) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _ids(values: Sequence[str] | pl.Series) -> str:
    """Ids in one cell: separated by spaces, or as a JSON list where an id contains white space itself."""
    ids = list(values)
    plain = " ".join(ids)
    return plain if plain.split() == ids and plain[:1] != "[" else json.dumps(ids, ensure_ascii=False)


def _questions(study: Study) -> pl.DataFrame:
    rows = [
        (q.name, q.scale, q.low, q.high, q.step, q.direction, q.wording or None, _json(q.labels or None))
        for _, q in reading.questions(study)
    ]
    numbers = {name: pl.Float64 for name in ("scale_low", "scale_high", "scale_step")}
    texts = {name: pl.String for name in ("direction", "wording", "labels")}
    schema = {"question": pl.String, "scale": pl.String, **numbers, **texts}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _scenes(study: Study) -> pl.DataFrame:
    rows = [(*key, _json(scene)) for key, scene in scenes(study).items()]
    schema = {name: pl.String for name in ("collection", "image", "scene")}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _references(study: Study) -> pl.DataFrame:
    rows = [(each.name, each.distance, each.squared, v) for each in references(study) for v in each.values]
    schema = {"reference": pl.String, "distance": pl.String, "squared": pl.Boolean, "value": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _predictions(study: Study) -> pl.DataFrame:
    texts = {name: pl.String for name in ("question", "rule", "predictor", "suite", "prompt_id")}
    numbers = {"fold": pl.Int64, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    parts = [pl.DataFrame(schema={**texts, **numbers})]
    prompts = reading.prompts(study).select("prompt_id", "suite", "ref")
    for key, question, rule in (
        reading.settlements(study).select("settlement_id", "question", "rule").iter_rows()
    ):
        joined = predicted.predictions(study, key).join(prompts, on="prompt_id", maintain_order="left")
        named = joined.drop("prompt_id").rename({"spec": "predictor", "ref": "prompt_id"})
        parts.append(
            named.with_columns(question=pl.lit(question), rule=pl.lit(rule)).select(*texts, *numbers)
        )
    return pl.concat(parts)


def _whole(read: Callable[[Study], pl.DataFrame]) -> Callable[[Study], Iterator[pl.DataFrame]]:
    """A table that is read at once: it has a row per prompt, system or round, not per answer."""
    return lambda study: iter((read(study),))


TABLES: Mapping[str, Callable[[Study], Iterator[pl.DataFrame]]] = {
    "prompts": _whole(study_prompts),
    "tags": lambda study: reading.frames(study, *listing.TAGS),
    "links": _whole(listing.named_links),
    "systems": _whole(lambda study: reading.systems(study).select("system", "kind", "collection")),
    "answers": _answers,
    "images": listing.image_parts,
    "image_tags": lambda study: reading.frames(study, *listing.IMAGE_TAGS),
    "captions": lambda study: reading.frames(study, *listing.CAPTIONS),
    "scenes": _whole(_scenes),
    "references": _whole(_references),
    "questions": _whole(_questions),
    "annotators": _whole(listing.named_annotators),
    "controls": _whole(lambda study: _one_collection(listing.named_controls(study))),
    "rounds": _whole(listing.named_rounds),
    "round_items": _whole(_round_items),
    "tasks": _whole(listing.named_tasks),
    "remarks": _whole(listing.named_remarks),
    "judgements": _judgements,
    "truths": _truths,
    "scores": listing.score_parts,
    "predictions": _whole(_predictions),
}
"""Tasks before judgements: who judges meanwhile leaves answers without their task, never the reverse."""
