"""What is on this machine, what is not, and where it would come from; a hub that is away is told at once."""

from __future__ import annotations

import socket
import sys
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sightline import registry
from sightline.checkpoints import Pin, checkpoint, file_of, tensors
from sightline.errors import DataError, MissingPackage, UsageError
from sightline.testing.extensions import list_extensions
from sightline.weights import hub_answers

PIN = Pin("owner/model", "a" * 40, "model.safetensors", "", 4700, "MIT")


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in ("SIGHTLINE_OFFLINE", "HF_HUB_OFFLINE", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "HF_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    hub_answers.cache_clear()
    yield
    hub_answers.cache_clear()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the hub's client was asked for, which has nothing in its cache and reaches nobody."""
    calls: list[str] = []
    module = types.ModuleType("huggingface_hub")

    def download(model: str, *_: Any, local_files_only: bool = False, **__: Any) -> str:
        calls.append("cache" if local_files_only else "hub")
        raise OSError("not here")

    module.snapshot_download = module.hf_hub_download = download  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "huggingface_hub", module)
    return calls


def test_a_missing_hub_is_told_in_a_second_and_once(
    asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts: list[object] = []
    connect = socket.create_connection

    def counted(*args: Any, **more: Any) -> Any:
        attempts.append(args)
        return connect(*args, **more)

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{free.getsockname()[1]}")
    monkeypatch.setattr(socket, "create_connection", counted)
    for _ in range(3):
        with pytest.raises(MissingPackage, match="the hub cannot be reached from here") as caught:
            checkpoint("some", PIN.model, "", "", PIN)
    assert "some(model='...')" in caught.value.remedy
    assert len(attempts) == 1, "not once per item"
    assert asked == ["cache"] * 3, "its client, which tries again and again, is not even asked"
    with pytest.raises(MissingPackage, match="cannot be reached"):
        file_of("some", f"owner/model@{'a' * 40}:weights.pt", "", "weights")


def test_a_name_server_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    given_up = threading.Event()

    def hanging(*_: Any, **__: Any) -> Any:
        given_up.wait()
        raise OSError("no such host")

    monkeypatch.setattr(socket, "create_connection", hanging)
    monkeypatch.setattr("sightline.weights.HUB_SECONDS", 0.05)
    # Only what follows ends the call: had it been waited for, this would never return.
    assert hub_answers() is False
    given_up.set()


def test_a_hub_that_answers_is_asked(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")
        with pytest.raises(MissingPackage, match=r"the hub did not give owner/model \(OSError\)"):
            checkpoint("some", PIN.model, "", "", PIN)
    assert asked == ["cache", "hub"]


def test_what_is_given_must_be_pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "weights.pt"
    file.write_bytes(b"12")
    with pytest.raises(UsageError, match="a file is pinned by its hash") as caught:
        file_of("some", str(file), "", "weights")
    assert "weights_sha256='6b51d431df5d7f141cbececcf79edf3dd861c3b4069f0b11661a3eefacbba918'" in str(
        caught.value
    )
    with pytest.raises(DataError, match="not the expected weights"):
        file_of("some", str(file), "0" * 64, "weights")
    monkeypatch.setenv("SIGHTLINE_WEIGHTS_SOME", str(tmp_path))
    with pytest.raises(UsageError, match="whose hash is known, and this one's is not"):
        checkpoint("some", PIN.model, "", "", PIN)
    with pytest.raises(DataError, match="no weights can be read"):
        tensors(file)


def state(kind: str, name: str) -> str:
    rows = list_extensions(kind).tables()[""]
    columns = [column.name for column in rows.columns]
    (row,) = (row for row in rows.rows if row[columns.index("name")] == name)
    return str(row[columns.index("to_use_it")])


def test_list_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert state("of_image", "sharpness") == "ready"
    # The extra, with the command: as on a machine without torch.
    with monkeypatch.context() as without:
        without.setattr("sightline.extension._installed", lambda name: name != "torch")
        assert state("encoder", "clip") == "pip install 'sightline[torch]'"
        assert state("of_answer", "clipscore") == "pip install 'sightline[torch]'", "of the encoder inside"
    absent = "weights absent (hub: openai/clip-vit-base-patch32, 605 MB, MIT)"
    assert state("encoder", "clip") == absent
    assert state("of_answer", "clipscore") == absent.replace("weights absent", "weights of clip absent")
    assert state("of_answer", "dsg").startswith("weights of vqascore absent (hub: llava-hf/")
    # Fetched, they are in the hub's own folder.
    commit = "3d74acf9a28c67741b2f4f2ea7635f0aaf6f0268"
    (tmp_path / "hub" / "models--openai--clip-vit-base-patch32" / "snapshots" / commit).mkdir(parents=True)
    assert state("encoder", "clip") == state("of_answer", "clipscore") == "ready"
    assert "head" not in state("of_image", "aesthetic")
    assert "sac+logos+ava1-l14-linearMSE.pth, 4 MB, Apache-2.0" in state("of_image", "aesthetic")


CITED = {
    *("clipscore", "refclipscore", "imagereward", "hpsv2", "pickscore", "hpsv3", "unified_reward", "mps"),
    *("vqascore", "blip_itm", "tifa", "dsg"),
}


def test_every_cited_score_has_a_card() -> None:
    for kind, name in [
        *(("of_answer", name) for name in CITED),
        ("of_image", "aesthetic"),
        ("of_image", "clip_iqa"),
    ]:
        spec = registry.get(kind, name).spec
        assert spec.card is not None and spec.card.trained_on and spec.card.biases and spec.card.tested
        shown = dict(list_extensions(name).tables()[""].rows)
        assert shown["known biases"] == spec.card.biases
        assert shown["follows people"].startswith("not measured here") or name == "clipscore"
    with pytest.raises(UsageError, match="no extension called 'imagereword'") as caught:
        list_extensions("imagereword")
    assert "imagereward" in caught.value.remedy


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        # image-evaluator
        *(("aesthetic", "aesthetic"), ("clip", "embedding_similarity"), ("image_reward", "imagereward")),
        # t2v_metrics
        *(("VQAScore", "vqascore"), ("CLIPScore", "clipscore"), ("ITMScore", "blip_itm")),
        # EvalScope
        *(("PickScore", "pickscore"), ("BLIPv2Score", "blip_itm"), ("HPSv2Score", "hpsv2"), ("MPS", "mps")),
        ("ImageRewardScore", "imagereward"),
    ],
)
def test_names_of_other_tools_lead_here(name: str, meant: str) -> None:
    assert registry.find_measure(name).name == meant


def test_the_models_page_names_every_card() -> None:
    page = (Path(__file__).parents[1] / "docs" / "models.md").read_text("utf-8")
    carded = [
        each.spec.name
        for each in registry.everything()
        if not isinstance(each, registry.Broken) and each.spec.origin == "sightline" and each.spec.card
    ]
    assert len(carded) > 20
    assert [name for name in carded if f"| `{name}` |" not in page] == []
