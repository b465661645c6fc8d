"""sightline score: its words may name a study with measures, or measures with image files."""

from __future__ import annotations

import os
from typing import Any

import click

from sightline.cli import adapter
from sightline.cli._errors import guarded
from sightline.cores import cores
from sightline.errors import UsageError, near
from sightline.verbs import GPUS, ON, WORKERS


@click.command("score", context_settings=adapter.SETTINGS)
@click.argument("first", metavar="STUDY|MEASURE", help="A study; or, without one, a measure of an image.")
@click.argument(
    "others",
    metavar="[MEASURE|FILE]...",
    nargs=-1,
    help="Measures of the study; or more measures, then image files.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help=WORKERS.help,
    show_default=WORKERS.shown,
)
@click.option("--on", metavar=ON.metavar, help=ON.help)
@click.option("--gpus", type=click.FloatRange(min=0), help=GPUS.help)
@click.option("--retry-quarantined", is_flag=True, help="Try items again that ended their workers.")
@click.option("--plan", is_flag=True, help="Estimate the calls, tokens and cost of a judge; call nothing.")
@guarded
def score(
    first: str,
    others: tuple[str, ...],
    workers: int | None,
    on: str | None,
    gpus: float | None,
    retry_quarantined: bool,
    plan: bool,
    **form: Any,
) -> int:
    """Compute automatic measures of a study or of image files.

    Only what is not cached is computed, and every batch is stored as soon as it is done. Without a measure,
    those of study.toml are computed.

    \b
    sightline score my-study
    sightline score my-study sharpness "precision(k=5)"
    sightline score sharpness *.png
    """
    adapter.check_form(form)
    words = [first, *others]
    if "://" in first or _is_study(first) or (os.path.isdir(first) and not _is_measure(first)):
        from sightline.cli._progress import watched
        from sightline.measures import plan_scores
        from sightline.measures import score as score_study
        from sightline.study.study import open_study

        with open_study(first) as study, watched() as listener:
            measures = list(others) or None
            if plan:
                adapter.show(plan_scores(study, measures), address=first, **form)
                return 0
            result = score_study(
                study, measures, workers=workers or (None if on else cores()), on=on, gpus=gpus,
                retry_quarantined=retry_quarantined, listener=listener,
            )  # fmt: skip
        adapter.show(result, address=first, **form)
        return result.exit_code
    if not _is_measure(first):
        raise UsageError(
            f"there is neither a study nor a measure called {first!r}", remedy=near(first, _measures())
        )
    from sightline.measures import score_files

    files = next((n for n, word in enumerate(words) if n and not _is_measure(word)), len(words))
    scored = score_files(words[:files], words[files:])
    adapter.show(scored, **form)
    return scored.exit_code


score.params += adapter.faces()


def _is_study(word: str) -> bool:
    from sightline.study.study import DATABASE_FILE, SETTINGS_FILE

    return any(os.path.exists(os.path.join(word, name)) for name in (DATABASE_FILE, SETTINGS_FILE))


def _is_measure(word: str) -> bool:
    """Whether a word names a measure or is an alias of one; a file of that very name is the file."""
    from sightline import registry
    from sightline.extension import MEASURE_KINDS

    name = word.partition("(")[0].partition("@")[0].strip()
    return not os.path.isfile(word) and any(
        registry.has(kind, name) or name.lower() in registry.aliases(kind) for kind in MEASURE_KINDS
    )


def _measures() -> list[str]:
    from sightline import registry
    from sightline.extension import MEASURE_KINDS

    return [name for kind in MEASURE_KINDS for name in registry.names(kind)]
