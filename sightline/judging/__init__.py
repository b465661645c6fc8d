"""Letting people judge, and what follows from it: annotate, plan, sheets, truth, and the owner's actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.lazy import lazy

if TYPE_CHECKING:
    from sightline.judging.annotate import OpenRound as OpenRound
    from sightline.judging.annotate import OpenRounds as OpenRounds
    from sightline.judging.annotate import annotate as annotate
    from sightline.judging.assignment import Assignment as Assignment
    from sightline.judging.assignment import assign as assign
    from sightline.judging.assignment import most_tasks as most_tasks
    from sightline.judging.blinding import blind as blind
    from sightline.judging.blinding import redrawn as redrawn
    from sightline.judging.charts import label_pictures as label_pictures
    from sightline.judging.declaring import Declared as Declared
    from sightline.judging.declaring import declare as declare
    from sightline.judging.declaring import declare_round as declare_round
    from sightline.judging.machine import MachineVotes as MachineVotes
    from sightline.judging.machine import judge as judge
    from sightline.judging.oversee import AddedJudgements as AddedJudgements
    from sightline.judging.oversee import Invitation as Invitation
    from sightline.judging.oversee import Rejudging as Rejudging
    from sightline.judging.oversee import RevokedLinks as RevokedLinks
    from sightline.judging.oversee import adjudicate as adjudicate
    from sightline.judging.oversee import again as again
    from sightline.judging.oversee import correct as correct
    from sightline.judging.oversee import exclude as exclude
    from sightline.judging.oversee import invite as invite
    from sightline.judging.oversee import judgements_csv as judgements_csv
    from sightline.judging.oversee import pause as pause
    from sightline.judging.oversee import restore as restore
    from sightline.judging.oversee import resume as resume
    from sightline.judging.oversee import revoke as revoke
    from sightline.judging.oversee import revoke_links as revoke_links
    from sightline.judging.oversee import take_in as take_in
    from sightline.judging.overview import Overview as Overview
    from sightline.judging.overview import overview as overview
    from sightline.judging.planning import Plan as Plan
    from sightline.judging.planning import plan as plan
    from sightline.judging.planning import plan_rounds as plan_rounds
    from sightline.judging.prepared import PreparedImages as PreparedImages
    from sightline.judging.prepared import looks_alike as looks_alike
    from sightline.judging.rejudging import JudgedAgain as JudgedAgain
    from sightline.judging.rejudging import judge_again as judge_again
    from sightline.judging.reopening import Reopened as Reopened
    from sightline.judging.reopening import reopen as reopen
    from sightline.judging.round_charts import CHARTS as CHARTS
    from sightline.judging.round_charts import ChartTitle as ChartTitle
    from sightline.judging.round_charts import offered_charts as offered_charts
    from sightline.judging.round_charts import round_chart as round_chart
    from sightline.judging.rounds import RoundSettings as RoundSettings
    from sightline.judging.rounds import round_names as round_names
    from sightline.judging.sheets import Sheets as Sheets
    from sightline.judging.sheets import sheets as sheets
    from sightline.judging.store.answering import Receipt as Receipt
    from sightline.judging.store.answering import SubmittedAnswer as SubmittedAnswer
    from sightline.judging.store.answering import record_answers as record_answers
    from sightline.judging.store.remarks import GivenRemark as GivenRemark
    from sightline.judging.store.remarks import SubmittedRemark as SubmittedRemark
    from sightline.judging.store.remarks import given_remarks as given_remarks
    from sightline.judging.store.remarks import offered_remarks as offered_remarks
    from sightline.judging.store.remarks import record_remarks as record_remarks
    from sightline.judging.store.remarks import stored_part as stored_part
    from sightline.judging.store.round_numbers import image_of as image_of
    from sightline.judging.store.round_numbers import newest as newest
    from sightline.judging.store.round_numbers import people_missing as people_missing
    from sightline.judging.store.rounds import Round as Round
    from sightline.judging.store.rounds import count_items as count_items
    from sightline.judging.store.rounds import get_round as get_round
    from sightline.judging.store.rounds import rounds_of as rounds_of
    from sightline.judging.store.showing import Wording as Wording
    from sightline.judging.store.showing import content_of as content_of
    from sightline.judging.store.showing import languages as languages
    from sightline.judging.store.showing import linked_prompts as linked_prompts
    from sightline.judging.store.showing import linking as linking
    from sightline.judging.store.showing import wordings as wordings
    from sightline.judging.store.tasks import Given as Given
    from sightline.judging.store.tasks import Slot as Slot
    from sightline.judging.store.tasks import Task as Task
    from sightline.judging.store.tasks import given_answers as given_answers
    from sightline.judging.store.tasks import past_tasks as past_tasks
    from sightline.judging.store.tasks import standing as standing
    from sightline.judging.store.tasks import task_by_key as task_by_key
    from sightline.judging.store.tokens import SESSION_HOURS as SESSION_HOURS
    from sightline.judging.store.tokens import Holder as Holder
    from sightline.judging.store.tokens import access as access
    from sightline.judging.store.tokens import issue_token as issue_token
    from sightline.judging.store.tokens import person_of as person_of
    from sightline.judging.store.tokens import session_holder as session_holder
    from sightline.judging.store.tokens import set_language as set_language
    from sightline.judging.store.tokens import signing_key as signing_key
    from sightline.judging.store.tokens import start_session as start_session
    from sightline.judging.store.tokens import token_holder as token_holder
    from sightline.judging.truth import QuestionTruth as QuestionTruth
    from sightline.judging.truth import Truth as Truth
    from sightline.judging.truth import truth as truth

__all__ = lazy(__name__, __file__)
