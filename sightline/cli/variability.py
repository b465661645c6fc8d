"""sightline variability: how alike the images are that one system gives one prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sightline.cli._app import command
from sightline.cli._options import AsCsv, AsJson, Seed, StudyAt, Workers, cores
from sightline.cli._output import Output, figure, quoted
from sightline.cli._progress import watched
from sightline.cli._scale import CutOffs, cuts_of, say_cuts, say_scale, say_without, scale_of, told
from sightline.errors import UsageError

if TYPE_CHECKING:
    from sightline.estimate import Cell
    from sightline.study.study import Study

SHOWN = 10


@command("variability")
def variability(
    study: StudyAt,
    distance: Annotated[
        list[str] | None,
        typer.Option(
            "--distance",
            metavar="DISTANCE",
            help="What is compared: see sightline list distance. Several with --calibrate.",
            show_default="the best that is here",
        ),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            "--reference",
            metavar="FILE",
            help="Read distances on this scale: a fitted file, `sample`, or an imported one by name.",
        ),
    ] = None,
    fit_reference: Annotated[
        str | None,
        typer.Option(
            "--fit-reference", metavar="FILE", help="Make a scale of this study's pairs, and write it here."
        ),
    ] = None,
    calibrate: Annotated[
        str | None,
        typer.Option(
            "--calibrate",
            metavar="QUESTION",
            help="Hold distances against people: graded pairs give cut-offs, forced choices a ranking.",
        ),
    ] = None,
    reuse: Annotated[
        bool, typer.Option("--reuse", help="Tell how many images come before they repeat, prompt by prompt.")
    ] = False,
    tag: Annotated[
        str | None,
        typer.Option("--tag", metavar="NAME", help="With --reuse: also by the values of this tag."),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "--k",
            min=2,
            help="With --reuse: how many images a curve goes up to.",
            show_default="as many as all prompts have",
        ),
    ] = None,
    cut_offs: Annotated[
        str | None,
        typer.Option(
            "--cut-offs",
            metavar="LOW,MEDIUM,HIGH",
            help="Where these levels of similarity begin, as --calibrate gives them.",
            show_default="0.2,0.4,0.85, W1KP's",
        ),
    ] = None,
    without_blank: Annotated[
        bool, typer.Option("--without-blank", help="Leave out prompts of a system that hold a blank image.")
    ] = False,
    seed: Seed = 0,
    workers: Workers = None,
    json: AsJson = False,
    csv: AsCsv = False,
) -> None:
    """Tell how alike a system's images of one prompt are.

    Similarity is 1 minus the mean distance over all pairs of a prompt's images; a system's is the mean over
    its prompts with its 95 % interval. With --reference distances are first read as shares of a reference
    sample (W1KP's score), and each prompt has a level by the cut-offs.
    """
    from sightline.study.study import open_study

    chosen = distance or [_usual(reference)]
    modes = [fit_reference is not None, calibrate is not None, reuse]
    if sum(modes) > 1:
        raise UsageError(
            "--fit-reference, --calibrate and --reuse are three different tasks", remedy="Give one of them."
        )
    if len(chosen) > 1 and calibrate is None:
        raise UsageError("several distances at once", remedy="Only --calibrate compares distances.")
    if not reuse and (tag is not None or k is not None):
        raise UsageError("--tag and --k belong to --reuse", remedy="Add --reuse, or leave them out.")
    if reuse and reference is None and cut_offs is None:
        raise UsageError(
            "--reuse needs a scale to say when two images look alike",
            remedy="--reference sample, --reference FILE of your own (--fit-reference), or --cut-offs.",
        )
    if cut_offs is not None and not reuse and (reference is None or fit_reference or calibrate):
        raise UsageError(
            "--cut-offs name levels on a scale", remedy="They go with --reference FILE, or with --reuse."
        )
    if fit_reference is not None and reference is not None:
        raise UsageError("--fit-reference makes a scale of its own", remedy="Leave --reference out.")
    if calibrate is not None and without_blank:
        raise UsageError("--calibrate takes the images people judged", remedy="Leave --without-blank out.")
    cuts = cuts_of(cut_offs)
    output = Output(json=json, csv=csv)
    with open_study(study) as opened:
        if fit_reference is not None:
            _fit(output, opened, study, chosen[0], fit_reference, without_blank)
        elif calibrate is not None:
            from sightline.cli._calibration import show_calibration

            show_calibration(output, opened, study, calibrate, chosen, reference, seed)
        elif reuse:
            from sightline.cli._reuse import show_reuse

            show_reuse(output, opened, chosen[0], reference, cuts, tag, k, without_blank, seed)
        else:
            _similarity(output, opened, study, chosen[0], reference, cuts, without_blank, cores(workers))


def _usual(reference: str | None) -> str:
    """The distance of a reference file, or the best that can be loaded here."""
    from pathlib import Path

    from sightline.variability.reference import read_reference
    from sightline.variability.variability import best_distance

    if reference == "sample":
        return "colour_histogram"
    if reference is not None and Path(reference).is_file():
        return read_reference(reference).distance
    return best_distance()


def _similarity(
    output: Output,
    study: Study,
    at: str,
    distance: str,
    named: str | None,
    cuts: CutOffs,
    without_blank: bool,
    workers: int,
) -> None:
    from sightline.estimate import Estimate
    from sightline.rendering.tables import Column, Table
    from sightline.study import reading
    from sightline.variability.variability import variability as measure

    scale = scale_of(study, named, distance)
    with watched() as listener:
        found = measure(
            study,
            distance=distance,
            reference=scale,
            cut_offs=cuts.values,
            without_blank=without_blank,
            workers=workers,
            listener=listener,
        )
    texts = dict(reading.prompts(study).select("prompt_id", "text").iter_rows())
    systems = [(each.system, figure(each.similarity)) for each in found.systems]
    columns = [Column("prompt"), Column("system"), Column("similarity", estimate=scale is not None)]
    if scale is None:
        rows = found.prompts.select("prompt_id", "system", "value").iter_rows()
        prompts: list[tuple[Cell, ...]] = [(texts[prompt], system, value) for prompt, system, value in rows]
    else:
        columns.append(Column("level"))
        prompts = [
            (
                texts[row["prompt_id"]],
                row["system"],
                Estimate(row["value"], row["low"], row["high"], row["images"]),
                row["level"],
            )
            for row in found.prompts.iter_rows(named=True)
        ]
    tables = {
        "systems": Table(
            [Column("system"), Column("similarity", estimate=True)], systems, f"Similarity by {found.measure}"
        ),
        "prompts": Table(columns, prompts, "Prompts, most varied first"),
    }
    told_beside = {"measure": found.measure, "without": found.without, "blank": found.blank}
    output.show(tables, most=SHOWN, **told_beside, reference=told(scale))
    say_without(output, found.without)
    if found.blank:
        output.say(
            f"{found.blank:,} of these hold an image of one colour, which is alike or different for another "
            "reason than the prompt: --without-blank leaves them out."
        )
    say_scale(output, scale)
    if scale is not None:
        say_cuts(output, cuts)
        output.next(f"sightline variability {quoted(at)} --reference {quoted(named or '')} --reuse")
        return
    output.next(f"sightline report {quoted(at)}")


def _fit(output: Output, study: Study, at: str, distance: str, file: str, without_blank: bool) -> None:
    import numpy as np

    from sightline.rendering.tables import Column, Table
    from sightline.variability.reference import fit_reference, write_reference
    from sightline.variability.variability import measured_blank

    with watched() as listener:
        blank = measured_blank(study, listener) if without_blank else set()
        made = fit_reference(study, distance=distance, without=blank, listener=listener)
    write_reference(made, file)
    levels = (0.1, 0.25, 0.5, 0.75, 0.9)
    rows = list(zip(levels, np.quantile(made.distances, levels).tolist(), strict=True))
    table = Table([Column("share", "share of pairs"), Column("distance")], rows, f"Scale of {made.distance}")
    output.show(table, reference=told(made), file=file)
    say_scale(output, made)
    output.next(
        f"sightline variability {quoted(at)} --distance {quoted(made.distance)} --reference {quoted(file)}"
    )
