"""What answers prompts: suites, generate, retrieve, rerank, fuse, pool, rephrase."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.lazy import lazy

if TYPE_CHECKING:
    from sightline.systems.bridge_answers import BridgeAnswers as BridgeAnswers
    from sightline.systems.bridge_answers import bridge_answers as bridge_answers
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
    from sightline.systems.suite import Suite as Suite
    from sightline.systems.suite import suite as suite

__all__ = lazy(__name__, __file__)
