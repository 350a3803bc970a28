"""Strands through the story, and its messages there and back."""

import pytest

from tests.adapters.story import AdapterStory, BoundReasoningStory, needs

pytestmark = needs("strands")


class TestStrands(BoundReasoningStory, AdapterStory):
    agent = "strands_agent"
    ways = tuple(
        (format, mode) for format in ("anthropic", "openai_chat", "openai_responses") for mode in ("sync", "async", "stream")
    )
