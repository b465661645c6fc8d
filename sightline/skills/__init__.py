"""Which skills a system has: tasks, verdicts with evidence, verify, and the profile of skills."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.lazy import lazy

if TYPE_CHECKING:
    from sightline.skills.skill_profile import SkillProfile as SkillProfile
    from sightline.skills.skill_profile import skill_profile as skill_profile
    from sightline.skills.verify import Verification as Verification
    from sightline.skills.verify import verify as verify

__all__ = lazy(__name__, __file__)
