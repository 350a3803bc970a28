"""LangChain through the story."""

from tests.adapters.story import AdapterStory, BoundReasoningStory, needs

pytestmark = needs("langchain")
WAYS = [(format, mode) for format in ("anthropic", "openai_chat", "openai_responses") for mode in ("sync", "async", "stream")]


class TestLangChain(BoundReasoningStory, AdapterStory):
    agent = "langchain_agent"
    ways = WAYS
