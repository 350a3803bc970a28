"""OpenAI's Responses API: the history is a list of items under `input`, or kept by the service."""

import re
from collections.abc import Sequence
from typing import Any

from redline.providers.api import Api, ReadField, System, ToolFunction, present, system_words
from redline.providers.openai_chat.api import OPENAI

_MOST_REFERENCE_BYTES = 1_000
"""An item that only names another one is short."""
_REQUIRED = {"code_interpreter_call": ("code", "outputs"), "image_generation_call": ("result",)}
"""What an item must say, if only that it is null."""


class OpenAIResponsesApi(Api):
    """`POST /v1/responses`; what only counts, compacts or asks for an earlier response is not taken."""

    name = "openai_responses"
    provider = OPENAI
    path = re.compile(r"(?:^|/)responses$")
    in_cache_key = ("instructions", "tools", "text", "reasoning", "prompt")
    other_fields = ("prompt_cache_key", "previous_response_id", "conversation", "generate")
    result_marks = (b"_output", b"_call", b"program")

    def describe(self, raw: bytes, messages: tuple[bytes, ...], read: ReadField, path: str) -> dict[str, Any]:
        """As for every API, and why the list is not the whole history."""
        kept = next((name for name in ("previous_response_id", "conversation") if read(name) is not None), "")
        why = ""
        if kept:
            why = f"the service keeps the history ({kept})"
        elif read("generate") is False:
            why = "it only warms the cache: no model is asked (generate: false)"
        elif any(len(item) < _MOST_REFERENCE_BYTES and b'"item_reference"' in item for item in messages):
            why = "the service keeps a part of the history (item_reference)"
        return {**super().describe(raw, messages, read, path), "untouchable": why}

    def arguments(self, messages: list[dict[str, Any]], system: System, tools: dict[str, Any]) -> dict[str, Any]:
        """The system prompt is words, beside the input."""
        prompt = {"instructions": system_words(system)} if system else {}
        return {**prompt, "input": messages, **tools}

    def is_own_tool(self, tool: dict[str, Any]) -> bool:
        """Whether a tool has a type, and nothing under its name."""
        kind = tool.get("type")
        return isinstance(kind, str) and not isinstance(tool.get(kind), dict) and "input_schema" not in tool

    def write_function(self, function: ToolFunction) -> dict[str, Any]:
        """`strict` must be said here, and the API means yes if it is not, which most schemas are not made for."""
        told = {**function.told, "parameters": function.schema}
        return {"type": "function", **told, "strict": bool(function.strict)}

    def said_in(self, response: dict[str, Any]) -> Any:
        """The items of the output, also inside an event of a stream."""
        match response:
            case {"type": str(kind), "response": dict(inner)} if kind.startswith("response."):
                return self.said_in(inner)
            case {"output": list(items)} if "type" not in response:  # an item can have an output, too
                return items
        return None

    def as_input(self, said: Any) -> list[dict[str, Any]]:
        """The items, without what the service or the SDK added."""
        items: list[dict[str, Any]] = []
        for item in said:
            if not isinstance(item, dict):
                continue
            required = dict.fromkeys(_REQUIRED.get(str(item.get("type")), ()))
            taken = {**required, **present(item, "created_by", "parsed_arguments")}
            if taken.get("type") == "message" and isinstance(blocks := taken.get("content"), list):
                taken["content"] = [present(block, "parsed") if isinstance(block, dict) else block for block in blocks]
            if taken.get("type") == "web_search_call" and isinstance(taken.get("action"), dict):
                taken["action"] = present(taken["action"])
            items.append(taken)
        return items

    def is_event(self, event: dict[str, Any]) -> bool:
        """Whether the type of an event begins so."""
        return str(event.get("type")).startswith("response.")

    def joined(self, events: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
        """The response as it was at the end; its items as each was when it was done, where the end does not repeat them."""
        if not any(map(self.is_event, events)):
            return None
        last: dict[str, Any] = {}
        done: dict[int, Any] = {}
        for number, event in enumerate(events):
            if isinstance(event.get("response"), dict):
                last = event["response"]
            if event.get("type") == "response.output_item.done":
                place = event.get("output_index")
                done[place if isinstance(place, int) else number] = event.get("item")
        return {**last, "output": last.get("output") or [done[place] for place in sorted(done)]}
