"""Google ADK through the story, and its contents there and back."""

import pytest

from tests.adapters.story import AdapterStory, BoundReasoningStory, needs

pytestmark = needs("google.adk")


class TestGoogleAdk(BoundReasoningStory, AdapterStory):
    agent = "google_adk_agent"
    ways = tuple((format, mode) for format in ("gemini", "anthropic") for mode in ("sync", "async", "stream"))
