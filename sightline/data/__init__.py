"""Data in and out: import_, imports, undo, export, check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.lazy import lazy

if TYPE_CHECKING:
    from sightline.data.check import Check as Check
    from sightline.data.check import check as check
    from sightline.data.export import Export as Export
    from sightline.data.export import export as export
    from sightline.data.import_ import Import as Import
    from sightline.data.import_ import import_ as import_
    from sightline.data.imports import Imports as Imports
    from sightline.data.imports import Undone as Undone
    from sightline.data.imports import imports as imports
    from sightline.data.imports import undo as undo

__all__ = lazy(__name__, __file__)
