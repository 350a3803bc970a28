"""LiteLLM through the story: its SDK, and its proxy as a process of its own."""


from tests.adapters.story import AdapterStory, needs

pytestmark = needs("litellm")


class TestLiteLlm(AdapterStory):
    agent = "litellm_agent"
    ways = (
        ("openai_chat", "async"),
        ("openai_chat", "stream"),
        ("openai_chat", "sync"),
        ("openai_responses", "async"),
        ("openai_responses", "stream"),
        ("openai_responses", "sync"),
        ("anthropic", "async"),
        ("anthropic", "stream"),
    )
