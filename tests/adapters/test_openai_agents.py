"""The OpenAI Agents SDK through the story, and its filter with many runs at once."""

import asyncio

import pytest

import redline
from redline.log import JsonlLog
from redline.log.records import SessionJoined
from redline.testing import fake_provider
from tests.adapters.story import AdapterStory, needs, reported_usage, tokens

pytestmark = needs("agents")


class TestOpenAiAgents(AdapterStory):
    agent = "openai_agents_agent"
    ways = tuple((format, mode) for format in ("openai_responses", "openai_chat") for mode in ("sync", "async", "stream"))


class TestRedlineSession(AdapterStory):
    """The story again, with the items in a Redline log: no other store is needed."""

    agent = "openai_agents_agent"
    ways = (("openai_responses", "session-async"), ("openai_responses", "session-stream"), ("openai_chat", "session-sync"))


def records_in(folder):
    for path in folder.glob("*.jsonl"):
        yield from JsonlLog(path).read()


async def ask(redline, url, question, hooks=None, session=None):
    """A run of one question."""
    from agents import Agent, RunConfig, Runner
    from agents.models.openai_provider import OpenAIProvider

    provider = OpenAIProvider(api_key="none", base_url=f"{url}/v1")
    config = RunConfig(model_provider=provider, call_model_input_filter=redline, tracing_disabled=True)
    await Runner.run(Agent("clerk", model="gpt-5"), question, hooks=hooks, run_config=config, session=session)


@pytest.mark.filterwarnings("default")
def test_usage_goes_to_the_call_it_belongs_to(tmp_path, caplog):
    """Runs at the same time share a filter, and each log has the usage of its own question."""
    from redline.adapters.openai_agents import RedlineFilter

    redline = RedlineFilter(tmp_path)

    async def talk(url):
        await asyncio.gather(*(ask(redline, url, f"{number} {'x' * 200 * number}", redline) for number in range(6)))

    with fake_provider() as provider:
        asyncio.run(talk(provider.url))
    sent = {len(str(one.body["input"])): tokens(one.answer) for one in provider.exchanges}
    logged = {path.stat().st_size: next(iter(reported_usage(path.parent, path.name))) for path in tmp_path.glob("*.jsonl")}
    assert [sent[size] for size in sorted(sent)] == [logged[size] for size in sorted(logged)]
    assert not caplog.records


@pytest.mark.filterwarnings("default")
def test_missing_hooks_are_told_once(caplog):
    """Without the hooks no usage arrives, which is easily overlooked."""
    from redline.adapters.openai_agents import RedlineFilter

    async def talk(url):
        redline = RedlineFilter()
        for _ in range(3):
            await ask(redline, url, "Are you there?")

    with fake_provider() as provider:
        asyncio.run(talk(provider.url))
    assert [record.message for record in caplog.records if record.name == "redline.adapters"] == [
        "Usage does not arrive: pass the RedlineFilter as hooks= to Runner.run, too."
    ]


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.filterwarnings("default")
def test_a_session_names_the_history(tmp_path, streams):
    """Two sessions that say the same are kept apart, which the filter cannot tell by itself; the log says which is whose."""
    from agents import Agent, RunConfig, Runner
    from agents.models.openai_provider import OpenAIProvider

    from redline.adapters.openai_agents import RedlineFilter, RedlineSession

    redline = RedlineFilter(tmp_path)

    async def talk(url, name):
        config = RunConfig(
            model_provider=OpenAIProvider(api_key="none", base_url=f"{url}/v1"),
            call_model_input_filter=redline,
            tracing_disabled=True,
        )
        settings = {"session": RedlineSession(name, tmp_path), "hooks": redline, "run_config": config}
        if streams:
            assert [one async for one in Runner.run_streamed(Agent("clerk", model="gpt-5"), "hi", **settings).stream_events()]
        else:
            await Runner.run(Agent("clerk", model="gpt-5"), "hi", **settings)

    async def talk_at_once(url):
        await asyncio.gather(talk(url, "one"), talk(url, "two"))

    with fake_provider() as provider:
        asyncio.run(talk_at_once(provider.url))
    joined = [one.record.session for one in records_in(tmp_path) if isinstance(one.record, SessionJoined)]
    assert sorted(joined) == ["one", "two"]


@pytest.mark.filterwarnings("default")
def test_a_session_does_what_sessions_do(tmp_path):
    """As the SDK's own: items, the last of them, one taken back, all of them; a session without a name is refused."""
    from agents import SessionSettings

    from redline.adapters.openai_agents import RedlineSession

    items = [{"role": "user", "content": str(number)} for number in range(4)]

    async def use():
        session = RedlineSession("s1", tmp_path, session_settings=SessionSettings(limit=3))
        await session.add_items(items)
        assert (await session.get_items(2), await session.get_items(), await session.get_items(0)) == (items[2:], items[1:], [])
        assert await session.get_items(9) == items
        assert await session.pop_item() == items[3]
        assert await RedlineSession("s1", tmp_path).get_items() == items[:3]
        assert await RedlineSession("../s1", tmp_path).get_items() == []
        await session.clear_session()
        assert (await session.get_items(), await session.pop_item()) == ([], None)
        session.close()
        with redline.Store(tmp_path) as store:
            assert session.log_name in store.names()
            store.delete(session.log_name)

    asyncio.run(use())
    assert list(tmp_path.glob("*.jsonl")) == []
    with pytest.raises(redline.ValidationError, match="session_id"):
        RedlineSession("")
