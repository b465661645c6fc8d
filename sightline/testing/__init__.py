"""The conformance suite that every extension passes, ours and those of plug-ins alike.

    from sightline.testing import check_extension

    def test_redness():
        check_extension("redness")

or, without a test: `sightline list --test redness`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.lazy import lazy

if TYPE_CHECKING:
    from sightline.testing.conformance import Conformance as Conformance
    from sightline.testing.conformance import check_extension as check_extension

__all__ = lazy(__name__, __file__)
