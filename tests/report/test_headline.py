"""The headline speaks of every question with enough votes, and of who leads on which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sightline.comparison.compare import Comparison
from sightline.estimate import Estimate
from sightline.report.headline import enough, headline
from sightline.statistics.comparison import Pair, Standing


def compared(by: str, means: Mapping[str, float], *, sure: bool = True, prompts: int = 40) -> Comparison:
    """Systems in this order; all pairs significant, or none."""
    names = list(means)
    n = len(names)
    systems = [
        Standing(name, Estimate(mean, mean - 0.2, mean + 0.2, prompts), *((k, k) if sure else (1, n)))
        for k, (name, mean) in enumerate(means.items(), 1)
    ]
    pairs = [
        Pair(a, b, Estimate(0.3, 0.1, 0.5, prompts), 0.001, 0.003, sure)
        for k, a in enumerate(names)
        for b in names[k + 1 :]
    ]
    return Comparison(by, "higher", prompts, systems, pairs, low=0, high=5)


ALIGNED = compared("alignment", {"a": 4.0, "b": 3.0, "c": 2.0})
QUALITY = compared("quality", {"b": 4.5, "a": 4.4, "c": 4.3}, sure=False)
TASTE = compared("taste", {"c": 5.0, "a": 1.0, "b": 0.0}, prompts=2)


def said(found: Sequence[Comparison], votes: Mapping[str, int]) -> tuple[str, str]:
    return headline(found, votes)


def test_every_question_with_enough_votes_is_spoken_of() -> None:
    answer, more = said([ALIGNED, QUALITY], {"alignment": 200, "quality": 180})
    assert answer == (
        "a is the best of 3 systems on alignment (4.00 of 5 [3.80, 4.20]). "
        "On quality b leads (4.50 of 5 [4.30, 4.70]), not significantly ahead of a and c. Over 40 prompts."
    )
    assert more == ""


def test_a_system_that_leads_on_several_is_named_once() -> None:
    second = compared("depth", {"a": 3.5, "c": 3.0, "b": 2.0})
    answer, _ = said([ALIGNED, second], {"alignment": 200, "depth": 200})
    assert answer == (
        "a is the best of 3 systems on alignment (4.00 of 5 [3.80, 4.20]) and depth (3.50 of 5 "
        "[3.30, 3.70]). Over 40 prompts."
    )


def test_never_of_one_with_five_votes_while_another_has_two_hundred() -> None:
    for order in ([TASTE, ALIGNED], [ALIGNED, TASTE]):
        answer, more = said(order, {"alignment": 200, "taste": 5})
        assert answer == ALIGNED.sentence and "taste" not in answer
        assert more == "Too little is known of taste (5 votes) to speak of it here; see below."
    assert enough([TASTE, ALIGNED], {"alignment": 200, "taste": 19}) == [ALIGNED]
    few = compared("few", {"a": 2.0, "b": 1.0}, prompts=9)
    assert enough([few, ALIGNED], {"alignment": 200, "few": 150}) == [ALIGNED], "nine prompts are few"
    assert enough([TASTE], {"taste": 5}) == [TASTE], "there is nothing better"


def test_few_prompts_are_said_once_for_all_questions() -> None:
    both = [compared(by, {"a": 4.0, "b": 3.0, "c": 1.0}, sure=False, prompts=2) for by in ("one", "two")]
    answer, _ = said(both, {"one": 6, "two": 6})
    assert answer == (
        "There are too few prompts to tell the systems apart; so far those ahead are a on one (4.00 of 5) "
        "and a on two (4.00 of 5). Over 2 prompts."
    )
    assert "[" not in answer, "an interval over two prompts would look sure"


def test_what_does_not_fit_is_pointed_to() -> None:
    many = [compared(f"q{n}", {"a": 4.0, "b": 3.0, "c": 2.0}) for n in range(6)]
    answer, more = said(many, {each.by: 100 for each in many})
    assert "q3" in answer and "q4" not in answer
    assert more == "q4 and q5 follow below."


def test_nothing_to_compare() -> None:
    assert said([], {}) == ("", "")
