"""Writes the generated part of docs/: formats/ and reference/, from the registry and the command line.

Run it by `make docs`. A test fails when the pages in the repository are not what this gives.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sightline import registry
from sightline.extension import MEASURE_KINDS, Extension, Parameter
from sightline.verbs import described

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
GENERATED = ("formats", "reference")
MARK = "<!-- Written by `make docs` from the source. Change that, not this page. -->"

TITLES: Mapping[str, str] = {
    "of_prompt": "Measures of a prompt",
    "of_image": "Measures of an image",
    "of_answer": "Measures of an answer",
    "of_set": "Measures of the images of one prompt",
    "of_ranking": "Measures of a ranking",
    "of_system": "Measures of a system",
    "distance": "Distances",
    "encoder": "Encoders",
    "detector": "Detectors",
    "predictor": "Predictors",
    "consensus": "Consensus rules",
    "screening": "Screening rules",
    "check": "Checks",
    "task": "Tasks",
    "generator": "Generators",
    "retriever": "Retrievers",
    "exporter": "Exporters",
    "annotation_mode": "Annotation modes",
    "verdict": "Verdicts",
}
# A page of the reference: the kinds on it, and a sentence about where they are used.
PAGES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "measures": (
        MEASURE_KINDS,
        "Automatic scores; computed by [score](../commands/score.md), compared with people by "
        "[trust](../commands/trust.md).",
    ),
    "distances": (("distance",), "How different images are: [variability](../commands/variability.md)."),
    "detectors": (
        ("detector",),
        "What says what is in an image; used by measures of alignment ([quality](../quality.md)) and by "
        "[verdicts](../verdicts.md).",
    ),
    "encoders": (
        ("encoder",),
        "What turns texts and images into vectors; used by [select](../commands/select.md), distances and "
        "predictors.",
    ),
    "predictors": (("predictor",), "Models that predict the truth: [predict](../commands/predict.md)."),
    "consensus": (("consensus",), "How judgements become one value: [truth](../commands/truth.md)."),
    "screening": (("screening",), "Whose judgements count: [truth](../commands/truth.md)."),
    "checks": (
        ("check",),
        "The rules of [check](../commands/check.md). [Checking a study](../checks.md) says what they find "
        "in published data.",
    ),
    "tasks": (("task",), "Prompts that test one skill: [suite](../commands/suite.md)."),
    "verdicts": (
        ("verdict",),
        "Whether an image shows what its prompt expects, one kind of demand each: "
        "[verdicts](../verdicts.md).",
    ),
    "generators": (("generator",), "What creates images for prompts: [generate](../commands/generate.md)."),
    "retrievers": (("retriever",), "What searches a collection: [retrieve](../commands/retrieve.md)."),
    "exporters": (("exporter",), "The forms in which tables are exported: [export](../commands/export.md)."),
    "annotation-modes": (("annotation_mode",), "How an annotation task looks, as data."),
}
# Parameters that many extensions share, said once here instead of in every docstring.
SHARED: Mapping[tuple[str, str], str] = {
    ("of_system", "encoder"): "the image encoder whose features are compared",
    ("of_system", "collection"): "the reference collection; by default the only one that answers no prompt",
    ("of_system", "k"): "the neighbour whose distance is the reach of an image",
    ("of_system", "seed"): "of the resampling behind the interval",
    ("of_answer", "encoder"): "the encoder that puts texts, or texts and images, into one space",
    ("of_answer", "alignment"): "the measure of an answer that is applied to the whole and to every piece",
    ("of_answer", "objects"): "the detector of objects with boxes",
    ("of_answer", "classes"): "the detector of classes of the whole picture",
    ("of_answer", "text"): "the detector of text",
    ("of_answer", "model"): "the model, as the endpoint calls it",
    ("of_answer", "endpoint"): "an address such as http://localhost:8000/v1, or a name from study.toml",
    ("of_answer", "temperature"): "of sampling; 0 for the most probable reply",
    ("of_answer", "max_tokens"): "the most tokens of a reply",
    ("of_answer", "seed"): "of sampling, where the endpoint knows it; 0 sends none",
    ("of_answer", "side"): "pixels of the longer side of the image that is sent, at most",
    ("of_answer", "options"): "further fields of a request, as JSON",
    ("importer", "suite"): "the suite that prompts belong to",
    ("importer", "collection"): "the collection that images belong to",
    ("importer", "names_only"): "know images by their names; do not look for their files",
    ("importer", "generated"): "the collection that generated images belong to",
    ("importer", "question"): "the question that the values answer",
    ("importer", "panel"): "the group of people that annotators' names belong to",
    ("importer", "name"): "the name it is kept under",
    ("importer", "distance"): "the distance that was measured",
    ("encoder", "dimensions"): "how many numbers a vector has",
    ("predictor", "encoder"): "what turns prompts into vectors",
    ("of_ranking", "k"): "how many places count",
    ("annotation_mode", "images"): "how many images a task shows",
    ("consensus", "confidence"): "confidence level of the interval",
    ("screening", "below"): "the correlation below which an annotator is excluded",
}
# Parameters of which a docstring speaks without naming them in backticks.
OWN: Mapping[str, str] = {
    "pairwise_mean.distance": "how different two images are",
    "hit_rate.k": "how many places count",
    "precision.k": "how many places count",
    "ndcg.k": "how many places count; None for all",
    "ndcg.gains": "linear, exponential or binary",
    "ms_ssim.side": "pixels per side after scaling",
    "lpips.side": "pixels per side after scaling",
    "lpips.net": "alex or vgg",
    "perceptual_hash.bits": "frequencies kept each way",
    "k_expected.distance": "how different two images are",
    "k_expected.k": "how many images are looked at",
    "k_expected.permutations": "random orders sampled where there are many images",
    "k_expected.seed": "of those orders",
    "embedding.encoder": "what turns images into vectors",
    "embedding_similarity.encoder": "what puts texts and images into one space",
    "text_only.encoder": "what turns texts into vectors",
    "concat.first": "the encoder whose numbers come first",
    "concat.second": "the encoder whose numbers come after them",
    "bm25.k1": "how soon repetitions of a word stop counting",
    "bm25.b": "how much long captions are penalised",
    "preference.tie": "whether no difference may be answered",
    "export.prompts": "what reads the table of prompts",
    "export.answers": "what reads the table of answers",
    "export.captions": "what reads the table of captions",
    "export.judgements": "what reads the table of judgements",
    "export.truths": "what reads the table of truths",
    "export.scores": "what reads the table of scores",
    "gimbrr.system": "whose images lie outside any folder; if empty, the name of what is imported",
    "w1kp_cdf.squared": "whether the samples are squares of the distance",
    "control_kappa.above": "the limit that kappa must exceed",
    "diffusers.steps": "denoising steps",
    "diffusers.guidance": "how strongly the prompt guides",
    "diffusers.negative": "the negative prompt",
    "diffusers.width": "pixels",
    "diffusers.height": "pixels",
    "diffusers.device": "where torch computes, such as cpu, cuda or mps",
    "diffusers.precision": "float32, float16 or bfloat16",
    "openai_images.model": "the model, as the endpoint calls it",
    "openai_images.size": "width x height in pixels, as the endpoint offers it",
    "colour_binding.things": "how many things a prompt names",
}


def extensions(kind: str) -> list[Extension]:
    """All extensions of a kind that Sightline itself brings; what else is installed here is left out."""
    found = []
    for each in registry.everything(kind):
        if isinstance(each, Extension):
            if each.spec.origin == "sightline":
                found.append(each)
        elif each.origin == "sightline":
            raise SystemExit(f"{kind} {each.name} cannot be read: {each.why}")
    return found


def undocumented(extension: Extension) -> list[str]:
    """What a reader would miss on this extension's page."""
    spec = extension.spec
    missing = [name for name in ("meaning", "source", "licence") if not getattr(spec, name)]
    if spec.kind == "importer":
        missing += [name for name in ("files", "claims") if not spec.details.get(name)]
        claims = spec.details.get("claims")
        if callable(claims) and not inspect.getdoc(claims):
            missing.append("a docstring of its claims")
    missing += [f"parameter {each.name}" for each in spec.parameters if not _said(extension, each)]
    return missing


def _said(extension: Extension, parameter: Parameter) -> str:
    """Where a parameter is explained: in `backticks` of the docstring, or in a table of this file."""
    spec = extension.spec
    marked = " ".join(re.findall(r"`([^`]+)`", inspect.getdoc(extension.target) or ""))
    if re.search(rf"(?<!\w){re.escape(parameter.name)}(?!\w)", marked):
        return _sentence(inspect.getdoc(extension.target) or "", parameter.name)
    return OWN.get(f"{spec.name}.{parameter.name}") or SHARED.get((spec.kind, parameter.name), "")


def _sentence(text: str, name: str) -> str:
    """The first sentence of a docstring that explains a parameter, for a cell of a table."""
    inside = rf"`[^`]*(?<!\w){re.escape(name)}(?!\w)[^`]*`"
    for paragraph in text.split("\n\n"):
        for sentence in re.split(r"(?<=[.;:])\s+(?=[`A-Z\"(])", " ".join(paragraph.split())):
            if re.search(inside, sentence):
                said = sentence.rstrip(".;:")
                return said[:1].lower() + said[1:] if said[:2].istitle() or said[:2] == "A " else said
    return ""


def pages() -> dict[str, str]:
    """Every generated page by its path below docs/."""
    found = {"formats/README.md": _formats_index(), "reference/README.md": _reference_index()}
    for each in extensions("importer"):
        found[f"formats/{each.spec.name}.md"] = _format(each)
    for page, (kinds, about) in PAGES.items():
        found[f"reference/{page}.md"] = _kinds(kinds, about)
    found["reference/commands.md"] = _commands()
    found["reference/python.md"] = _functions()
    return {name: f"{MARK}\n\n{text.rstrip()}\n" for name, text in found.items()}


def write(docs: Path = DOCS) -> list[str]:
    """Write what differs, remove generated pages of what is no more; gives the paths that changed."""
    wanted, changed = pages(), []
    for name, text in wanted.items():
        path = docs / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            changed.append(name)
    for name in left_over(wanted, docs):
        (docs / name).unlink()
        changed.append(name)
    return changed


def left_over(wanted: Mapping[str, str], docs: Path = DOCS) -> list[str]:
    """Pages in the generated folders that no longer have a source."""
    there = [path.relative_to(docs).as_posix() for name in GENERATED for path in (docs / name).glob("*.md")]
    return sorted(set(there) - set(wanted))


def _formats_index() -> str:
    rows = [
        (f"[{each.spec.name}]({each.spec.name}.md)", _prose(each.spec.meaning), _prose(each.spec.source))
        for each in extensions("importer")
    ]
    return "\n\n".join(
        (
            "# Import formats",
            "What `sightline import` recognises, one page each. [Formats](../formats.md) says what they have "
            "in common, and exporting; [import](../commands/import.md) is the command.",
            _table(("layout", "what it is", "source"), rows),
        )
    )


def _reference_index() -> str:
    rows = []
    for page, (kinds, _) in PAGES.items():
        for kind in kinds:
            links = [f"[{e.spec.name}]({page}.md#{_anchor(kind, e.spec.name)})" for e in extensions(kind)]
            rows.append((f"[{TITLES[kind]}]({page}.md)", ", ".join(links)))
    parts = [
        "# Reference",
        "Every extension and every option, as the program itself knows them. `sightline list` shows the same "
        "together with what is installed; [Extending](../extending.md) explains how to add one.",
        _table(("kind", "what there is"), rows),
        "- [Commands](commands.md): every command, argument and option\n"
        "- [Formats](../formats/README.md): every layout that can be imported",
    ]
    return "\n\n".join(parts)


def _kinds(kinds: Sequence[str], about: str) -> str:
    title = "Measures" if len(kinds) > 1 else TITLES[kinds[0]]
    parts = [f"# {title}", about]
    for kind in kinds:
        if len(kinds) > 1:
            parts.append(f"## {TITLES[kind]}")
        for each in extensions(kind):
            parts += _extension(each, "###" if len(kinds) > 1 else "##")
    return "\n\n".join(parts)


def _extension(extension: Extension, level: str) -> Iterator[str]:
    spec = extension.spec
    yield f'<a id="{_anchor(spec.kind, spec.name)}"></a>\n\n{level} {spec.name}'
    yield _docstring(extension)
    facts = [fact for fact in _facts(extension) if fact[1]]
    yield "\n".join(f"- {name}: {value}" for name, value in facts)
    if spec.parameters:
        yield _parameters(extension)


def _files(files: Mapping[str, str]) -> Iterator[str]:
    """The files of an example: tables and texts as they are, images by their names."""
    images = [name for name in files if name.lower().endswith((".png", ".jpg", ".npz", ".tar", ".tfrecord"))]
    for name, text in files.items():
        if name not in images and text:
            yield f"`{name}`"
            yield _fenced(text, "text")
    if images:
        yield ", ".join(f"`{name}`" for name in images)


def _format(extension: Extension) -> str:
    spec = extension.spec
    parts = [f"# {spec.name}", _docstring(extension)]
    if spec.details["files"]:
        parts += ["## An example", *_files(spec.details["files"])]
    parts += ["## The command", f"```sh\nsightline import my-study PATH --format {spec.name}\n```"]
    parts += ["`--format` is only needed where the layout is not recognised.", "## Recognised by"]
    claims = spec.details["claims"]
    if callable(claims):
        parts.append(_marked(inspect.getdoc(claims) or ""))
    else:
        parts.append("Files called " + ", ".join(f"`{pattern}`" for pattern in claims) + ".")
    if spec.parameters:
        parts.append("## Options")
        plain = [each for each in spec.parameters if not each.nested]
        if plain:
            name, default = plain[0].name, plain[0].default
            parts.append(
                f"Set on the command line as `--option {name}={default}`, in Python as "
                f"`options={{{name!r}: {default!r}}}`."
            )
        parts.append(_parameters(extension))
    facts = [fact for fact in _facts(extension) if fact[1]]
    parts += ["## Source", "\n".join(f"- {name}: {value}" for name, value in facts)]
    return "\n\n".join([*parts, "[All formats](README.md) · [import](../commands/import.md)"])


def _facts(extension: Extension) -> Iterator[tuple[str, str]]:
    spec, details = extension.spec, extension.spec.details
    if spec.kind in MEASURE_KINDS:
        yield "direction", spec.direction
        yield "range", _range(*spec.range)
        yield "no value where", details.get("nan", "")
        if not details.get("feature", True):
            yield "a feature of predictors", "only where it is asked for: `--feature`"
    elif spec.range != (None, None):
        yield "range", _range(*spec.range)
    yield "severity", details.get("severity", "")
    yield "measures it reads", ", ".join(f"`{name}`" for name in details.get("measures", ()))
    yield "scales", ", ".join(details.get("scales", ()))
    yield "encodes", " and ".join(details.get("encodes", ()))
    yield "sees", details.get("sees", "")
    yield "skill", _prose(details.get("skill", ""))
    yield "suffix", f"`{details['suffix']}`" if details.get("suffix") else ""
    if spec.kind == "annotation_mode":
        yield from _mode(extension.target())
    if spec.weights is not None:
        yield "weights", f"sha256 `{spec.weights.sha256}`"
    if spec.checkpoint is not None:
        yield "weights by default", _prose(spec.checkpoint.origin)
    yield "also called", ", ".join(f"`{alias}`" for alias, reason in spec.aliases.items() if not reason)
    if spec.card is not None:
        yield "trained on", _prose(spec.card.trained_on)
        yield "known biases", _prose(spec.card.biases)
        yield "tested", _prose(spec.card.tested)
        yield "follows people", _prose(spec.card.trust)
    yield "needs", f"`{spec.how_to_install()}`" if spec.extra or spec.packages else ""
    yield "source", _prose(spec.source)
    yield "licence", _prose(spec.licence)
    yield "version", str(spec.version)


def _mode(mode: Any) -> Iterator[tuple[str, str]]:
    yield "layout", f"{mode.layout}, {mode.images} image{'s' if mode.images != 1 else ''} per task"
    for question in mode.questions:
        labels = "; ".join(f"{value} {_prose(label)}" for value, label in question.labels.items())
        ends = f", {question.low:g} to {question.high:g}" if question.low is not None else ""
        yield (
            f"asks `{question.name}`",
            f"{_prose(question.wording)} ({question.scale}{ends})" + (f": {labels}" if labels else ""),
        )


def _parameters(extension: Extension) -> str:
    rows = [
        (f"`{each.name}`", f"`{_default(each)}`", _of_parameter(extension, each))
        for each in extension.spec.parameters
    ]
    return _table(("parameter", "default", "meaning"), rows)


def _of_parameter(extension: Extension, parameter: Parameter) -> str:
    said = _said(extension, parameter)
    if not parameter.nested:
        return said
    where, title = _page_of(parameter.default.kind)
    # Importers have pages of their own, in the folder beside the reference.
    here = "formats" if extension.spec.kind == "importer" else "reference"
    link = where.removeprefix(f"{here}/") if where.startswith(f"{here}/") else f"../{where}"
    return f"{said}; any of the [{title}]({link})"


def _page_of(kind: str) -> tuple[str, str]:
    if kind == "importer":
        return "formats/README.md", "formats"
    page = next(page for page, (kinds, _) in PAGES.items() if kind in kinds)
    return f"reference/{page}.md", TITLES[kind].lower()


def _default(parameter: Parameter) -> str:
    return parameter.default.spec if parameter.nested else repr(parameter.default)


def _range(low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return "any number"
    if high is None:
        return f"{low:g} and above"
    return f"up to {high:g}" if low is None else f"{low:g} to {high:g}"


def _commands() -> str:
    from sightline.cli._app import summaries

    parts = [
        "# Commands",
        "Every command with its arguments and options, as `sightline COMMAND --help` has them.",
        "\n".join(f"- [{name}](#{name}): {_prose(about)}" for name, (_, about) in summaries().items()),
    ]
    for name, command in commands().items():
        parts += _command(name, command)
    return "\n\n".join(parts)


def _functions() -> str:
    """Every function of the Python interface with its signature, and what its parameters mean."""
    import sightline

    parts = [
        "# Python functions",
        "Every verb as `import sightline` gives it, with its parameters.",
    ]
    for name in sightline.__all__:
        function = getattr(sightline, name)
        if not inspect.isfunction(function):
            continue
        parts += [f"## {name}", _fenced(_signature(name, function), "text"), _docstring_of(function)]
        if hasattr(function, "verb"):
            stated = [each for each in described(function)["parameters"] if "help" in each]
            rows = [(f"`{each['name']}`", _prose(each["help"])) for each in stated]
            parts += [_table(("parameter", "meaning"), rows)] if rows else []
    return "\n\n".join(parts)


def _signature(name: str, function: Any) -> str:
    signature = inspect.signature(function)
    words: list[str] = []
    for each in signature.parameters.values():
        if each.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in words:
            words.append("*")
        default = "" if each.default is inspect.Parameter.empty else f" = {each.default!r}"
        words.append(f"{each.name}: {_annotation(each.annotation)}{default}")
    inside = "".join(f"\n    {word}," for word in words)
    return f"sightline.{name}({inside}\n) -> {_annotation(signature.return_annotation)}"


def _annotation(annotation: Any) -> str:
    """A type as a reader wants it: without the help that the command line is made from."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    if text.startswith("Annotated["):
        depth, inner = 0, ""
        for letter in text.removeprefix("Annotated["):
            if letter == "," and not depth:
                break
            depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(letter, 0)
            inner += letter
        text = inner.strip()
    return str(text)


def _docstring_of(function: Any) -> str:
    return _marked(inspect.getdoc(function) or "")


def commands() -> dict[str, Any]:
    """Every command by name, as its parser."""
    from sightline.cli._app import parser, summaries
    from sightline.cli.adapter import index

    found = {}
    for name in summaries():
        found[name] = parser(name)
        # A family of commands is followed by its own.
        found |= {each: parser(each) for each in index() if each.startswith(f"{name} ")}
    return found


def _command(name: str, command: Any) -> Iterator[str]:
    yield f"## {name}"
    words = [_word(each) for each in command.params if not is_option(each)]
    last = "[OPTIONS]" if command.params else "COMMAND"
    yield f"```text\nsightline {' '.join([name, *words, last])}\n```"
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        # A paragraph that starts with \b keeps its lines on the help page: here they are examples.
        kept = paragraph.startswith("\b")
        yield _fenced(paragraph.lstrip("\b\n"), "sh") if kept else _marked(paragraph)
    rows = [(f"`{_spelt(each)}`", _of_option(each)) for each in command.params]
    if rows:
        yield _table(("argument or option", "meaning"), rows)
    stage = DOCS / "commands" / f"{name.partition(' ')[0]}.md"
    if stage.is_file():
        yield f"More: [{stage.stem}](../commands/{stage.name})"


def is_option(parameter: Any) -> bool:
    """Whether a parameter of a command is given by its name."""
    return str(parameter.opts[0]).startswith("-")


def _word(argument: Any) -> str:
    plain = (argument.metavar or argument.name.upper()).strip("[]")
    shown = plain if argument.required else f"[{plain}]"
    return f"{shown}..." if argument.nargs == -1 else shown


def _spelt(parameter: Any) -> str:
    if not is_option(parameter):
        return _word(parameter)
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    return names if parameter.is_flag else f"{names} {parameter.metavar or 'N'}"


def _of_option(parameter: Any) -> str:
    said = _prose(parameter.help or "")
    shown = getattr(parameter, "show_default", None)
    if isinstance(shown, str):
        return f"{said} Default: {_prose(shown)}."
    if parameter.required and is_option(parameter):
        return f"{said} Required."
    default = parameter.default
    if default is None or default is False or default == "" or not shown:
        return said
    return f"{said} Default: `{default}`."


def _anchor(kind: str, name: str) -> str:
    """A name that is unique on its page and does not depend on how a site makes anchors of headings."""
    return f"{kind}-{name}"


def _docstring(extension: Extension) -> str:
    return _marked(inspect.getdoc(extension.target) or "")


def _marked(text: str) -> str:
    """A docstring as Markdown: indented parts are formulas or layouts and stay as they are."""
    parts = []
    for paragraph in re.split(r"\n[ \t]*\n", text.strip("\n")):
        lines = paragraph.split("\n")
        if all(line.startswith("    ") for line in lines):
            parts.append(_fenced(inspect.cleandoc(paragraph), "text"))
        else:
            parts.append("\n".join(_prose(line.strip()) for line in lines))
    return "\n\n".join(parts)


def _prose(text: str) -> str:
    """Text in which Markdown finds no markup but that between backticks."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(
        piece if piece.startswith("`") else re.sub(r"([*<\[\]])", r"\\\1", piece) for piece in pieces
    )


def _fenced(text: str, language: str) -> str:
    body = text.strip("\n")
    return f"```{language}\n{body}\n```"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()


if __name__ == "__main__":
    changed_pages = write()
    sys.stdout.write("".join(f"docs/{name}\n" for name in changed_pages) or "docs/ is up to date.\n")
