"""`redline config`, and settings as the commands that have them take them."""

import contextlib
import json
import os
import re
import stat
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from redline.cli.setting_options import with_settings
from redline.policy.presets import PRESETS
from redline.policy.settings import SETTINGS, VARIABLES
from redline.testing import fake_provider
from tests.cli.run import FROM_HERE, SOURCE, redline
from tests.cli.sample import write_session

HOSTILE = '[proxy]\nport = 7\nhost = "0.0.0.0"\ntoken = "hostile-token-of-theirs"\nupstream = ["{upstream}"]\n'


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A working directory with a home beside it."""
    (tmp_path / "project").mkdir()
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def config(project, *arguments, **environ):
    return redline("config", *arguments, HOME=project.parent / "home", REDLINE_CONFIG="", **environ)


def settings_of(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["settings"]


def test_every_setting_is_shown_with_its_source(project):
    """A row each: name, value, where from; the secret is masked in both outputs."""
    (project / "redline.toml").write_text("[proxy]\nport = 9000\n")
    secret = "a-secret-token-of-mine"
    environ = {"REDLINE_TOKEN": secret, "REDLINE_STORE": "postgresql://me:password@host/db"}
    shown = config(project, width=200, **environ)
    assert [line.split()[0] for line in shown.stdout.splitlines()[2:]] == list(SETTINGS)
    assert re.search(r"proxy.port +9000 +\S*redline.toml \[proxy\] port", shown.stdout)
    assert re.search(r"proxy.token +\*\*\* +REDLINE_TOKEN", shown.stdout)
    told = config(project, "--json", **environ)
    assert settings_of(told)["proxy.store"]["value"] == "postgresql://me:***@host/db"
    assert not any(word in one.stdout + one.stderr for word in (secret, "password") for one in (shown, told))


def test_init_writes_a_file_that_changes_nothing(project):
    """All is commented out; the file is the owner's, and one that is there is not written over."""
    before = settings_of(config(project, "--json"))
    assert config(project, "--init").returncode == 0
    assert config(project, "--init", "--user").returncode == 0
    assert settings_of(config(project, "--json")) == before
    for path in (project / "redline.toml", project.parent / "home/.config/redline/redline.toml"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.write_text("# mine\n")
    for arguments in (("--init",), ("--init", "--user")):
        again = config(project, *arguments)
        assert (again.returncode, "stays as it is" in again.stderr) == (2, True)
    assert (project / "redline.toml").read_text() == "# mine\n"


def test_user_is_only_for_init(project):
    """It would do nothing otherwise."""
    assert "--init" in config(project, "--user").stderr


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("REDLINE_PORT", "abc", "REDLINE_PORT: must be a whole number from 0 to 65535, not 'abc'"),
        ("REDLINE_POLICY", "bald", "REDLINE_POLICY: There is no policy named 'bald'"),
        ("REDLINE_UPSTREAM", "openai", "REDLINE_UPSTREAM: 'openai' is no upstream"),
        ("REDLINE_STORE", "mysql://host/db", "REDLINE_STORE: "),
        ("REDLINE_TOKEN", "short", "REDLINE_TOKEN: A token has at least 16"),
        ("REDLINE_CONFIG", "gone.toml", "gone.toml: it is no file"),
    ],
)
def test_the_source_of_a_wrong_value_is_named(project, variable, value, words):
    """By `config`, which shows the others, and by the command that needs it, which does not start."""
    for command in ("config", "proxy"):
        done = redline(command, HOME=project.parent / "home", **{"REDLINE_CONFIG": "", variable: value})
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr


def test_a_command_looks_only_at_what_it_needs(project):
    """A wrong variable of the proxy's does not stop others; help needs nothing."""
    (project / "redline.toml").write_text("wrong")
    assert redline("proxy", "--help", REDLINE_PORT="abc", REDLINE_CONFIG="").returncode == 0
    assert redline("sessions", HOME=project, REDLINE_PORT="abc", REDLINE_CONFIG="").returncode == 0


@contextlib.contextmanager
def proxy(*options, **environ):
    """A proxy that listens, with what it said."""
    process = subprocess.Popen(
        [sys.executable, "-m", "redline", "proxy", *map(str, options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PATH": os.environ["PATH"], **FROM_HERE, "COLUMNS": "200", **environ},
    )
    try:
        process.said = [process.stdout.readline() for _ in range(10)]
        process.url = process.said[0].split()[3]
        for _ in range(200):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(process.url + "/redline/health", timeout=5).close()
                break
            time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        process.complaints = process.communicate(timeout=20)[1]


def test_a_proxy_takes_variables_and_files_and_flags_go_first(project):
    """Dry run from a file is turned off by a flag; the store is the variable's, the policy the user's own file's."""
    home = project.parent / "home"
    (home / ".config/redline").mkdir(parents=True)
    (home / ".config/redline/redline.toml").write_text('preset = "bold"\n[proxy]\ndry_run = true\n')
    environ = {"HOME": str(home), "REDLINE_PORT": "0", "REDLINE_STORE": str(project / "chats")}
    with proxy(**environ) as running:
        assert "dry run" in running.said[0]
        assert str(project / "chats") in running.said[1]
        assert f"policy {home}/.config/redline/redline.toml" in running.said[1]
    with proxy("--no-dry-run", "--policy", "stale", **environ) as running:
        assert "dry run" not in running.said[0]
        assert "policy stale" in running.said[1]


def test_a_cloned_project_gets_no_request(project):
    """A file in the working directory that names another upstream, host and token is passed over: keys go where they went."""
    body = {"model": "claude-opus-4-6", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    with fake_provider() as mine, fake_provider() as theirs:
        (project / "redline.toml").write_text(HOSTILE.format(upstream=f"anthropic={theirs.url}"))
        environ = {"HOME": str(project.parent / "home"), "REDLINE_UPSTREAM": f"anthropic={mine.url}"}
        with proxy("--port", 0, **environ) as running:
            headers = {"content-type": "application/json", "x-api-key": "my-key"}
            request = urllib.request.Request(running.url + "/v1/messages", json.dumps(body).encode(), headers)
            with urllib.request.urlopen(request, timeout=20) as answer:
                assert answer.status == 200
        assert (len(mine.exchanges), len(theirs.exchanges)) == (1, 0)
        assert running.url.startswith("http://127.0.0.1:")
        assert running.complaints.count("Not taken from it: [proxy] host, [proxy] token, [proxy] upstream.") == 1
        shown = redline("run", "--show", "--", "python", HOME=project.parent / "home", REDLINE_CONFIG="")
        assert (theirs.url in shown.stdout, "Not taken from it" in shown.stderr) == (False, True)


def test_a_run_keeps_its_proxy_to_itself(project):
    """Host and token of the user's own proxy are not those of a run; its file and its upstreams are."""
    (project / "mine.toml").write_text(HOSTILE.format(upstream="openai=http://localhost:1"))
    shown = redline("run", "--show", "--config", "mine.toml", "--port", 9999, "--", "python", HOME=project)
    assert shown.stdout.splitlines()[0] == (
        "redline proxy --port 9999 --upstream openai=http://localhost:1 --config mine.toml --host 127.0.0.1 --token ''"
    )
    running = redline("run", "--show", "--config", "mine.toml", "--proxy", "http://x", "--", "python", HOME=project)
    assert running.returncode == 0, running.stderr
    assert "--proxy" in redline("run", "--show", "--no-redact", "--proxy", "http://x", "--", "python", HOME=project).stderr


def test_replay_has_settings(project):
    """A price that is not known is refused with its source."""
    done = redline("replay", "gone.jsonl", HOME=project, REDLINE_REPLAY_PRICES="0.1/1.25/5m no-such-model")
    assert (done.returncode, "REDLINE_REPLAY_PRICES: no price is known for 'no-such-model'" in done.stderr) == (2, True)
    write_session(project / "session.jsonl")
    done = redline("replay", "session.jsonl", "--json", HOME=project, REDLINE_REPLAY_PRICES="0.5/1.25/5m")
    assert "0.5/1.25/5m" in done.stdout, done.stderr


def test_the_inspector_has_settings(project):
    """A wrong one is refused before anything listens, with its source; others are asked for as by flags."""
    done = redline("serve", HOME=project, REDLINE_INSPECTOR_HOST="0.0.0.0", REDLINE_INSPECTOR_PORT="0")
    assert (done.returncode, "--allow-others" in done.stderr) == (2, True)
    assert "REDLINE_INSPECTOR_PORT: must be" in redline("serve", HOME=project, REDLINE_INSPECTOR_PORT="-1").stderr


def test_doctor_names_what_cannot_be_used(project):
    """And which settings are the user's own."""
    done = redline("doctor", HOME=project, REDLINE_PORT="abc", REDLINE_REDACT="1")
    assert (done.returncode, "REDLINE_PORT: must be" in done.stderr, "your own: proxy.redact." in done.stdout) == (
        1,
        True,
        True,
    )
    told = json.loads(redline("doctor", "--json", HOME=project, REDLINE_PORT="abc", REDLINE_REDACT="1").stdout)
    assert (told["settings"], len(told["problems"])) == (["proxy.redact"], 1)


PORTS = st.none() | st.integers(0, 65535)


@click.command()
@with_settings("proxy.port")
def port_command(port):
    """A command with one setting."""
    click.echo(port)


@given(flag=PORTS, variable=PORTS, named=PORTS, found=PORTS, own=PORTS)
def test_a_command_gets_the_value_of_the_highest_source(flag, variable, named, found, own):
    """Whatever is said elsewhere: flag, variable, file (one that is named goes for the project's), own file, default."""
    files = {"named.toml": named, "redline.toml": found, "home/.config/redline/redline.toml": own}
    environ = {"XDG_CONFIG_HOME": None, "REDLINE_CONFIG": None, "REDLINE_PORT": _text(variable)}
    arguments = [*([] if flag is None else ["--port", str(flag)]), *([] if named is None else ["--config", "named.toml"])]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, port in files.items():
            if port is not None:
                Path(name).parent.mkdir(parents=True, exist_ok=True)
                Path(name).write_text(f"[proxy]\nport = {port}\n")
        done = CliRunner().invoke(port_command, arguments, env={"HOME": f"{folder}/home", **environ})
    order = (flag, variable, named, found if named is None else None, own, 8484)
    assert done.output == f"{next(port for port in order if port is not None)}\n"


def _text(value):
    return None if value is None else str(value)


def test_help_names_every_policy():
    """The declaration lists them, as it cannot load them."""
    assert SETTINGS["proxy.policy"].help.startswith(", ".join(PRESETS))


def test_every_variable_in_the_source_is_declared():
    """Whoever reads a new variable of Redline's documents it with the others."""
    inner = {"REDLINE_RUN", "REDLINE_COMPLETE", "REDLINE_DATABASE"}  # set by Redline or click, and a name in an example
    inner |= {"REDLINE_LISTENING_SOCKET", "REDLINE_PROXY_KEY", "REDLINE_PROXY_RUN", "REDLINE_RUN_STORE"}  # by `redline run`
    inner |= {"REDLINE_HOOK", "REDLINE_HOOK_WHOLE"}  # by `redline run --hooks`, for the agent's plugin
    declared = {setting.variable for setting in SETTINGS.values()} | VARIABLES.keys() | inner
    source = "\n".join(path.read_text(encoding="utf-8") for path in (Path(SOURCE) / "redline").rglob("*.py"))
    assert set(re.findall(r"\bREDLINE_[A-Z][A-Z_]*[A-Z]\b", source)) <= declared
