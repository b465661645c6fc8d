"""The application keeps to its own description.

Schemathesis asks a real server everything that the description allows and much that it does not, as an
annotator and as the owner.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

ROUND = '[annotate.r]\nmode = "yes_no"\nper_item = 3\nahead = 20\n'
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


def examine(server: Any, who: str, paths: str, folder: Path, fixed: Mapping[str, Any]) -> str:
    """What Schemathesis says of some paths of a server; the test fails where it found fault.

    `fixed` are parameters that always have one value, so that there is something to find.
    """
    key = server.invite("ann").rpartition("/j/")[2] if who == "annotator" else server.session()
    told = "".join(f'"path.{name}" = {value!r}\n' for name, value in fixed.items())
    (folder / "schemathesis.toml").write_text(
        f'[parameters]\n{told}[auth.openapi.{who}]\napi_key = "{key}"\n'
    )
    checks = CHECKS if fixed else (*CHECKS, REFUSAL)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"),
            *("--header", "X-Sightline: 1", "--include-path-regex", paths, "--checks", ",".join(checks)),
            *("--max-examples", EXAMPLES, "--generation-deterministic", "--no-shrink", "--no-color"),
            *("--phases", "examples,coverage,fuzzing", "--request-timeout", "60"),
            *("--suppress-health-check", "all", "--warnings", "off"),
        ],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    return done.stdout


def counted(told: str) -> tuple[int, int]:
    """Operations tested and requests made, as the summary has them."""
    tested, cases = re.search(r"Tested: (\d+)", told), re.search(r"([\d,]+) generated", told)
    assert tested and cases, told
    return int(tested[1]), int(cases[1].replace(",", ""))


@pytest.mark.parametrize(
    ("who", "paths", "least"),
    [
        ("annotator", r"^/api/(?!owner/)", 9),
        pytest.param("annotator", r"^/api/(images|linked)/", 3, marks=pytest.mark.slow),
        pytest.param("owner", r"^/api/owner/", 14, marks=pytest.mark.slow),
    ],
    ids=["annotator", "a page", "owner"],
)
def test_the_application_is_as_it_is_described(
    live: Any, client: Any, tmp_path: Path, who: str, paths: str, least: int
) -> None:
    server = live(ROUND, prompts=4, images=1)
    worker = client(server.invite("ann"))
    pages = worker.work()["pages"]
    for page in pages[:2]:
        worker.answer_page(page, 1)
    linked = next(page for page in pages if page["linked"])
    fixed = {"page": linked["page"], "slot": 0, "k": 0} if least == 3 else {}
    tested, cases = counted(examine(server, who, paths, tmp_path, fixed))
    assert tested >= least and cases > 10 * least
    assert worker.http.get("/healthz").json() == {"ok": True}
