"""Compare every figure of the command line before and after the second build, number by number.

    python tools/compare_figures.py capture before.json --program "python -m sightline"
    python tools/compare_figures.py compare before.json after.json --renamed renamed.json

`capture` runs the flows of compare_figures.toml on the demo's study and on SIGHTLINE_DATA, and stores each
number under `flow/step/path`, where a row is named by what it is about (system, measure, question, prompt),
not by its position. A step that fails is stored with its error. Texts of prompts and names of images are
hashed, and tables exported from published data are stored as sums: the file holds figures, nobody's data.

`compare` lists which numbers are equal, equal under another path of the same step, different, or on one side
only. It exits with 1 if a number differs or is missing, or a step fails that did not, and no pattern explains
it: `--renamed` is a JSON file with `renamed` (pattern: replacement, on keys of the old file) and `explained`
(pattern: why, on the lines that are printed).
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from string import Template
from time import monotonic
from typing import Any

# Commands of 0.2 for those of 0.1, which are run only where the program refuses the others as wrong usage:
# "mos" names a rule in both, but not the same one.
COMMANDS = {
    r"^predict \.": "fit .",
    r"^import \. --list": "imports .",
    r"^variability (.*) --reuse\b(.*?)(?: --workers 1)?$": r"reuse \1\2",
    r"^variability (.*) --fit-reference (\S+)(?: --workers 1)?$": r"fit-reference \1 \2",
    r"^compare \. --between (\S+)": r"compare-sets . \1",
    r"^bridge \. (\S+)(.*) --answers (\S+)": r"bridge-answers . \3 \1\2",
    r"^retrieve \. (\S+) --rerank (\S+)": r"rerank . \1 \2",
    r"^retrieve \. (\S+) --fuse (\w+),(\w+)": r"fuse . \1 \2 \3",
    r"--rule mos$": "--rule mos_mle",
    r"--rule either": "--rule any_relevant",
    r"--rule share": "--rule proportion",
    r"\blevel=": "min_rel=",
    r"--tier light": "--tier small",
    r"--tier offline": "--tier medium",
    r"--tier full": "--tier large",
}
# Names of 0.2 for those of 0.1, in the keys of both files.
KEYS = {
    "beside": "concat", "cost": "C", "count": "n_estimators", "either": "any_relevant", "foretell": "predict",
    "foretold": "predicted", "full": "large", "in_vain": "empty_results", "known": "cached",
    "least_detectable": "minimum_detectable_effect", "level": "min_rel", "light": "small", "mos": "mos_mle",
    "occasion": "repetition", "offline": "medium", "outlooks": "predictions", "rate": "learning_rate",
    "relevance4": "graded_relevance", "relevant2": "binary_relevance", "relevant3": "ternary_relevance",
    "share": "proportion", "similarity5": "similarity_rating", "tube": "epsilon",
}  # fmt: skip
# What a row is about ("what" only if it has none of the others). Other texts may be reworded.
ABOUT = [
    "annotator", "by", "class", "collection", "distance", "feature", "file", "first", "group", "id", "image",
    "image_b", "k", "measure", "name", "number", "panel", "pool", "position", "predictor", "prompt",
    "prompt_id", "quarter", "queries", "query", "question", "rule", "second", "split", "suite", "system",
    "table", "tag", "target", "term", "text", "whose", "word",
]  # fmt: skip
HASHED = {"file", "image", "image_b", "prompt", "prompt_id", "query", "text", "word"}
GROUPED = ("question", "measure", "rule", "predictor", "system")
PASSED_OVER = {"rows", "tables", "facts"}
LEFT_OUT = {
    "at", "bytes", "caption", "columns", "examples", "megabytes", "path", "reason", "remedy", "seconds",
}  # fmt: skip
NUMBER = re.compile(r"(?<![\w.:,])[−-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w:]|[.,]\d)")
DATE = re.compile(r"\d{4}-\d\d-\d\d\S*")
GIVEN = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def steps(flow: str) -> Iterator[tuple[str, str]]:
    """Each step's name and words."""
    for line in Template(GIVEN["flows"][flow]).safe_substitute(GIVEN["lists"]).strip().splitlines():
        name, words = line.split(": ", 1)
        several = re.fullmatch(r"(\w+)\[(.*)\]", name)
        for each in several[2].split() if several else [""]:
            yield (f"{several[1]}_{each}" if several else name), words.replace("*", shlex.quote(each))


def hashed(text: str) -> str:
    return "~" + hashlib.sha256(text.encode()).hexdigest()[:10]


def numbers_in(text: str) -> list[str]:
    return NUMBER.findall(DATE.sub("", text))


def label(row: dict[str, Any], seen: Counter[str]) -> str:
    """What a row is about, with a number where several are about the same."""
    parts = []
    for name in ABOUT if any(row.get(name) for name in ABOUT) else ["what"]:
        value = row.get(name)
        if value not in ("", None) and isinstance(value, str | int):
            text = str(value).split("/")[-1] if name == "file" else str(value)
            parts.append(f"{name}={hashed(text) if name in HASHED else text}")
    made = f"[{','.join(parts)}]"
    seen[made] += 1
    return made if seen[made] == 1 else f"{made}#{seen[made]}"


def walk(node: Any, path: str) -> Iterator[tuple[str, float]]:
    """Every number of a JSON document with its path; of short texts the numbers in them."""
    if isinstance(node, bool | int | float):
        yield path, float(node)
    elif isinstance(node, str) and len(node) <= 40:
        for index, number in enumerate(numbers_in(node)):
            yield f"{path}/said[{index}]", float(number.replace(",", "").replace("−", "-"))
    elif isinstance(node, dict):
        for name, each in node.items():
            if name not in LEFT_OUT and not (name in ABOUT and isinstance(each, str)):
                yield from walk(each, path if name in PASSED_OVER else f"{path}/{name}")
    elif isinstance(node, list):
        seen: Counter[str] = Counter()
        for index, each in enumerate(node):
            yield from walk(each, path + (label(each, seen) if isinstance(each, dict) else f"[{index}]"))


def exported(folder: Path, path: str, whole: bool) -> Iterator[tuple[str, float]]:
    """The numbers of exported tables: row by row, or as sums over rows of the same question, measure, system.

    `pinned` weighs every value by what its row is about, so that values which changed places are noticed.
    """
    for file in sorted(folder.glob("*.csv")):
        seen: Counter[str] = Counter()
        sums: dict[str, list[float]] = defaultdict(list)
        with file.open(encoding="utf-8", newline="") as opened:
            for row in csv.DictReader(opened):
                sums[f"{path}/{file.stem}/rows"].append(1.0)
                named = label(row, seen)
                group = ",".join(f"{name}={row[name]}" for name in GROUPED if row.get(name))
                item = "".join(row.get(name) or "" for name in ("prompt_id", "image", "image_b", "annotator"))
                weight = int(hashed(item)[1:], 16) / 16**10
                for name in row.keys() - ABOUT - LEFT_OUT:
                    try:
                        value = float(row[name])
                    except ValueError:
                        continue
                    if whole:
                        yield f"{path}/{file.stem}{named}/{name}", value
                    else:
                        for kind, part in (("sum", value), ("squares", value**2), ("pinned", value * weight)):
                            sums[f"{path}/{file.stem}[{group}]/{name}/{kind}"].append(part)
        yield from ((name, math.fsum(values)) for name, values in sums.items())


class Page(HTMLParser):
    """How often each number stands in the rows of a page's tables, by the heading of the row."""

    def __init__(self) -> None:
        super().__init__()
        self.cells: list[str] | None = None
        self.numbers: Counter[str] = Counter()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.cells = []
        elif tag in {"th", "td"} and self.cells is not None:
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "tr" and self.cells:
            head = self.cells[0].strip()
            for cell in self.cells[1:]:
                for number in numbers_in(cell):
                    self.numbers[f"[{hashed(head) if ' ' in head else head}]/{number}"] += 1
            self.cells = None


def prepare(here: Path, data: Path) -> None:
    """Eighty photos of Flickr8k with their captions, and a run that ranks ConQA's judged images by a hash."""
    source, few = data / "flickr8k_400", here / "flickr8k_80"
    if source.is_dir():
        (few / "images").mkdir(parents=True)
        kept = {path.name for path in sorted((source / "images").iterdir())[:80]}
        for name in kept:
            shutil.copy(source / "images" / name, few / "images" / name)
        for table in ("captions.csv", "expert_ratings.csv", "crowdflower.csv"):
            with (source / table).open(newline="") as old, (few / table).open("w", newline="") as new:
                rows = csv.DictReader(old)
                writer = csv.DictWriter(new, rows.fieldnames or ())
                writer.writeheader()
                for row in rows:
                    if {row["image"], row.get("caption_id", row["image"]).split("#")[0]} <= kept:
                        writer.writerow(row)
    votes = data / "conqa" / "mturk.json"
    if votes.is_file():
        with (here / "hashed.run").open("w") as run:
            for query, judged in json.loads(votes.read_text()).items():
                for rank, image in enumerate(sorted(judged, key=lambda name: hashed(query + name)), 1):
                    run.write(f"{query} Q0 {image} {rank} {1 / rank} hashed\n")


def run(program: list[str], words: str, study: Path, target: Path, step: str) -> dict[str, float]:
    """The numbers of one step; a RuntimeError if it has none."""
    command = shlex.split(words)
    if command[0] == "settings":
        file, line = study / "study.toml", f'[score]\n{command[1]} = "{command[2]}"'
        file.write_text(re.sub(r"^\[score\]$", line, file.read_text("utf-8"), flags=re.M), "utf-8")
        return {}
    env = os.environ | {"OMP_NUM_THREADS": "1", "SIGHTLINE_OFFLINE": "1", "COLUMNS": "200"}
    for given in dict.fromkeys((reworded(words, COMMANDS), words)):
        full = [*program, *(str(study) if word == "." else word for word in shlex.split(given))]
        full += [] if command[0] in {"demo", "report"} else ["--json"]
        done = subprocess.run(full, capture_output=True, text=True, cwd=target.parent, env=env)
        if done.returncode != 2:
            break
    numbers = {f"{step}/exit_code": float(done.returncode)}
    if done.stdout.startswith("{"):
        numbers |= walk(json.loads(done.stdout), step)
    elif done.returncode:
        raise RuntimeError(f"exit code {done.returncode}: {(done.stderr or done.stdout).strip()[-400:]}")
    if command[0] == "export":
        numbers |= exported(target, step, whole=step.startswith("demo/"))
    if command[0] == "report":
        page = Page()
        page.feed(target.with_suffix(".html").read_text("utf-8"))
        numbers |= {f"{step}{name}": float(count) for name, count in page.numbers.items()}
    return numbers


def capture(out: Path, program: list[str], flows: list[str]) -> None:
    """Run the flows and write every number that came out."""
    data = Path(os.environ.get("SIGHTLINE_DATA", "../shared/data")).resolve()
    ratings = next((data / "concreteness").glob("*.txt"), "missing")
    numbers: dict[str, float] = {}
    errors: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as made:
        here = Path(made)
        prepare(here, data)
        for flow, name, words in ((each, *step) for each in flows for step in steps(each)):
            began, step, target = monotonic(), f"{flow}/{name}", here / f"{flow}-{name}"
            study = here / flow / ("study" if flow in {"demo", "float32"} else "")
            places = {"here": here, "data": data, "out": target, "concreteness": ratings}
            try:
                numbers |= run(program, Template(words).substitute(places), study, target, step)
            except (RuntimeError, OSError, ValueError) as error:
                errors[step] = str(error).replace(str(here), "").replace(str(data), "")
            print(f"{monotonic() - began:6.1f} s  {step}  {errors.get(step, '')}", flush=True)
    out.write_text(json.dumps({"errors": errors, "numbers": numbers}, indent=0))
    spent = getrusage(RUSAGE_CHILDREN)
    print(
        f"{len(numbers)} numbers; {len(errors)} steps without; {spent.ru_utime + spent.ru_stime:.0f} s of CPU"
    )


def compare(old: Path, new: Path, renamed: Path | None) -> int:
    """List which numbers are equal, elsewhere, different, or on one side only; 1 if that is not explained."""
    before, after = json.loads(old.read_text()), json.loads(new.read_text())
    more = json.loads(renamed.read_text()) if renamed else {}
    renames = more.get("renamed", {})
    left = common({reworded(key, renames): value for key, value in before["numbers"].items()})
    right = common(after["numbers"])
    found: dict[str, list[str]] = defaultdict(list)
    free: dict[tuple[str, float], dict[str, set[str]]] = defaultdict(dict)
    for key in right.keys() - left.keys():
        free[place(key, right[key])][key] = about(key)
    for key, value in left.items():
        rows, others = about(key), free[place(key, value)]
        if key in right:
            close = 1e-5 if key.startswith("float32/") else 1e-9
            same = math.isclose(value, right[key], rel_tol=close, abs_tol=1e-12)
            found["equal" if same else "different"].append(f"{key}: {value!r} -> {right[key]!r}")
        elif same_rows := [other for other in others if others[other] <= rows or rows <= others[other]]:
            there = max(same_rows, key=lambda other: len(others[other] & rows))
            del others[there]
            found["equal, elsewhere"].append(f"{key}: now {there}")
        else:
            found["only in old"].append(f"{key}: {value!r}")
    found["only in new"] = [f"{key}: {right[key]!r}" for keys in free.values() for key in keys]
    for step, why in (before["errors"] | after["errors"]).items():
        sides = [name for name, side in (("old", before), ("new", after)) if step in side["errors"]]
        found[f"fails in {' and '.join(sides)}"].append(f"{step}: {why}")
    failed = 0
    for title, lines in found.items():
        print(f"\n{title}: {len(lines)}")
        groups: dict[str, list[str]] = defaultdict(list)
        for line in lines if title != "equal" else ():
            why = next((why for part, why in more.get("explained", {}).items() if re.search(part, line)), "")
            failed += not why and title in {"different", "only in old", "fails in new"}
            shown = re.sub(r"\[[^\]]*\](#\d+)?", "[]", line.split(": ")[0])
            groups[shown + (f"  (explained: {why})" if why else "")].append(line)
        for shown, each in groups.items():
            print(f"  {len(each):6}  {shown}\n          such as {each[0]}")
    print(f"\n{failed} unexplained")
    return 1 if failed else 0


def reworded(text: str, patterns: dict[str, str]) -> str:
    for pattern, new in patterns.items():
        text = re.sub(pattern, new, text)
    return text


def step_of(key: str) -> str:
    return "/".join(re.split(r"[/\[]", key)[:2])


def common(numbers: dict[str, float]) -> dict[str, float]:
    """The numbers with their keys in the words of 0.2, except for the names of steps."""
    made: dict[str, float] = {}
    for key, value in numbers.items():
        step = step_of(key)
        new = step + re.sub(r"\w+", lambda word: KEYS.get(word[0], word[0]), key[len(step) :])
        made[new if new not in made else key] = value
    return made


def place(key: str, value: float) -> tuple[str, float]:
    """Where a number is looked for that is not where it was: in the same step, rounded."""
    return step_of(key), float(f"{value:.{5 if key.startswith('float32/') else 9}g}")


def about(key: str) -> set[str]:
    """What the rows of a key are about, whatever the columns are called."""
    parts = (part for rows in re.findall(r"\[([^\]]*)\]", key) for part in rows.split(","))
    return {part.split("=")[-1] for part in parts} - {""}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    capturing = commands.add_parser("capture", help="run the flows and write their numbers to OUT")
    capturing.add_argument("out", type=Path)
    capturing.add_argument("--program", default=f"{sys.executable} -m sightline")
    capturing.add_argument("--flow", action="append", choices=list(GIVEN["flows"]), help="only this flow")
    comparing = commands.add_parser("compare", help="compare the numbers of two captures")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    comparing.add_argument("--renamed", type=Path)
    given = parser.parse_args()
    if given.command == "compare":
        return compare(given.old, given.new, given.renamed)
    capture(given.out, shlex.split(given.program), given.flow or list(GIVEN["flows"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
