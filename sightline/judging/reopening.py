"""Work that screening leaves without enough valid judgements goes back to be judged by others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from sightline.judging.controls import controls_of
from sightline.judging.round_people import risks, screens_of
from sightline.judging.round_votes import by_question, excluded
from sightline.judging.store import overseeing, round_numbers
from sightline.judging.store.places import screen_out
from sightline.judging.store.rounds import Round, get_round
from sightline.study.schema import database
from sightline.study.study import Study


@dataclass(frozen=True)
class Reopened:
    """Who lost their places in a round by the screening rules, and who got them back; by name."""

    out: Sequence[str] = ()
    back: Sequence[str] = ()


def reopen(study: Study, round: str) -> Reopened:
    """Give away the places of those whom the screening rules exclude now; others get theirs back.

    Judgements stay as they are. Where the rules would exclude everybody, nothing changes: there would be
    nobody to judge. `truth` says so.
    """
    notes: list[str] = []
    screens = screens_of(study, notes)
    round_ = get_round(study, round)
    if not screens:
        return give_places(study, round_, ())
    everything = round_numbers.votes(study, round_.id)
    people = overseeing.people(study)
    asked = by_question(round_, everything, people, paired=False)
    gone = excluded(people)
    counting = {each.name: each.where(~np.isin(each.votes.annotator, gone)) for each in asked}
    controls = {each.name: controls_of(study, each.votes, each.items) for each in asked}
    failed = risks(counting, controls, screens, notes)
    keys = [(person.panel, person.name) for person in people]
    out = {people[keys.index((key.panel, key.name))].id for key in failed}
    judging = {
        people[number].id
        for part in counting.values()
        for number in np.unique(part.votes.annotator[~part.votes.control]).tolist()
        if people[number].role == "annotator"
    }
    return Reopened() if judging and judging <= out else give_places(study, round_, out)


def give_places(study: Study, round_: Round, out: Collection[int]) -> Reopened:
    """Free the places that these people have in a round, and give the others theirs back."""
    with database.writing(study.engine) as connection:
        gone, back = screen_out(connection, round_.id, out)
        if not gone and not back:
            return Reopened()
        names = {person.id: person.name for person in overseeing.people(study, connection)}
        made = Reopened([names[who] for who in gone], [names[who] for who in back])
        overseeing.note(
            connection, "screen", {"round": round_.name, "out": list(made.out), "back": list(made.back)}
        )
    return made
