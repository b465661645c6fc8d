"""sightline predict: how well will a prompt do, before anything is drawn or searched?"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from sightline.cli._app import command
from sightline.cli._options import AsCsv, AsJson, Seed
from sightline.cli._output import Output, quoted
from sightline.errors import StudyError, UsageError

FOLDS = 5


@command("predict")
def predict(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="STUDY|PROMPT",
            help="Prompts to predict; or a study, whose own truth is learned from, and new prompts for it.",
            show_default=False,
        ),
    ] = None,
    prompt: Annotated[
        list[str] | None,
        typer.Option("--prompt", metavar="TEXT", help="A prompt, whatever it looks like; repeatable."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            metavar="FILE",
            help="Every prompt of a .txt (one a line), .csv, .tsv, .jsonl or .parquet file.",
        ),
    ] = None,
    column: Annotated[
        str | None,
        typer.Option(
            "--column",
            metavar="NAME",
            help="The column of --file that has the prompts.",
            show_default="prompt, text, caption or query",
        ),
    ] = None,
    suggest: Annotated[
        list[str] | None,
        typer.Option(
            "--suggest", metavar="TEXT|FILE", help="A rewording to rank beside the prompt; repeatable."
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by", metavar="TARGET", help="What ranks rewordings: hbpp, p_at_10 or rr.", show_default="hbpp"
        ),
    ] = None,
    tier: Annotated[
        str | None,
        typer.Option(
            "--tier",
            metavar="TIER",
            help="Which tier of the predictor that ships answers, such as light.",
            show_default="the best that runs here",
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            "--model", metavar="FILE", help="Instead of the one that ships: a predictor that --save wrote."
        ),
    ] = None,
    question: Annotated[
        list[str] | None,
        typer.Option(
            "--question",
            metavar="QUESTION",
            help="Of a study: whose truth is predicted, or QUESTION.SYSTEM; several are learned at once.",
            show_default="the first with truth",
        ),
    ] = None,
    with_: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="PREDICTOR",
            help="Of a study: what predicts (sightline list predictor); several are compared.",
            show_default="ridge",
        ),
    ] = None,
    feature: Annotated[
        list[str] | None,
        typer.Option(
            "--feature",
            metavar="MEASURE",
            help="Of a study: one more measure of a prompt to learn from, such as synset_count; repeatable.",
        ),
    ] = None,
    rankings: Annotated[
        bool,
        typer.Option(
            "--rankings", help="Of a study: learn from its search engines' rankings as well, after retrieval."
        ),
    ] = False,
    split: Annotated[
        str | None,
        typer.Option(
            "--split",
            metavar="folds|published",
            help="Of a study: draw folds, or take the prompts' tag split as published.",
            show_default="folds",
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            "--folds",
            min=2,
            help="Of a study: in how many parts it is cut to try it.",
            show_default=str(FOLDS),
        ),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            metavar="FILE",
            help="Write here: with --file the predictions (.csv, .jsonl, .parquet), of a study PQPP's table "
            "(.tex, .csv).",
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save",
            metavar="FILE",
            help="Of a study: keep the best predictor in this .npz file, for --model.",
        ),
    ] = None,
    pictures: Annotated[
        Path | None,
        typer.Option(
            "--pictures",
            metavar="DIR",
            help="Of a study: draw a map of its prompts, predictions against truth, what is easy or hard.",
        ),
    ] = None,
    seed: Seed = 0,
    json: AsJson = False,
    csv: AsCsv = False,
) -> int:
    """Predict how hard prompts are, and tell how well that works.

    Prompts are predicted by the predictor that ships with Sightline, with intervals and words. A
    study's own truth is learned from anew: every prompt is predicted by a model that never saw its truth.

    \b
    sightline predict "seven green cups left of a blue house"
    sightline predict --file prompts.csv --to predictions.csv
    sightline predict my-study --with ridge --with stack --prompt "a red ball"
    """
    output = Output(json=json, csv=csv)
    given = list(words or ())
    of_study: dict[str, object] = {"--question": question, "--with": with_, "--feature": feature}
    of_study |= {"--rankings": rankings, "--split": split, "--folds": folds, "--save": save}
    of_study["--pictures"] = pictures
    of_prompts = {
        "--file": file,
        "--column": column,
        "--suggest": suggest,
        "--by": by,
        "--tier": tier,
        "--model": model,
    }
    if given and _is_study(given[0], [name for name, told in of_study.items() if told]):
        _refuse(of_prompts, f"{given[0]} is a study, and this is for prompts without one")
        from sightline.cli._predict_study import Asked
        from sightline.cli._predict_study import of_study as try_study

        asked = Asked(
            given[0],
            question or (),
            with_ or ["ridge"],
            feature or (),
            rankings,
            split or "folds",
            folds or FOLDS,
            seed,
            [*given[1:], *(prompt or ())],
            to,
            save,
            pictures,
        )
        try_study(output, asked)
        return 0
    _refuse(of_study, "no study is named to learn from")
    if given and given[0] and not any(map(str.isspace, given[0])):
        output.say(f"Read as a prompt: there is no study called {given[0]} here.", "")
    return _without_study(output, [*given, *(prompt or ())], file, column, suggest or (), by, tier, model, to)


def _without_study(
    output: Output,
    prompts: Sequence[str],
    file: Path | None,
    column: str | None,
    suggest: Sequence[str],
    by: str | None,
    tier: str | None,
    model: Path | None,
    to: Path | None,
) -> int:
    from sightline.cli import _predict_prompts as show

    if model is not None:
        _refuse({"--tier": tier}, "tiers are of the predictor that ships, and --model is another")
    teller: show.Teller = show.Shipped(tier) if model is None else show.FromFile(model)
    if file is not None:
        if prompts or suggest:
            raise UsageError("--file goes without other prompts", remedy="Put them into the file.")
        _refuse({"--by": by}, "nothing is ranked without --suggest")
        return show.of_file(output, file, column, to, teller)
    _refuse({"--column": column, "--to": to}, "nothing is read from a file")
    if not prompts:
        raise UsageError(
            "what is to be predicted?",
            remedy='sightline predict "a prompt", or --file FILE, or sightline predict my-study',
        )
    if suggest:
        if len(prompts) > 1:
            raise UsageError("--suggest is for one prompt at a time", remedy="Name one.")
        return show.of_rewordings(output, prompts[0], suggest, by, teller)
    _refuse({"--by": by}, "nothing is ranked without --suggest")
    return show.of_prompts(output, prompts, teller)


def _refuse(options: Mapping[str, object], why: str) -> None:
    wrong = [name for name, told in options.items() if told]
    if wrong:
        raise UsageError(f"{' and '.join(wrong)}: {why}", remedy="Leave it out: sightline predict --help")


def _is_study(word: str, options: Sequence[str]) -> bool:
    """Whether the first word names a study; an error where it looks like a path but leads nowhere.

    A prompt that looks like a path is given by --prompt.
    """
    spaced = any(map(str.isspace, word))
    if ("://" in word and not spaced) or _holds_study(word):
        return True
    if _exists(word) and os.path.isfile(word):
        raise UsageError(
            f"{word} is a file, neither a study nor a prompt",
            remedy=f"Its prompts: sightline predict --file {quoted(word)}",
        )
    path_like = not spaced and (
        "/" in word or os.sep in word or word.startswith(("~", ".")) or word.endswith((".db", ".sqlite"))
    )
    if path_like or options or _exists(word):
        learned = f", which {' and '.join(options)} would learn from" if options else ""
        raise StudyError(
            "this folder is not a study" if _exists(word) else f"there is no such study{learned}",
            where=word,
            remedy=f"Make one: sightline init {quoted(word)}. If it is a prompt: "
            f"sightline predict --prompt {quoted(word)}",
        )
    return False


def _holds_study(word: str) -> bool:
    if not _exists(word):
        # What knows studies brings a database with it, and whoever asks about a prompt need not wait for it.
        return False
    from sightline.study.study import DATABASE_FILE, SETTINGS_FILE

    return any(_exists(os.path.join(word, name)) for name in (DATABASE_FILE, SETTINGS_FILE))


def _exists(word: str) -> bool:
    try:
        return os.path.exists(word)
    except (OSError, ValueError):
        return False  # a prompt may be longer than any path, or hold what no path can
