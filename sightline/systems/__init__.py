"""What answers prompts: suites, generate, retrieve, rerank, fuse, pool, rephrase."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.lazy import lazy

if TYPE_CHECKING:
    from sightline.systems.bridge_answers import BridgeAnswers as BridgeAnswers
    from sightline.systems.bridge_answers import bridge_answers as bridge_answers
    from sightline.systems.caption_queries import CaptionQueries as CaptionQueries
    from sightline.systems.caption_queries import caption_queries as caption_queries
    from sightline.systems.eligible import Eligible as Eligible
    from sightline.systems.eligible import eligible as eligible
    from sightline.systems.fuse import Fusion as Fusion
    from sightline.systems.fuse import fuse as fuse
    from sightline.systems.generate import Generation as Generation
    from sightline.systems.generate import generate as generate
    from sightline.systems.pool import Pool as Pool
    from sightline.systems.pool import pool as pool
    from sightline.systems.rephrase import Rephrasing as Rephrasing
    from sightline.systems.rephrase import rephrase as rephrase
    from sightline.systems.rerank import Reranking as Reranking
    from sightline.systems.rerank import rerank as rerank
    from sightline.systems.retrieve import Retrieval as Retrieval
    from sightline.systems.retrieve import retrieve as retrieve
    from sightline.systems.seeding import ChosenSeeds as ChosenSeeds
    from sightline.systems.seeding import Seeding as Seeding
    from sightline.systems.seeding import SeedQuery as SeedQuery
    from sightline.systems.seeding import SeedSearch as SeedSearch
    from sightline.systems.suite import ExportedSuite as ExportedSuite
    from sightline.systems.suite import Suite as Suite
    from sightline.systems.suite import export_suite as export_suite
    from sightline.systems.suite import make_suite as make_suite
    from sightline.systems.suites import SuiteDescription as SuiteDescription
    from sightline.systems.suites import Suites as Suites
    from sightline.systems.suites import list_suites as list_suites
    from sightline.systems.suites import show_suite as show_suite

__all__ = lazy(__name__, __file__)
