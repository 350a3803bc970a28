"""The long task with the agents themselves: unchanged files are read again, a call is interrupted, the session resumed."""

import json

import pytest

from redline.folds.references import quotes_reference
from redline.testing.endpoints import endpoint_at
from tests.pointers import follow, holds_file, lost_pointers, sent_results, ways_to_have
from tests.real_agents.descriptions import REAL_AGENTS
from tests.real_agents.task import FILES, INTERRUPTED, LONG, RESUMED, SCRIPTS
from tests.real_agents.test_real_agents import CACHE, play_scene

pytestmark = pytest.mark.skipif(not CACHE, reason="make test-agents installs the agents and runs them")


@pytest.fixture(
    scope="module",
    params=[(agent, mode) for agent in REAL_AGENTS for mode in ("default", "eager")],
    ids=lambda one: f"{one[0].program}-{one[1]}",
)
def long_task(request, tmp_path_factory):
    """An agent's phases through `redline run`: with the policy that comes with it, and with one that strikes all it may."""
    agent, mode = request.param
    phases, _ = play_scene(agent, mode, tmp_path_factory)
    return agent, phases


def turns(phases, *names):
    """The requests of the conversation in these phases, each with its format."""
    asked = [one for name in names or phases for one in phases[name]["asked"] if one["script"]]
    return [(one["body"], endpoint_at(one["path"]).format) for one in asked]


def test_every_phase_ends_as_it_should(long_task):
    """R101: all of the task runs, and the agent that is killed is killed. What the provider refuses because a slow machine sent
    it without its repair is sent again, repaired."""
    _, phases = long_task
    for name, phase in phases.items():
        assert (phase["code"] == 0) is (name != INTERRUPTED), f"{name}: {phase['errors']}"
        statuses = [asked["status"] for asked in phase["asked"]]
        assert (400, 400, 400) not in zip(statuses, statuses[1:], statuses[2:], strict=False), name
        assert statuses[-1] == 200, name
    calls = sum(len(SCRIPTS[name]) for name in phases)
    assert len(turns(phases)) >= calls >= 38
    if RESUMED in phases:
        assert phases[RESUMED]["result"] == "done\n"


def test_something_is_struck(long_task):
    """Without strikes the other tests would say nothing."""
    _, phases = long_task
    body, format = turns(phases, LONG)[-1]
    assert sum(one.kind in ("again", "latest") for one in sent_results(body, format)) >= 10


def test_every_pointer_arrives_at_words(long_task):
    """R101, R102: in every request of the task, of whatever an agent or Redline says in place of words, one finds the words."""
    _, phases = long_task
    for number, (body, format) in enumerate(turns(phases)):
        assert lost_pointers(body, format) == [], f"request {number}"


def test_a_file_that_is_read_is_seen(long_task):
    """R101: each read, the first and every other, is answered with the file's words, in the result or where it points to; that
    a reference leads to its words is tested in test_folds_of_agents."""
    _, phases = long_task
    for name in phases:
        asked = turns(phases, name)
        for number, step in enumerate(SCRIPTS[name]):
            if step.kind == "read" and number + 1 < len(asked):
                body, format = asked[number + 1]
                results = sent_results(body, format)
                read = [one for one in results if step.what in one.files][-1]
                arrived = follow(results, read)
                assert arrived is not None, f"{name} {number}: {read.text[:200]}"
                assert arrived.kind == "words", f"{name} {number}: {arrived.text[:200]}"
                said = body if quotes_reference(arrived.text) else {"text": arrived.text}  # lines that another result has
                assert holds_file(said, FILES[step.what]), f"{name} {number}"


def test_at_the_end_every_file_can_be_had(long_task):
    """R101: of each file that the agent read, the last request has all the words, or says how to have them."""
    _, phases = long_task
    body, format = turns(phases, list(phases)[-1] if RESUMED in phases else LONG)[-1]
    for name, words in FILES.items():
        assert holds_file(body, words) or ways_to_have(body, format, name), name


def test_side_calls_see_what_the_agent_sent(long_task):
    """R106: titles, choices of model and loop checks arrive without a placeholder."""
    agent, phases = long_task
    side = [one for phase in phases.values() for one in phase["asked"] if one["method"] == "POST" and not one["script"]]
    side = [one for one in side if endpoint_at(one["path"]) and one["status"] == 200]
    if agent.program not in ("gemini", "opencode"):
        assert side == []
        pytest.skip("this agent makes no side calls when it runs without a terminal")
    assert side
    for one in side:
        results = sent_results(one["body"], endpoint_at(one["path"]).format)
        assert {result.kind for result in results} <= {"words"}
    if agent.program == "gemini":
        assert any(
            "stuck in an unproductive loop" in json.dumps(one["body"]) and len(one["body"]["contents"]) > 15 for one in side
        )
