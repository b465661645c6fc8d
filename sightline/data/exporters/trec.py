"""Rankings and relevance for evaluation programs such as trec_eval."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sightline.data.exporters import parts, whole
from sightline.errors import DataError
from sightline.extension import exporter

if TYPE_CHECKING:
    import polars as pl

NOTES = "notes.txt"
COLUMNS = ("suite", "collection", "system", "prompt_id", "position", "image", "score")


@exporter(source="TREC run, qrels and topics formats", licence="Apache-2.0")
def trec(tables: Mapping[str, pl.DataFrame], folder: Path, *, question: str = "relevance") -> Sequence[Path]:
    """A run file a retriever (qid Q0 docid rank score tag), qrels.txt with the relevance, and topics.tsv.

    Where there are several suites or collections, each has a folder of its own. Programs sort a run by its
    scores: where these are missing or rising, a run gets scores that fall with the rank. Where scores only
    tie, the run keeps them, and a copy NAME.untied.run has scores made of ranks, so that ties are broken as
    the engine ranked them. notes.txt says both. The truth of `question` is the relevance, as the rule settled
    it that came last.
    """
    notes: list[str] = []
    runs = _rankings(tables, notes)
    relevant = _relevance(tables, question)
    if runs is None and relevant is None:
        raise DataError(
            f"there is neither a ranking of a retriever nor a truth of {question!r} about images",
            remedy="Export as csv instead, or name the question: --as 'trec(question=NAME)'.",
        )
    found = [table for table in (runs, relevant) if table is not None]
    for column, what in (("prompt_id", "prompt id"), ("image", "image"), ("system", "system")):
        for table in found:
            if column in table.columns:
                _refuse_space(table[column].unique(maintain_order=True), what)
    written: list[Path] = []
    for (suite, collection), home in _homes(found, folder).items():
        queries: dict[str, None] = {}
        if runs is not None:
            ranked = runs.filter(suite=suite, collection=collection)
            names = _file_names(ranked["system"].unique(maintain_order=True))
            for system, name in names.items():
                for ending, lines in _runs(ranked.filter(system=system), system, queries, notes):
                    written.append(_write(home / f"{name}{ending}", lines))
        if relevant is not None:
            judged = relevant.filter(suite=suite, collection=collection)
            if not judged.is_empty():
                queries.update(dict.fromkeys(judged["prompt_id"]))
                written.append(_write(home / "qrels.txt", _qrels(judged)))
        topics = _topics(tables.get("prompts"), suite, queries, notes)
        if topics:
            written.append(_write(home / "topics.tsv", topics))
    if notes:
        written.append(_write(folder / NOTES, notes))
    return written


def _rankings(tables: Mapping[str, pl.DataFrame], notes: list[str]) -> pl.DataFrame | None:
    """The places of rankings, all at once: lines of a run are sorted by the ids of prompts."""
    import polars as pl

    if "answers" not in tables:
        return None
    others: set[str] = set()
    failed = 0
    found = []
    for part in parts(tables, "answers"):
        others |= set(part.filter(pl.col("kind") != "retriever")["system"].unique())
        ranked = part.filter(kind="retriever")
        failed += ranked["image"].null_count()
        found.append(ranked.filter(pl.col("image").is_not_null()).select(COLUMNS))
    if others:
        notes.append(f"{len(others)} generators are left out: their answers are no rankings.")
    if failed:
        notes.append(f"{failed} answers are left out: they failed and name no image.")
    kept = pl.concat(found)
    return None if kept.is_empty() else kept


def _relevance(tables: Mapping[str, pl.DataFrame], question: str) -> pl.DataFrame | None:
    import polars as pl

    if "truths" not in tables:
        return None
    named = pl.col("prompt_id").is_not_null() & pl.col("image").is_not_null()
    alone = pl.col("system").is_null() & pl.col("image_b").is_null() & pl.col("image_c").is_null()
    about = (pl.col("question") == question) & named & alone
    kept = pl.concat(part.filter(about) for part in parts(tables, "truths"))
    if kept.is_empty():
        return None
    kept = kept.filter(rule=kept["rule"][-1])
    odd = kept.filter(pl.col("value") != pl.col("value").round(0))
    if not odd.is_empty():
        value, prompt, image = odd.select("value", "prompt_id", "image").row(0)
        raise DataError(
            f"the {question} {value:g} of image {image!r} for prompt {prompt!r} is no whole number",
            remedy="Relevance in a TREC file is a whole number: export the truths as csv instead.",
        )
    # A run has columns of its own called so.
    return kept.drop("system")


def _refuse_space(names: Iterable[str], what: str) -> None:
    for name in names:
        if name.split() != [name]:
            raise DataError(
                f"the {what} {name!r} has white space in it, which a TREC file cannot hold",
                remedy="Export as csv, jsonl or parquet, or bring the data in under other names.",
            )


def _homes(found: Sequence[pl.DataFrame], folder: Path) -> dict[tuple[str, str], Path]:
    """The folder of each suite and collection: this one, if there is one of each."""
    pairs = dict.fromkeys(pair for table in found for pair in table.select("suite", "collection").iter_rows())
    suites, collections = (_file_names(dict.fromkeys(names)) for names in zip(*pairs, strict=True))
    homes = {}
    for suite, collection in pairs:
        home = folder / suites[suite] if len(suites) > 1 else folder
        homes[suite, collection] = home / collections[collection] if len(collections) > 1 else home
    return homes


def _file_names(names: Iterable[str]) -> dict[str, str]:
    """A file name for each name, different also where a file system does not tell A from a."""
    taken: set[str] = set()
    found = {}
    for name in names:
        plain = wanted = re.sub(r"[^\w.+-]+", "_", name).lstrip(".")[:100] or "_"
        number = 2
        while wanted.lower() in taken:
            wanted, number = f"{plain}_{number}", number + 1
        taken.add(wanted.lower())
        found[name] = wanted
    return found


def _runs(
    table: pl.DataFrame, system: str, queries: dict[str, None], notes: list[str]
) -> Iterator[tuple[str, Iterator[str]]]:
    """The run of a system, and where its scores tie a copy in which they do not: endings and lines."""
    import polars as pl

    ranked = table.sort("prompt_id", "position").with_columns(
        rank=pl.int_range(1, pl.len() + 1).over("prompt_id")
    )
    queries.update(dict.fromkeys(ranked["prompt_id"]))
    # trec_eval reads scores in single precision: what ties there is ordered by image name.
    step = pl.col("score").cast(pl.Float32).diff().over("prompt_id")
    first = pl.col("rank") == 1
    kept = ranked.select((first | (step <= 0)).all() & pl.col("score").is_not_null().all()).item()
    untied = kept and ranked.select((first | (step < 0)).all()).item()
    if kept:
        yield ".run", _lines(ranked, system)
    if untied:
        return
    deepest = int(ranked.select(pl.col("rank").max()).item())
    made = ranked.with_columns(score=(deepest + 1 - pl.col("rank")).cast(pl.Int64))
    notes.append(
        f"The scores of {system} tie somewhere, and trec_eval orders ties by image name: its run keeps the "
        "scores, and its .untied.run has scores made of ranks, which break ties as the engine did."
        if kept
        else f"The scores of {system} are missing or rising somewhere: its run has scores made of ranks."
    )
    yield ".untied.run" if kept else ".run", _lines(made, system)


def _lines(ranked: pl.DataFrame, system: str) -> Iterator[str]:
    rows = ranked.select("prompt_id", "image", "rank", "score").iter_rows()
    return (f"{query} Q0 {image} {rank} {score!r} {system}" for query, image, rank, score in rows)


def _qrels(judged: pl.DataFrame) -> Iterator[str]:
    rows = judged.sort("prompt_id", "image").select("prompt_id", "image", "value").iter_rows()
    return (f"{query} 0 {image} {int(grade)}" for query, image, grade in rows)


def _topics(
    prompts: pl.DataFrame | None, suite: str, queries: Mapping[str, None], notes: list[str]
) -> list[str]:
    if prompts is None:
        return []
    texts = dict(prompts.filter(suite=suite).select("prompt_id", "prompt").iter_rows())
    for query in queries:
        text = texts.get(query)
        if text is not None and (text != text.strip() or "\n" in text or "\r" in text):
            notes.append(
                f"topics.tsv is left out: the text of prompt {query} does not fit a line of its own."
            )
            return []
    return [f"{query}\t{texts[query]}" for query in queries if query in texts]


def _write(path: Path, lines: Iterable[str]) -> Path:
    with whole(path) as draft, draft.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)
    return path
