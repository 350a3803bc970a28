"""A real S3-compatible server on this machine, started and stopped by the tests that need it."""

import contextlib
import re
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Bucket", "object_server"]

_NAME = "redline-test"


class Bucket(NamedTuple):
    """An empty bucket, and how to reach it."""

    address: str
    options: dict[str, object]
    environment: dict[str, str]
    """The same as the options, as environment variables."""


@contextlib.contextmanager
def object_server() -> Iterator[Bucket]:
    """A server of its own on a free port, for as long as the block lasts."""
    command = [sys.executable, "-m", "moto.server", "--host", "127.0.0.1", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        endpoint = _endpoint(process)
        _make_bucket(endpoint)
        yield _bucket(endpoint)
    finally:
        process.terminate()
        process.wait(timeout=30)


def _endpoint(process: subprocess.Popen[str]) -> str:
    """What the server says when it is ready; what it says later is read too, or it would stand still one day."""
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            threading.Thread(target=_drain, args=(process,), daemon=True).start()
            return found[0]
    raise AssertionError(f"The S3 server ended with code {process.wait()} before it was ready")


def _drain(process: subprocess.Popen[str]) -> None:
    assert process.stderr is not None
    with process.stderr:
        for _ in process.stderr:
            pass


def _make_bucket(endpoint: str) -> None:
    request = urllib.request.Request(f"{endpoint}/{_NAME}", method="PUT")
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 200


def _bucket(endpoint: str) -> Bucket:
    options: dict[str, object] = {
        "endpoint": endpoint,
        "region": "us-east-1",
        "access_key_id": "any",
        "secret_access_key": "any",
        "client_options": {"allow_http": True},
        "retry_config": {"max_retries": 1},
    }
    environment = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any",
        "AWS_ALLOW_HTTP": "true",
    }
    return Bucket(f"s3://{_NAME}", options, environment)
