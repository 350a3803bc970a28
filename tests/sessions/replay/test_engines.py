"""Sessions replayed on a Ray cluster: the same totals as on one machine, whatever happens to the machines."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import quote

import pytest

import redline as library
from bench.generate import write_claude_code_session
from tests.cli.run import SOURCE, redline
from tests.object_server import object_server
from tests.ray_cluster import needs_ray, ray_cluster

PATH = {"PATH": os.environ.get("PATH", "")}
"""Ray starts programs of the system."""


@pytest.fixture(scope="module")
def bucket():
    with object_server() as found:
        yield found


@pytest.fixture(scope="module")
def cluster(bucket):
    """Its workers know the way to the bucket."""
    with ray_cluster(**bucket.environment) as running:
        yield running


def write_sessions(folder, count, size_bytes=60_000):
    folder.mkdir()
    for number in range(count):
        write_claude_code_session(folder / f"{number:02}.jsonl", size_bytes + 1_000 * number, seed=number)
    return folder


def on_cluster(cluster, *arguments, address=None, **env):
    where = ("--engine", "ray", "--address", address or cluster.address)
    return redline("replay", *where, *arguments, timeout=300, **PATH, **cluster.environment, **env)


@needs_ray
def test_totals_are_those_of_one_machine_though_a_node_is_killed(tmp_path):
    """What the lost node was working on is done again, and the sum is the same to the byte (issue 13)."""
    sessions = write_sessions(tmp_path / "sessions", 30, size_bytes=500_000)
    alone = redline("replay", "--json", sessions)
    with ray_cluster() as doomed:
        killer = threading.Thread(target=doomed.kill_second_node)
        killer.start()
        done = on_cluster(doomed, "--json", sessions, address=doomed.client_address)
        killer.join(timeout=60)
        assert not killer.is_alive(), "the node was never at work"
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == alone.stdout
    assert '"sessions": 30' in done.stdout


@needs_ray
def test_sessions_of_a_bucket_are_read_by_the_workers(tmp_path, bucket, cluster):
    """As on this machine, without their bytes going through it (issue 13)."""
    from obstore.store import from_url

    sessions = write_sessions(tmp_path / "sessions", 4)
    store = from_url(f"{bucket.address}/replayed", **bucket.options)
    for path in sessions.iterdir():
        store.put(f"deep/{path.name}", path.read_bytes())
    done = on_cluster(cluster, "--json", f"{bucket.address}/replayed", **bucket.environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == redline("replay", "--json", sessions).stdout


@needs_ray
def test_logs_of_a_server_are_read_by_the_workers(postgres, cluster):
    """A conversation in PostgreSQL is a session like any other (issue 13)."""
    addresses = [f"{postgres}#{quote(f'replayed by ray {number}')}" for number in range(3)]
    for address in addresses:
        with library.open(address) as talk:
            for number in range(4):
                talk.add({"role": "user", "content": f"question {number}"})
                talk.add({"role": "assistant", "content": [{"type": "text", "text": f"answer {number} " * 50}]})
    done = on_cluster(cluster, "--json", *addresses)
    assert (done.returncode, done.stderr) == (0, "")
    assert '"sessions": 3' in done.stdout
    assert done.stdout == redline("replay", "--json", *addresses).stdout


@needs_ray
def test_what_cannot_be_read_is_reported_as_on_one_machine(tmp_path, cluster):
    """It is named by its name here, the rest is replayed, and the exit code is 2 (issue 13)."""
    sessions = write_sessions(tmp_path / "sessions", 2)
    (sessions / "bad.jsonl").write_text("no json\n")
    (sessions / "package.json").write_text("{}")
    (sessions / "said.jsonl").write_text('{"role": "user", "content": "hi"}\n')
    alone, done = redline("replay", "--json", sessions), on_cluster(cluster, "--json", sessions)
    assert (done.returncode, done.stdout) == (2, alone.stdout)
    assert sorted(done.stderr.splitlines()) == sorted(alone.stderr.splitlines())
    assert len(done.stderr.splitlines()) == 3


@needs_ray
def test_without_an_address_the_cluster_is_this_machine(tmp_path):
    """It is there as long as the command, and leaves nothing: no folder, no key in the user's home."""
    sessions = write_sessions(tmp_path / "sessions", 3)
    (home := tmp_path / "home").mkdir()
    with tempfile.TemporaryDirectory(prefix="ray-") as scratch:
        places = {"HOME": str(home), "RAY_TMPDIR": scratch}
        done = redline("replay", "--json", "--engine", "ray", "--jobs", 2, sessions, **PATH, **places)
        assert (done.returncode, done.stderr) == (0, "")
        assert list(Path(scratch).iterdir()) == []
    assert done.stdout == redline("replay", "--json", sessions).stdout
    assert list(home.iterdir()) == []


@needs_ray
def test_what_ray_logs_is_not_in_the_output(tmp_path):
    """R139: RAY_LOG_TO_STDERR=1 has Ray's processes write hundreds of lines to their standard output, which is not ours."""
    sessions = write_sessions(tmp_path / "sessions", 2)
    with tempfile.TemporaryDirectory(prefix="ray-") as scratch:
        places = {"RAY_TMPDIR": scratch, "RAY_LOG_TO_STDERR": "1"}
        done = redline("replay", "--json", "--engine", "ray", "--jobs", 2, sessions, **PATH, **places)
    assert done.returncode == 0
    assert done.stdout == redline("replay", "--json", sessions).stdout
    assert "(gcs_server)" in done.stderr


TALKATIVE_RAY = """
import os, subprocess, sys

class exceptions:
    class RayError(Exception): ...
    class RayTaskError(RayError): ...
    class RuntimeEnvSetupError(RayError): ...

sys.modules["ray.exceptions"] = exceptions

def talk(where):
    print("printed in", where)
    os.write(1, f"written in {where}\\n".encode())
    subprocess.run([sys.executable, "-c", f"print('started in {where}')"])

def init(**_): talk("init")
def shutdown(): talk("shutdown")
def put(value): return value
def cluster_resources(): return {"CPU": 1}
def wait(references, num_returns): return references[:1], references[1:]

def get(reference):
    talk("get")
    function, arguments = reference
    return function(*arguments)

def remote(**_):
    class Remote:
        def __init__(self, function): self.function = function
        def remote(self, *arguments): return self.function, arguments
    return Remote
"""
"""What prints wherever it can, in the shape of Ray: that Redline's output stays clean is to be seen without a cluster, too."""


def test_what_is_printed_while_ray_runs_is_not_in_the_output(tmp_path):
    """R139: standard output of `--json` is one JSON value, whatever Ray prints in Python, in C++ or in processes of its own."""
    (tmp_path / "modules" / "ray").mkdir(parents=True)
    (tmp_path / "modules" / "ray" / "__init__.py").write_text(TALKATIVE_RAY)
    write_claude_code_session(tmp_path / "s.jsonl", 10_000)
    done = redline("replay", "--json", "--engine", "ray", tmp_path / "s.jsonl", PYTHONPATH=f"{tmp_path / 'modules'}:{SOURCE}")
    assert done.returncode == 0, done.stderr
    assert done.stdout == redline("replay", "--json", tmp_path / "s.jsonl").stdout
    for place in ("init", "get", "shutdown"):
        assert {f"printed in {place}", f"written in {place}", f"started in {place}"} <= set(done.stderr.splitlines())


@needs_ray
@pytest.mark.parametrize("address", ["127.0.0.1:{port}", "ray://127.0.0.1:{port}", "nonsense", "auto"])
def test_a_wrong_address_is_one_line_in_time(tmp_path, free_port, address):
    """Ray itself would wait for more than a minute."""
    (sessions := tmp_path / "s.jsonl").write_text("{}\n")
    began = time.monotonic()
    where = address.format(port=free_port)
    done = redline("replay", "--engine", "ray", "--address", where, sessions, **PATH, RAY_TMPDIR=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert where in done.stderr
    assert time.monotonic() - began < 30


@pytest.fixture(params=["nobody", "a server that says nothing"])
def free_port(request):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        if request.param != "nobody":
            yield port
            return
    yield port


@needs_ray
@pytest.mark.parametrize("seconds", [3, 12], ids=["while Ray starts", "at work"])
def test_ctrl_c_ends_it_cleanly(tmp_path, seconds):
    """With the exit code of an interrupt, and no process left."""
    sessions = write_sessions(tmp_path / "sessions", 40, size_bytes=1_000_000)
    process = subprocess.Popen(
        [sys.executable, "-m", "redline", "replay", "--json", "--engine", "ray", str(sessions)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**PATH, "PYTHONPATH": str(SOURCE)},
        start_new_session=True,
    )
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) == (130, "", "redline: interrupted\n")
    deadline = time.monotonic() + 20
    while (left := _alive_in_session(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert left == []


def _alive_in_session(session):
    """The processes of a session that are more than an entry in a table."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, its_session = status.read_text().rpartition(") ")[2].split()[:4]
        except OSError:
            continue
        if int(its_session) == session and state != "Z":
            found.append(status.parent.name)
    return found


def test_without_the_extra_the_error_names_it(tmp_path):
    """Whether Ray is installed here or not."""
    write_claude_code_session(tmp_path / "s.jsonl", 10_000)
    code = "import sys; sys.modules['ray'] = None; from redline.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "replay", "--engine", "ray", tmp_path / "s.jsonl"],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(SOURCE)},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "redline: --engine ray needs the extra 'ray': pip install 'redline-context[ray]'\n"


def test_an_address_is_for_ray_only(tmp_path):
    """Whoever forgets the engine is told, rather than kept waiting by one machine."""
    write_claude_code_session(tmp_path / "s.jsonl", 10_000)
    done = redline("replay", "--address", "auto", tmp_path / "s.jsonl")
    assert (done.returncode, done.stderr) == (2, "redline: --address is that of a Ray cluster. Write --engine ray too.\n")
