"""An extension that needs a package which is not there."""

from __future__ import annotations

from collections.abc import Sequence

from sightline.extension import Values, measure
from sightline.records import Prompt


@measure.of_prompt(range=(0, 1), source="an example", licence="Apache-2.0", extra="heavy")
def mood(prompts: Sequence[Prompt]) -> Values:
    """How cheerful a prompt is, as a model says that comes with the extra `heavy`."""
    from sightline_example_model_that_nobody_has import cheerful

    return [cheerful(prompt.text) for prompt in prompts]
