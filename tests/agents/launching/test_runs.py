import contextlib
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest

from redline.agents.launching import runs
from redline.agents.launching.leftover_processes import RUN_VARIABLE, leftover_processes
from redline.agents.launching.runs import ProxyPort, check_own_proxy, free_port, is_dead, proxy_status, started_proxy
from redline.errors import ExecutionError
from redline.servers.listening import bind
from redline.servers.ownership import CHALLENGE_HEADER, PROOF_HEADER, own_key

STAND_IN = Path(__file__).with_name("stand_in.py")


COMMAND = [sys.executable, str(STAND_IN), "0"]
TOKEN = "a-token-of-16-letters"


@pytest.fixture
def port():
    return ProxyPort.take()


@pytest.fixture
def url(port):
    return port.url


def wait_until(is_so, seconds=10):
    deadline = time.monotonic() + seconds
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.05)
    return is_so()


def test_a_proxy_lasts_as_long_as_its_run(port, url):
    """It answers when the block begins, and is gone with its folder when the block ends."""
    with started_proxy("run-1", port, COMMAND) as folder:
        assert proxy_status(url)["mode"] == "edit"
        assert folder.stat().st_mode & 0o777 == 0o700
    assert is_dead(url)
    assert not folder.exists()


def test_a_proxy_outlives_the_run_for_a_daemon(port, url):
    """A program that carries the run's mark still sends requests; when it ends, the proxy does."""
    run = f"run-{os.getpid()}"
    sleeper = [sys.executable, "-c", "import time; time.sleep(60)"]
    with started_proxy(run, port, COMMAND) as folder:
        daemon = subprocess.Popen(sleeper, env={**os.environ, RUN_VARIABLE: run}, start_new_session=True)
        assert wait_until(lambda: daemon.pid in leftover_processes(run))
    try:
        assert not is_dead(url)
        assert folder.exists()
    finally:
        daemon.kill()
        daemon.wait()
    assert wait_until(lambda: is_dead(url))
    assert wait_until(lambda: not folder.exists())


def test_a_proxy_ends_with_a_run_that_was_killed():
    """Whoever holds the pipe is gone, so nobody needs it."""
    script = (
        "import sys, time; from redline.agents.launching.runs import ProxyPort, started_proxy\n"
        "port = ProxyPort.take()\n"
        "with started_proxy('run-2', port, sys.argv[1:]): print(port.url, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script, *COMMAND], stdout=subprocess.PIPE, text=True) as run:
        url = run.stdout.readline().strip()
        assert not is_dead(url)
        run.kill()
    assert wait_until(lambda: is_dead(url))


def test_a_proxy_that_does_not_start_says_why(port):
    """With its own last words, and at once."""
    began = time.monotonic()
    with (
        pytest.raises(ExecutionError, match="did not start: no such policy"),
        started_proxy("run-3", port, [sys.executable, "-c", "print('no such policy'); raise SystemExit(2)"]),
    ):
        pass
    assert time.monotonic() - began < 10


def test_only_a_proxy_has_a_status():
    """Where nothing answers, the error names the address."""
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(ExecutionError, match=url):
        proxy_status(url)


def test_other_machines_are_not_asked_whether_they_are_there():
    """Only an address of this machine can be called dead; a nonsensical one is not."""
    for url in ("https://example.invalid/v1", "http://10.255.255.1:9", "nonsense", "http://[::1"):
        assert not is_dead(url)


def test_a_port_is_taken_before_anybody_hears_of_it(port):
    """R127: from the moment it has a number, nobody else can listen there, nor when the proxy has died during a run."""
    number = int(port.url.rpartition(":")[2])
    with pytest.raises(ExecutionError, match="cannot be used"):
        bind("127.0.0.1", number)
    with started_proxy("run-4", port, COMMAND):
        assert proxy_status(port.url)["mode"] == "edit"
        asked = Request(f"{port.url}/s/x/v1/kill", headers={"x-api-key": "k"})
        (keeper,) = [one.name for one in Path("/proc").glob("[0-9]*") if b"run-4" in arguments_of(one.name)]
        for process in [keeper, *children_of(keeper)]:  # the keeper first, which would start another proxy
            os.kill(int(process), signal.SIGKILL)
        with pytest.raises(ExecutionError, match="cannot be used"):
            bind("127.0.0.1", number)
        assert wait_until(lambda: is_turned_away(asked))


def arguments_of(process):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    return []


def children_of(process):
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()


def is_turned_away(asked):
    """Whether a request ends at once, with no answer, as it should where no proxy is left."""
    try:
        urlopen(asked, timeout=5).close()
    except TimeoutError:
        return False
    except OSError:
        return True
    return False


def test_what_answers_without_the_key_is_not_believed(port, tmp_path):
    """R127: a program at the port that says what a proxy says, and cannot prove that it was started for this run."""
    fake = (
        "import os, runpy, sys; sys.argv = ['x', '0']; os.environ['REDLINE_PROXY_KEY'] = '00' * 32; "
        f"runpy.run_path({str(STAND_IN)!r}, run_name='__main__')"
    )
    started = [sys.executable, "-c", fake]
    with pytest.raises(ExecutionError, match="did not start"), monkeypatched_patience(), started_proxy("run-5", port, started):
        pass


@contextlib.contextmanager
def monkeypatched_patience():
    """A run that does not wait half a minute."""
    before, runs._START_SECONDS = runs._START_SECONDS, 3.0
    try:
        yield
    finally:
        runs._START_SECONDS = before


@pytest.fixture
def running(tmp_path, monkeypatch):
    """Starts stand-ins for proxies that run already: whose home, with which token."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "mine"))
    with contextlib.ExitStack() as started:

        def start(owner, *token):
            number = free_port()
            environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / owner)}
            server = subprocess.Popen([sys.executable, str(STAND_IN), str(number), *token], env=environment)
            started.callback(server.wait)
            started.callback(server.kill)
            assert wait_until(lambda: not is_dead(f"http://127.0.0.1:{number}"))
            return f"http://127.0.0.1:{number}"

        yield start


def test_a_running_proxy_proves_whose_it_is(running, tmp_path):
    """R127: by the key of this user, which nobody else can read, or by the token; not by being there and saying JSON."""
    mine, theirs, shared = running("mine"), running("theirs"), running("theirs", TOKEN)
    check_own_proxy(mine)
    check_own_proxy(f"{shared}/t/{TOKEN}/s/x")
    for url in (theirs, shared, f"{shared}/t/another-token-of-mine", f"{theirs}/t/{TOKEN}"):
        with pytest.raises(ExecutionError, match="cannot prove that it is your Redline proxy"):
            check_own_proxy(url)
    assert (tmp_path / "mine" / "redline" / "proxy.key").stat().st_mode & 0o777 == 0o600


def test_a_proof_cannot_be_passed_on(running):
    """R127: somebody at another port who asks the real proxy for the answer has the wrong one: the port is in it."""
    mine = urlsplit(running("mine"))

    class Relaying(BaseHTTPRequestHandler):
        def do_GET(self):
            challenge = {CHALLENGE_HEADER: self.headers[CHALLENGE_HEADER]}
            with urlopen(Request(f"http://{mine.netloc}{self.path}", headers=challenge)) as answer:
                self.send_response(200)
                self.send_header(PROOF_HEADER, answer.headers[PROOF_HEADER])
                self.end_headers()

        def log_message(self, *_):
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Relaying) as relay:
        Thread(target=relay.serve_forever, daemon=True).start()
        with pytest.raises(ExecutionError, match="cannot prove"):
            check_own_proxy(f"http://127.0.0.1:{relay.server_port}")
        relay.shutdown()


def test_a_key_of_somebody_else_is_none(tmp_path, monkeypatch):
    """R127: a key file that others could have read or written is not relied on."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    key = own_key()
    assert key == own_key()
    path = tmp_path / "redline" / "proxy.key"
    path.write_text("not a key")
    assert own_key() is None
    path.unlink()
    path.symlink_to("/etc/hostname")
    assert own_key() is None
