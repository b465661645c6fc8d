"""Frozen encoders of texts and images, and the bridge that joins two of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.lazy import lazy

if TYPE_CHECKING:
    from sightline.encoders.fit_bridge import BridgeFit as BridgeFit
    from sightline.encoders.fit_bridge import fit_bridge as fit_bridge

__all__ = lazy(__name__, __file__)
