"""Sightline: the workbench for judging text-to-image systems, generators and search engines alike.

The Python interface is the stages, loaded when first used:

    import sightline
    study = sightline.open("my-study")
    sightline.score(study, "sharpness")
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_WHERE = {
    "open": "sightline.store.study:open_study",
    "create": "sightline.store.study:create_study",
    "import_": "sightline.stages.import_:import_",
    "undo": "sightline.stages.import_:undo",
    "export": "sightline.stages.export:export",
    "check": "sightline.stages.check:check",
    "select": "sightline.stages.select:select",
    "generate": "sightline.stages.generate:generate",
    "fit_bridge": "sightline.stages.bridge:fit_bridge",
    "retrieve": "sightline.stages.retrieve:retrieve",
    "rerank": "sightline.stages.rerank:rerank",
    "fuse": "sightline.stages.fuse:fuse",
    "rephrase": "sightline.stages.rephrase:rephrase",
    "pool": "sightline.stages.pool:pool",
    "eligible": "sightline.stages.eligible:eligible",
    "annotate": "sightline.stages.annotate:annotate",
    "sheets": "sightline.stages.sheets:sheets",
    "truth": "sightline.stages.truth:truth",
    "score": "sightline.stages.score:score",
    "score_files": "sightline.stages.score:score_files",
    "variability": "sightline.stages.variability:variability",
    "fit_reference": "sightline.stages.reference:fit_reference",
    "calibrate": "sightline.stages.calibrate:calibrate",
    "check_backbones": "sightline.stages.calibrate:check_backbones",
    "reuse": "sightline.stages.reuse:reuse",
    "language_analysis": "sightline.stages.language_analysis:language_analysis",
    "setting_analysis": "sightline.stages.language_analysis:setting_analysis",
    "predict": "sightline.stages.predict:predict",
    "foretell": "sightline.stages.foretell:foretell",
    "suggest": "sightline.stages.foretell:suggest",
    "trust": "sightline.stages.trust:trust",
    "overlap": "sightline.stages.ranked:overlap",
    "query_analysis": "sightline.stages.query_analysis:query_analysis",
    "between": "sightline.stages.between:between",
    "compare": "sightline.stages.compare:compare",
    "gate": "sightline.stages.gate:gate",
    "report": "sightline.stages.report:report",
    "status": "sightline.stages.status:status",
}

__all__ = ["__version__", *sorted(_WHERE)]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'sightline' has no attribute {name!r}")
    module, _, attribute = _WHERE[name].partition(":")
    return getattr(import_module(module), attribute)
