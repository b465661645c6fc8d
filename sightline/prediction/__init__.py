"""How hard is a prompt: fit, predict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.lazy import lazy

if TYPE_CHECKING:
    from sightline.prediction.answers import AnswerFit as AnswerFit
    from sightline.prediction.fit import FitResult as FitResult
    from sightline.prediction.fit import fit as fit
    from sightline.prediction.model import SHIPPED as SHIPPED
    from sightline.prediction.model import SHOWN as SHOWN
    from sightline.prediction.model import TIERS as TIERS
    from sightline.prediction.model import Prediction as Prediction
    from sightline.prediction.model import TargetScale as TargetScale
    from sightline.prediction.predict import Predictions as Predictions
    from sightline.prediction.predict import predict as predict
    from sightline.prediction.predict import predict_prompts as predict_prompts
    from sightline.prediction.predict import rank as rank

__all__ = lazy(__name__, __file__)
