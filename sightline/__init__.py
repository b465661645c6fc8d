"""Sightline: the workbench for judging text-to-image systems, generators and search engines alike.

The Python interface is the verbs, each loaded when it is first used:

    import sightline
    study = sightline.open("my-study")
    sightline.score(study, "sharpness")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.lazy import lazy
from sightline.version import __version__ as __version__

if TYPE_CHECKING:
    from sightline.comparison.breakdown import breakdown as breakdown
    from sightline.comparison.compare import compare as compare
    from sightline.comparison.compare_sets import compare_sets as compare_sets
    from sightline.comparison.distributions import distributions as distributions
    from sightline.comparison.gate import gate as gate
    from sightline.comparison.human_scale import human_scale as human_scale
    from sightline.comparison.powered import powered as powered
    from sightline.comparison.queries import queries as queries
    from sightline.comparison.trust import trust as trust
    from sightline.data.check import check as check
    from sightline.data.export import export as export
    from sightline.data.import_ import import_ as import_
    from sightline.data.imports import imports as imports
    from sightline.data.imports import undo as undo
    from sightline.encoders.fit_bridge import fit_bridge as fit_bridge
    from sightline.judging.annotate import annotate as annotate
    from sightline.judging.machine import judge as judge
    from sightline.judging.planning import plan as plan
    from sightline.judging.sheets import sheets as sheets
    from sightline.judging.truth import truth as truth
    from sightline.measures.rankings import overlap as overlap
    from sightline.measures.score import score as score
    from sightline.measures.score import score_files as score_files
    from sightline.prediction.fit import fit as fit
    from sightline.prediction.predict import predict as predict
    from sightline.report.prediction_figures import figures as figures
    from sightline.report.report import report as report
    from sightline.report.status import status as status
    from sightline.reproductions.card import reproduce as reproduce
    from sightline.samples.study import demo as demo
    from sightline.selection.select import select as select
    from sightline.skills.skill_profile import skill_profile as skill_profile
    from sightline.skills.verify import verify as verify
    from sightline.study.backup import backup as backup
    from sightline.study.backup import restore as restore
    from sightline.study.bill import bill as bill
    from sightline.study.cache import cache as cache
    from sightline.study.copy import copy as copy
    from sightline.study.doctor import doctor as doctor
    from sightline.study.init import init as init
    from sightline.study.study import create_study as create
    from sightline.study.study import open_study as open
    from sightline.systems.bridge_answers import bridge_answers as bridge_answers
    from sightline.systems.caption_queries import caption_queries as caption_queries
    from sightline.systems.eligible import eligible as eligible
    from sightline.systems.fuse import fuse as fuse
    from sightline.systems.generate import generate as generate
    from sightline.systems.pool import pool as pool
    from sightline.systems.rephrase import rephrase as rephrase
    from sightline.systems.rerank import rerank as rerank
    from sightline.systems.retrieve import retrieve as retrieve
    from sightline.systems.suite import export_suite as export_suite
    from sightline.systems.suite import make_suite as make_suite
    from sightline.systems.suites import list_suites as list_suites
    from sightline.systems.suites import show_suite as show_suite
    from sightline.testing.extensions import list_extensions as list_extensions
    from sightline.variability.calibrate import calibrate as calibrate
    from sightline.variability.fit_reference import fit_reference as fit_reference
    from sightline.variability.reuse import reuse as reuse
    from sightline.variability.variability import variability as variability
    from sightline.variability.wording import setting_effect as setting_effect
    from sightline.variability.wording import wording as wording

__all__ = lazy(__name__, __file__)
