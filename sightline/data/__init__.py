"""Data in and out: import_, imports, undo, export, check; images matched to prompts by hand."""

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
    from sightline.data.matching import Guess as Guess
    from sightline.data.matching import MatchedImage as MatchedImage
    from sightline.data.matching import PromptChoices as PromptChoices
    from sightline.data.matching import guess_prompts as guess_prompts
    from sightline.data.matching import prompt_choices as prompt_choices
    from sightline.data.matching import take_image as take_image

__all__ = lazy(__name__, __file__)
