"""Measures and distances, and the verbs that compute them: score, score_files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.lazy import lazy

if TYPE_CHECKING:
    from sightline.measures.rankings import Overlap as Overlap
    from sightline.measures.rankings import overlap as overlap
    from sightline.measures.score import FileScores as FileScores
    from sightline.measures.score import Scores as Scores
    from sightline.measures.score import plan_scores as plan_scores
    from sightline.measures.score import score as score
    from sightline.measures.score import score_files as score_files

__all__ = lazy(__name__, __file__)
