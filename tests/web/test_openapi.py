"""The application keeps to its own description.

Schemathesis asks a real server everything that the description allows and much that it does not, as an
annotator and as the owner.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from sightline.web.pacing import Pace, Paces

ROUND = (
    '[annotate.r]\nmode = "yes_no"\nper_item = 3\nahead = 20\n'
    'examples = [{shown = "x", answer = "y", why = "z", image = "example.png"}]\n'
)
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "ignored_auth",
)
EXAMPLES = "15" if os.environ.get("SIGHTLINE_TESTS") == "long" else "5"
REFUSAL = "negative_data_rejection"
"""Whether what does not fit the description is refused; means nothing for parameters that are fixed."""


GROUPS: Mapping[str, tuple[str, str, bool]] = {
    "annotator": ("annotator", r"^/api/(?!owner/|view/)", False),
    "a page": ("annotator", r"^/api/(images|linked)/", True),
    "owner": ("owner", r"^/api/owner/(?!predict)", False),
    "an item": ("owner", r"^/api/owner/(images|charts)/", True),
    "predict": ("owner", r"^/api/owner/predict", False),
    "view": ("owner", r"^/api/view/", False),
    "a row": ("owner", r"^/api/view/(rows/|prompts/|thumbs/|images/)", True),
}
"""Who asks, which paths, and whether parameters are fixed so that there is something to find."""
OUTSIDE = {
    "/",
    "/healthz",
    "/readyz",
    "/judge",
    "/j/{token}",
    "/owner",
    "/owner/predict",
    "/view",
    "/match",
    "/seeds",
    "/static/look.css",
    "/static",
    "/openapi.json",
}
"""Pages for people, which the description leaves out."""


def examine(server: Any, group: str, folder: Path, fixed: Mapping[str, Any]) -> tuple[int, list[Any]]:
    """Operations that Schemathesis tested on a server, and requests as (method, path, status).

    The test fails where it found fault.
    """
    who, paths, _ = GROUPS[group]
    key = server.invite("ann").rpartition("/j/")[2] if who == "annotator" else server.session()
    values = "".join(f'"path.{name}" = {value!r}\n' for name, value in fixed.items())
    (folder / "schemathesis.toml").write_text(
        f'[parameters]\n{values}[auth.openapi.{who}]\napi_key = "{key}"\n'
    )
    checks = CHECKS if fixed else (*CHECKS, REFUSAL)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"),
            *("--header", "X-Sightline: 1", "--include-path-regex", paths, "--checks", ",".join(checks)),
            *("--max-examples", EXAMPLES, "--generation-deterministic", "--no-shrink", "--no-color"),
            *("--phases", "examples,coverage,fuzzing", "--request-timeout", "60"),
            *("--suppress-health-check", "all", "--warnings", "off", "--report-har-path", "all.har"),
        ],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    tested = re.search(r"Tested: (\d+)", done.stdout)
    assert tested, done.stdout
    sent = [
        (each["request"]["method"], urlsplit(each["request"]["url"]).path, each["response"]["status"])
        for each in json.loads((folder / "all.har").read_text())["log"]["entries"]
    ]
    return int(tested[1]), sent


def described(server: Any, paths: str) -> list[tuple[str, str]]:
    """The operations that the application describes at some paths."""
    return [
        (method.upper(), path)
        for path, methods in server.app.app.openapi()["paths"].items()
        for method in methods
        if re.search(paths, path)
    ]


@pytest.mark.parametrize(
    "group", [name if name == "annotator" else pytest.param(name, marks=pytest.mark.slow) for name in GROUPS]
)
def test_the_application_is_as_it_is_described(live: Any, client: Any, tmp_path: Path, group: str) -> None:
    server = live(ROUND, prompts=4, images=1, files={"example.png": 77})
    # Nobody waits here: what is refused as too fast would not be looked at.
    state = server.app.app.state.sightline
    state.requests = state.answers = Paces(Pace(1e9, 1e9))
    worker = client(server.invite("ann"))
    pages = worker.work()["pages"]
    for page in pages[:2]:
        worker.answer_page(page, 1)
    linked = next(page for page in pages if page["linked"])
    known = {"page": linked["page"], "slot": 0, "k": 0, "n": 0, "item": 1, "name": "labels"}
    (content,) = server.rows("SELECT sha256 FROM image WHERE id = 1")
    known |= {"key": "a-1-1-0", "prompt_id": 1, "sha256": content["sha256"]}
    tested, sent = examine(server, group, tmp_path, known if GROUPS[group][2] else {})
    operations = described(server, GROUPS[group][1])
    assert tested == len(operations) and len(sent) > 10 * tested
    assert worker.http.get("/healthz").json() == {"ok": True}
    assert not {status for _, _, status in sent} & {429, 500}
    fine = [(method, path) for method, path, status in sent if status < 300]
    for method, path in operations:
        if method == "GET" and (GROUPS[group][2] or "{" not in path):
            place = re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path)))
            assert any(asked == method and place.fullmatch(at) for asked, at in fine), path


def addresses(routes: Sequence[Any]) -> Iterator[str]:
    """The paths of an application; from some version on FastAPI keeps included routers whole."""
    for route in routes:
        inner = getattr(route, "original_router", None)
        yield from [route.path] if inner is None else addresses(inner.routes)


def test_every_address_is_described_and_examined(live: Any) -> None:
    server = live(ROUND, prompts=1, images=1, files={"example.png": 77})
    app = server.app.app
    operations = {path for _, path in described(server, "")}
    assert set(addresses(app.routes)) - operations == OUTSIDE
    assert all(any(re.search(paths, path) for _, paths, _ in GROUPS.values()) for path in operations)
