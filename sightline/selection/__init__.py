"""A few prompts that represent many: select."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.lazy import lazy

if TYPE_CHECKING:
    from sightline.selection.select import Selection as Selection
    from sightline.selection.select import select as select

__all__ = lazy(__name__, __file__)
