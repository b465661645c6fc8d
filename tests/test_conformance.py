"""Every extension keeps what its kind promises (sightline.testing), and ours give their golden values.

golden.json holds the result of each of our extensions on the fixed inputs, by kind, name and version. If
arithmetic changes, the value differs and the test fails until `version` is raised in the declaration; the new
version then has no value yet, and

    SIGHTLINE_GOLDEN=add python -m pytest tests/test_conformance.py tests/test_registry.py

adds the missing ones. Nothing ever overwrites a value. A golden value holds on every processor: how far a
result may be from it is said by kind in sightline.testing.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sightline import registry
from sightline.errors import ExtensionError, MissingPackage
from sightline.extension import KINDS, Extension, consensus, measure
from sightline.records import Settled, Votes
from sightline.testing import check_extension
from sightline.testing.conformance import BEHAVIOUR, plain, same

# Whose golden values are kept here; other packages have their own tests.
OURS = ("sightline", "sightline-example")
GOLDEN = Path(__file__).with_name("golden.json")
# A bridge is fitted to one's own images, so that it has no example; its own tests fit one.
# Judges and generators by endpoint need a server, diffusers a checkpoint: their own tests bring them.
WITHOUT_EXAMPLE = {
    *("bridge", "bridge_similarity"),
    *("judge", "judge_yes_no", "viescore", "openai_images", "diffusers"),
}
# Checks need a study: tests/data has them all.
ELSEWHERE = {"check"}


@pytest.fixture(autouse=True)
def nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_OFFLINE", "1")


def test_every_kind_has_its_promises() -> None:
    assert set(BEHAVIOUR) == set(KINDS)


@pytest.mark.parametrize(
    "extension",
    [
        pytest.param(
            each,
            id=f"{each.spec.kind}-{each.spec.name}",
            marks=[pytest.mark.slow] if each.spec.name == "fine_tuned" else [],
        )
        for each in registry.everything()
        if isinstance(each, Extension)
        and each.spec.name not in WITHOUT_EXAMPLE
        and each.spec.kind not in ELSEWHERE
    ],
)
def test_promises_and_golden_value(extension: Extension) -> None:
    spec = extension.spec
    try:
        result = plain(check_extension(spec.name, spec.kind).result)
    except MissingPackage as error:
        pytest.skip(f"not needed here: {spec.name}: {error.what}")
    key = f"{spec.kind} {spec.name} version {spec.version}"
    golden = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}
    if spec.origin not in OURS:
        return
    if key not in golden and os.environ.get("SIGHTLINE_GOLDEN") == "add":
        golden[key] = result
        rows = [f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in sorted(golden.items())]
        GOLDEN.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    assert key in golden, "it has no golden value yet: the top of this file says how to add it"
    assert same(golden[key], result, spec.kind), "its arithmetic changed: raise its version"


def test_a_broken_promise_is_named() -> None:
    @measure.of_image(source="test", licence="MIT")
    def batchy(images: list[object]) -> list[float]:
        """Depends on the batch."""
        return [float(len(images))] * len(images)

    with pytest.raises(ExtensionError, match="does not depend on the rest of the batch"):
        check_extension(batchy)

    @consensus(source="test", licence="MIT")
    def first(votes: Votes) -> Settled:
        """Takes the first judgement of everything."""
        import numpy as np

        n = votes.items
        value = np.full(n, votes.value[0] if len(votes.value) else np.nan)
        return Settled(value, np.full(n, np.nan), np.full(n, np.nan), np.zeros(n, np.int64), [None] * n)

    with pytest.raises(ExtensionError, match="what every consensus promises"):
        check_extension(first)


def test_a_predictor_without_its_methods_is_refused_when_it_is_declared() -> None:
    from sightline.extension import predictor

    with pytest.raises(ExtensionError, match="half has no explain and no state and no restore") as caught:

        @predictor(source="test", licence="MIT")
        class half:
            """Half a predictor."""

            def fit(self, x: object, y: object) -> object: ...

            def predict(self, x: object) -> object: ...

    assert "fit, predict, explain, state, restore" in str(caught.value)
