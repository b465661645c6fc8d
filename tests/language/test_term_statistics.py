"""How common words are among prompts: by hand, and without the prompt itself."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sightline.language.term_statistics import STATISTICS, TermStatistics

PROMPTS = ["a red cat", "a red dog", "a cat and a cat", "the blue train"]


def row(statistics: TermStatistics, text: str, **how: bool) -> dict[str, float]:
    return dict(zip(STATISTICS, statistics.table([text], **how)[0], strict=True))


def test_by_hand() -> None:
    """Of 4 prompts 2 use red, 2 use cat, none uses zebra: as if half a prompt did."""
    found = row(TermStatistics(PROMPTS), "a red cat, a zebra")
    common, rare = log(4 / 2), log(4 / 0.5)
    mean = (2 * common + rare) / 3
    scq = (1 + log(2)) * log(1 + 4 / 2)
    wanted = {
        "terms": 3,
        "max_idf": rare,
        "mean_idf": mean,
        "min_idf": common,
        "idf_deviation": sqrt((2 * (common - mean) ** 2 + (rare - mean) ** 2) / 3),
        "sum_scq": 2 * scq,
        "mean_scq": scq,
        "max_scq": scq,
        "log_chance": -(2 * common + rare),
        "unseen": 1 / 3,
    }
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, err_msg=name)


def test_a_prompt_learned_from_is_seen_as_a_new_one_would_be() -> None:
    learned = TermStatistics(PROMPTS).table(PROMPTS, learned_from=True)
    for number, text in enumerate(PROMPTS):
        others = TermStatistics([*PROMPTS[:number], *PROMPTS[number + 1 :]])
        np.testing.assert_allclose(learned[number], others.table([text])[0])


def test_nothing_to_tell_it_from() -> None:
    found = row(TermStatistics(PROMPTS), "the of !!")
    assert found.pop("terms") == 0
    assert np.isnan(list(found.values())).all()


@given(st.lists(st.text(max_size=20), max_size=6), st.text(max_size=30))
def test_kept_and_restored(prompts: list[str], text: str) -> None:
    made = TermStatistics(prompts)
    restored = TermStatistics.restored(made.state())
    np.testing.assert_array_equal(made.table([text]), restored.table([text]))
    assert np.isfinite(made.table([text])[:, 0]).all()
