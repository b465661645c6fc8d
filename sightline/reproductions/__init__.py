"""Reproduction cards, one file per paper: what it printed, how to obtain it, and how near that comes.

A module here without a leading underscore that holds a `PAPER` is a card; there is no list to keep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.lazy import lazy

if TYPE_CHECKING:
    from sightline.reproductions._card import Figure as Figure
    from sightline.reproductions._card import Reproduction as Reproduction
    from sightline.reproductions._card import papers as papers
    from sightline.reproductions._card import reproduce as reproduce

__all__ = lazy(__name__, __file__)
