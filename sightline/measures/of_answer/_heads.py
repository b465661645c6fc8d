"""Small heads on top of a network: dense layers as a file of weights has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from sightline.errors import DataError


def dense(state: Mapping[str, Any], between: type[nn.Module] | None = None) -> nn.Sequential:
    """Dense layers from weights by name, in the order of their numbers, with `between` between them."""
    names = sorted((name for name in state if name.endswith("weight")), key=_place)
    if not names:
        raise DataError("there are no dense layers among the weights")
    layers: list[nn.Module] = []
    for name in names:
        weight, base = state[name], state.get(name[: -len("weight")] + "bias")
        with torch.random.fork_rng(devices=[]):
            layer = nn.Linear(weight.shape[1], weight.shape[0], bias=base is not None)
        layer.weight = nn.Parameter(weight.float(), requires_grad=False)
        if base is not None:
            layer.bias = nn.Parameter(base.float(), requires_grad=False)
        layers += [layer, *([between()] if between and name != names[-1] else [])]
    return nn.Sequential(*layers)


def _place(name: str) -> tuple[int, str]:
    # The last layer of some heads has a name instead of a number.
    number = next((int(part) for part in name.split(".") if part.isdecimal()), 1 << 30)
    return number, name
