"""How alike are the images of one prompt: variability, calibrate, reuse, wording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.lazy import lazy

if TYPE_CHECKING:
    from sightline.variability.calibrate import ChoiceCalibration as ChoiceCalibration
    from sightline.variability.calibrate import PairCalibration as PairCalibration
    from sightline.variability.calibrate import PairComparison as PairComparison
    from sightline.variability.calibrate import calibrate as calibrate
    from sightline.variability.fit_reference import FittedReference as FittedReference
    from sightline.variability.fit_reference import fit_reference as fit_reference
    from sightline.variability.reuse import Reuse as Reuse
    from sightline.variability.reuse import reuse as reuse
    from sightline.variability.variability import Variability as Variability
    from sightline.variability.variability import variability as variability
    from sightline.variability.wording import SettingEffect as SettingEffect
    from sightline.variability.wording import WordingAnalysis as WordingAnalysis
    from sightline.variability.wording import setting_effect as setting_effect
    from sightline.variability.wording import wording as wording

__all__ = lazy(__name__, __file__)
