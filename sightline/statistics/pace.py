"""Who judges much faster than the panel does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import NamedTuple

# A panel of two has no usual pace.
LEAST_PEOPLE = 3


class Timed(NamedTuple):
    """An annotator's panel, median time per judgement in milliseconds, and number of timed judgements."""

    panel: str
    median_ms: float
    n: int


def too_fast(
    people: Sequence[Timed], *, least_ms: float = 0.0, share: float = 0.25
) -> Iterator[tuple[int, str]]:
    """The index of everybody whose median lies below a limit, and the reason.

    The limit is the larger of `least_ms` and `share` times the panel's pace, the median of its annotators'
    medians; a panel of fewer than three has none.
    """
    panels: dict[str, list[float]] = {}
    for each in people:
        panels.setdefault(each.panel, []).append(each.median_ms)
    for index, (name, own, n) in enumerate(people):
        panel = panels[name]
        pace = median(panel) if len(panel) >= LEAST_PEOPLE else 0.0
        if own < least_ms:
            limit = f"{least_ms:g} ms"
        elif own < share * pace:
            limit = f"{share:g} of the panel's median {pace:.0f} ms"
        else:
            continue
        yield index, f"median {own:.0f} ms over {n} judgements, below {limit}"
