"""A Ray cluster of two nodes that only this machine reaches, in a process of its own; one of its nodes can be killed."""

import contextlib
import importlib.util
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

__all__ = ["RunningCluster", "needs_ray", "ray_cluster"]

_ROOT = Path(__file__).resolve().parents[1]
_NEEDED = os.environ.get("REDLINE_NEED_RAY") == "1"

needs_ray = pytest.mark.skipif(
    not _NEEDED and importlib.util.find_spec("ray.cluster_utils" if importlib.util.find_spec("ray") else "ray") is None,
    reason="Ray is not installed: make test-ray, or pip install 'redline-context[ray]'",
)
"""Skips where there is no Ray, unless REDLINE_NEED_RAY=1 says that there must be."""


class RunningCluster:
    """What a test can do with it."""

    def __init__(self, process: "subprocess.Popen[str]", environment: dict[str, str]) -> None:
        self._process = process
        self.environment = environment
        """What a command needs to be let in."""
        self.address, self.client_address = json.loads(self._told())

    def kill_second_node(self) -> None:
        """As soon as it works on something, at once and without a word to anybody."""
        assert self._process.stdin is not None
        self._process.stdin.write("kill\n")
        self._process.stdin.flush()
        assert self._told() == "killed"

    def _told(self) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("told: "):
                return line.removeprefix("told: ").strip()
        raise AssertionError(f"The cluster ended with code {self._process.wait()}")


@contextlib.contextmanager
def ray_cluster(**variables: str) -> Iterator[RunningCluster]:
    """Two nodes of one core each for as long as the block lasts; workers see these environment variables."""
    with tempfile.TemporaryDirectory(prefix="ray-") as folder:
        environment = {
            "RAY_TMPDIR": folder,
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # all of it listens on 127.0.0.1
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.ray_cluster"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=_ROOT,
            env={**os.environ, **environment, **variables},
        )
        try:
            yield RunningCluster(process, environment)
        finally:
            process.communicate(timeout=60)


def _serve() -> None:
    """Start the cluster, do what the lines of standard input say, and end with them."""
    from ray.cluster_utils import Cluster

    with socket.create_server(("127.0.0.1", 0)) as free:
        client_port = free.getsockname()[1]
    node = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "object_store_memory": 100 << 20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "ray_client_server_port": client_port})
    second = cluster.add_node(**node)
    _tell(json.dumps([cluster.address, f"ray://127.0.0.1:{client_port}"]))
    try:
        for _ in sys.stdin:
            _kill_at_work(second.all_processes["raylet"][0].process.pid)
            _tell("killed")
    finally:
        cluster.shutdown()


def _kill_at_work(raylet: int) -> None:
    """A raylet and its workers. Ray calls a process by the function that it is running."""
    import psutil

    node = psutil.Process(raylet)
    while not any("_run" in " ".join(one.cmdline()) for one in node.children()):
        time.sleep(0.01)
    for one in [node, *node.children(recursive=True)]:
        one.kill()


def _tell(words: str) -> None:
    sys.stdout.write(f"told: {words}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _serve()
