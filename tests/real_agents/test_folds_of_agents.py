"""The agents themselves on a small project, through `redline run` as it comes: results arrive folded, and nothing is lost."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from fuzz.sent_references import check_sent, said_results
from redline import Store
from redline.providers import find_format
from redline.testing.endpoints import endpoint_at
from tests.pointers import sent_results
from tests.real_agents.descriptions import REAL_AGENTS
from tests.real_agents.scene import FOLDED
from tests.real_agents.task import FOLDING, SCRIPTS
from tests.real_agents.test_real_agents import CACHE, play_scene

pytestmark = pytest.mark.skipif(not CACHE, reason="make test-agents installs the agents and runs them")

NOTICE = re.compile(r"left out; all of it: ([^\]]+)\]")


@pytest.fixture(scope="module", params=REAL_AGENTS, ids=lambda agent: agent.program)
def folding(request, tmp_path_factory):
    """An agent's phase on the small project, the requests of its conversation, and the home it left."""
    phases, home = play_scene(request.param, FOLDED, tmp_path_factory)
    phase = phases[FOLDING]
    return phase, [one for one in phase["asked"] if one["script"]], home


def results_of(asked):
    return sent_results(asked["body"], endpoint_at(asked["path"]).format)


def test_the_task_ends_as_it_should(folding):
    """All calls are made, all objects are built, and the provider refuses nothing."""
    phase, asked, _ = folding
    assert phase["code"] == 0, phase["errors"]
    assert phase["result"] == "40\n"
    assert len(asked) == len(SCRIPTS[FOLDING]) + 1
    assert {one["status"] for one in asked} == {200}


def test_searches_tests_and_builds_arrive_folded(folding):
    """A search under its path, passed tests and building as a count; no result comes in another form later."""
    _, asked, _ = folding
    texts = [one.text.replace("\\n", "\n") for one in results_of(asked[-1])]  # Cline's are JSON
    assert any("lines of passed tests left out" in text for text in texts)
    assert any("lines of building left out" in text for text in texts)
    assert any(re.search(r"(?:^|\")(?:\./)?src/$", text, re.MULTILINE) for text in texts), "paths are below their folder"
    for before, after in pairwise(asked):
        old, new = ([one.text for one in results_of(request)] for request in (before, after))
        assert new[: len(old)] == old


def test_the_whole_of_what_is_left_out_is_a_file(folding):
    """The path in the notice holds what the tool said, for its owner only."""
    _, asked, _ = folding
    paths = {Path(path) for one in results_of(asked[-1]) for path in NOTICE.findall(one.text)}
    assert paths
    for path in paths:
        assert path.stat().st_mode & 0o777 == 0o600
        assert "test_part_7" in path.read_text() or "src/part_7.c" in path.read_text()


def test_every_reference_leads_to_words_of_the_same_request(folding):
    """What is read again is left out, and stands in what the notice names; checked against the record."""
    _, asked, home = folding
    format = endpoint_at(asked[-1]["path"]).format
    with Store(home.parent / "store") as store:
        said = said_results([message for name in store.names() for message in store.open(name).all_messages], format)
    field = find_format(format).messages_field
    found = [check_sent(json.dumps(one["body"][field]).encode(), said, format) for one in asked]
    is_json = all(one.text.startswith("[{") for one in results_of(asked[-1]))
    assert (found[-1] > 0) != is_json, "lines in a string of JSON are not referred to"


def test_the_agent_keeps_its_own_session_as_it_was(folding):
    """No fold and no reference is in any file of the agent's home."""
    _, _, home = folding
    files = [path for path in home.rglob("*") if path.is_file() and not path.is_symlink()]
    assert files
    for path in files:
        content = path.read_bytes()
        assert b"left out; all of it: " not in content, path
        assert re.search(r"\[lines \d+–\d+: as in ".encode(), content) is None, path
