"""Agents on the providers' own SDKs, against a provider on this machine: whole and streamed, killed and resumed."""

import asyncio
import json
from dataclasses import dataclass

import pytest

import redline
from redline.testing import FakeProvider, fake_provider
from tests.loops import anthropic_agent, gemini_agent, openai_chat_agent, openai_responses_agent
from tests.loops.scenario import AFTER, BEFORE, SYSTEM, TOOLS, Clock, Killed
from tests.loops.session import Session

AGENTS = (anthropic_agent, openai_chat_agent, openai_responses_agent, gemini_agent)
MODES = ("run", "run_streamed", "run_on_events", "run_async", "run_streamed_async")


@dataclass
class Story:
    """What happened to an agent that was killed between a call and its result."""

    provider: FakeProvider
    resumed: Session
    refusal: Exception | None
    """What the SDK raised when the messages were sent as they are."""
    answer: str
    """What the model said in the end."""
    is_streamed: bool

    def sent(self) -> str:
        """What the provider was sent last, as text."""
        return json.dumps(self.provider.exchanges[-1].body, ensure_ascii=False)


def run(agent, mode, url, session):
    """The agent's loop in one of its modes."""
    if not mode.endswith("async"):
        with agent.connect(url) as client:
            return getattr(agent, mode)(client, session)

    async def main():
        async with agent.connect_async(url) as client:
            return await getattr(agent, mode)(client, session)

    return asyncio.run(main())


@pytest.fixture(
    scope="module",
    params=[(agent, mode) for agent in AGENTS for mode in MODES],
    ids=lambda param: f"{param[0].FORMAT}-{param[1]}",
)
def story(request, tmp_path_factory):
    (agent, mode), folder, clock, refusal = request.param, tmp_path_factory.mktemp("agent"), Clock(), None
    with fake_provider([*BEFORE, *AFTER]) as provider:
        first = Session(folder, agent.FORMAT, agent.MODEL, TOOLS, clock)
        first.add(agent.from_user("Why is the total wrong?"))
        with pytest.raises(Killed):
            run(agent, mode, provider.url, first)
        first.talk.close()
        resumed = Session(folder, agent.FORMAT, agent.MODEL, TOOLS, clock)  # as in a new process: it has what is on disk
        resumed.add(agent.from_user("Go on."))
        with agent.connect(provider.url) as client:
            try:
                agent.ask(client, resumed.talk.messages)
            except agent.REFUSED as problem:
                refusal = problem
        answer = run(agent, mode, provider.url, resumed)
        yield Story(provider, resumed, refusal, answer, mode not in ("run", "run_async"))
        resumed.talk.close()


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
    for words in (redline.EN.stale_terminal, redline.EN.historical_read):
        assert story.sent().count(words.partition("{")[0]) == 1
    assert "1000 request served" not in story.sent()
    assert "1000 request served" in json.dumps(story.resumed.talk.all_messages)


def test_the_model_reads_back_what_was_moved(story):
    """It finds the reference in the stub, calls the tool, and gets the line that it looked for."""
    assert "2001: ERROR total is None" in story.sent()


def test_requests_extend_one_another(story):
    """What was sent is sent again, where nothing new was struck: the provider's cache stays good."""
    before, last = (exchange.body for exchange in story.provider.exchanges[-2:])
    field = redline.FORMATS[story.resumed.talk.format].messages_field
    assert unmarked(last[field][: len(before[field])]) == unmarked(before[field])


def unmarked(value):
    """Without the marks for Anthropic's cache, which move on with every request."""
    if isinstance(value, dict):
        return {name: unmarked(held) for name, held in value.items() if name != "cache_control"}
    return [unmarked(held) for held in value] if isinstance(value, list) else value


def test_answers_come_as_they_were_asked_for(story):
    """In one piece, or streamed (R44)."""
    taken = [exchange for exchange in story.provider.exchanges if exchange.status == 200]
    assert {exchange.is_streamed for exchange in taken} == {story.is_streamed}


def test_system_prompt_and_tools_are_sent_every_time(story):
    """In the place where the provider looks for them (R34)."""
    taken = [json.dumps(exchange.body) for exchange in story.provider.exchanges if exchange.status == 200]
    assert all(SYSTEM in body and "Shows a file." in body and "Runs a command." in body for body in taken)


def test_usage_is_recorded_with_what_was_read_from_the_cache(story):
    """Streamed or not: all that was sent, and of that what the provider had already (R15, R34)."""
    usages = story.resumed.usages
    assert len(usages) == len(AFTER)
    assert usages[-1].cache_read_tokens > 0
    assert usages[-1].input_tokens > usages[-1].cache_read_tokens
    assert story.resumed.talk.check_tokens() >= usages[-1].input_tokens + usages[-1].output_tokens


def test_what_the_model_thought_goes_back_as_it_came(story):
    """Signed by Anthropic, sealed by OpenAI's Responses, with its signature in Gemini; Chat has no place for it (R34)."""
    signs = {"anthropic": '"signature": "signed"', "openai_responses": "c2VhbGVk", "gemini": "c2lnbmVk"}
    format = story.resumed.format
    assert (signs.get(format, "never") in story.sent()) is (format in signs)
