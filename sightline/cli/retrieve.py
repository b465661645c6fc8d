"""sightline retrieve: let a search engine answer the prompts of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sightline.cli._app import command
from sightline.cli._options import AsCsv, AsJson, StudyAt, listed
from sightline.cli._output import Output, quoted
from sightline.cli._progress import watched
from sightline.errors import UsageError

if TYPE_CHECKING:
    from sightline.rendering.tables import Table
    from sightline.study.running.progress import Listener
    from sightline.study.study import Study

FIRST = 128


@command("retrieve")
def retrieve(
    study: StudyAt,
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="The name its answers are kept under.")],
    with_: Annotated[
        str,
        typer.Option(
            "--with",
            metavar="RETRIEVER",
            help="What searches: see sightline list retriever.",
            show_default=False,
        ),
    ] = "",
    collection: Annotated[
        str,
        typer.Option(
            "--collection",
            metavar="NAME",
            help="The collection of images it searches.",
            show_default=False,
        ),
    ] = "",
    rerank: Annotated[
        str,
        typer.Option(
            "--rerank",
            metavar="ENGINE",
            help="Instead: put the first answers of this engine into the order of --by.",
            show_default=False,
        ),
    ] = "",
    fuse: Annotated[
        str,
        typer.Option(
            "--fuse",
            metavar="ENGINES",
            help="Instead: put the rankings of these engines together, names apart by commas.",
            show_default=False,
        ),
    ] = "",
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="MEASURE|RULE",
            help="A measure of an answer for --rerank; rrf, combsum or combmnz for --fuse.",
            show_default="rrf",
        ),
    ] = "",
    scaling: Annotated[
        str, typer.Option("--scaling", metavar="WAY", help="How combsum and combmnz scale: minmax or z.")
    ] = "minmax",
    first: Annotated[
        int | None,
        typer.Option(
            "--first",
            min=1,
            help="How many answers of an engine --rerank or --fuse looks at.",
            show_default=f"{FIRST} for --rerank, all for --fuse",
        ),
    ] = None,
    k: Annotated[int, typer.Option("--k", min=1, help="How many images it answers a prompt with.")] = 100,
    suite: Annotated[
        str | None,
        typer.Option("--suite", metavar="SUITE", help="Only prompts of this suite.", show_default="all"),
    ] = None,
    without_own: Annotated[
        bool,
        typer.Option(
            "--without-own", help="Leave out the caption that is the prompt itself, prompt by prompt."
        ),
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take back this system's earlier answers first.")
    ] = False,
    json: AsJson = False,
    csv: AsCsv = False,
) -> None:
    """Let a search engine answer the prompts of a study.

    Or make another engine out of those there are: by a closer look at its first answers, or by fusion.

    \b
    sightline retrieve my-study words --with caption_words --collection photos
    sightline retrieve my-study closer --rerank words --by colour_match --first 128
    sightline retrieve my-study both --fuse words,clip
    """
    from sightline.study.study import open_study

    _one_way(with_, collection, rerank, fuse, by, suite, without_own)
    output = Output(json=json, csv=csv)
    with open_study(study) as opened, watched() as listener:
        if rerank:
            shown = _reranked(opened, system, rerank, by, first or FIRST, replace, listener)
        elif fuse:
            shown = _fused(opened, system, listed(fuse), by or "rrf", scaling, first, k, replace)
        else:
            shown = _searched(opened, system, with_, collection, k, suite, without_own, replace, listener)
    tables, told = shown
    output.show(tables, **told)
    for reason, n in told.get("unread", {}).items():
        output.say(f"{n:,} images could not be looked at: {reason}.")
    if told.get("own_captions") and not told["without_own"]:
        output.say(
            f"{told['own_captions']:,} prompts are captions of this collection, word for word. "
            "What reads captions, or was fitted on them, knows the answer: see --without-own."
        )
    if told["already"]:
        output.say("The study held exactly these answers already. Nothing was changed.")
    output.say(f"To take it back: sightline import {quoted(study)} --undo {told['number']}")
    output.next(
        f"sightline score {quoted(study)} precision@10 ndcg@10", "against the relevance that is known"
    )


def _one_way(
    with_: str, collection: str, rerank: str, fuse: str, by: str, suite: str | None, without_own: bool
) -> None:
    if sum(map(bool, (with_, rerank, fuse))) != 1:
        raise UsageError(
            "what is to answer?", remedy="Give one of --with RETRIEVER, --rerank ENGINE and --fuse ENGINES."
        )
    if with_ and not collection:
        raise UsageError("no collection is named to search", remedy="Give --collection NAME.")
    if rerank and not by:
        raise UsageError(
            "--rerank needs a measure to order by", remedy="--by MEASURE: sightline list of_answer"
        )
    if with_ and by:
        raise UsageError("--by is for --rerank and --fuse", remedy="Leave it out.")
    if (rerank or fuse) and (collection or suite or without_own):
        raise UsageError(
            "--rerank and --fuse answer what the engines answered, from the same images",
            remedy="Leave --collection, --suite and --without-own out.",
        )


Shown = tuple["Table | dict[str, Table]", dict[str, Any]]


def _searched(
    study: Study,
    system: str,
    retriever: str,
    collection: str,
    k: int,
    suite: str | None,
    without_own: bool,
    replace: bool,
    listener: Listener,
) -> Shown:
    from sightline.rendering.tables import Column, Table
    from sightline.systems.retrieve import retrieve as search

    done = search(
        study,
        system,
        retriever,
        collection=collection,
        k=k,
        suite=suite,
        without_own=without_own,
        replace=replace,
        listener=listener,
    )
    columns = [
        Column("system"),
        Column("prompts"),
        Column("candidates", "images searched"),
        Column("answers"),
        Column("without", "prompts without an answer"),
    ]
    row = (done.system, done.prompts, done.candidates, done.answers, done.without)
    told = {"retriever": done.retriever, "number": done.source_id, "already": done.already}
    told |= {"own_captions": done.own, "without_own": without_own}
    return Table(columns, [row], done.retriever), {**told, "unread": dict(done.unread)}


def _reranked(
    study: Study, system: str, of: str, measure: str, first: int, replace: bool, listener: Listener
) -> Shown:
    from sightline.rendering.tables import Column, Table
    from sightline.systems.rerank import rerank

    done = rerank(study, system, of, measure, first=first, replace=replace, listener=listener)
    columns = [Column(name) for name in ("system", "prompts", "answers", "computed")]
    row = (done.system, done.prompts, done.answers, done.computed)
    tables = {"systems": Table(columns, [row], f"{of}, its first {first} by {done.measure}")}
    if done.without:
        reasons = [Column("reason"), Column("n")]
        tables["without"] = Table(reasons, list(done.without.items()), "Why images have no value")
    told = {"of": done.of, "measure": done.measure, "number": done.source_id, "already": done.already}
    return tables, told


def _fused(
    study: Study,
    system: str,
    of: list[str],
    rule: str,
    scaling: str,
    first: int | None,
    k: int,
    replace: bool,
) -> Shown:
    from sightline.rendering.tables import Column, Table
    from sightline.systems.fuse import fuse

    done = fuse(study, system, of, rule=rule, scaling=scaling, first=first, k=k, replace=replace)
    columns = [Column(name) for name in ("system", "prompts", "answers")]
    title = f"{', '.join(done.of)} by {done.rule}"
    table = Table(columns, [(done.system, done.prompts, done.answers)], title)
    return table, {
        "of": list(done.of),
        "rule": done.rule,
        "number": done.source_id,
        "already": done.already,
    }
