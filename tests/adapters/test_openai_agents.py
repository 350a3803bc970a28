"""The OpenAI Agents SDK through the story, and its filter with many runs at once."""

import asyncio

import pytest

import redline
from redline.record import JsonlLog
from redline.record.records import SessionNamed
from redline.testing import fake_provider, says
from redline.values import ToolCall
from tests.adapters.story import POLICY, AdapterStory, bash, calls, needs, read_file, reported_usage, tokens

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
    joined = [one.record.session for one in records_in(tmp_path) if isinstance(one.record, SessionNamed)]
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


def told_by_redline(caplog):
    return [record.message for record in caplog.records if record.name == "redline.adapters"]


@pytest.mark.filterwarnings("default")
def test_hooks_that_were_passed_are_not_missed(caplog):
    """R160: two runs that ask the same at once, and a run that fails and is tried again, have hooks: nothing is warned of."""
    from agents import Agent, RunConfig, Runner
    from agents.models.openai_provider import OpenAIProvider
    from openai import APIConnectionError, AsyncOpenAI

    from redline.adapters.openai_agents import RedlineFilter

    async def fail(redline):
        client = AsyncOpenAI(api_key="none", base_url="http://127.0.0.1:9/v1", max_retries=0)
        config = RunConfig(
            model_provider=OpenAIProvider(openai_client=client), call_model_input_filter=redline, tracing_disabled=True
        )
        with pytest.raises(APIConnectionError):
            await Runner.run(Agent("clerk", model="gpt-5"), "Are you there?", hooks=redline, run_config=config)

    async def talk(url):
        at_once, failing = RedlineFilter(), RedlineFilter()
        await asyncio.gather(*(ask(at_once, url, "Are you there?", at_once) for _ in range(4)))
        await fail(failing)
        await fail(failing)
        await ask(failing, url, "Are you there?", failing)

    with fake_provider() as provider:
        asyncio.run(talk(provider.url))
    assert provider.statuses == [200] * 5
    assert told_by_redline(caplog) == []


def staff():
    """A clerk who may delete with a person's approval, asks an expert as a tool, hands over, and an answer with a shape."""
    from agents import Agent, ModelSettings, function_tool
    from pydantic import BaseModel

    class Total(BaseModel):
        total: int

    kept = ModelSettings(store=False, include_usage=True)
    shell, reads = function_tool(bash, needs_approval=True), function_tool(read_file)
    chief = Agent("chief", model="gpt-5", output_type=Total, model_settings=kept, handoff_description="Decides.")
    expert = Agent("expert", instructions="You know.", model="gpt-5", tools=[reads], model_settings=kept)
    tools = [shell, reads, expert.as_tool("expert", "Asks the expert.")]
    return Agent("clerk", instructions="Be brief.", model="gpt-5", tools=tools, handoffs=[chief], model_settings=kept)


STAFF = [
    calls(("c1", "read_file", "a.py"), ("c2", "bash", "make"), ("c3", "read_file", "b.py")),  # one of them is approved of
    ("assistant", (ToolCall("c4", "expert", {"input": "Is it right?"}),)),
    calls(("c5", "read_file", "c.py")),  # the expert's
    says("assistant", "It is."),
    ("assistant", (ToolCall("c6", "transfer_to_chief", {}),)),
    says("assistant", '{"total": 3}'),
]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
def test_approvals_handoffs_and_agents_as_tools_go_on_as_without(streams, caplog, tmp_path):
    """Class 7: stopped for an approval, resumed from its stored state, handed over: the same bytes with Redline as without."""
    from agents import RunConfig, Runner, RunState
    from agents.models.openai_provider import OpenAIProvider

    from redline.adapters.openai_agents import RedlineFilter

    async def run(agent, given, settings):
        if not streams:
            return await Runner.run(agent, given, **settings)
        result = Runner.run_streamed(agent, given, **settings)
        async for _ in result.stream_events():
            pass
        return result

    async def work(url, redline):
        provider = OpenAIProvider(api_key="none", base_url=f"{url}/v1")
        config = RunConfig(model_provider=provider, call_model_input_filter=redline, tracing_disabled=True)
        settings = {"run_config": config, "hooks": redline}
        asked = await run(staff(), "Clean up.", settings)
        agent = staff()  # as in another process
        state = await RunState.from_string(agent, asked.to_state().to_string())
        assert len(state.get_interruptions()) == 1
        for one in state.get_interruptions():
            state.approve(one)
        return (await run(agent, state, settings)).final_output.total

    bodies = []
    for redline_filter in (None, RedlineFilter(tmp_path, policy=POLICY)):
        with fake_provider(STAFF) as provider:
            assert asyncio.run(work(provider.url, redline_filter)) == 3
        assert provider.statuses == [200] * len(STAFF)
        bodies.append([exchange.body for exchange in provider.exchanges])
    assert bodies[0] == bodies[1]
    assert told_by_redline(caplog) == []
