"""A study on disk or in PostgreSQL: tables, files, vectors; init, copy, backup, restore, doctor, cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.lazy import lazy

if TYPE_CHECKING:
    from sightline.study.backup import Backup as Backup
    from sightline.study.backup import Restored as Restored
    from sightline.study.backup import backup as backup
    from sightline.study.backup import restore as restore
    from sightline.study.bill import Bill as Bill
    from sightline.study.bill import CallPlan as CallPlan
    from sightline.study.bill import bill as bill
    from sightline.study.cache import Cache as Cache
    from sightline.study.cache import cache as cache
    from sightline.study.copy import Copied as Copied
    from sightline.study.copy import copy as copy
    from sightline.study.doctor import Diagnosis as Diagnosis
    from sightline.study.doctor import doctor as doctor
    from sightline.study.init import NewStudy as NewStudy
    from sightline.study.init import init as init
    from sightline.study.study import Study as Study
    from sightline.study.study import create_study as create_study
    from sightline.study.study import open_study as open_study

__all__ = lazy(__name__, __file__)
