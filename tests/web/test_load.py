"""Twenty annotators at once while the server is killed: what was acknowledged is kept, exactly once.

The large version, with figures, is benchmarks/annotation_load.py, which this runs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PEOPLE, KILLS = 20, 2


def load(*more: str) -> dict[str, Any]:
    """What the benchmark found on one database."""
    asked = f"--annotators {PEOPLE} --kills {KILLS} --stalls 1 --seconds 2 --think 0.3 --prompts 200".split()
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "annotation_load.py"), *asked, *more],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = json.loads(done.stdout.splitlines()[-1])
    return dict(found)


@pytest.mark.slow
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_nothing_acknowledged_is_lost_and_nothing_is_kept_twice(
    database: str, request: pytest.FixtureRequest
) -> None:
    more = ["--database", request.getfixturevalue("postgres_url")] if database == "postgresql" else []
    found = load("--only", database, *more)
    assert (found["database"], found["kills"]) == (database, KILLS)
    # Enough happened for the counts below to mean something: in each part, and across the kills.
    assert found["acknowledged"] > 5 * PEOPLE and found["sent_again"] > 0
    assert min(found[part]["answers"] for part in ("steady", "killed", "paced")) > 0
    wrong = ("lost", "changed", "twice", "revised", "never_sent", "refused", "replies_500", "beyond_target")
    wrong += ("faults_logged", "exit_code")
    assert {what: found[what] for what in wrong} == dict.fromkeys(wrong, 0)
    assert found["stored"] == found["acknowledged"] + found["stored_unacknowledged"]
    assert 0 <= found["stored_unacknowledged"] <= PEOPLE


@pytest.mark.slow
def test_two_servers_share_the_work_without_judging_an_item_too_often(postgres_url: str) -> None:
    asked = ["--only", "postgresql", "--servers", "2", "--per-item", "2", "--kills", "1", "--stalls", "0"]
    found = load(*asked, "--prompts", "40", "--database", postgres_url)
    assert found["servers"] == 2 and found["beyond_target"] == 0
    # Forty prompts with four images, two judgements each.
    assert 0 < found["stored"] <= 320
