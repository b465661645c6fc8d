"""What is out of date in a study, and what would add to it: each with a command that works on it."""

from __future__ import annotations

import shlex

import polars as pl

from sightline import registry
from sightline.errors import SightlineError
from sightline.estimate import plural
from sightline.measures.ranking_scores import stale_rankings
from sightline.prediction.fit import LEAST
from sightline.rendering.document import NextStep
from sightline.study import listing, predicted, reading, rollup
from sightline.study.study import Study
from sightline.variability.store import kept_scale

QUICKLY = 100_000
"""Answers up to which scores of rankings are compared with the rankings: more would take seconds."""


def stale(study: Study) -> list[NextStep]:
    """What the study holds that is older than what it rests on."""
    return [*_truth(study), *_scores(study), *_rankings(study), *_predictions(study)]


def _truth(study: Study) -> list[NextStep]:
    newest = {row["question"]: row["newer_votes"] for row in reading.settlements(study).iter_rows(named=True)}
    return [
        NextStep(
            f"{plural(votes, 'vote')} on {name} {'is' if votes == 1 else 'are'} newer than its truth.",
            _command(study, "truth"),
        )
        for name, votes in newest.items()
        if votes
    ]


def _scores(study: Study) -> list[NextStep]:
    """Images that came or changed after they were measured, and measures that are computed otherwise now."""
    own = listing.computed_for_checks(study)
    steps = []
    for row in reading.measures(study).iter_rows(named=True):
        measure, kind = str(row["measure"]), str(row["kind"])
        if not row["values"] or row["identity"] in own:
            continue
        try:
            here = registry.configure(kind, measure)
            current = here.identity == row["identity"]
            if not here.spec.details.get("computed", True):
                continue  # imported, and nothing here could compute it
        except SightlineError:
            continue  # scored by an extension that is not installed here, which no command can mend
        again = _command(study, "score", measure)
        if not current:
            steps.append(NextStep(f"{measure} was computed by an earlier version.", again))
        elif kind == "of_image" and (n := listing.unscored_images(study, str(row["identity"]))):
            lack = "has no score" if n == 1 else "have no score"
            steps.append(NextStep(f"{plural(n, 'image')} {lack} of {measure} yet.", again))
        elif kind != "of_ranking" and (n := _changed(study, str(row["identity"]))):
            rest = "rests" if n == 1 else "rest"
            steps.append(NextStep(f"{plural(n, 'score')} of {measure} {rest} on what has changed.", again))
    return steps


def _changed(study: Study, identity: str) -> int:
    query = "SELECT count(*) FROM score WHERE measure_id = :measure"
    ((stored,),) = reading.fetch_rows(study, query, measure=reading.measure_id(study, identity))
    return int(stored) - sum(part.height for part in listing.current_parts(study, identity))


def _rankings(study: Study) -> list[NextStep]:
    if reading.counts(study)["answer"] > QUICKLY:
        return []
    return [
        NextStep(
            f"The scores of {measure} are older than the rankings or their relevance.",
            _command(study, "score", measure),
        )
        for measure in stale_rankings(study)
    ]


def _predictions(study: Study) -> list[NextStep]:
    if not reading.counts(study)["prediction"]:
        return []
    steps = []
    for _, asked in reading.questions(study):
        now = reading.newest_settlement(study, asked.name)
        if (
            now is None
            or not predicted.predictions(study, now).is_empty()
            or not _learnable(study, asked.name)
        ):
            continue
        earlier = reading.settlements(study).filter(pl.col("question") == asked.name)["settlement_id"]
        if any(not predicted.predictions(study, each).is_empty() for each in earlier):
            step = _command(study, "fit", "--question", asked.name)
            steps.append(NextStep(f"The predictions of {asked.name} are older than its truth.", step))
    return steps


def next_steps(study: Study) -> list[NextStep]:
    """What would add to this study: only what can work on it."""
    counts = reading.counts(study)
    steps = []
    if counts["judgement"] and not counts["truth"] and _settles(study):
        steps.append(NextStep("Aggregate the votes.", _command(study, "truth")))
    if not counts["judgement"] and not counts["truth"] and counts["image_file"] and counts["answer"]:
        step = _command(study, "annotate", "--mode", "two_sliders")
        steps.append(NextStep("Let people judge the images.", step))
    kinds = set(reading.measures(study)["kind"].to_list())
    if counts["image_file"] and "of_image" not in kinds:
        steps.append(NextStep("Measure the images.", _command(study, "score")))
    several = "of_set" not in kinds and (listing.sets_of_images(study)["there"] > 1).any()
    if several and kept_scale(study) is None:
        step = _command(study, "variability")
        steps.append(NextStep("See how much the images of a prompt vary.", step))
    if not counts["prediction"] and counts["truth"]:
        for _, asked in reading.questions(study):
            if _learnable(study, asked.name):
                step = _command(study, "fit", "--question", asked.name)
                steps.append(NextStep(f"Predict how hard prompts are, by {asked.name}.", step))
                break
    return steps


def _learnable(study: Study, question: str) -> bool:
    """Whether enough prompts have truth of a question, and not all the same."""
    values = rollup.by_prompt(study, question)["value"]
    return len(values) >= LEAST and values.n_unique() > 1


def _settles(study: Study) -> bool:
    """Whether any question with votes is about items that get a truth: votes between systems do not."""
    from sightline.comparison.preferences import preference_questions

    voted = set(listing.votes_by_question(study))
    return bool(voted - set(preference_questions(study)))


def _command(study: Study, verb: str, *words: str) -> str:
    """A command on this study as a shell reads it."""
    return " ".join(shlex.quote(word) for word in ("sightline", verb, str(study.home), *words))
