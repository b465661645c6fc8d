"""Studies whose files are in object storage: a real S3 server, PostgreSQL, several processes, kills."""

from __future__ import annotations

import http.server
import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from object_store import s3_server
from PIL import Image as Pillow
from processes import start
from studies import put

import sightline
from sightline.errors import MissingPackage, StudyError, UsageError
from sightline.pictures import DamagedImage, decode
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record
from sightline.study import reading
from sightline.study.cache import cache
from sightline.study.doctor import doctor
from sightline.study.files import image_place
from sightline.study.roots import Root
from sightline.study.study import Study, create_study, open_study


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with s3_server() as address:
        yield address


@pytest.fixture
def far(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An address below a bucket of its own; local copies are the test's own too."""
    import s3fs

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    s3fs.S3FileSystem.clear_instance_cache()
    bucket = tmp_path.name.replace("_", "-").lower()[-40:].strip("-")
    s3fs.S3FileSystem().mkdir(bucket)
    return f"s3://{bucket}/team"


def records(folder: Path, n: int = 6) -> list[Record]:
    made: list[Record] = []
    for i in range(n):
        path = folder / f"{i}.png"
        Pillow.new("RGB", (20, 20), (40 * i, 0, 255 - 40 * i)).save(path)
        prompt, image = PromptKey("suite", str(i)), ImageKey("one", str(i))
        made += [Prompt(prompt, f"red {i}"), Image(image, str(path)), Answer(prompt, "one", 0, image)]
    return made


@pytest.fixture
def local(far: str, tmp_path: Path) -> Iterator[Study]:
    """A study in a folder, with images, a thumbnail and vectors of two encoders."""
    with create_study(tmp_path / "study") as study:
        put(study, records(tmp_path), "first")
        study.files.thumbnail(reading.images(study)["sha256"][0])
        for n in range(10):
            study.vectors.put("clip", [f"t{n}"], np.full((1, 4), n, np.float32))
        study.vectors.put("text", ["x"], np.ones((1, 3), np.float32))
        yield study


def forget_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on as on another machine."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))


@pytest.mark.parametrize("address", ["postgresql"], indirect=True)
def test_a_team_shares_everything(
    far: str, address: str, tmp_path: Path, colours: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    measure = f"clip_score(encoder=colours(log='{log}'))"
    sightline.init(tmp_path / "one", database=address, images=far)
    with open_study(tmp_path / "one") as one:
        put(one, records(tmp_path))
        (run,) = sightline.score(one, measure).runs
        assert run.computed == 6
        shas = reading.images(one)["sha256"].to_list()
        small = one.files.thumbnail(shas[0])
        matrix = one.vectors.get(next(iter(one.vectors.encoders())), shas)[0]
    counted = log.read_text()
    forget_copies(tmp_path, monkeypatch)
    assert not (tmp_path / "one" / "images").exists() and not (tmp_path / "one" / "vectors").exists()
    with open_study(address) as other:
        assert other.files.thumbnail(shas[0]) == small
        assert decode(other.files.read(shas[1])).shape == (20, 20, 3)
        np.testing.assert_array_equal(other.vectors.get(other.vectors.encoders()[0], shas)[0], matrix)
        (run,) = sightline.score(other, [measure, "sharpness"], workers=2).runs[1:]
        assert run.computed == 6
        assert cache(other, verify=True).exit_code == 0
        assert log.read_text() == counted


def test_images_that_are_there_are_not_written_again(
    far: str, local: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache(local, move_to=far)
    written: list[str] = []
    write = Root.write

    def noted(self: Root, place: str, data: bytes) -> None:
        written.append(place)
        write(self, place, data)

    monkeypatch.setattr(Root, "write", noted)
    put(local, records(tmp_path), "second")
    assert written == []
    put(local, records(tmp_path, 7), "third")
    assert len(written) == 1
    sha = written[0].rpartition("/")[2]
    local.files.remove([sha])
    assert put(local, records(tmp_path, 7), "third").restored == 1
    assert doctor(local).exit_code == 0


def test_moved_there_and_back(
    far: str, local: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = {sha: local.files.read(sha) for sha in reading.images(local)["sha256"]}
    moved = cache(local, move_to=far)
    assert moved.moved is not None and moved.exit_code == 0
    assert (moved.moved.target, moved.moved.already, moved.moved.vectors_lost) == (far, 0, 0)
    assert len(list((local.home / "images").rglob("*"))) > 6  # the source is still there
    forget_copies(tmp_path, monkeypatch)
    with open_study(local.home) as there:
        assert there.files.root == far
        assert {sha: there.files.read(sha) for sha in images} == images
        np.testing.assert_array_equal(there.vectors.get("clip", ["t7"])[0], np.full((1, 4), 7))
        there.vectors.put("clip", ["new"], np.ones((1, 4), np.float32))
        assert cache(there, verify=True).findings == []
        with pytest.raises(UsageError, match="there already"):
            cache(there, move_to=far)
        back = cache(there, move_to=str(local.home), remove_source=True)
        assert back.moved is not None and (back.moved.already, back.where) == (6, str(local.home))
    assert Root(far).listing("") == {}
    local.home.rename(tmp_path / "renamed")  # it is its own again
    with open_study(tmp_path / "renamed") as again:
        assert {sha: again.files.read(sha) for sha in images} == images
        np.testing.assert_array_equal(again.vectors.get("clip", ["new", "t3"])[0][:, 0], [1, 3])
        assert doctor(again).exit_code == 0


def test_whoever_opened_a_study_before_it_moved_writes_nothing_to_the_former_place(
    far: str, local: Study, tmp_path: Path
) -> None:
    with open_study(local.home) as before:
        cache(local, move_to=far)
        with pytest.raises(StudyError, match="were moved"):
            put(before, records(tmp_path, 8), "late")
        with pytest.raises(StudyError, match="were moved"):
            before.vectors.put("clip", ["late"], np.ones((1, 4), np.float32))
    assert doctor(local).exit_code == 0


def test_a_study_with_damaged_images_is_not_moved(far: str, local: Study) -> None:
    sha = reading.images(local)["sha256"][2]
    (local.home / image_place(sha)).write_bytes(b"rotten")
    with pytest.raises(StudyError, match=f"1 image files are missing or damaged.*{sha[:12]}"):
        cache(local, move_to=far)
    with open_study(local.home) as again:
        assert again.files.local


@pytest.mark.slow
def test_what_is_wrong_in_the_store_is_named(
    far: str, local: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache(local, move_to=far)
    shas = reading.images(local)["sha256"].to_list()
    root = Root(far)
    root.write(image_place(shas[0]), b"changed")
    root.remove([image_place(shas[1])])
    root.write("images/ab/" + "ab" * 32, b"nobody's")
    place = next(place for place in root.listing("vectors") if "/text/" in place)
    data = bytearray(root.read(place) or b"")
    data[130] ^= 1
    root.write(place, bytes(data))
    forget_copies(tmp_path, monkeypatch)
    with open_study(local.home) as there:
        result = cache(there, verify=True)
        assert result.exit_code == 3
        assert {each.what: (each.n, list(each.examples)) for each in result.findings or ()} == {
            "images whose file is missing": (1, ["one/1"]),
            "images whose file is damaged": (1, ["one/0"]),
            "files of vectors that are damaged": (1, [place]),
            "files that nothing refers to": (1, ["images/ab/" + "ab" * 32]),
        }
        with pytest.raises(DamagedImage):
            there.files.read(shas[0])
        with pytest.raises(StudyError, match="the object has changed"):
            there.vectors.get("text", ["x"])
        doctor(there, repair=True)
        assert there.vectors.known("text", ["x"]) == set()
        put(there, records(tmp_path), "first")
        assert cache(there, verify=True).findings == []


def test_pruned(far: str, local: Study) -> None:
    cache(local, move_to=far)
    for sha in reading.images(local)["sha256"]:
        local.files.thumbnail(sha)
    left = local.files.put(b"an import that was killed left this")
    local.files.sync()
    Root(far).write("vectors/clip/0000009000-0000009001.npy", b"x")
    removed = cache(local, prune=True).removed
    assert removed is not None and removed.files == 2
    assert local.files.lost([left]) == {left}
    result = cache(local, prune=True, megabytes=0)
    assert (result.files["thumbnails"].files, result.files["local copies"].files) == (0, 0)
    assert result.files["images"].files == 6
    assert cache(local, verify=True).findings == []
    for wrong in ({"megabytes": 3}, {"remove_source": True}):
        with pytest.raises(UsageError, match="goes with"):
            cache(local, **wrong)  # type: ignore[arg-type]


KILLED = """
import os, signal, sys
from sightline.study import roots
from sightline.study.cache import cache
from sightline.study.roots import Root
from sightline.study.study import open_study
roots.TOGETHER = 1
home, far, left = sys.argv[1], sys.argv[2], int(sys.argv[3])

def ending(method):
    def inner(self, *given):
        global left
        if self.folder is None:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return method(self, *given)
    return inner

Root.write, Root.take = ending(Root.write), ending(Root.take)
with open_study(home) as study:
    moved = cache(study, move_to=far).moved
print(moved.copied, moved.already)
"""


@pytest.mark.slow
@pytest.mark.parametrize("nth", [5, 9])
def test_a_move_that_is_killed_resumes(far: str, local: Study, nth: int) -> None:
    """The 1st write is the check, the 2nd to 7th are images, the 8th is a thumbnail, then come vectors."""
    process = start(KILLED, local.home, far, nth)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    with open_study(local.home) as study:
        assert study.files.local
        assert cache(study, verify=True).exit_code == 0
        moved = cache(study, move_to=far).moved
        assert moved is not None and moved.already == min(6, nth - 2)
    with open_study(local.home) as study:
        assert study.files.root == far
        np.testing.assert_array_equal(study.vectors.get("clip", ["t9"])[0], np.full((1, 4), 9))
        assert [each.what for each in cache(study, verify=True).findings or ()] in (
            [], ["files that nothing refers to"],
        )  # fmt: skip


JOINING = """
import os, signal, sys
import numpy as np
from sightline.study.roots import Root
from sightline.study.study import open_study
home, moment = sys.argv[1], sys.argv[2]
take, remove = Root.take, Root.remove

def end(self, *given):
    os.kill(os.getpid(), signal.SIGKILL)

def joined(self, file, place):
    first, _, last = place.rpartition("/")[2].removesuffix(".npy").partition("-")
    if int(last) - int(first) > 1:
        if moment == "before":
            end(self)
        take(self, file, place)
        end(self)
    take(self, file, place)

if moment == "removing":
    Root.remove = end
else:
    Root.take = joined
with open_study(home) as study:
    for n in range(100):
        study.vectors.put("clip", [f"k{n}"], np.full((1, 4), 100 + n, np.float32))
"""


@pytest.mark.parametrize("moment", ["before", "removing", pytest.param("after", marks=pytest.mark.slow)])
@pytest.mark.parametrize("where", ["near", pytest.param("far", marks=pytest.mark.slow)])
def test_a_join_that_is_killed_does_no_harm(
    far: str, tmp_path: Path, moment: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with create_study(tmp_path / "study") as study:
        if where == "far":
            cache(study, move_to=far)
    process = start(JOINING, tmp_path / "study", moment)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    forget_copies(tmp_path, monkeypatch)
    with open_study(tmp_path / "study") as study:
        names = [f"k{n}" for n in range(8)]
        found, known = study.vectors.get("clip", names)
        assert known.all()
        np.testing.assert_array_equal(found[:, 0], np.arange(100, 108))
        for n in range(9):
            study.vectors.put("clip", [f"more{n}"], np.full((1, 4), n, np.float32))
        np.testing.assert_array_equal(study.vectors.get("clip", names)[0][:, 0], np.arange(100, 108))
        assert study.vectors.lost() == {}
        assert len(study.vectors.root.listing("vectors/clip")) < 8
        assert cache(study, verify=True).exit_code == 0


WRITER = """
import sys
import numpy as np
from sightline.study.study import open_study
with open_study(sys.argv[1]) as study:
    start = int(sys.argv[2])
    for n in range(start, start + 12):
        study.vectors.put("clip", [str(n), "shared" + str(n % 1000)], np.full((2, 4), n, np.float32))
"""


@pytest.mark.slow
@pytest.mark.parametrize("address", ["postgresql"], indirect=True)
def test_two_machines_write_vectors_at_once(
    far: str, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_study(tmp_path / "one", database_address=address, images=far).close()
    machines = [start(WRITER, address, n * 1000, XDG_CACHE_HOME=str(tmp_path / f"m{n}")) for n in (1, 2)]
    for each in machines:
        _, complaint = each.communicate()
        assert each.returncode == 0, complaint
    with open_study(address) as study:
        names = [str(n) for start in (1000, 2000) for n in range(start, start + 12)]
        found, known = study.vectors.get("clip", names)
        assert known.all()
        np.testing.assert_array_equal(found[:, 0], [float(name) for name in names])
        shared, known = study.vectors.get("clip", [f"shared{n}" for n in range(12)])
        assert known.all() and set(np.unique(shared) // 1000) <= {1, 2}
        assert cache(study, verify=True).exit_code == 0


@pytest.mark.parametrize("address", ["postgresql"], indirect=True)
def test_an_address_is_checked_at_once(far: str, address: str, postgres_url: str, tmp_path: Path) -> None:
    for wrong, said in {
        "s3://no-such-bucket-here/x": "there is no such bucket",
        "nothing://bucket/x": "no store is addressed by nothing://",
    }.items():
        with pytest.raises((StudyError, UsageError), match=said):
            sightline.init(tmp_path / "s", database=address, images=wrong)
        assert not (tmp_path / "s").exists()
    sightline.init(tmp_path / "s", database=address, images=far)
    assert Root(far).listing("") == {}
    Root(far).write("vectors/clip/0000000000-0000000001.npy", b"x")
    with pytest.raises(StudyError, match="another study keeps its files here"):
        sightline.init(tmp_path / "t", database=postgres_url, images=far)


def test_a_missing_package_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.delitem(importlib.import_module("fsspec.registry")._registry, "s3", raising=False)
    with pytest.raises(MissingPackage) as caught:
        Root("s3://bucket/x").check()
    assert caught.value.remedy == 'pip install "sightline[s3]"'


@pytest.fixture
def answering(far: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Has every request to the store answered with an error of S3, or by silence."""
    import s3fs

    reply: dict[str, Any] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # whoever sends much asks first whether to go on

        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if reply.get("silent"):
                time.sleep(3)
                return
            code = reply["code"]
            body = f"<Error><Code>{code}</Code><Message>{reply['message']}</Message></Error>".encode()
            self.send_response(reply["status"])
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = answer

        def log_message(self, *given: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{listening.server_address[1]}")
        s3fs.S3FileSystem.clear_instance_cache()
        yield reply
        listening.shutdown()
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.mark.parametrize(
    ("status", "code", "said", "remedy"),
    [
        (403, "AccessDenied", "the store refuses to write", "credentials"),
        (403, "SignatureDoesNotMatch", "the store refuses to write", "credentials"),
        (507, "XMinioStorageFull", "no space is left", "Free some space"),
        (403, "QuotaExceeded", "no space is left", "Free some space"),
        (404, "NoSuchBucket", "there is no such bucket", "Create the bucket"),
    ],
)
def test_what_a_store_says_is_explained(
    answering: dict[str, Any], status: int, code: str, said: str, remedy: str
) -> None:
    answering.update(status=status, code=code, message="because")
    with pytest.raises(StudyError, match=said) as caught:
        Root("s3://bucket/x").write("images/ab/abc", b"1")
    assert remedy in caught.value.remedy


def test_a_store_that_is_silent_is_given_up(
    answering: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from fsspec.config import conf

    # fsspec's own settings count: environment FSSPEC_S3='{"config_kwargs": ...}' or ~/.config/fsspec.
    patience = {"read_timeout": 0.2, "retries": {"max_attempts": 0}}
    monkeypatch.setitem(conf, "s3", {"config_kwargs": patience})
    answering.update(silent=True)
    with pytest.raises(StudyError, match="the store does not answer"):
        Root("s3://bucket/x").read("images/ab/abc")


@pytest.mark.slow
def test_a_store_that_cannot_be_reached(far: str, local: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    import s3fs

    cache(local, move_to=far)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    s3fs.S3FileSystem.clear_instance_cache()
    cache_folder = os.environ["XDG_CACHE_HOME"]
    monkeypatch.setenv("XDG_CACHE_HOME", cache_folder + "2")
    with open_study(local.home) as study:
        with pytest.raises(StudyError, match="the store does not answer") as caught:
            sightline.score(study, "sharpness")  # no reason of an image, but an error
        assert "run the same command again" in caught.value.remedy
    monkeypatch.undo()
