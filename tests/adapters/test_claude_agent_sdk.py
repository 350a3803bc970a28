"""The Claude Agent SDK with its own Claude Code, in a network that leads nowhere, behind the proxy that the adapter starts."""

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec

import pytest

from redline.adapters.claude_agent_sdk import proxy_env, redline_proxy
from redline.agents.launching.runs import proxy_status
from redline.errors import ExecutionError
from redline.record import JsonlLog
from redline.record.records import SessionNamed
from tests.adapters.story import ROOT, reported_usage
from tests.real_agents.descriptions import REAL_AGENTS
from tests.real_agents.task import FOLLOW_UP, MAIN
from tests.real_agents.test_real_agents import isolated, struck


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    """Nothing of the developer's own settings."""
    for name in [name for name in os.environ if name.startswith(("ANTHROPIC_", "CLAUDE_"))]:
        monkeypatch.delenv(name)


def test_a_running_proxy_is_named_with_token_and_label():
    """As its paths have them; without either, it is the address alone."""
    assert proxy_env()["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:8484"
    named = proxy_env("http://127.0.0.1:9000/", token="a-long-enough-token", label="my project")
    assert named["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:9000/t/a-long-enough-token/s/my%20project"


def test_other_clouds_are_not_led_through_it(monkeypatch):
    """They have addresses of their own, so that nothing would arrive: better told than overlooked."""
    monkeypatch.setenv("CLAUDE_CODE_USE_BEDROCK", "1")
    with pytest.raises(ExecutionError, match="CLAUDE_CODE_USE_BEDROCK"):
        proxy_env()


def test_a_proxy_lives_as_long_as_its_block(tmp_path, monkeypatch):
    """It sends on to where this process would have sent its requests, and is gone afterwards."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9/gateway")
    with redline_proxy(tmp_path, policy="bold", is_dry_run=True) as env:
        url = env["ANTHROPIC_BASE_URL"]
        status = proxy_status(url)
        assert (status["mode"], status["store"]) == ("dry-run", str(tmp_path))
        assert "127.0.0.1:9/gateway" in json.dumps(status)
    with pytest.raises(ExecutionError, match="No Redline proxy"):
        proxy_status(url)


def test_a_proxy_that_cannot_start_says_why(tmp_path):
    """The words are those of the command line."""
    with pytest.raises(ExecutionError, match="brave"), redline_proxy(tmp_path, policy="brave"):
        pass


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """What the agent asked in each phase, and the folder that it left."""
    if find_spec("claude_agent_sdk") is None:
        pytest.skip("claude_agent_sdk is not installed: make test-adapters makes an environment for it")
    if shutil.which("unshare") is None or subprocess.run(isolated("true"), capture_output=True, check=False).returncode:
        pytest.skip("no network of its own can be made here (unshare -n): agents are not run where they could phone home")
    folder = tmp_path_factory.mktemp("claude")
    home = folder / "home"
    home.mkdir()
    settings = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "dumb"}
    settings |= next(one for one in REAL_AGENTS if one.program == "claude").key
    settings["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    command = isolated(sys.executable, "-m", "tests.adapters.claude_agent_sdk_agent", str(folder))
    done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads((folder / "report.json").read_text()), folder


def followed(phase, script):
    return [asked for asked in phase["asked"] if asked["script"] == script]


def test_the_model_sees_the_strikes(played):
    """No strike is taken back from one request to the next, no request is refused, and the task is done."""
    phases, folder = played
    assert (folder / "work" / "result.txt").exists()
    counts = [struck(asked) for asked in followed(phases[MAIN], MAIN)]
    assert counts == sorted(counts)
    assert counts[-1] > 10
    assert [asked["complaint"] for phase in phases.values() for asked in phase["asked"] if asked["status"] == 400] == []
    assert not any(phase["is_error"] for phase in phases.values())


def test_a_resumed_session_keeps_its_strikes(played):
    """By another proxy on the same store: its first request has what the last one of the other had."""
    phases, _ = played
    assert struck(followed(phases[FOLLOW_UP], FOLLOW_UP)[0]) >= struck(followed(phases[MAIN], MAIN)[-1])


def test_the_transcripts_stay_whole(played):
    """What Claude Code stores holds no placeholder."""
    _, folder = played
    transcripts = [path.read_text() for path in (folder / "home").rglob("*.jsonl")]
    assert len(transcripts) >= 2
    assert not any(struck({"body": text}) for text in transcripts)


def test_sessions_and_sub_agents_have_names_of_their_own(played):
    """As their headers say; what a sub-agent says is apart from the session that started it."""
    _, folder = played
    stored = [one.record for path in (folder / "store").glob("*.jsonl") for one in JsonlLog(path).read()]
    names = {record.session for record in stored if isinstance(record, SessionNamed)}
    sessions = {name for name in names if "/" not in name}
    assert len(sessions) >= 2
    assert {name.partition("/")[0] for name in names if "/" in name} <= sessions
    assert any("/" in name for name in names)


def test_usage_arrives(played):
    """One report for each answer that followed a script."""
    phases, folder = played
    answered = sum(len(followed(phase, script)) for script, phase in phases.items())
    assert sum(1 for _ in reported_usage(folder / "store")) >= answered
