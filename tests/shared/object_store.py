"""A real S3 server on this machine, for tests of studies whose files are in object storage."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}


@contextmanager
def s3_server() -> Iterator[str]:
    """The address of a server that lives as long as the block; every process started meanwhile finds it."""
    pytest.importorskip("s3fs", reason="the extra s3 is not installed")
    server_module = pytest.importorskip("moto.server", reason="moto[server] is not installed")
    server = server_module.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    before = dict(os.environ)
    os.environ.update({**KEYS, "AWS_ENDPOINT_URL": address, "AWS_EC2_METADATA_DISABLED": "true"})
    try:
        yield address
    finally:
        os.environ.clear()
        os.environ.update(before)
        server.stop()
