"""Agents on the providers' own SDKs, against a provider on this machine: killed in mid-call, and resumed."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

import redline
from redline.testing import FakeProvider, fake_provider
from tests.loops import anthropic_agent, gemini_agent, openai_chat_agent, openai_responses_agent, session
from tests.loops.scenario import AFTER, BEFORE, TOOLS, Clock, Killed
from tests.loops.session import Session

AGENTS = {
    "anthropic": anthropic_agent,
    "openai_chat": openai_chat_agent,
    "openai_responses": openai_responses_agent,
    "gemini": gemini_agent,
}


@dataclass
class Story:
    """What happened to an agent that was killed between a call and its result."""

    provider: FakeProvider
    resumed: Session
    refusal: Exception | None
    """What the SDK raised when the messages were sent as they are."""
    answer: str
    """What the model said in the end."""

    def sent(self) -> str:
        """What the provider was sent last, as text."""
        return json.dumps(self.provider.exchanges[-1].body, ensure_ascii=False)


@pytest.fixture(scope="module", params=AGENTS)
def story(request, tmp_path_factory):
    format, folder, clock = request.param, tmp_path_factory.mktemp("agent"), Clock()
    agent, refusal = AGENTS[format], None
    with fake_provider([*BEFORE, *AFTER]) as provider, agent.connect(provider.url) as client:
        first = Session(folder, format, TOOLS, clock)
        first.add(agent.from_user("Why is the total wrong?"))
        with pytest.raises(Killed):
            agent.run(client, first)
        resumed = Session(folder, format, TOOLS, clock)  # as in a new process: all it has is what is on disk
        resumed.add(agent.from_user("Go on."))
        try:
            agent.ask(client, resumed.talk.messages)
        except agent.REFUSED as problem:
            refusal = problem
        return Story(provider, resumed, refusal, agent.run(client, resumed))


def test_without_redline_the_provider_refuses_the_session(story):
    """The SDK raises its error for status 400, and would for ever: the call that nobody answered stays where it is."""
    assert story.refusal is not None
    assert story.provider.statuses[len(BEFORE)] == 400


def test_with_redline_the_session_goes_on(story):
    """Every request is taken, and the model finishes; the open call is not sent, but it is in the record."""
    assert story.answer == "The total is None."
    assert story.provider.statuses == [200] * len(BEFORE) + [400] + [200] * len(AFTER)
    assert "make deploy" not in story.sent()
    assert "make deploy" in json.dumps(story.resumed.talk.all_messages)


def test_old_output_is_struck_in_what_is_sent(story):
    """Old command output, the first of six reads, and the long log; each once, and each with its reason."""
    struck = {strike.rule: strike for strike in story.resumed.talk.strikes}
    assert set(struck) == {"stale_terminal", "historical_reads", "offload_results"}
    assert "orders.py" in struck["historical_reads"].because
    assert story.sent().count(redline.EN.stale_terminal) == story.sent().count(redline.EN.historical_read) == 1
    assert "1000 request served" not in story.sent()
    assert "1000 request served" in json.dumps(story.resumed.talk.all_messages)


def test_the_model_reads_back_what_was_moved(story):
    """It finds the reference in the stub, calls the tool, and gets the line that it looked for."""
    assert "2001: ERROR total is None" in story.sent()


def test_requests_extend_one_another(story):
    """What was sent is sent again, where nothing new was struck: the provider's cache stays good."""
    before, last = (exchange.body for exchange in story.provider.exchanges[-2:])
    field = redline.FORMATS[story.resumed.talk.format].messages_field
    assert last[field][: len(before[field])] == before[field]


@pytest.mark.parametrize("module", [session, *AGENTS.values()], ids=lambda module: module.__name__.rpartition(".")[2])
def test_the_loops_in_the_documents_are_these(module):
    """Word for word."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "loops.md").read_text(encoding="utf-8")
    _, _, code = Path(module.__file__).read_text(encoding="utf-8").partition("\n\n")
    assert f"```python\n{code}```" in page
