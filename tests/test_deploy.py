"""Dockerfile and compose file do what they say: by Docker where there is a daemon, else step by step."""

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import yaml

from redline.agents.launching.runs import free_port
from redline.testing import fake_provider, says
from tests.cli.run import SOURCE

ROOT = Path(__file__).resolve().parents[1]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
COMPOSE = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))
TOKEN = "0123456789abcdef0123"

slow = pytest.mark.skipif("REDLINE_DEPLOY" not in os.environ, reason="make test-deploy installs or builds the image")


def instructions():
    """Each line of the Dockerfile, as its word and the rest."""
    lines = DOCKERFILE.read_text(encoding="utf-8").splitlines()
    return [tuple(line.split(" ", 1)) for line in lines if line and not line.startswith("#")]


def last(word):
    return [rest for name, rest in instructions() if name == word][-1]


def environment():
    return dict(pair.split("=", 1) for pair in shlex.split(last("ENV")))


def has_daemon():
    return bool(shutil.which("docker")) and not subprocess.run(["docker", "info"], capture_output=True, check=False).returncode


@contextlib.contextmanager
def container(store, provider, port):
    """The image's command in its environment, stopped as Docker stops it."""
    told = {name: value for name, value in environment().items() if name != "PATH"}
    given = {"REDLINE_TOKEN": TOKEN, "REDLINE_STORE": store, "REDLINE_UPSTREAM": f"anthropic={provider.url}"}
    env = {**os.environ, **told, **given, "REDLINE_PORT": str(port), "PYTHONPATH": str(SOURCE), "REDLINE_KEEP": "90d"}
    program, *words = json.loads(last("CMD"))
    assert program == "redline"
    process = subprocess.Popen(
        [sys.executable, "-m", "redline", *words], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def health(port):
    """The exit code of the image's health check."""
    words = json.loads(last("HEALTHCHECK").partition("CMD ")[2])
    return subprocess.run(
        [sys.executable, *words[1:-1], words[-1].replace("8484", str(port))], capture_output=True, check=False
    ).returncode


def ask(port, token):
    body = {"model": "claude-opus-4-6", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi."}]}
    headers = {"content-type": "application/json", "x-redline-token": token}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/messages", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)["content"][0]["text"]


def test_the_command_of_the_image(postgres):
    """Healthy once it listens, closed without the token, and over with code 0 in the time that it has."""
    port = free_port()
    with fake_provider([says("assistant", "Hello.")]) as provider, container(postgres, provider, port) as process:
        deadline = time.monotonic() + 60
        while health(port) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert health(port) == 0
        with pytest.raises(urllib.error.HTTPError, match="401"):
            ask(port, "")
        assert ask(port, TOKEN) == "Hello."
        process.send_signal(getattr(signal, last("STOPSIGNAL")))
        grace = int(COMPOSE["services"]["proxy"]["stop_grace_period"].removesuffix("s"))
        assert process.wait(grace) == 0


def test_the_compose_file_is_whole():
    """The proxy waits for a healthy database, is reached from here alone, and needs both secrets; each setting exists."""
    proxy, database = COMPOSE["services"]["proxy"], COMPOSE["services"]["database"]
    assert proxy["depends_on"]["database"]["condition"] == "service_healthy"
    assert "pg_isready" in database["healthcheck"]["test"]
    assert all(port.startswith("127.0.0.1:") for port in proxy["ports"])
    assert all(":?" in value for value in (proxy["environment"]["REDLINE_TOKEN"], database["environment"]["POSTGRES_PASSWORD"]))
    assert (ROOT / "deploy" / proxy["build"]["context"] / proxy["build"]["dockerfile"]).resolve() == DOCKERFILE
    assert set(COMPOSE["volumes"]) == {volume.partition(":")[0] for volume in database["volumes"]}
    told = {*proxy["environment"], *environment()} - {"PGPASSWORD", "PATH"}
    settings = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert [name for name in told if f"`{name}`" not in settings] == []


def test_the_files_that_the_image_copies_are_there():
    """And the extras that it installs."""
    for name, rest in instructions():
        if name == "COPY" and not rest.startswith("--from"):
            assert [one for one in rest.split()[:-1] if not (ROOT / one).exists()] == []
    extras = re.search(r"\.\[([\w,]+)\]", last("RUN") + str(instructions()))[1].split(",")
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(extras) <= known.keys()
    assert last("USER") != "root"


@slow
def test_the_image_is_built(tmp_path):
    """By Docker; without a daemon the installing steps run in a folder, with what COPY puts there and nothing else."""
    if has_daemon():
        subprocess.run(["docker", "build", "-f", DOCKERFILE, "-t", "redline-test", "."], cwd=ROOT, check=True)
        subprocess.run(["docker", "run", "--rm", "redline-test", "redline", "--version"], check=True)
        return
    for name, rest in instructions():
        if name == "FROM" and " AS " not in rest:
            break
        if name == "COPY":
            *sources, target = rest.split()
            for one in sources:
                place = tmp_path / target
                if (ROOT / one).is_dir():
                    shutil.copytree(ROOT / one, place, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(ROOT / one, place)
        if name == "RUN":
            command = rest.replace("python -m venv", f"{sys.executable} -m venv").replace("/redline", f"{tmp_path}/redline")
            subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "redline/bin/redline", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("redline ")
    subprocess.run(
        [tmp_path / "redline/bin/python", "-c", "import redline.proxy.serve, psycopg, opentelemetry.sdk"], check=True
    )
