"""Sightline: the workbench for judging text-to-image systems, generators and search engines alike.

The Python interface is the stages, loaded when first used:

    import sightline
    study = sightline.open("my-study")
    sightline.score(study, "sharpness")
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sightline.version import __version__

_WHERE = {
    "open": "sightline.study.study:open_study",
    "create": "sightline.study.study:create_study",
    "import_": "sightline.data.import_:import_",
    "undo": "sightline.data.import_:undo",
    "export": "sightline.data.export:export",
    "check": "sightline.data.check:check",
    "select": "sightline.selection.select:select",
    "generate": "sightline.systems.generate:generate",
    "fit_bridge": "sightline.encoders.fit_bridge:fit_bridge",
    "retrieve": "sightline.systems.retrieve:retrieve",
    "rerank": "sightline.systems.rerank:rerank",
    "fuse": "sightline.systems.fuse:fuse",
    "rephrase": "sightline.systems.rephrase:rephrase",
    "pool": "sightline.systems.pool:pool",
    "eligible": "sightline.systems.eligible:eligible",
    "annotate": "sightline.judging.annotate:annotate",
    "sheets": "sightline.judging.sheets:sheets",
    "truth": "sightline.judging.truth:truth",
    "score": "sightline.measures.score:score",
    "score_files": "sightline.measures.score:score_files",
    "variability": "sightline.variability.variability:variability",
    "fit_reference": "sightline.variability.reference:fit_reference",
    "calibrate": "sightline.variability.calibrate:calibrate",
    "check_backbones": "sightline.variability.calibrate:check_backbones",
    "reuse": "sightline.variability.reuse:reuse",
    "language_analysis": "sightline.variability.wording:language_analysis",
    "setting_analysis": "sightline.variability.wording:setting_analysis",
    "predict": "sightline.prediction.fit:predict",
    "foretell": "sightline.prediction.predict:foretell",
    "suggest": "sightline.prediction.predict:suggest",
    "trust": "sightline.comparison.trust:trust",
    "overlap": "sightline.measures.rankings:overlap",
    "query_analysis": "sightline.comparison.queries:query_analysis",
    "between": "sightline.comparison.between:between",
    "compare": "sightline.comparison.compare:compare",
    "gate": "sightline.comparison.gate:gate",
    "report": "sightline.report.report:report",
    "status": "sightline.report.status:status",
}

__all__ = ["__version__", *sorted(_WHERE)]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'sightline' has no attribute {name!r}")
    module, _, attribute = _WHERE[name].partition(":")
    return getattr(import_module(module), attribute)
