"""opencode, pi and Copilot CLI themselves with Redline's hook and no proxy: next requests carry folded outputs."""

import json
import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from redline.testing.endpoints import endpoint_at
from tests.pointers import sent_results
from tests.real_agents.plugin_scene import PLUGGED_AGENTS
from tests.real_agents.task import HOOKED_BY_PLUGIN, SCRIPTS
from tests.real_agents.test_real_agents import CACHE, INSTALL_SECONDS, ROOT, SCENE_SECONDS, isolated

pytestmark = pytest.mark.skipif(not CACHE, reason="make test-agents installs the agents and runs them")

NOTICE = re.compile(r"left out; all of it: ([^\]]+)\]")
STEPS = SCRIPTS[HOOKED_BY_PLUGIN]


def npm_install(folder: Path, package: str) -> None:
    """A package in a folder of its own; what does not install is skipped."""
    if (folder / "node_modules").exists():
        return
    command = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--loglevel=error", package]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    except (subprocess.TimeoutExpired, OSError) as problem:
        pytest.skip(f"{package} does not install here: {problem}")
    if done.returncode:
        pytest.skip(f"{package} does not install here: {done.stderr.strip()[-200:]}")


@pytest.fixture(scope="module", params=PLUGGED_AGENTS, ids=lambda agent: agent.name)
def played(request, tmp_path_factory):
    """The task of one agent without a hook, with it, with one whose program is gone, and with one for a run alone."""
    agent = request.param
    cache = Path(CACHE).resolve()
    npm_install(cache / agent.name, agent.package)
    if agent.fetched:
        npm_install(cache / f"{agent.name}-fetched", agent.fetched[1])
    if shutil.which("unshare") is None or subprocess.run(isolated("true"), capture_output=True, check=False).returncode:
        pytest.skip("no network of its own can be made here (unshare -n): agents are not run where they could phone home")
    folder, binaries = tmp_path_factory.mktemp(agent.name), cache / agent.name / "node_modules" / ".bin"
    scenes = {}
    for mode in ("direct", "hooked", "broken", *(["run"] if agent.has_run else [])):
        command = isolated(
            sys.executable, "-m", "tests.real_agents.plugin_scene", agent.name, str(folder / mode), mode, str(binaries)
        )
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
        subprocess.run(command, cwd=ROOT, env=environment, timeout=SCENE_SECONDS, check=True, stdout=subprocess.DEVNULL)
        scenes[mode] = json.loads((folder / mode / "report.json").read_text())
    return agent, scenes, folder


def texts(asked):
    """The results of a request, as the model is sent them."""
    return [one.text for one in sent_results(asked["body"], endpoint_at(asked["path"]).format)]


def test_the_task_ends_as_it_does_without_a_hook(played):
    """41 calls, and the same result, with the hook, with a broken one, and for a run alone."""
    _, scenes, _ = played
    for mode, report in scenes.items():
        assert report["code"] == 0, (mode, report["errors"])
        assert report["result"] == "40\n", mode
        assert len(report["asked"]) == len(STEPS) + 1, mode


def test_next_requests_carry_folded_outputs(played):
    """Searches and lists, and tests and builds where the agent has not made them smaller itself; no form changes later."""
    _, scenes, _ = played
    said, sent = (texts(scenes[mode]["asked"][-1]) for mode in ("direct", "hooked"))
    assert sum(after != before for before, after in zip(said, sent, strict=True)) >= 12
    assert sum(map(len, sent)) < 0.95 * sum(map(len, said))
    assert any("lines of building left out" in text for text in sent)
    assert any(text.startswith(("src/\n", "./src/\n")) for text in sent)
    for earlier, later in pairwise(scenes["hooked"]["asked"]):
        old = texts(earlier)
        assert texts(later)[: len(old)] == old


def test_what_is_left_out_is_in_the_file_that_the_notice_names(played):
    """Each file holds what the command printed, and the agent reads one without a question."""
    _, scenes, folder = played
    hooks = folder / "hooked" / "home" / ".redline" / "hooks"
    said, sent = (texts(scenes[mode]["asked"][-1]) for mode in ("direct", "hooked"))
    named = [(before, Path(path)) for before, after in zip(said, sent, strict=True) for path in NOTICE.findall(after)]
    assert named
    for before, path in named:
        assert path.parent == hooks
        assert re.sub(r"in \d\.\d+s", "", path.read_text().strip()) in re.sub(r"in \d\.\d+s", "", before)
    number = next(number for number, step in enumerate(STEPS) if step.what == "WHOLE")
    assert sorted(hooks.glob("*.txt"))[0].read_text().split("\n")[5].strip() in sent[number]


def test_failures_and_reads_are_whole(played):
    """An exit code, a traceback, and what a read shows."""
    _, scenes, _ = played
    said, sent = (texts(scenes[mode]["asked"][-1]) for mode in ("direct", "hooked"))
    spared = [number for number, step in enumerate(STEPS) if step.what.endswith("big.c") or "exit 3" in step.what]
    assert len(spared) == 10
    for number in spared:
        before, after = (re.sub(r"/(?:direct|hooked)/|shellId: \d+", "", one[number]) for one in (said, sent))
        assert after == before
    traceback = next(number for number, step in enumerate(STEPS) if "nothing_at_all" in step.what)
    assert "ModuleNotFoundError" in sent[traceback]


def test_uninstall_leaves_nothing(played):
    """The file of the hook is gone."""
    _, scenes, _ = played
    assert len(scenes["hooked"]["installed"]) == 1
    assert scenes["hooked"]["left"] == []


def test_a_hook_that_fails_does_no_harm(played):
    """Its program is gone: every output passes as it was."""
    _, scenes, _ = played
    assert not any(NOTICE.search(text) for text in texts(scenes["broken"]["asked"][-1]))


def test_a_run_has_hooks_for_itself_alone(played):
    """`redline run --hooks` adds them by a flag or a variable; no file is written."""
    agent, scenes, _ = played
    if not agent.has_run:
        pytest.skip("this agent takes hooks from files alone")
    assert any(NOTICE.search(text) for text in texts(scenes["run"]["asked"][-1]))
    assert scenes["run"]["left"] == []
