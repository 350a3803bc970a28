"""The OpenAI Agents SDK through the story."""

from tests.adapters.story import AdapterStory, needs

pytestmark = needs("agents")


class TestOpenAiAgents(AdapterStory):
    agent = "openai_agents_agent"
    ways = tuple((format, mode) for format in ("openai_responses", "openai_chat") for mode in ("sync", "async", "stream"))
