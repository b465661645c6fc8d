"""Importers next to what tests/test_conformance.py checks on the example of each."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sightline.data.import_ import recognise
from sightline.errors import ExtensionError, UsageError
from sightline.testing import check_extension

PUBLISHED = {
    "agiqa3k": "agiqa3k",
    "avt": "avt_ai_images",
    "coco_boxes": "coco64",
    "conqa": "conqa",
    "drawbench": "prompt_suites/drawbench",
    "dsg1k": "prompt_suites/dsg1k",
    "flickr8k": "flickr8k_400",
    "geneval_prompts": "prompt_suites/geneval",
    "gimbrr": "gimbrr",
    "imagenhub": "imagenhub",
    "partiprompts": "prompt_suites/partiprompts",
    "pqpp": "pqpp",
    "t2i_compbench": "prompt_suites/t2i_compbench",
    "tid2013": "tid2013",
    "visor": "visor",
    "w1kp_cdf": "w1kp",
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_data_is_recognised(name: str, data: Path) -> None:
    importer, claims = recognise(data / PUBLISHED[name])
    assert importer.name == name and claims[0].confidence > claims[1].confidence
    assert not any(claim.trouble for claim in claims)


def test_two_data_sets_in_one_folder_are_not_guessed_at(tmp_path: Path, data: Path) -> None:
    shutil.copy(data / "prompt_suites" / "drawbench" / "DrawBench.csv", tmp_path)
    shutil.copy(data / "prompt_suites" / "partiprompts" / "PartiPrompts.tsv", tmp_path)
    with pytest.raises(UsageError, match="drawbench or partiprompts") as caught:
        recognise(tmp_path)
    assert "--format" in caught.value.remedy


PLUGIN = """
from sightline.extension import importer
from sightline.records import Prompt, PromptKey

@importer(claims=lambda source: 1.0, source="me", licence="MIT", files={{"a.csv": "x,y\\na,b\\nc,d\\n"}})
def {name}(source):
    '''Reads what it can.'''
    for n, line in enumerate({lines}):
        yield Prompt(PromptKey("s", str(n)), line)
"""


@pytest.mark.parametrize(
    ("name", "lines", "promise"),
    [
        ("garbling", "source.path.open(errors='replace')", "it refuses a file that is not UTF-8"),
        (
            "gullible",
            "text for _, text in source.lines('a.csv')",
            "a file that ends in the middle is refused",
        ),
    ],
)
def test_an_importer_that_breaks_its_promise_is_named(
    name: str, lines: str, promise: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"{name}.py").write_text(PLUGIN.format(name=name, lines=lines))
    monkeypatch.setenv("SIGHTLINE_PLUGINS", str(tmp_path))
    with pytest.raises(ExtensionError, match=promise):
        check_extension(name)
