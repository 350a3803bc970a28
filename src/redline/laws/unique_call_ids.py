"""No two calls have one id."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from redline.laws.law import Broken, History

__all__ = ["UniqueCallIds"]


class UniqueCallIds:
    """No two calls have one id: in the whole request for Anthropic, in one message for the others."""

    name: ClassVar[str] = "unique_call_ids"
    rules: ClassVar[Mapping[str, str]] = {
        "anthropic": "tool_use ids must be unique",
        "openai_chat": "the ids of one message's tool_calls must differ",
        "openai_responses": "the call_ids of one turn must differ",
        "gemini": "the ids of one turn's functionCall parts must differ",
        "ai_sdk": "the toolCallIds of one message must differ",
    }

    def broken(self, history: History) -> Iterator[Broken]:
        """The second and later calls with an id."""
        seen: set[str] = set()
        are_unique = history.format.call_ids_are_unique
        for step in history.pairs.steps:
            if not are_unique:
                if len(step.calls) == 1:
                    continue
                seen = set()
            for spot, call in step.calls.items():
                if call.id is None:
                    continue
                if call.id in seen:
                    yield Broken(spot.message, spot.part, f"the call id {call.id!r} is used again")
                seen.add(call.id)
