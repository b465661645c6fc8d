"""Reproduction cards, one file a paper: what it printed, how to obtain it, and how near that comes.

A file here whose name has no leading underscore and that holds a `PAPER` is a card; there is no list to keep.
"""

from sightline.reproductions._card import Card, Figure, papers, reproduce

__all__ = ["Card", "Figure", "papers", "reproduce"]
