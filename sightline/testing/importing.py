"""What every importer promises, checked on the files of its own example."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sightline.data.import_ import import_, recognise
from sightline.data.imports import undo
from sightline.errors import DataError, SightlineError
from sightline.extension import Configured
from sightline.study.schema import database, tables
from sightline.study.study import Study, create_study

Need = Callable[[Any, str], None]
IMAGES = (".png", ".jpg", ".jpeg")
SEPARATORS = {".csv": b",", ".tsv": b"\t", ".jsonl": b":", ".run": b" ", ".qrels": b" "}
WHOLE = (".json", ".npz")
"""Files that are one piece. A list of lines (.txt) is whole wherever it ends, and is not cut short."""
TEXTS = (*SEPARATORS, ".json", ".txt")


def check_importer(ready: Configured, need: Need) -> Any:
    """Check an importer on its example, whole and spoilt; returns the counts of what was imported."""
    details = ready.spec.details
    need(details["files"], "it brings an example: files={'name.csv': 'text', 'a.png': 'red'}")
    with tempfile.TemporaryDirectory() as made, create_study(Path(made) / "study") as study:
        home = Path(made)
        source, copy = (write_files(home / name, details["files"]) for name in ("example", "copy"))
        best, second, *_ = recognise(source)[1]
        need(
            best.importer == ready.name and best.confidence > second.confidence,
            "its own example is recognised as its own, and as nothing else",
        )
        if details["before"]:
            import_(study, write_files(home / "before", details["before"]))
        empty = _dump(study)
        for spoil in (_check_bad_line, _check_cut_short):
            spoil(ready, copy, study, need)
            need(_dump(study) == empty, "what is refused leaves nothing behind")
        first = import_(study, source, format=ready.short)
        full = _dump(study)
        need(sum(first.counts.values()) > 0, "its example holds something to import")
        need(import_(study, source, format=ready.short).already, "the same files again change nothing")
        need(_dump(study) == full, "the same files again change nothing")
        _check_annotators(study, source, need)
        # Folders of images differ in their times: a touched copy is another source with the same rows.
        for image in _files(copy, IMAGES):
            os.utime(image, (1, 1))
        again = import_(study, copy, format=ready.short)
        added = {name for name, rows in _dump(study).items() if rows != full[name]}
        need(added <= {"source", "mention"}, "a copy elsewhere adds nothing")
        for number in sorted({first.number or 0, again.number or 0}, reverse=True):
            undo(study, number)
        need(_dump(study) == empty, "undone, nothing is left")
    return {name: count for name, count in sorted(first.counts.items()) if count}


def _check_bad_line(ready: Configured, source: Path, study: Study, need: Need) -> None:
    refused = []
    for path in _files(source, TEXTS)[:4]:
        whole = path.read_bytes()
        path.write_bytes(whole.rstrip(b"\n") + b"\n\xff\xfe\n")
        error = _refusal(ready, source, study)
        path.write_bytes(whole)
        if error is not None:
            refused.append(path)
            line = whole.rstrip(b"\n").count(b"\n") + 2
            need(
                isinstance(error, DataError) and error.remedy and error.where.endswith(f"{path.name}:{line}"),
                f"an error names file, line and remedy ({path.name}:{line}, not {error})",
            )
    need(refused or not _files(source, TEXTS), "it refuses a file that is not UTF-8")


def _check_cut_short(ready: Configured, source: Path, study: Study, need: Need) -> None:
    for path in _files(source, (*SEPARATORS, *WHOLE))[:1]:
        whole = path.read_bytes()
        path.write_bytes(half(path))
        error = _refusal(ready, source, study)
        path.write_bytes(whole)
        need(
            error is not None and path.name in error.where and error.remedy,
            f"a file that ends in the middle is refused ({path.name})",
        )


def _check_annotators(study: Study, source: Path, need: Need) -> None:
    texts = "\n".join(path.read_text("utf-8", "replace") for path in _files(source, TEXTS))
    named = _dump(study)["annotator"]
    need(all(name in texts for _, _, name, *_ in named), "every annotator is named in the source")
    with database.reading(study.engine) as connection:
        idle = connection.exec_driver_sql(
            "SELECT name FROM annotator WHERE id NOT IN "
            "(SELECT annotator_id FROM judgement WHERE annotator_id IS NOT NULL)"
        ).fetchall()
    need(not idle, "every annotator has a vote")


def _refusal(ready: Configured, source: Path, study: Study) -> SightlineError | None:
    try:
        import_(study, source, format=ready.short)
    except SightlineError as error:
        return error
    return None


def _files(source: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """The files of a source that can be spoilt, tables first and the largest first."""
    inside = source.parent if source.is_file() else source
    files = [path for path in inside.rglob("*") if path.suffix in suffixes and path.stat().st_size]
    return sorted(files, key=lambda path: (path.suffix == ".txt", -path.stat().st_size, path.name))


def half(path: Path) -> bytes:
    """The first half of a file, cut in the middle of a row."""
    whole = path.read_bytes()
    if path.suffix in WHOLE or whole.count(b"\n") < 2:
        return whole[: len(whole) // 2]
    row = whole.rindex(b"\n", 0, max(len(whole) // 2, whole.index(b"\n") + 2)) + 1
    return whole[: whole.index(SEPARATORS[path.suffix], row)]


def _dump(study: Study) -> dict[str, list[tuple[Any, ...]]]:
    with database.reading(study.engine) as connection:
        dump = {
            table.name: sorted((tuple(row) for row in connection.execute(table.select())), key=repr)
            for table in tables.metadata.sorted_tables
        }
    # The number of an import stays taken after it is undone.
    dump["setting"] = [row for row in dump["setting"] if row[0] != "last_import"]
    return dump


def write_files(folder: Path, files: Mapping[str, str]) -> Path:
    """Write an example; returns the path to import: the folder of all files, else the first file.

    An image is given by its colour, an .npz file by its arrays as JSON, a .tar archive by its files as JSON,
    and a .tfrecord file by the features of its records.
    """
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix.lower() in IMAGES:
            from PIL import Image

            Image.new("RGB", (4, 4), text).save(file)
        elif file.suffix in (".tar", ".tfrecord"):
            file.write_bytes((_shard if file.suffix == ".tar" else _records)(json.loads(text)))
        elif file.suffix == ".npz":
            import numpy as np

            arrays: dict[str, Any] = {key: np.array(values) for key, values in json.loads(text).items()}
            np.savez(file, **arrays)
        else:
            file.write_text(text, encoding="utf-8")
    tops = {name.split("/", 1)[0] for name in files}
    first = next(iter(files))
    return folder / tops.pop() if len(tops) == 1 else folder / first


def _shard(files: Mapping[str, Any]) -> bytes:
    """A tar archive of images, given by their colours, and of texts or objects."""
    import io
    import tarfile

    from PIL import Image

    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in files.items():
            held = io.BytesIO()
            if Path(name).suffix in IMAGES:
                Image.new("RGB", (4, 4), content).save(held, "PNG")
            else:
                held.write((content if isinstance(content, str) else json.dumps(content)).encode())
            about = tarfile.TarInfo(name)
            about.size = len(held.getvalue())
            archive.addfile(about, io.BytesIO(held.getvalue()))
    return out.getvalue()


def _records(records: list[Mapping[str, Any]]) -> bytes:
    """A TFRecord file of tf.train.Examples with one value per feature."""
    from sightline.data.sources.archives import as_tfrecord

    return b"".join(as_tfrecord(each) for each in records)
