"""OpenAI's Chat Completions, which many servers speak: the system prompt is a message like the others."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from redline.providers.api import Api, Provider, System, ToolFunction, present

OPENAI = Provider(
    name="openai",
    address="https://api.openai.com",
    version="/v1",
    first_names=frozenset({"chat", "responses", "models", "completions", "embeddings", "files", "conversations"}),
    base_url_variable="OPENAI_BASE_URL",
    base_url_end="/v1",
    genai_name="openai",
)
"""OpenAI's server, of both its APIs."""


class OpenAIChatApi(Api):
    """`POST /v1/chat/completions`, also of deployments on Azure."""

    name = "openai_chat"
    provider = OPENAI
    path = re.compile(r"(?:^|/)chat/completions$")
    in_cache_key = ("tools", "functions", "response_format", "reasoning_effort", "verbosity")
    other_fields = ("prompt_cache_key",)

    def arguments(self, messages: list[dict[str, Any]], system: System, tools: dict[str, Any]) -> dict[str, Any]:
        """The system prompt is the first message."""
        first = [{"role": "system", "content": system}] if system else []
        return {"messages": [*first, *messages], **tools}

    def is_own_tool(self, tool: dict[str, Any]) -> bool:
        """Whether a tool holds its function, or what else it is, under the name of its type."""
        kind = tool.get("type")
        return isinstance(kind, str) and isinstance(tool.get(kind), dict)

    def write_function(self, function: ToolFunction) -> dict[str, Any]:
        """A function inside of a tool."""
        if_strict = {} if function.strict is None else {"strict": function.strict}
        told = {**function.told, "parameters": function.schema, **if_strict}
        return {"type": "function", "function": told}

    def said_in(self, response: dict[str, Any]) -> Any:
        """The message of the first choice, also where a chunk alone was given."""
        match response:
            case {"choices": [{"delta": _}, *_]}:
                return self.said_in(self._joined_chunks([response]))
            case {"choices": [{"message": dict(message)}, *_]}:
                return message
        return None

    def as_input(self, said: Any) -> list[dict[str, Any]]:
        """The message; what only the SDK parsed goes, and the audio is named by its id."""
        message = {"role": "assistant", "content": None, **present(said, "parsed", "annotations")}
        calls = message.get("tool_calls")
        if not calls:
            message.pop("tool_calls", None)
        elif isinstance(calls, list):
            for place, call in enumerate(calls := list(calls)):
                if isinstance(call, dict):
                    function = call.get("function")
                    held = present(function, "parsed_arguments") if isinstance(function, dict) else None
                    calls[place] = present({**call, "function": held}, "index")
            message["tool_calls"] = calls
        if isinstance(message.get("audio"), dict):
            message["audio"] = {"id": message["audio"].get("id")}
        does_something = any(message.get(name) for name in ("tool_calls", "function_call", "refusal", "audio"))
        return [message if does_something or message["content"] is not None else {**message, "content": ""}]

    def is_event(self, event: dict[str, Any]) -> bool:
        """Whether an event has choices, if none of them."""
        return isinstance(event.get("choices"), list)

    def joined(self, events: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
        """Taken are chunks, and what the SDK's stream helper gives out while they come in."""
        chunks = [event["chunk"] for event in events if event.get("type") == "chunk" and isinstance(event.get("chunk"), dict)]
        return self._joined_chunks(chunks or events) if all(map(self.is_event, chunks or events)) else None

    def _joined_chunks(self, chunks: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """The first choice; the usage comes in a chunk of its own, which has none."""
        whole: dict[str, Any] = {}
        message: dict[str, Any] = {"role": "assistant", "content": None}
        for chunk in chunks:
            whole |= present(chunk, "choices")
            for choice in chunk["choices"]:
                if isinstance(choice, dict) and choice.get("index", 0) == 0 and isinstance(choice.get("delta"), dict):
                    _extend_message(message, choice["delta"])
        listed = message.get("tool_calls")
        calls = [call for call in listed if isinstance(call, dict)] if isinstance(listed, list) else []
        named = [{name: held for name, held in call.items() if name != "index"} for call in calls]
        return {**whole, "choices": [{"index": 0, "message": {**message, "tool_calls": named or None}}]}


def _extend_message(held: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Words are appended, lists and objects filled in; ids, types and names come once, and some servers repeat them."""
    for name, piece in delta.items():
        before = held.get(name)
        match piece:
            case None:
                continue
            case str() if isinstance(before, str) and name not in ("id", "type", "role", "name"):
                held[name] = before + piece
            case dict():
                held[name] = {**before} if isinstance(before, dict) else {}
                _extend_message(held[name], piece)
            case list():
                held[name] = list(before) if isinstance(before, list) else []
                _extend_list(held[name], piece)
            case _:
                held[name] = piece


def _extend_list(held: list[Any], pieces: Sequence[Any]) -> None:
    """A piece of a call names the place of the call; where a server leaves that out, an id begins a new one."""
    for piece in pieces:
        if not isinstance(piece, dict):
            held.append(piece)
            continue
        place = piece.get("index")
        objects = [one for one in held if isinstance(one, dict)]
        known = next((one for one in objects if place is not None and one.get("index") == place), None)
        if known is None and place is None and objects and not piece.get("id"):
            known = objects[-1]
        if known is None:
            known = {}
            held.append(known)
        _extend_message(known, piece)
