"""The agents themselves, told by their model to fetch what was struck: from its file, or by the tool that the proxy answers."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from redline.testing.endpoints import endpoint_at
from tests.pointers import sent_results
from tests.real_agents.descriptions import REAL_AGENTS
from tests.real_agents.task import RECALLING, SCRIPTS
from tests.real_agents.test_real_agents import CACHE, ROOT, SCENE_SECONDS, install, isolated

pytestmark = pytest.mark.skipif(not CACHE, reason="make test-agents installs the agents and runs them")

PRINTED = " ".join(map(str, range(81_000, 81_010)))
"""Words of the first result."""


@pytest.fixture(
    scope="module",
    params=[(agent, mode) for agent in REAL_AGENTS for mode in ("file", "tool")],
    ids=lambda one: f"{one[0].program}-{one[1]}",
)
def recalled(request, tmp_path_factory):
    """What an agent did, its home, and how its model fetched what was struck."""
    agent, mode = request.param
    binaries = install(agent)
    if shutil.which("unshare") is None or subprocess.run(isolated("true"), capture_output=True, check=False).returncode:
        pytest.skip("no network of its own can be made here (unshare -n): agents are not run where they could phone home")
    folder = tmp_path_factory.mktemp(f"{agent.program}-{mode}") / "scene"
    command = isolated(sys.executable, "-m", "tests.real_agents.recall_scene", agent.program, str(folder), mode, str(binaries))
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    subprocess.run(command, cwd=ROOT, env=environment, timeout=SCENE_SECONDS, check=True)
    return json.loads((folder / "report.json").read_text()), folder, mode


def results_of(asked):
    return [one.text for one in sent_results(asked["body"], endpoint_at(asked["path"]).format)]


def test_the_task_ends(recalled):
    """The provider refuses nothing, and the agent does all that it was told."""
    report, _, _ = recalled
    assert report["code"] == 0, report["errors"]
    assert report["result"] == "done\n"
    assert {one["status"] for one in report["asked"]} == {200}
    assert len(report["asked"]) == len(SCRIPTS[RECALLING]) + 1


def test_what_was_struck_is_sent_again(recalled):
    """Of the first result a placeholder was left; the request after the recall has its words, and so have those after it."""
    report, _, _ = recalled
    before, after, last = (results_of(report["asked"][number]) for number in (3, 4, -1))
    assert not any(PRINTED in text for text in before), before
    assert any(PRINTED in text for text in after), (report["errors"], after[-1][:300])
    assert sum(PRINTED in text for text in last) >= 2, "what was read back stays"


def test_the_agent_keeps_no_trace_of_the_tool(recalled):
    """No file of its home names the tool; the whole result in a file is for its owner only."""
    report, folder, mode = recalled
    for path in (path for path in (folder / "home").rglob("*") if path.is_file() and not path.is_symlink()):
        assert b"redline_recall" not in path.read_bytes(), path
    if mode == "file":
        paths = {
            Path(found)
            for one in report["asked"]
            for text in results_of(one)
            for found in re.findall(r"all of it: (\S+\.txt)", text)
        }
        assert paths
        assert all(path.stat().st_mode & 0o777 == 0o600 for path in paths)
