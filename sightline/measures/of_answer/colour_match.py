"""Can the colours that a prompt names be seen in the image?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sightline.errors import UsageError
from sightline.extension import NoValue, Picture, Value, Values, measure
from sightline.records import Prompt
from sightline.statistics.colours import colour_shares, named_colours


@measure.of_answer(direction="higher", range=(0, 1), source="Berlin and Kay 1969", licence="Apache-2.0")
def colour_match(prompts: Sequence[Prompt], images: Sequence[Picture], *, enough: float = 0.01) -> Values:
    """Proportion of the colours named in the prompt that can be seen in the image.

    Every pixel, at 32 steps per channel, belongs to the basic colour whose examples it is nearest to in
    CIELAB. A named colour is seen in full once it covers the proportion `enough` of the image, and in
    proportion below that; the value is the mean over the named colours. Which object wears the colour is not
    checked: a high value does not prove that a prompt was followed, a low one shows that it was not. Named
    are the colours of the objects the prompt expects, or else the colour words of its text ("orange" as a
    fruit counts, too).
    """
    if not 0 < enough <= 1:
        raise UsageError(f"colour_match: enough={enough} is no proportion", remedy="For example enough=0.01.")
    return [_match(prompt, image, enough) for prompt, image in zip(prompts, images, strict=True)]


def _match(prompt: Prompt, image: Picture, enough: float) -> Value | NoValue:
    named = _expected(prompt)
    if not named:
        return NoValue("the prompt names no colour")
    covered = colour_shares(image.rgb)
    seen = {name: covered[name] for name in named}
    return Value(sum(min(1.0, share / enough) for share in seen.values()) / len(seen), {"share": seen})


def _expected(prompt: Prompt) -> list[str]:
    objects = (prompt.expects or {}).get("objects", ())
    colours = [str(each["colour"]) for each in objects if isinstance(each, Mapping) and each.get("colour")]
    return named_colours(" ".join(colours) if colours else prompt.text)
