"""How committed an engine is to its first answers."""

from __future__ import annotations

from typing import Literal

from sightline.extension import Values, measure
from sightline.measures.of_ranking._collection import collection, need_against
from sightline.measures.of_ranking._places import need_places
from sightline.measures.of_ranking._scores import by_scores
from sightline.records import Rankings
from sightline.statistics.ranking_difficulty import nqc as normalised_query_commitment


@measure.of_ranking(
    direction="none", range=(0, None), rests_on="run", beyond=("against", "collection"),
    source="Shtok et al. 2012", licence="Apache-2.0",
)  # fmt: skip
def nqc(run: Rankings, *, k: int = 100, against: Literal["ranking", "collection"] = "ranking") -> Values:
    """Normalised query commitment: standard deviation of the first k scores / |score of the collection|.

    The score of the collection is, `against` "ranking", the mean over the whole ranking as it was kept (all a
    run tells of what is not at its top), or, `against` "collection", the mean over all images that the engine
    could have answered with: it is asked again, which engines that were run here can be. Foretells how well a
    query was answered without any judgement: higher means easier. Compare queries of one engine only.
    """
    need_places("nqc", k)
    need_against("nqc", against)
    return by_scores(
        run,
        k,
        lambda told: collection(
            run,
            told,
            against,
            lambda whole: normalised_query_commitment(told.scores, told.offsets, whole, k=k),
        ),
        "the collection as a whole scores 0",
    )
