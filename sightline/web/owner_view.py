"""A round's numbers as the owner's page receives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sightline.estimate import Estimate
from sightline.judging import overview as judged
from sightline.judging.agreement import Coefficient
from sightline.judging.round_people import OfPerson
from sightline.judging.store import rounds, showing
from sightline.judging.store.tokens import PANEL
from sightline.records import Question
from sightline.study.schema import database
from sightline.web import payloads_owner as p
from sightline.web.owner_charts import offered
from sightline.web.payloads import ROUTES, Label
from sightline.web.state import State

MOST_STEPS = 12
"""Steps of a scale that are shown as buttons; more are a slider."""


def shown(state: State, name: str, version: Sequence[int]) -> p.Overview:
    """Everything the page shows of a round."""
    study = state.study
    found = judged.overview(study, name)
    round_ = rounds.get_round(study, name)
    with database.reading(study.engine) as connection:
        languages = showing.languages(connection)
    wanted = round_.settings.get("languages") or languages
    return p.Overview(
        study=study.name,
        round=name,
        rounds=[each.name for each in rounds.rounds(study)],
        title=str(round_.settings.get("title") or name),
        mode=found.mode,
        state=found.state,
        at=found.at,
        version="-".join(str(number) for number in version),
        languages=[each for each in languages if each in wanted],
        progress=_progress(found.progress),
        people=[_person(each) for each in found.people],
        agreement=_agreements({name: figures[0] for name, figures in found.agreement.items()}),
        times=p.TimesShown(
            median=found.times.median, low=found.times.low, high=found.times.high, n=found.times.n
        ),
        cost=_cost(found.cost),
        disputes=[_disputes(question, found.disputes[question.name]) for _, question in round_.questions],
        checked=[
            p.CheckedShown(
                by=each.by,
                question=each.question,
                agreement=figure(each.coefficient),
                same=_share("the same answer", each.same),
            )
            for each in found.checked
        ],
        charts=offered(found, [question for _, question in round_.questions]),
        troubles=list(found.troubles),
    )


def figure(found: Coefficient) -> p.Figure:
    """A coefficient as the page receives it."""
    return p.Figure(
        name=found.name, value=found.value, low=found.low, high=found.high, n=found.n, reason=found.reason
    )


def _share(name: str, found: Estimate) -> p.Figure:
    return p.Figure(
        name=name, value=found.value, low=found.low, high=found.high, n=found.n, reason=found.reason
    )


def _agreements(found: Mapping[str, Coefficient]) -> list[p.AgreementShown]:
    return [p.AgreementShown(question=name, figure=figure(each)) for name, each in found.items()]


def _progress(found: judged.Progress) -> p.ProgressShown:
    return p.ProgressShown(
        items=found.items,
        wanted=found.wanted,
        done=found.done,
        share=found.share,
        judgements_wanted=found.judgements_wanted,
        judgements_in=found.judgements_in,
        handed=sum(found.pages.values()),
        open=found.pages.get("open", 0),
        skipped=found.pages.get("skipped", 0),
        lapsed=found.pages.get("lapsed", 0),
        again=found.again,
        again_done=found.again_done,
        rate=_share("pages of work an hour", found.rate),
        expected=found.expected,
        earliest=found.earliest,
        latest=found.latest,
    )


def _person(found: OfPerson) -> p.PersonShown:
    own = found.panel == PANEL
    return p.PersonShown(
        key=found.name if own else f"{found.panel}/{found.name}",
        name=found.name,
        invitable=own,
        role=found.role,
        language=found.language,
        link=None if found.link is None else found.link.expires,
        done=found.done,
        skipped=found.skipped,
        open=found.open,
        judgements=found.votes,
        seconds=found.seconds,
        agreement=_agreements(found.with_others),
        passed=found.passed,
        failed=found.failed,
        reference=_share("reference photos judged as they should", found.reference),
        risks=[
            p.RiskShown(rule=each.rule, question=each.question, reason=each.reason) for each in found.risks
        ],
        left_out=found.left_out,
    )


def _cost(found: judged.Cost | None) -> p.CostShown | None:
    if found is None:
        return None
    return p.CostShown(
        price=str(found.price),
        fee=str(found.fee),
        pages=found.pages,
        so_far=str(found.so_far),
        pages_at_end=found.pages_at_end,
        at_end=str(found.at_end),
    )


def _disputes(question: Question, found: Sequence[judged.Dispute]) -> p.DisputesOf:
    return p.DisputesOf(
        question=question.name,
        wording=question.wording or question.name,
        labels=_labels(question),
        low=question.low,
        high=question.high,
        step=question.step,
        disputes=[
            p.DisputeShown(
                item=each.item,
                prompt=each.prompt,
                images=[f"{ROUTES}/owner/images/{each.item}/{n}" for n in range(each.images)],
                votes=[p.VoteShown(annotator=who, value=value) for who, value in each.values],
                spread=each.spread,
                decided=each.decided,
            )
            for each in found
        ],
    )


def _labels(question: Question) -> list[Label]:
    """The answers as buttons: those with words, or the steps of a short scale."""
    if question.labels:
        return [Label(value=float(value), text=said, key="") for value, said in question.labels.items()]
    low, high, step = question.low, question.high, question.step
    if low is None or high is None or not step or (high - low) / step >= MOST_STEPS:
        return []
    values = [round(low + number * step, 9) for number in range(round((high - low) / step) + 1)]
    return [Label(value=value, text=f"{value:g}", key="") for value in values]
