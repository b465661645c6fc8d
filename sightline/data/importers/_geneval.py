"""What GenEval's metadata say an image must show, for its folders of images and for its list of prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def expects_of(conditions: Mapping[str, Any]) -> dict[str, Any] | None:
    """GenEval's conditions as our `expects`, along with the original lists."""
    include = [each for each in conditions.get("include") or [] if isinstance(each, dict) and "class" in each]
    exclude = [each for each in conditions.get("exclude") or [] if isinstance(each, dict) and "class" in each]
    if not include and not exclude:
        return None
    kinds = [each["class"] for each in include]
    relation = None
    for each in include:
        position = each.get("position")
        if isinstance(position, list) and len(position) == 2 and position[1] in range(len(kinds)):
            relation = {"first": each["class"], "where": position[0], "second": kinds[position[1]]}
    return {
        "objects": [
            {"kind": each["class"], "count": each.get("count", 1), "colour": each.get("color"), "size": None}
            for each in include
        ],
        "relation": relation,
        # An excluded count of something asked for means "not more than that", not "none at all".
        "absent": [each["class"] for each in exclude if each["class"] not in kinds],
        "text": None,
        "include": include,
        "exclude": exclude,
    }
