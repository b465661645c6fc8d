"""What a study holds and found: the report, figures, status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.lazy import lazy

if TYPE_CHECKING:
    from sightline.report.image_files import Figures as Figures
    from sightline.report.prediction_figures import figures as figures
    from sightline.report.report import Report as Report
    from sightline.report.report import report as report
    from sightline.report.status import Status as Status
    from sightline.report.status import status as status

__all__ = lazy(__name__, __file__)
