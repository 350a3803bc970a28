"""The OpenAI Agents SDK through the story, and its filter with many runs at once."""

import asyncio

import pytest

from redline.testing import fake_provider
from tests.adapters.story import AdapterStory, needs, reported_usage, tokens

pytestmark = needs("agents")


class TestOpenAiAgents(AdapterStory):
    agent = "openai_agents_agent"
    ways = tuple((format, mode) for format in ("openai_responses", "openai_chat") for mode in ("sync", "async", "stream"))


async def ask(redline, url, question, hooks=None):
    """A run of one question."""
    from agents import Agent, RunConfig, Runner
    from agents.models.openai_provider import OpenAIProvider

    provider = OpenAIProvider(api_key="none", base_url=f"{url}/v1")
    config = RunConfig(model_provider=provider, call_model_input_filter=redline, tracing_disabled=True)
    await Runner.run(Agent("clerk", model="gpt-5"), question, hooks=hooks, run_config=config)


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
