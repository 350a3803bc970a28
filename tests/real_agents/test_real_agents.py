"""The agents themselves, from npm, straight and through `redline run`: `make test-agents` runs it, nothing else does."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from redline.values.words import EN
from tests.cli.run import redline
from tests.real_agents.descriptions import REAL_AGENTS, RealAgent
from tests.real_agents.task import FOLLOW_UP, MAIN

ROOT = Path(__file__).resolve().parents[2]
CACHE = os.environ.get("REDLINE_AGENTS", "")
PLACEHOLDERS = tuple(text.partition("{")[0] for text in (EN.stale_terminal, EN.historical_read))
INSTALL_SECONDS = 120
SCENE_SECONDS = 300

pytestmark = pytest.mark.skipif(not CACHE, reason="make test-agents installs the agents and runs them")


def install(agent: RealAgent) -> Path:
    """The folder with the program, from npm; what does not install is skipped."""
    folder = Path(CACHE).resolve() / agent.program
    binaries = folder / "node_modules" / ".bin"
    if (binaries / agent.program).exists():
        return binaries
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    command = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--loglevel=error", agent.package]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{agent.package} did not install within {INSTALL_SECONDS} s")
    if done.returncode or not (binaries / agent.program).exists():
        pytest.skip(f"{agent.package} does not install here: {done.stderr.strip()[-200:]}")
    return binaries


def isolated(*command: str) -> list[str]:
    """The command in a network of its own with nothing but the loopback device."""
    flags = "-n" if os.geteuid() == 0 else "-rn"
    return ["unshare", flags, "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *command]


def play_scene(agent: RealAgent, mode: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, dict], Path]:
    """What an agent did in a scene, phase by phase, and the home it left."""
    binaries = install(agent)
    if shutil.which("unshare") is None or subprocess.run(isolated("true"), capture_output=True, check=False).returncode:
        pytest.skip("no network of its own can be made here (unshare -n): agents are not run where they could phone home")
    folder = tmp_path_factory.mktemp(f"{agent.program}-{mode}") / "scene"
    command = isolated(sys.executable, "-m", "tests.real_agents.scene", agent.program, str(folder), mode, str(binaries))
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    subprocess.run(command, cwd=ROOT, env=environment, timeout=SCENE_SECONDS, check=True)
    return {phase["name"]: phase for phase in json.loads((folder / "report.json").read_text())}, folder / "home"


@pytest.fixture(scope="module", params=REAL_AGENTS, ids=lambda agent: agent.program)
def played(request, tmp_path_factory):
    """What an agent did without Redline and with it, phase by phase, and the home it left."""
    agent = request.param
    scenes = {}
    for mode in ("direct", "redline"):
        scenes[mode] = play_scene(agent, mode, tmp_path_factory)
        phases, _ = scenes[mode]
        if mode == "direct" and phases[MAIN]["code"]:
            pytest.skip(f"{agent.program} does not start here: {phases[MAIN]['errors'][-300:]}")
    return agent, scenes


def struck(asked: dict) -> int:
    """How many placeholders a request holds."""
    body = json.dumps(asked["body"], ensure_ascii=False)
    return sum(body.count(json.dumps(text, ensure_ascii=False)[1:-1]) for text in PLACEHOLDERS)


def conversation(phase: dict, script: str = "") -> list[dict]:
    """The requests that followed a script, without side calls."""
    return [asked for asked in phase["asked"] if asked["script"] == (script or phase["name"])]


def test_the_task_ends_as_it_does_without_redline(played):
    """Exit codes and results are those of the direct run; what fails without Redline may work with it, never the reverse."""
    _, scenes = played
    direct, through = scenes["direct"][0], scenes["redline"][0]
    for name, phase in through.items():
        assert phase["code"] == 0, f"{name}: {phase['errors']}"
        if direct[name]["code"] == 0:
            assert phase["result"] == direct[name]["result"], name
    assert through[MAIN]["result"] == "17\n"


def test_every_request_is_legal(played):
    """The provider refuses none."""
    phases, _ = played[1]["redline"]
    assert [asked["complaint"] for phase in phases.values() for asked in phase["asked"] if asked["status"] == 400] == []


def test_strikes_reach_the_provider(played):
    """Of more than 30 calls the old ones are struck, and no strike is taken back from one request to the next."""
    phases, _ = played[1]["redline"]
    assert len(conversation(phases[MAIN])) > 30
    counts = [struck(asked) for asked in conversation(phases[MAIN])]
    assert counts == sorted(counts)
    assert counts[-1] > 10
    assert not any(struck(asked) for phase in played[1]["direct"][0].values() for asked in phase["asked"])


def test_output_in_blocks_is_struck_too(played):
    """Codex's newest models write programs that call tools; what these print comes in several texts."""
    phases, _ = played[1]["redline"]
    if "code-mode" not in phases:
        pytest.skip("only Codex has a code mode")
    assert struck(conversation(phases["code-mode"])[-1]) > 0


def test_a_resumed_session_keeps_its_strikes(played):
    """Also over a restart of the proxy. Where an agent stores what it cannot go on with, the repaired session is a new one."""
    phases, _ = played[1]["redline"]
    if FOLLOW_UP not in phases or played[1]["direct"][0][FOLLOW_UP]["code"]:
        pytest.skip("this agent does not resume a session without a terminal, or not legally")
    counts = [struck(asked) for asked in (conversation(phases[MAIN])[-1], *conversation(phases[FOLLOW_UP]))]
    assert counts == sorted(counts)


def test_the_agent_keeps_its_own_session_as_it_was(played):
    """No placeholder, and no address of the proxy, is in any file of the agent's home."""
    agent, scenes = played
    _, home = scenes["redline"]
    files = [path for path in home.rglob("*") if path.is_file() and not path.is_symlink()]
    assert files
    for path in files:
        content = path.read_bytes()
        assert not any(text.encode() in content for text in PLACEHOLDERS), path
    for name in agent.files:
        assert b"127.0.0.1" not in (home / name).read_bytes()


def test_a_fork_inherits_the_strikes(played):
    """The copy of a session begins with what was struck in the session."""
    phases, _ = played[1]["redline"]
    if "fork" not in phases:
        pytest.skip("this agent cannot fork a session without a terminal")
    assert struck(conversation(phases["fork"], "short")[0]) >= struck(conversation(phases[FOLLOW_UP])[-1])


def test_sub_agents_are_apart(played):
    """Two with one prompt read a file three times each: taken for one conversation, it would be six reads, and a strike."""
    phases, _ = played[1]["redline"]
    if "delegating" not in phases:
        pytest.skip("this agent has no sub-agents that a script can start")
    asked = conversation(phases["delegating"], "helper")
    assert len(asked) == 8
    assert not any(struck(one) for one in asked)


def test_a_compaction_is_followed(played):
    """The session that the agent goes on with after its own summary is short, and is sent as the agent sends it."""
    phases, _ = played[1]["redline"]
    if "compaction" not in phases:
        pytest.skip("this agent compacts only in a terminal")
    after = conversation(phases["after-compaction"], "short")
    assert len(after) == 2
    assert len(json.dumps(after[0]["body"])) < len(json.dumps(conversation(phases[FOLLOW_UP])[-1]["body"]))


@pytest.mark.parametrize("agent", REAL_AGENTS, ids=lambda agent: agent.program)
def test_a_hostile_folder_gets_no_request_of_the_real_agent(agent, tmp_path):
    """R124: with every settings file of the folder pointing elsewhere, and the folder trusted, the provider alone is asked."""
    binaries = install(agent)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    program = [sys.executable, "-m", "tests.real_agents.hostile_scene", agent.program, str(tmp_path), str(binaries)]
    if shutil.which("unshare") is None or subprocess.run(isolated("true"), capture_output=True, check=False).returncode:
        pytest.skip("no network of its own can be made here (unshare -n): agents are not run where they could phone home")
    subprocess.run(isolated(*program), cwd=ROOT, env=environment, timeout=SCENE_SECONDS, check=True)
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["got"] == [], report["errors"]
    assert report["asked"] > 0, report["errors"]
    assert "not followed" in report["errors"]


def test_every_surface_says_the_same_of_what_was_paid_and_saved(played):
    """The proxy's accounts of each conversation, and what `sessions`, `replay` and `explain` say of its log."""
    store = played[1]["redline"][1].parent / "store"
    accounts: dict[str, list[float]] = {}
    for line in (store / "proxy.accounts").read_text().splitlines():
        entry = json.loads(line)
        if entry.get("chain") and entry.get("cost") is not None:
            sums = accounts.setdefault(entry["chain"], [0.0, 0.0])
            sums[0] += entry["cost"]
            sums[1] += entry.get("saved") or 0.0
    assert accounts
    assert any(saved for _, saved in accounts.values())
    for chain, (cost, saved) in [max(accounts.items(), key=lambda one: one[1][0])]:  # a resumed session goes on in another log
        (row,) = told("sessions", "--json", store / f"{chain}.jsonl")
        (replayed,) = told("replay", "--json", store / f"{chain}.jsonl")
        (explained,) = told("explain", "--json", store / f"{chain}.jsonl")
        paid = replayed["advice"]["paid"]
        assert [row["cost_usd"], paid["usd"], explained["paid_usd"]] == pytest.approx([cost] * 3, abs=1e-4), chain
        assert [row["saved_usd"], paid["saved_usd"], explained["saved_usd"]] == pytest.approx([saved] * 3, abs=1e-4), chain


def told(*arguments: object) -> list[dict]:
    done = redline(*arguments)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]
