"""pydantic-ai through the story."""

from tests.adapters.story import AdapterStory, BoundReasoningStory, needs

pytestmark = needs("pydantic_ai")


class TestPydanticAi(BoundReasoningStory, AdapterStory):
    agent = "pydantic_ai_agent"
    ways = tuple(
        (format, mode) for format in ("anthropic", "openai_chat", "openai_responses") for mode in ("sync", "async", "stream")
    )
