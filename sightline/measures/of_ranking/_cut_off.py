"""What measures with a cut-off share."""

from __future__ import annotations

from sightline.errors import UsageError

NOTHING = "nothing was retrieved"


def need_cut_off(measure: str, k: int | None) -> None:
    """Refuse a cut-off that counts no place."""
    if k is not None and k < 1:
        raise UsageError(f"{measure}: k={k} counts no place", remedy=f"At least 1, for example {measure}@10.")
