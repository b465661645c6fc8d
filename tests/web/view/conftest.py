"""Somebody at the explorer: a real browser before a real server over a study whose every value is known."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from explored import MEASURE, View, records

from sightline import score
from sightline.judging.store import tokens
from sightline.study.study import Study, create_study, open_study
from sightline.study.writing.loading import load
from sightline.web.app import create_explorer
from sightline.web.guarding import rules_for


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of 24 answers, one of them failed, and an image that answers nothing; copied for every test."""
    folder = tmp_path_factory.mktemp("explorer")
    files, plugins = folder / "files", folder / "plugins"
    files.mkdir()
    plugins.mkdir()
    (plugins / "boxed.py").write_text(MEASURE)
    with pytest.MonkeyPatch.context() as patch, create_study(folder / "study") as study:
        patch.setenv("SIGHTLINE_PLUGINS", str(plugins))
        load(study, list(records(files)), importer="test", path="made.csv", digest="test")
        score(study, ["boxed", "brightness"])
    return folder / "study"


@dataclass
class Served:
    """A study and where its explorer answers."""

    study: Study
    url: str

    @property
    def link(self) -> str:
        return f"{self.url}/j/{tokens.issue_token(self.study, 'owner', 1)[0]}"


@pytest.fixture
def serve(run_server: Callable[..., Any]) -> Iterator[Callable[[Path], Served]]:
    """Serves the explorer of a study until the test ends."""
    with ExitStack() as stack:

        def begin(folder: Path) -> Served:
            study = open_study(folder)
            stack.callback(study.close)
            url, _ = stack.enter_context(run_server(create_explorer(study, rules=rules_for("127.0.0.1"))))
            return Served(study, url)

        yield begin


@pytest.fixture(scope="module")
def unchanged(template: Path, run_server: Callable[..., Any]) -> Iterator[Served]:
    """The explorer of the study itself, for all tests of a file that only look."""
    with ExitStack() as stack:
        study = stack.enter_context(open_study(template))
        url, _ = stack.enter_context(run_server(create_explorer(study, rules=rules_for("127.0.0.1"))))
        yield Served(study, url)


@pytest.fixture
def served(template: Path, tmp_path: Path, serve: Callable[[Path], Served]) -> Served:
    """The explorer of a copy of the study, which a test may change."""
    folder = tmp_path / "study"
    shutil.copytree(template, folder)
    return serve(folder)


@pytest.fixture
def view(served: Served, open_page: Callable[..., Any]) -> Callable[..., View]:
    """Opens the explorer of the study, by its link, at an address."""

    def come(query: str = "", **how: Any) -> View:
        page = open_page(served.link, **how)
        return View(page, served.url).go(query)

    return come
