"""OpenAI's Responses API: the history is a list of items under `input`, or kept by the service."""

import re

import msgspec

from redline.wire.base import ABSENT, Api, Cut, read_raw

__all__ = ["OpenAIResponsesApi", "OpenAIResponsesCut"]

_MOST_REFERENCE_BYTES = 1_000
"""An item that only names another one is short."""


class OpenAIResponsesCut(Cut, kw_only=True):
    """The fields of a body of Responses that Redline looks at."""

    messages: list[msgspec.Raw] = msgspec.field(name="input")
    instructions: msgspec.Raw = ABSENT
    tools: msgspec.Raw = ABSENT
    text: msgspec.Raw = ABSENT
    reasoning: msgspec.Raw = ABSENT
    prompt: msgspec.Raw = ABSENT
    prompt_cache_key: msgspec.Raw = ABSENT
    previous_response_id: msgspec.Raw = ABSENT
    conversation: msgspec.Raw = ABSENT
    generate: msgspec.Raw = ABSENT


class OpenAIResponsesApi(Api):
    """`POST /v1/responses`; what only counts, compacts or asks for an earlier response is not taken."""

    name = "openai_responses"
    provider = "openai"
    path = re.compile(r"(?:^|/)responses$")
    fields = OpenAIResponsesCut
    in_cache_key = ("instructions", "tools", "text", "reasoning", "prompt")

    def _why_kept_elsewhere(self, cut: OpenAIResponsesCut, messages: tuple[bytes, ...]) -> str:
        for name in ("previous_response_id", "conversation"):
            if read_raw(getattr(cut, name)) is not None:
                return f"the service keeps the history ({name})"
        if read_raw(cut.generate) is False:
            return "it only warms the cache: no model is asked (generate: false)"
        if any(len(item) < _MOST_REFERENCE_BYTES and b'"item_reference"' in item for item in messages):
            return "the service keeps a part of the history (item_reference)"
        return ""
