"""Finding extensions: ours, those of an installed package and of a folder of files, and printed forms."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from processes import printed

from sightline import registry
from sightline.errors import ExtensionError, UsageError
from sightline.extension import KINDS, Configured, Extension, Needs
from sightline.registry import Broken

HERE = Path(__file__).resolve().parent

MEASURE = '''
from dataclasses import dataclass
from sightline.extension import measure


@dataclass
class Helper:
    value: float = {value}


@measure.of_image(range=(0, 10), source="a test", licence="Apache-2.0"{more})
def {name}(images, *, scale: float = 1.0):
    """Always the same."""
    return [Helper().value * scale for image in images]
'''


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example package, installed by pip as anybody would, without a network."""
    source = tmp_path_factory.mktemp("source") / "plugin_example"
    shutil.copytree(HERE / "plugin_example", source, ignore=shutil.ignore_patterns("__pycache__"))
    target = tmp_path_factory.mktemp("installed")
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", *offline, "--target", str(target), str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return target


def environment(installed: Path, **variables: str) -> dict[str, str]:
    """Variables with which the example package is installed and nothing else is added."""
    path = os.pathsep.join([str(installed), *filter(None, sys.path)])
    return {"PYTHONPATH": path, "SIGHTLINE_PLUGINS": str(installed / "no-plugins"), **variables}


RUN = """
import io, json
from PIL import Image
from sightline import registry
from sightline.errors import SightlineError
from sightline.extension import Picture
file = io.BytesIO()
Image.new("RGB", (2, 2), (255, 0, 0)).save(file, "PNG")
def attempt(what):
    try:
        return what()
    except SightlineError as error:
        return str(error)
"""


def test_a_package_brings_extensions(installed: Path) -> None:
    program = RUN + (
        "found = registry.configure('of_image', 'warmth(weight=0.5)')\n"
        "print(json.dumps([found.spec.origin, found.load()([Picture(file.getvalue())])]))"
    )
    assert printed(program, **environment(installed)) == ["sightline-example", [0.5]]


ENCODE = RUN + (
    "load = lambda: registry.configure('encoder', 'tiny_colours').load()\n"
    "print(json.dumps(attempt(lambda: load().image([Picture(file.getvalue())]).shape)))"
)


def test_weights_are_found_in_the_package_and_must_be_the_pinned_ones(
    installed: Path, tmp_path: Path
) -> None:
    assert printed(ENCODE, **environment(installed)) == [1, 4]
    wrong = tmp_path / "wrong.npz"
    wrong.write_bytes(b"other weights")
    message = printed(ENCODE, **environment(installed, SIGHTLINE_WEIGHTS_TINY_COLOURS=str(wrong)))
    assert "these are not the expected weights" in message and str(wrong) in message


def test_a_missing_extra_says_how_to_install_it(installed: Path) -> None:
    program = RUN + "print(json.dumps(attempt(lambda: registry.configure('of_prompt', 'mood').load())))"
    message = printed(program, **environment(installed))
    assert "mood needs sightline-example-model-that-nobody-has" in message
    assert "pip install 'sightline-example[heavy]'" in message


def test_the_same_name_twice_is_an_error_that_names_both(installed: Path, tmp_path: Path) -> None:
    for name in ("warmth", "sharpness"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"{name}.py").write_text(MEASURE.format(name=name, value=1, more=""), encoding="utf-8")
        program = RUN + f"print(json.dumps(attempt(lambda: registry.get('of_image', '{name}'))))"
        message = printed(program, **environment(installed, SIGHTLINE_PLUGINS=str(folder)))
        owner = "sightline-example" if name == "warmth" else "sightline"
        assert f"two extensions are called {name}" in message
        assert f"one of {owner}, one of plugins/{name}.py" in message


def test_the_package_passes_the_conformance_suite(installed: Path) -> None:
    suites = [str(HERE / "test_conformance.py"), str(HERE / "test_declarations.py")]
    chosen = ["-k", "warmth or tiny_colours or mood", "-p", "no:cacheprovider", "--quiet", "--durations=0"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *chosen, *suites],
        env={**os.environ, **environment(installed)},
        cwd=HERE.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    # Four tests of the declaration for each of three, and the behaviour of two: mood cannot run.
    assert "14 passed, 1 skipped" in done.stdout


def test_a_file_in_the_plugins_folder_is_an_extension(plugins: Path) -> None:
    (plugins / "constant.py").write_text(MEASURE.format(name="constant", value=2, more=""), encoding="utf-8")
    (plugins / "_helper.py").write_text("raise RuntimeError('not an extension')", encoding="utf-8")
    found = registry.configure("of_image", "constant(scale=3)")
    assert found.load()([None]) == [6.0]
    assert found.spec.origin == "plugins/constant.py"
    assert "constant" in registry.names("of_image")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def broken(:", "SyntaxError"),
        ("import no_such_module_anywhere", "no_such_module_anywhere"),
        ("import sys; sys.exit(3)", "SystemExit"),
        ("x = 1", "there is no extension called 'broken'"),
        (
            "from sightline.extension import measure\n@measure.of_image()\ndef broken(images): pass",
            "no docstring",
        ),
        (
            "from sightline.extension import measure\n"
            "@measure.of_image(direction='up')\ndef broken(images):\n    '''Up.'''",
            "direction 'up'",
        ),
        (
            "from sightline.extension import measure\n"
            "@measure.of_image(licence='x', souce='y')\ndef broken(images):\n    '''Typo.'''",
            "Did you mean source",
        ),
        (
            "from sightline.extension import measure\n"
            "@measure.of_image()\ndef broken(images, *, k):\n    '''No default.'''",
            "parameter k has no default",
        ),
    ],
)
def test_a_broken_file_is_listed_with_its_error_and_stops_nobody(
    plugins: Path, source: str, message: str
) -> None:
    (plugins / "broken.py").write_text(source, encoding="utf-8")
    (plugins / "constant.py").write_text(MEASURE.format(name="constant", value=2, more=""), encoding="utf-8")
    listed = list(registry.everything())
    (wrong,) = [each for each in listed if isinstance(each, Broken)]
    assert wrong.name == "broken" and message in wrong.why
    names = {each.spec.name for each in listed if isinstance(each, Extension)}
    assert {"constant", "sharpness", "ridge"} <= names
    with pytest.raises(ExtensionError):
        registry.get("of_image", "broken")


def test_a_folder_or_file_that_others_can_change_is_refused(plugins: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    file = plugins / "constant.py"
    file.write_text(f"open({str(mark)!r}, 'w')\n" + MEASURE.format(name="constant", value=2, more=""))
    for path in (plugins, file):
        for mode in (0o777, 0o757, 0o772):
            before = path.stat().st_mode
            path.chmod(mode)
            with pytest.raises(ExtensionError, match="others can write to it") as caught:
                registry.get("of_image", "constant")
            assert caught.value.where == str(path)
            assert f"chmod go-w {path}" in caught.value.remedy and "--no-plugins" in caught.value.remedy
            path.chmod(before)
    assert not mark.exists()
    assert registry.get("of_image", "constant").spec.name == "constant"
    assert mark.exists()


def test_a_group_other_than_the_users_own_cannot_write(
    plugins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (plugins / "constant.py").write_text(MEASURE.format(name="constant", value=2, more=""))
    plugins.chmod(0o775)
    monkeypatch.setattr(registry, "_is_private", lambda group: False)
    with pytest.raises(ExtensionError, match="others can write to it"):
        registry.get("of_image", "constant")
    monkeypatch.setattr(registry, "_is_private", lambda group: True)
    assert registry.get("of_image", "constant").spec.name == "constant"


def test_a_file_of_somebody_else_is_refused(plugins: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (plugins / "constant.py").write_text(MEASURE.format(name="constant", value=2, more=""))
    owner = (plugins / "constant.py").stat().st_uid
    if owner == 0:
        os.chown(plugins / "constant.py", 12345, 0)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(ExtensionError, match="it belongs to somebody else"):
        registry.get("of_image", "constant")


def test_extensions_of_others_can_be_left_out(plugins: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (plugins / "constant.py").write_text("raise SystemExit('it ran')\n")
    plugins.chmod(0o777)
    monkeypatch.setenv("SIGHTLINE_NO_PLUGINS", "1")
    assert "constant" not in registry.names("of_image")
    monkeypatch.setattr(registry, "_entry_points", lambda: pytest.fail("packages were looked through"))
    assert registry.get("of_image", "sharpness").spec.origin == "sightline"


def test_a_corrected_file_is_read_again(plugins: Path) -> None:
    file = plugins / "mended.py"
    file.write_text("1 / 0", encoding="utf-8")
    with pytest.raises(ExtensionError, match="division by zero"):
        registry.get("of_image", "mended")
    file.write_text(MEASURE.format(name="mended", value=1, more=""), encoding="utf-8")
    os.utime(file, ns=(0, file.stat().st_mtime_ns + 1_000_000))
    assert registry.get("of_image", "mended").spec.name == "mended"


def test_a_package_that_is_not_there_is_named_with_the_command(plugins: Path) -> None:
    more = ', packages=("nobody-has-this-package",)'
    (plugins / "lacking.py").write_text(MEASURE.format(name="lacking", value=1, more=more), encoding="utf-8")
    found = registry.configure("of_image", "lacking")
    assert found.spec.missing() == ["nobody-has-this-package"]
    with pytest.raises(UsageError, match="pip install nobody-has-this-package"):
        found.load()


@pytest.mark.parametrize(
    ("ask", "near"),
    [
        (lambda: registry.get("of_image", "sharpnes"), "sharpness"),
        (lambda: registry.find_measure("precison@10"), "precision"),
        (lambda: registry.names("distances"), "distance"),
        (lambda: registry.configure("distance", "ssim(sid=3)"), "side"),
        (lambda: registry.configure("of_set", "pairwise_mean(distance=sim)"), "ssim"),
    ],
)
def test_unknown_names_suggest_near_ones(ask: Any, near: str) -> None:
    with pytest.raises(UsageError, match=f"Did you mean.*{near}"):
        ask()


def test_every_kind_has_its_shelf() -> None:
    assert set(registry.SHELVES) == set(KINDS)


def test_printed_forms_mean_the_same() -> None:
    forms = ["precision", "precision@10", "precision(k=10)", "precision(min_rel=1)"]
    forms.append(" precision(k=10, min_rel=1.0) ")
    assert len({registry.configure("of_ranking", form).identity for form in forms}) == 1
    assert registry.configure("of_ranking", "precision@20").short == "precision(k=20)"
    assert str(registry.configure("of_ranking", "precision@20")) == "precision(k=20, min_rel=1.0)"


def test_nested_extensions_can_be_written_in_any_way() -> None:
    forms = ["pairwise_mean(distance=ssim(side=32))", "pairwise_mean(distance='ssim(side=32)')"]
    found = [registry.configure("of_set", form) for form in forms]
    ssim = registry.configure("distance", "ssim", side=32)
    found.append(registry.configure("of_set", "pairwise_mean", distance=ssim))
    assert len({each.identity for each in found}) == 1
    assert str(found[0]) == "pairwise_mean(distance=ssim(side=32))"
    assert [inner.name for inner in found[0].nested()] == ["pairwise_mean", "ssim"]


def test_an_extension_of_another_kind_does_not_fit() -> None:
    with pytest.raises(UsageError, match="must name a distance"):
        registry.configure("of_set", "pairwise_mean", distance=registry.configure("of_image", "sharpness"))


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('x')",
        "precision(k=__import__('os').system('x'))",
        "precision@__import__('os').system('x')",
        "precision(__import__('os'))",
        "precision(**{'k': 3})",
        "precision(k=1, k=2)",
        "precision.__class__",
        "precision(k=(lambda: 1)())",
        "precision(k={[]: 1})",
        "precision(k=" + "1+" * 2000 + "1)",
        "pairwise_mean(distance=" + "x+" * 800 + "x)",
        "pairwise_mean(distance=__import__('os'))",
        "(" * 5000,
        "-" * 5000 + "1",
        "precision\0",
        "precision; import os",
        "",
        "precision@",
        "[1]",
        "precision(k=2.5)",
        "precision(k='ten')",
        "precision(k=True)",
        "precision(k=None)",
        "precision(min_rel=1e999)",
        "ndcg(k='ten')",
        "ndcg(k=True)",
    ],
)
def test_what_is_no_plain_form_is_refused_and_never_run(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        registry.find_measure(text)
    assert len(str(refused.value)) < 400, "nobody reads a message as long as the attack"


@given(st.text(max_size=40))
def test_any_text_is_either_a_measure_or_a_usage_error(text: str) -> None:
    try:
        assert isinstance(registry.find_measure(text), Configured)
    except UsageError as error:
        assert str(error)


@given(k=st.integers(), min_rel=st.floats(allow_nan=False, allow_infinity=False))
def test_any_plain_parameters_read_back(k: int, min_rel: float) -> None:
    found = registry.configure("of_ranking", "precision", k=k, min_rel=min_rel)
    assert registry.configure("of_ranking", str(found)) == found


@given(st.text())
def test_any_text_parameter_reads_back(line: str) -> None:
    found = registry.configure("generator", "command", line=line)
    again = registry.configure("generator", str(found))
    assert again.arguments["line"] == line and again.identity == found.identity


def test_defaults_of_nested_extensions_exist() -> None:
    for extension in registry.everything():
        assert isinstance(extension, Extension)
        for parameter in extension.spec.parameters:
            if isinstance(parameter.default, Needs):
                registry.configure(parameter.default.kind, parameter.default.spec)
