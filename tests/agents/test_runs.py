import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from redline.agents.ports import free_port, is_dead
from redline.agents.runs import proxy_status, started_proxy
from redline.agents.survivors import RUN_VARIABLE, survivors_of
from redline.errors import ExecutionError

STAND_IN = Path(__file__).with_name("stand_in.py")


@pytest.fixture
def url():
    return f"http://127.0.0.1:{free_port()}"


def command(url):
    return [sys.executable, str(STAND_IN), url.rpartition(":")[2]]


def wait_until(is_so, seconds=10):
    deadline = time.monotonic() + seconds
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.05)
    return is_so()


def test_a_proxy_lasts_as_long_as_its_run(url):
    """It answers when the block begins, and is gone with its folder when the block ends."""
    with started_proxy("run-1", url, command(url)) as folder:
        assert proxy_status(url)["mode"] == "edit"
        assert folder.stat().st_mode & 0o777 == 0o700
    assert is_dead(url)
    assert not folder.exists()


def test_a_proxy_outlives_the_run_for_a_daemon(url):
    """A program that carries the run's mark still sends requests; when it ends, the proxy does."""
    run = f"run-{os.getpid()}"
    sleeper = [sys.executable, "-c", "import time; time.sleep(60)"]
    with started_proxy(run, url, command(url)) as folder:
        daemon = subprocess.Popen(sleeper, env={**os.environ, RUN_VARIABLE: run}, start_new_session=True)
        assert wait_until(lambda: daemon.pid in survivors_of(run))
    try:
        assert not is_dead(url)
        assert folder.exists()
    finally:
        daemon.kill()
        daemon.wait()
    assert wait_until(lambda: is_dead(url))
    assert wait_until(lambda: not folder.exists())


def test_a_proxy_ends_with_a_run_that_was_killed(url):
    """Whoever holds the pipe is gone, so nobody needs it."""
    script = (
        "import sys, time; from redline.agents.runs import started_proxy\n"
        "with started_proxy('run-2', sys.argv[1], sys.argv[2:]): print('ready', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script, url, *command(url)], stdout=subprocess.PIPE) as run:
        assert run.stdout.readline() == b"ready\n"
        run.kill()
    assert wait_until(lambda: is_dead(url))


def test_a_proxy_that_does_not_start_says_why(url):
    """With its own last words, and at once."""
    began = time.monotonic()
    with (
        pytest.raises(ExecutionError, match="did not start: no such policy"),
        started_proxy("run-3", url, [sys.executable, "-c", "print('no such policy'); raise SystemExit(2)"]),
    ):
        pass
    assert time.monotonic() - began < 10


def test_only_a_proxy_has_a_status(url):
    """Where nothing answers, the error names the address."""
    with pytest.raises(ExecutionError, match=url):
        proxy_status(url)


def test_other_machines_are_not_asked_whether_they_are_there():
    """Only an address of this machine can be called dead; a nonsensical one is not."""
    for url in ("https://example.invalid/v1", "http://10.255.255.1:9", "nonsense", "http://[::1"):
        assert not is_dead(url)
