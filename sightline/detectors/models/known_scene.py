"""What is known to be in an image, such as a drawn scene or COCO's boxes, as a detector that never errs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sightline.errors import UsageError
from sightline.extension import Detector, Picture, detector


@detector(
    sees=("objects", "text"),
    of_study=True,
    source="ours; the scenes are those of the study, such as COCO's boxes (Lin et al. 2014)",
    licence="Apache-2.0",
    aliases=("drawn_scene", "coco_boxes"),
)
def known_scene() -> Detector:
    """What the study itself knows to be in an image: the scene that was imported with it.

    Scenes of drawn images have everything in them. Those of labelled photographs, such as COCO's boxes, have
    the kinds that people looked for: every kind that is labelled in some image of the study. Of an image
    without a scene nothing is known. It works within a study only.
    """
    return _Known()


class _Known:
    def detect(self, images: Sequence[Picture]) -> list[dict[str, Any]]:
        if images:
            raise UsageError(
                "known_scene reads what a study knows of its images, and there is no study here",
                remedy="Use it with a study, for example sightline verify STUDY --detector known_scene.",
            )
        return []
