"""Choose an encoder: by name, or the first of several that can be loaded here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sightline import registry
from sightline.errors import MissingPackage, UsageError
from sightline.extension import Configured


def encoder_of(text: str, what: str) -> Configured:
    """The encoder so written, if it encodes texts or images, as asked for, and all it needs is installed."""
    encoder = registry.configure("encoder", text)
    if what not in encoder.spec.details["encodes"]:
        raise UsageError(f"{encoder.name} encodes no {what}s", remedy="sightline list encoder")
    encoder.require()
    return encoder


class Loadable(NamedTuple):
    """An encoder, and in a sentence what it stands in for; none where it is the first choice."""

    encoder: Configured
    instead: str = ""


def first_loadable(names: Sequence[str], what: str) -> Loadable:
    """The first of these encoders that can be loaded here; the last is not tried, but taken."""
    absent = []
    for name in names[:-1]:
        try:
            encoder = encoder_of(name, what)
            encoder.load()
        except (MissingPackage, ImportError) as error:
            absent.append(f"{name} cannot be loaded here ({getattr(error, 'what', error)})")
            continue
        return Loadable(encoder, "; ".join(absent))
    return Loadable(encoder_of(names[-1], what), "; ".join(absent))
