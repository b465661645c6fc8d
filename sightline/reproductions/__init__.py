"""Reproduction cards, one file per paper: what it printed, how to obtain it, and how near that comes.

Every module here but `card` holds the `PAPER` of one card; there is no list to keep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.lazy import lazy

if TYPE_CHECKING:
    from sightline.reproductions.card import Figure as Figure
    from sightline.reproductions.card import Reproduction as Reproduction
    from sightline.reproductions.card import papers as papers
    from sightline.reproductions.card import reproduce as reproduce

__all__ = lazy(__name__, __file__)
