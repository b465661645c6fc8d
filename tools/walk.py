"""Counts the files of sightline/ that one image and one ranking pass through: what a reader has to follow.

    python tools/walk.py [--list]

Two commands in one process each, on studies made for them: `score STUDY sharpness` with one image, and
`score STUDY ndcg@10` followed by `compare STUDY --by ndcg` with one ranking. A file counts where one of its
functions runs; files that only run while modules are imported are counted apart.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

IMAGE = (("score", "STUDY", "sharpness", "--workers", "1"),)
RANKING = (
    ("score", "STUDY", "ndcg@10", "--workers", "1"),
    ("compare", "STUDY", "--by", "ndcg", "--seed", "0"),
)
TRACED = """
import json, runpy, sys, threading
from pathlib import Path
import sightline
home = str(Path(sightline.__file__).parent)
called, imported = set(), set()

def importing(frame):
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals["__name__"] != "__main__":
            return True
        frame = frame.f_back
    return False

def trace(frame, event, argument):
    name = frame.f_code.co_filename
    if event == "call" and name.startswith(home) and name not in called:
        (imported if importing(frame) else called).add(name)

threading.setprofile(trace)
sys.setprofile(trace)
try:
    runpy.run_module("sightline", run_name="__main__", alter_sys=True)
except SystemExit as error:
    if error.code:
        raise
finally:
    sys.setprofile(None)
    files = [[name[len(home) + 1 :] for name in each] for each in (called, imported)]
    print(json.dumps(files), file=sys.stderr)
"""


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True)


def prepare(folder: Path) -> tuple[Path, Path]:
    """A study of one image and a study of one ranking with its relevance."""
    from PIL import Image

    images = folder / "images" / "system"
    images.mkdir(parents=True)
    Image.linear_gradient("L").save(images / "a red ball.png")
    run, qrels = folder / "run.txt", folder / "qrels.txt"
    run.write_text("q1 Q0 photo7 1 0.93 clip\nq1 Q0 photo2 2 0.88 clip\n", encoding="utf-8")
    qrels.write_text("q1 0 photo2 1\nq1 0 photo7 0\n", encoding="utf-8")
    (folder / "topics.tsv").write_text("q1\ta red ball\n", encoding="utf-8")
    studies = folder / "one-image", folder / "one-ranking"
    for study, path in ((studies[0], images.parent), (studies[1], run), (studies[1], qrels)):
        command("-m", "sightline", "import", str(study), str(path))
    return studies


def walk(study: Path, commands: tuple[tuple[str, ...], ...]) -> tuple[set[str], set[str]]:
    """The files whose functions run during some commands, and those that are only imported."""
    called: set[str] = set()
    imported: set[str] = set()
    for words in commands:
        typed = [str(study) if word == "STUDY" else word for word in words]
        done = command("-c", TRACED, *typed)
        both = json.loads(done.stderr.strip().splitlines()[-1])
        called.update(both[0])
        imported.update(both[1])
    return called, imported - called


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--list", action="store_true", help="name the files")
    names = parser.parse_args().list
    with tempfile.TemporaryDirectory() as folder:
        image, ranking = prepare(Path(folder))
        for what, study, commands in (("one image", image, IMAGE), ("one ranking", ranking, RANKING)):
            called, only_imported = walk(study, commands)
            print(f"{what}: {len(called)} files run, {len(only_imported)} more are only imported")
            for file in sorted(called | only_imported) if names else ():
                print(f"  {file}{'' if file in called else ' (only imported)'}")


if __name__ == "__main__":
    main()
