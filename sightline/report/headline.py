"""The whole study in a few sentences: who leads on which question, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sightline.comparison.compare import SURE, Comparison
from sightline.comparison.preferences import Preferences, listed
from sightline.estimate import FEW, format_cell, format_interval, format_number, plural

ENOUGH = 0.1
"""The part of the votes on the most judged question that another needs to be spoken of in the headline."""
NAMED = 4
"""Questions that a headline has room for."""

Found = Comparison | Preferences


def enough(found: Sequence[Found], votes: Mapping[str, int]) -> list[Found]:
    """What a headline speaks of: nothing of few votes where another has many, nor of fewer than FEW prompts.

    Where all have few prompts there is nothing better.
    """
    most = max((votes.get(each.by, 0) for each in found), default=0)
    kept = [each for each in found if votes.get(each.by, 0) >= ENOUGH * most]
    return [each for each in kept if _prompts(each) >= FEW] or kept


def headline(found: Sequence[Found], votes: Mapping[str, int]) -> tuple[str, str]:
    """The answer, and what is left to say in smaller type; `votes` are those behind each question."""
    kept = enough(found, votes)
    spoken, later = kept[:NAMED], kept[NAMED:]
    few = [f"{each.by} ({plural(votes.get(each.by, 0), 'vote')})" for each in found if each not in kept]
    more = []
    if few:
        more.append(f"Too little is known of {listed(few)} to speak of it here; see below.")
    if later:
        more.append(
            f"{listed([each.by for each in later])} {'follows' if len(later) == 1 else 'follow'} below."
        )
    if len(spoken) < 2:
        return (spoken[0].sentence if spoken else ""), " ".join(more)
    return _together(spoken), " ".join(more)


def _together(found: Sequence[Found]) -> str:
    """One sentence for each system that is the best, then one for each question that no system is."""
    won: dict[str, list[Found]] = {}
    for each in found:
        if each.winner is not None and not _open(each):
            won.setdefault(each.winner, []).append(each)
    said = [_best(system, by) for system, by in won.items()]
    few = [each for each in found if _too_few(each)]
    if few:
        ahead = listed([f"{_top(each)[0]} on {each.by} ({_figure(each)})" for each in few])
        said.append(f"There are too few prompts to tell the systems apart; so far those ahead are {ahead}.")
    rest = [each for each in found if each not in few]
    said += [_leads(each) for each in rest if _open(each) or each.winner is None]
    sizes = {_prompts(each) for each in found}
    over = f" Over {plural(sizes.pop(), 'prompt')}." if len(sizes) == 1 else ""
    return " ".join(said) + over


def _best(system: str, by: Sequence[Found]) -> str:
    several = len(_names(by[0]))
    parts = [f"{each.by} ({_figure(each)})" for each in by]
    return f"{system} is the best of {plural(several, 'system')} on {listed(parts)}."


def _leads(each: Found) -> str:
    """Who leads without being the best for sure, or why nobody does."""
    if _open(each):
        return each.sentence
    first, *others = _top(each)
    if not others:
        return f"On {each.by} {first} leads ({_figure(each)})."
    rivals = listed(others) if len(others) <= 3 else f"{len(others)} others"
    return f"On {each.by} {first} leads ({_figure(each)}), not significantly ahead of {rivals}."


def _too_few(each: Found) -> bool:
    """Whether systems with values are not told apart for want of prompts alone."""
    return (
        isinstance(each, Comparison)
        and each.least_p >= SURE
        and each.direction != "none"
        and not each.confounded
        and sum(one.mean.value is not None for one in each.systems) > 1
    )


def _open(each: Found) -> bool:
    """Whether the result has a sentence of its own: nothing was tested, or nothing can be said."""
    if isinstance(each, Preferences):
        return len(each.ranking.groups) > 1
    known = [one.mean.value for one in each.systems if one.mean.value is not None]
    return len(known) < 2 or each.confounded or each.least_p >= SURE or each.direction == "none"


def _names(each: Found) -> Sequence[str]:
    return [one.system for one in each.systems] if isinstance(each, Comparison) else each.systems


def _top(each: Found) -> list[str]:
    """The best mean, then those that nothing is significantly better than."""
    placed = each.systems if isinstance(each, Comparison) else each.ranking.systems
    first = next((one.system for one in placed if one.system == each.winner), placed[0].system)
    return [first, *(one.system for one in placed if one.best_rank == 1 and one.system != first)]


def _figure(each: Found) -> str:
    """The leader's mean on its scale, or how often it wins."""
    if isinstance(each, Preferences):
        return f"wins {format_cell(each.ranking.systems[0].win_rate, '%')}"
    leader = _top(each)[0]
    mean = next(one.mean for one in each.systems if one.system == leader)
    interval = "" if mean.rough else format_interval(mean, decimals=2)
    return f"{format_number(mean.value or 0.0, decimals=2)}{each.scale} {interval}".rstrip()


def _prompts(each: Found) -> int:
    return each.prompts if isinstance(each, Comparison) else each.ranking.prompts
