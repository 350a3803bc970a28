"""Claude Code itself, several versions of it, with Redline's hook and no proxy: next requests carry folded outputs."""

import json
import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from redline.folds import FoldedText, fold_text, unfold_text
from redline.testing.endpoints import endpoint_at
from tests.pointers import sent_results
from tests.real_agents.descriptions import REAL_AGENTS
from tests.real_agents.hook_scene import SETTINGS
from tests.real_agents.task import HOOKED, SCRIPTS
from tests.real_agents.test_real_agents import CACHE, ROOT, SCENE_SECONDS, install, isolated

pytestmark = pytest.mark.skipif(not CACHE, reason="make test-agents installs the agents and runs them")

NOTICE = re.compile(r"left out; all of it: ([^\]]+)\]")
VERSIONS = ("", "2.1.121", "2.1.170", "2.1.328")
"""As it is in the folder of agents, the first that can do it, one of which it was reported that it cannot, a newer one."""


@pytest.fixture(scope="module", params=VERSIONS, ids=lambda version: version or "installed")
def binaries(request):
    """The folder with the program of a version; each version has a folder of its own in the folder of agents."""
    agent = REAL_AGENTS[0]
    if not request.param:
        return install(agent)
    folder = Path(CACHE).resolve() / f"claude-{request.param}"
    if not (folder / "node_modules").exists():
        package = f"{agent.package}@{request.param}"
        done = subprocess.run(["npm", "install", "--prefix", str(folder), package], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"{package} does not install here: {done.stderr.strip()[-200:]}")
    return folder / "node_modules" / ".bin"


def play(binaries, mode, folder):
    """What the agent did, and its home."""
    if shutil.which("unshare") is None or subprocess.run(isolated("true"), capture_output=True, check=False).returncode:
        pytest.skip("no network of its own can be made here (unshare -n): agents are not run where they could phone home")
    command = isolated(sys.executable, "-m", "tests.real_agents.hook_scene", str(folder), mode, str(binaries))
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    subprocess.run(command, cwd=ROOT, env=environment, timeout=SCENE_SECONDS, check=True, stdout=subprocess.DEVNULL)
    return json.loads((folder / "report.json").read_text())


@pytest.fixture(scope="module")
def played(binaries, tmp_path_factory):
    """The task without a hook and with it."""
    folder = tmp_path_factory.mktemp("hook")
    return {mode: play(binaries, mode, folder / mode) for mode in ("direct", "hooked")}, folder


def texts(asked):
    """The results of a request, as the model is sent them; versions add reminders of their own."""
    return [
        one.text.partition("\n\n<system-reminder>")[0] for one in sent_results(asked["body"], endpoint_at(asked["path"]).format)
    ]


def test_the_task_ends_as_it_does_without_a_hook(played):
    """44 calls, with no word of the hook on the agent's screen."""
    scenes, _ = played
    for report in scenes.values():
        assert report["code"] == 0, report["errors"]
        assert report["result"] == "40\n"
        assert len(report["asked"]) == len(SCRIPTS[HOOKED]) + 1
    assert scenes["hooked"]["output"] == scenes["direct"]["output"]
    assert scenes["hooked"]["errors"] == scenes["direct"]["errors"]


def test_next_requests_carry_folded_outputs(played):
    """Searches, tests, builds and lists; none is sent in another form later."""
    scenes, _ = played
    asked = scenes["hooked"]["asked"]
    said, sent = (texts(scenes[mode]["asked"][-1]) for mode in ("direct", "hooked"))
    assert sum(after != before for before, after in zip(said, sent, strict=True)) >= 22
    assert sum(map(len, sent)) < 0.9 * sum(map(len, said))
    for command in ("lines of passed tests left out", "lines of building left out", "Found 40 files\nsrc/\n"):
        assert any(command in text for text in sent), command
    for earlier, later in pairwise(asked):
        old, new = texts(earlier), texts(later)
        assert new[: len(old)] == old


def test_nothing_is_lost(played):
    """What is not the output itself is in the file that the notice names, or comes back by the inverse of its folds."""
    scenes, folder = played
    said, sent = (texts(scenes[mode]["asked"][-1]) for mode in ("direct", "hooked"))
    for before, after in zip(said, sent, strict=True):
        if paths := NOTICE.findall(after):
            whole = Path(paths[0])
            assert whole.parent == folder / "hooked" / "home" / ".redline" / "hooks"
            assert whole.stat().st_mode & 0o777 == 0o600
            assert re.sub(r"in \d\.\d+s", "", whole.read_text()) == re.sub(r"in \d\.\d+s", "", before)
        elif after.startswith(("src/", "./src/")):
            folded = fold_text(before)
            assert unfold_text(FoldedText(after, folded.names)).splitlines()[0].startswith(("src/", "./src/"))
            assert sorted(unfold_text(FoldedText(after, folded.names)).split("\n")) == sorted(before.split("\n"))


def test_failures_and_reads_are_whole(played):
    """An exit code, a traceback, and what Read shows: byte for byte."""
    scenes, _ = played
    said, sent = (texts(scenes[mode]["asked"][-1]) for mode in ("direct", "hooked"))
    steps = [(number, step.what) for number, step in enumerate(SCRIPTS[HOOKED])]
    spared = [number for number, what in steps if what.endswith("big.c") or "exit 3" in what]
    assert len(spared) == 10
    assert [sent[number] for number in spared] == [said[number] for number in spared]
    traceback = next(number for number, what in steps if "nothing_at_all" in what)
    assert "ModuleNotFoundError" in sent[traceback]
    assert "test_part_7" in sent[traceback]


def test_a_whole_result_is_read_without_a_question(played):
    """The permission comes with the hook: without a terminal nobody could be asked."""
    scenes, _ = played
    number = next(number for number, step in enumerate(SCRIPTS[HOOKED]) if "WHOLE" in step.what)
    assert re.search(r"part_7\b", texts(scenes["hooked"]["asked"][-1])[number])


def test_uninstall_leaves_the_settings_byte_for_byte(played):
    """However the user laid them out."""
    report = played[0]["hooked"]
    assert "redline hook run" in report["during"]
    assert report["after"] == SETTINGS == played[0]["direct"]["after"]


@pytest.mark.parametrize("mode", ["broken", "slow"])
def test_a_hook_that_fails_does_no_harm(binaries, played, tmp_path, mode):
    """Its program is gone, or it takes too long: every output passes as it was."""
    broken = play(binaries, mode, tmp_path / mode)
    assert (broken["code"], broken["output"], broken["errors"]) == (0, played[0]["direct"]["output"], "")
    assert not any(NOTICE.search(text) for text in texts(broken["asked"][-1]))


def test_a_run_has_hooks_for_itself_alone(binaries, tmp_path):
    """`redline run --hooks` adds them by the agent's own flag; its settings file is not touched."""
    report = play(binaries, "run", tmp_path / "run")
    assert report["code"] == 0, report["errors"]
    assert any(NOTICE.search(text) for text in texts(report["asked"][-1]))
    assert report["during"] == report["after"] == SETTINGS
