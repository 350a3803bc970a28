"""Microsoft Agent Framework through the story, and its messages there and back."""

import asyncio
import copy
from types import SimpleNamespace

import pytest

import redline
from redline.testing import fake_provider
from tests.adapters.story import AdapterStory, BoundReasoningStory, needs

pytestmark = needs("agent_framework")


class TestAgentFramework(BoundReasoningStory, AdapterStory):
    agent = "agent_framework_agent"
    ways = tuple((format, mode) for format in ("anthropic", "openai_chat", "openai_responses") for mode in ("async", "stream"))
