"""OpenCV, or what to do where it does not load."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from sightline.errors import MissingPackage


@cache
def opencv() -> Any:
    """The module, loaded when it is first used."""
    try:
        return import_module("cv2")
    except ImportError as error:
        raise MissingPackage(
            f"OpenCV cannot be loaded ({error})",
            remedy="pip install 'sightline[detectors]'; where only its window libraries are missing: "
            "pip install --force-reinstall --no-deps opencv-python-headless",
        ) from None
