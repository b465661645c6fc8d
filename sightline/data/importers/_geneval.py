"""What GenEval's metadata say an image must show, for its folders of images and for its list of prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sightline.data.sources import Source
from sightline.expects import sound

SKILLS = {
    "single_object": "single_object",
    "two_object": "multiple_objects",
    "counting": "counting",
    "colors": "compositional",
    "position": "spatial",
    "color_attr": "compositional",
}


def tags_of(tag: str) -> dict[str, str]:
    """GenEval's own tag, and the skill that it stands for."""
    return {"tag": tag, **({"skill": SKILLS[tag]} if tag in SKILLS else {})}


def expects_of(conditions: Mapping[str, Any], source: Source, at: str) -> dict[str, Any] | None:
    """GenEval's conditions as our `expects`, along with the original lists.

    Its prompts ask for nothing else. It accepts more than was asked for, except where a count is excluded, as
    it is in the prompts that test counting.
    """
    include = [each for each in conditions.get("include") or [] if isinstance(each, dict) and "class" in each]
    exclude = [each for each in conditions.get("exclude") or [] if isinstance(each, dict) and "class" in each]
    if not include and not exclude:
        return None
    kinds = [each["class"] for each in include]
    bounded = {each["class"] for each in exclude}
    relation = None
    for each in include:
        position = each.get("position")
        if isinstance(position, list) and len(position) == 2 and position[1] in range(len(kinds)):
            relation = {"first": each["class"], "where": position[0], "second": kinds[position[1]]}
    expects, wrong = sound(
        {
            "objects": [
                {
                    "kind": each["class"],
                    "count": each.get("count", 1),
                    "at_least": each["class"] not in bounded,
                    "colour": each.get("color"),
                    "size": None,
                }
                for each in include
            ],
            "relation": relation,
            # An excluded count of something asked for means "not more than that", not "none at all".
            "absent": [each["class"] for each in exclude if each["class"] not in kinds],
            "text": None,
            "complete": True,
        }
    )
    for fault in wrong:
        source.note(f"{at} ({fault})", "conditions that cannot be read (that part is not expected)")
    return {**expects, "include": include, "exclude": exclude}
