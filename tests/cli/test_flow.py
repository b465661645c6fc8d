"""Every command on a small study: what it shows, what programs read, and what it says comes next."""

from __future__ import annotations

import csv
import io
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

Run = Callable[..., Any]


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


# Commands that read, with the name of a column of what they give; `STUDY` stands for the study.
READING = [
    (["status", "STUDY"], "what"),
    (["imports", "STUDY"], "number"),
    (["check", "STUDY", "--workers", "1"], "severity"),
    (["select", "STUDY", "3"], "prompt"),
    (["suite", "make", "counting", "4"], "prompt"),
    (["truth", "STUDY"], "agreement"),
    (["score", "STUDY", "sharpness"], "measure"),
    (["variability", "STUDY", "--distance", "pixel_l2", "--workers", "1"], "similarity"),
    (["fit", "STUDY", "--folds", "3"], "pearson"),
    (["trust", "STUDY"], "spearman"),
    (["compare", "STUDY"], "mean"),
    (["cache", "STUDY"], "measure"),
    (["list", "consensus"], "licence"),
]


@pytest.mark.parametrize(
    ("words", "column"), READING, ids=lambda part: part[0] if isinstance(part, list) else ""
)
def test_reading_commands_speak_to_people_and_programs(
    run: Run, study: Path, words: list[str], column: str
) -> None:
    words = [str(study) if word == "STUDY" else word for word in words]
    people = run(*words)
    assert (people.code, people.err) == (0, "")
    assert words[0] == "list" or people.out.rstrip().splitlines()[-1].startswith("Next: sightline ")
    as_json = run(*words, "--json")
    assert as_json.code == 0
    told = as_json.json
    tables = [value for value in (told, *told.values()) if _is_table(value)]
    assert column in [each["name"] for each in tables[0]["columns"]]
    as_csv = run(*words, "--csv")
    assert as_csv.code == 0
    header = next(csv.reader(io.StringIO(as_csv.out)))
    assert column in header
    assert len(rows(as_csv.out)) in (len(tables[0]["rows"]), sum(len(each["rows"]) for each in tables))


def _is_table(value: object) -> bool:
    return isinstance(value, dict) and "rows" in value


def test_init_makes_an_empty_study(run: Run, tmp_path: Path) -> None:
    made = run("init", tmp_path / "my study")
    assert made.code == 0
    assert (tmp_path / "my study" / "study.toml").is_file()
    assert f"Next: sightline import {shlex.quote(str(tmp_path / 'my study'))} PATH" in made.out
    assert "is empty" in run("status", tmp_path / "my study").out
    again = run("init", tmp_path / "my study")
    assert again.code == 3
    assert "there is a study already" in again.err


def test_a_study_in_postgresql(run: Run, counts: Any, files: Path, tmp_path: Path, postgres_url: str) -> None:
    assert run("init", tmp_path / "team", "--database", postgres_url).code == 0
    assert run("import", tmp_path / "team", files / "answers.csv").code == 0
    addresses: list[Path | str] = [tmp_path / "team", postgres_url]
    for address in addresses:
        assert counts(address)["answers"] == 48
    (row,) = run("score", postgres_url, "brightness", "--json").json["measures"]["rows"]
    assert (row["total"], row["computed"], row["without"]) == (48, 48, 0)
    unknown = run("status", postgres_url.replace("postgresql", "mysql", 1))
    assert unknown.code == 2
    assert "postgresql://" in unknown.err


def test_status_counts(counts: Any, study: Path) -> None:
    # 12 prompts x 2 systems x 2 samples; 3 votes each; sharpness of 48 images and words of 12 prompts.
    found = counts(study)
    assert found["answers"] == found["images with their file"] == found["truths"] == 48
    assert found["judgements"] == 144
    assert found["scores"] == 60


def test_import_tells_what_it_saw_and_did(run: Run, counts: Any, files: Path, tmp_path: Path) -> None:
    study = tmp_path / "deep" / "new"
    seen = run("import", study, files / "answers.csv", "--dry-run")
    assert seen.code == 0
    assert "48 images" in seen.out and "answers.csv:2" in seen.out and "Nothing was written." in seen.out
    assert not study.parent.exists()
    done = run("import", study, files / "answers.csv")
    assert done.code == 0
    assert "Recognised as answers: A table with `image`, `system` and a prompt" in done.out
    assert "This is import 1 of a new study" in done.out and f"sightline undo {study} 1" in done.out
    assert f"Next: sightline check {study}\n" in done.out
    assert [path.name for path in study.parent.iterdir()] == ["new"]
    again = run("import", study, files / "answers.csv", "--json")
    assert again.json["already"] is True and again.json["number"] == 1
    assert "Nothing was changed" in again.json["sentence"]
    gone = run("undo", study, "1", "--json")
    assert {row["what"]: row["n"] for row in gone.json["rows"]}["answers"] == 48
    assert counts(study) == {}
    assert run("undo", study, "1").code == 2


def test_import_with_other_columns_and_options(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("caption,picture,model\na dog,1,one\n", encoding="utf-8")
    told = ["--column", "prompt=caption", "--column", "image=picture", "--column", "system=model"]
    done = run(
        "import", tmp_path / "s", table, *told, "--format", "answers", "--option", "suite=coco", "--json"
    )
    assert done.code == 0
    assert done.json["layout"] == "answers(suite='coco')"
    assert run("select", tmp_path / "s", 1, "--csv").out.startswith("suite,prompt_id,prompt\ncoco,")
    unused = run("import", tmp_path / "s2", table, *told, "--column", "seed=nothing", "--format", "answers")
    assert unused.code == 2
    assert not (tmp_path / "s2").exists()


def test_export_comes_back(run: Run, counts: Any, study: Path, tmp_path: Path) -> None:
    chosen = ["--as", "jsonl", "--table", "answers", "--table", "prompts"]
    done = run("export", study, tmp_path / "out", *chosen, "--json")
    assert done.code == 0
    assert {row["table"]: row["rows"] for row in done.json["rows"]} == {"answers": 48, "prompts": 12}
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {"answers.jsonl", "prompts.jsonl", "sightline-export.json"}
    assert run("import", tmp_path / "again", tmp_path / "out" / "prompts.jsonl").code == 0
    copied = run("export", study, tmp_path / "copy", "--as", "study")
    assert copied.code == 0
    assert counts(tmp_path / "copy") == counts(study)
    assert run("export", study, tmp_path / "x", "--as", "cvs").code == 2
    assert run("export", study, tmp_path / "x", "--table", "answer").code == 2


def test_check_fails_a_script_when_asked(run: Run, study: Path, files: Path, tmp_path: Path) -> None:
    clean = run("check", study, "--workers", 1, "--strict", "--json")
    blank = tmp_path / "blank"
    for name in ("one.png", "two.png"):
        (blank / "dull").mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (30, 30), "grey").save(blank / "dull" / name)
    assert run("import", study, blank).code == 0
    lenient = run("check", study, "--workers", 1, "--json")
    strict = run("check", study, "--workers", 1, "--strict", "--json")
    found = [(row["severity"], row["rule"]) for row in lenient.json["rows"]]
    assert len(found) > len(clean.json["rows"])
    assert ("warning" in dict(found)) and strict.code == 1 and strict.json["failed"] is True
    assert lenient.code == int("error" in dict(found))


def test_select_and_suite_write_files_that_import(run: Run, study: Path, tmp_path: Path) -> None:
    chosen = run(
        "select", study, 4, "--by", "random", "--seed", 7, "--tag", "pilot", "--to", tmp_path / "few.csv"
    )
    assert chosen.code == 0
    assert len(rows((tmp_path / "few.csv").read_text("utf-8"))) == 4
    assert run("import", tmp_path / "few", tmp_path / "few.csv").code == 0
    words = ("suite", "make", "counting(most=3)", 5, "--seed", 1, "--json")
    made = run(*words, "--to", tmp_path / "counting.jsonl")
    assert made.code == 0 and made.json["n"] == 5
    # After the five come the single objects that they build on.
    objects = {each["objects"][0]["kind"] for each in made.json["expects"][:5]}
    assert len(made.json["rows"]) == len(made.json["expects"]) == 5 + len(objects)
    assert run(*words).json["rows"] == made.json["rows"]
    assert run("import", tmp_path / "counting", tmp_path / "counting.jsonl").code == 0


def test_generate_goes_on_where_it_was(run: Run, study: Path, tmp_path: Path) -> None:
    program = tmp_path / "draw.py"
    program.write_text(
        "import sys\n"
        "prompt, seed, output = sys.argv[1:]\n"
        "if 'pink' in prompt: sys.exit('no pink')\n"
        "from PIL import Image\n"
        "Image.new('RGB', (8, 8), (int(seed) % 256, 0, 0)).save(output)\n",
        encoding="utf-8",
    )
    line = f"{sys.executable} {program} {{prompt}} {{seed}} {{output}}"
    few = run("select", study, 4, "--by", "random", "--to", tmp_path / "few.csv", "--csv")
    run("import", tmp_path / "s", tmp_path / "few.csv")
    words = ["generate", tmp_path / "s", "mine", "--with", f"command(line={line!r})"]
    pink = sum("pink" in row["prompt"] for row in rows(few.out))
    first = run(*words, "--json")
    assert first.code == 0
    (row,) = first.json["systems"]["rows"]
    assert (row["made"], row["known"], row["failed"]) == (4 - pink, 0, pink)
    (row,) = run(*words, "--json").json["systems"]["rows"]
    assert (row["made"], row["known"], row["failed"]) == (0, 4, 0)
    missing = run("generate", tmp_path / "s", "other", "--with", "command")
    assert missing.code == 2


def test_annotate_sheets_come_back(run: Run, study: Path, tmp_path: Path) -> None:
    words = ["annotate", study, "--sheets", tmp_path / "sheets", "--question", "alignment"]
    words += ["--annotators", "dee, eve"]
    done = run(*words, "--json")
    assert done.code == 0
    assert [(row["annotator"], row["images"]) for row in done.json["rows"]] == [("dee", 48), ("eve", 48)]
    sheet = tmp_path / "sheets" / "dee" / "sheet.csv"
    table = rows(sheet.read_text("utf-8"))
    filled = [{**row, "value": "4"} for row in table]
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, table[0].keys())
        writer.writeheader()
        writer.writerows(filled)
    back = run("import", study, sheet, "--json")
    assert back.code == 0, back.err
    assert {row["what"]: row["n"] for row in back.json["rows"]}["judgements"] == 48
    assert run(*words).code == 3


def test_truth_by_other_rules(run: Run, study: Path) -> None:
    told = run("truth", study, "alignment", "--rule", "median", "--screen", "one_value", "--json").json
    (row,) = told["settlements"]["rows"]
    assert (row["question"], row["rule"], row["items"], row["judgements"]) == ("alignment", "median", 48, 144)
    assert row["agreement"]["n"] == 48
    assert run("truth", study, "beauty").code == 2
    assert run("truth", study, "--rule", "hbp").code == 2
    both = run("truth", study, "--screen", "one_value", "--no-screen")
    assert both.code == 2 and "exclude each other" in both.err


def test_scores_are_kept(run: Run, study: Path) -> None:
    (row,) = run("score", study, "contrast", "--workers", 2, "--json").json["measures"]["rows"]
    assert (row["total"], row["known"], row["computed"]) == (48, 0, 48)
    (row,) = run("score", study, "contrast", "--json").json["measures"]["rows"]
    assert (row["total"], row["known"], row["computed"]) == (48, 48, 0)
    gone = run("cache", study, "--clear", "contrast", "--prune", "--json").json
    assert gone["removed"]["scores"] == 48
    assert "contrast" not in [row["measure"] for row in gone["measures"]["rows"]]
    assert run("cache", study, "--clear", "sharpnes").code == 2


def test_scores_of_files_need_no_study(run: Run, files: Path, tmp_path: Path) -> None:
    chosen = sorted((files / "careful").glob("*.png"))[:3]
    found = run("score", "brightness", "contrast", *chosen, "--csv")
    assert found.code == 0
    told = rows(found.out)
    assert [row["file"] for row in told] == [str(path) for path in chosen]
    from PIL import ImageStat

    for row in told:
        red, green, blue = ImageStat.Stat(Image.open(row["file"])).mean
        # Luma after BT.709, of 0 to 255.
        assert float(row["brightness"]) == pytest.approx(
            (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255
        )
    folder = run("score", "brightness", files / "careful", "--csv")
    assert len(rows(folder.out)) == 24
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no image")
    both = run("score", "brightness", chosen[0], broken, "--csv")
    assert both.code == 3
    assert (
        rows(both.out)[1]["brightness"] == "" and "readable image" in rows(both.out)[1]["brightness_reason"]
    )
    assert run("score", "brightness", tmp_path / "none.png").code == 3


def test_compare_finds_the_better_system(run: Run, study: Path) -> None:
    told = run("compare", study, "--json").json
    assert told["direction"] == "higher" and told["prompts"] == 12
    first, second = told["systems"]["rows"]
    # Votes are 3 - s + (n % 4) / 4 on average: 3.375 and 2.375 over 12 prompts.
    assert (first["system"], first["rank"]) == ("careful", "1")
    assert first["mean"]["value"] == pytest.approx(3.375)
    assert second["mean"]["value"] == pytest.approx(2.375)
    assert first["mean"]["n"] == 12
    (pair,) = told["pairs"]["rows"]
    assert pair["difference"]["value"] == pytest.approx(1.0)
    assert pair["significant"] is True
    assert "careful is the best of 2 systems on alignment: 3.38" in run("compare", study).out
    # Three prompts are red: n is 0, 4 and 8, each with n % 4 = 0.
    red = run("compare", study, "--where", "colour=red", "--json").json
    assert red["prompts"] == 3 and red["systems"]["rows"][0]["mean"]["value"] == pytest.approx(3.0)
    assert run("compare", study, "--where", "colour=read").code == 2
    assert run("compare", study, "--by", "sharpnes").code == 2


def test_numbers_carry_interval_n_and_direction(run: Run, study: Path) -> None:
    shown = run("compare", study).out
    assert "mean alignment ↑" in shown
    # 12 values 3.0, 3.25, 3.5, 3.75, three of each; over prompts alone it would be [3.19, 3.56].
    low, high = map(float, re.findall(r"3\.38 \[(\S+), (\S+)\] n 12", shown)[0])
    assert 2.9 < low < 3.19 and 3.56 < high < 3.8 and "prompts and 3 raters" in shown
    assert "Spearman, 95 % interval" in run("trust", study).out


def test_report_is_one_file(run: Run, study: Path, tmp_path: Path) -> None:
    done = run("report", study, "--to", tmp_path / "out" / "r.html")
    assert done.code == 0
    page = (tmp_path / "out" / "r.html").read_text("utf-8")
    assert "careful" in page and "<script src" not in page


def test_list_names_what_is_missing_and_what_is_broken(run: Run, plugin: Any) -> None:
    plugin(
        "mine",
        "@measure.of_image(direction='lower', source='me', licence='MIT', packages=('not-a-package',))\n"
        "def mine(images):\n    '''My own.'''\n",
    )
    plugin("wrong", "import nothing_of_that_name\n")
    found = {row["name"]: row for row in run("list", "of_image", "--json").json["rows"]}
    assert found["mine"]["to_use_it"] == "pip install not-a-package"
    assert (found["mine"]["direction"], found["mine"]["licence"]) == ("lower", "MIT")
    assert found["mine"]["origin"] == "plugins/mine.py"
    assert "nothing_of_that_name" in found["wrong"]["to_use_it"]
    assert found["sharpness"]["to_use_it"] == "ready"
    assert found["sharpness"]["source"] and found["sharpness"]["meaning"]
    shown = run("list", "measure")
    assert "pip install" in shown.out and "broken" in shown.out and "of_ranking" in shown.out
    assert "side=512" in run("list", "of_image", "--all", "--csv").out
    missing = run("score", "mine", __file__)
    assert missing.code == 2
    assert "pip install not-a-package" in missing.err


def test_two_extensions_of_one_name_are_listed_as_broken(run: Run, plugin: Any) -> None:
    declared = "@measure.of_image(source='me', licence='MIT')\n"
    plugin("sharpness", declared + "def sharpness(images):\n    '''Mine.'''\n")
    found = run("list", "--json").json["rows"]
    (broken,) = [row for row in found if row["to_use_it"].startswith("broken")]
    assert "two extensions are called sharpness" in broken["to_use_it"]
    assert "counting" in [row["name"] for row in found]


def test_demo_never_touches_what_is_there(run: Run, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine.txt").write_text("mine", encoding="utf-8")
    refused = run("demo", tmp_path / "taken")
    assert refused.code == 3
    assert [path.name for path in (tmp_path / "taken").iterdir()] == ["mine.txt"]
