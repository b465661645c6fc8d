"""What a study holds and found: the report, figures, status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.lazy import lazy

if TYPE_CHECKING:
    from sightline.report.explorer.explorer import Explorer as Explorer
    from sightline.report.explorer.images import ExplorerPicture as ExplorerPicture
    from sightline.report.explorer.views import Acted as Acted
    from sightline.report.explorer.views import ChartView as ChartView
    from sightline.report.explorer.views import Detail as Detail
    from sightline.report.explorer.views import FieldsView as FieldsView
    from sightline.report.explorer.views import Page as Page
    from sightline.report.explorer.views import PromptView as PromptView
    from sightline.report.explorer.views import StudyView as StudyView
    from sightline.report.image_files import Figures as Figures
    from sightline.report.prediction_figures import figures as figures
    from sightline.report.report import Report as Report
    from sightline.report.report import report as report
    from sightline.report.status import Status as Status
    from sightline.report.status import status as status

__all__ = lazy(__name__, __file__)
