"""What measures of a ranking share: where the relevant images stand, and which k make sense."""

from __future__ import annotations

from sightline.errors import UsageError
from sightline.records import Rankings
from sightline.statistics.rankings import Hits, count_relevant, find_hits


def hits(run: Rankings, min_rel: float) -> Hits:
    """Where the relevant images stand, those with a gain of at least `min_rel`; once for all measures."""
    if min_rel not in run.found:
        known = count_relevant(run.ideal, run.ideal_offsets, min_rel=min_rel)
        run.found[min_rel] = find_hits(run.gains, run.offsets, known, min_rel=min_rel)
    found: Hits = run.found[min_rel]
    return found


def need_places(measure: str, k: int | None) -> None:
    """Refuse a k that counts no place."""
    if k is not None and k < 1:
        raise UsageError(f"{measure}: k={k} counts no place", remedy=f"At least 1, for example {measure}@10.")
