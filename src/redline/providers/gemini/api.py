"""The Gemini API: the history is under `contents`, the model and whether it streams are in the path."""

import re
from collections.abc import Sequence
from typing import Any

from redline.providers.api import Api, Provider, ReadField, System, ToolFunction, present, system_words

_ANSWER_FIELDS = frozenset({"candidates", "usageMetadata", "usage_metadata", "promptFeedback", "prompt_feedback"})
_PART_FIELDS = frozenset({"text", "functionCall", "function_call", "inlineData", "inline_data"})
_ERROR_STATES = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 504: "DEADLINE_EXCEEDED"}


def _error(status: int, message: str) -> dict[str, Any]:
    """The error has the status as a number and in words."""
    return {"error": {"code": status, "message": message, "status": _ERROR_STATES.get(status, "UNAVAILABLE")}}


GEMINI = Provider(
    name="gemini",
    address="https://generativelanguage.googleapis.com",
    version="/v1beta",
    first_names=frozenset({"models", "files", "cachedContents"}),
    base_url_variable="GOOGLE_GEMINI_BASE_URL",
    own_headers=frozenset({"x-goog-api-key"}),
    own_paths=re.compile(r"/v1beta|:generateContent|:streamGenerateContent"),
    genai_name="gcp.gemini",
    genai_operation="generate_content",
    error=_error,
)
"""The server of the Gemini API in AI Studio."""


class GeminiApi(Api):
    """`POST …/models/<model>:generateContent` and `:streamGenerateContent`, of AI Studio and of Vertex."""

    name = "gemini"
    provider = GEMINI
    path = re.compile(r"(?:^|/)(?:models|tunedModels|endpoints)/([^/:]+):(generateContent|streamGenerateContent)$")
    in_cache_key = ("systemInstruction", "tools", "toolConfig", "cachedContent")
    other_fields = ("system_instruction", "tool_config", "cached_content")
    """The API takes both spellings of a name."""
    result_marks = (b"Response", b"_response", b"ExecutionResult", b"_result")
    declared_under = "functionDeclarations"

    def describe(self, raw: bytes, messages: tuple[bytes, ...], read: ReadField, path: str) -> dict[str, Any]:  # noqa: ARG002
        """The model and whether it streams are in the path."""
        spelled = dict(zip(("systemInstruction", "toolConfig", "cachedContent"), self.other_fields, strict=True))
        told = {name: read(name) for name in self.in_cache_key}
        preamble = {name: read(spelled[name]) if held is None and name in spelled else held for name, held in told.items()}
        asked = self.path.search(path)
        return {
            "model": asked[1] if asked else "",
            "preamble": {name: held for name, held in preamble.items() if held is not None},
            "is_streamed": asked is not None and asked[2] == "streamGenerateContent",
        }

    def arguments(self, messages: list[dict[str, Any]], system: System, tools: dict[str, Any]) -> dict[str, Any]:
        """All but the history is in `config`."""
        prompt = {"system_instruction": system_words(system)} if system else {}
        return {"contents": messages, "config": {**prompt, **tools}}

    def is_own_tool(self, tool: dict[str, Any]) -> bool:
        """Whether a tool has neither name nor type, but one key for its kind."""
        return "name" not in tool and "type" not in tool

    def write_function(self, function: ToolFunction) -> dict[str, Any]:
        """As JSON schema: what Gemini calls `parameters` knows less of it, and refuses the rest."""
        return {**function.told, "parametersJsonSchema": function.schema}

    def said_in(self, response: dict[str, Any]) -> Any:
        """The content of the first candidate; an empty one where there is none."""
        match response:
            case {"candidates": [{"content": dict(content)}, *_]}:
                return content
            case {"candidates": list()} | {"usageMetadata": _} | {"usage_metadata": _} | {"promptFeedback": _}:
                return {}
        return None

    def as_input(self, said: Any) -> list[dict[str, Any]]:
        """The SDK gives every field that a part could have as null, and likewise inside a call; arguments are the model's."""
        held = said.get("parts")
        filled = [present(part) for part in held if isinstance(part, dict)] if isinstance(held, list) else []
        parts = [{key: present(value) if isinstance(value, dict) else value for key, value in part.items()} for part in filled]
        return [{"role": "model", "parts": [part for part in parts if part]}] if any(parts) else []

    def message_of(self, elements: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
        """A content of these parts, if any of them holds data."""
        are_parts = all("role" not in part for part in elements) and any(not _PART_FIELDS.isdisjoint(part) for part in elements)
        return {"role": "model", "parts": elements} if are_parts else None

    def is_event(self, event: dict[str, Any]) -> bool:
        """Whether an event has candidates, usage or feedback."""
        return not _ANSWER_FIELDS.isdisjoint(event)

    def joined(self, events: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
        """The first candidate, with words that belong together in one part; of other fields the last chunk counts."""
        if not all(map(self.is_event, events)):
            return None
        whole: dict[str, Any] = {}
        parts: list[dict[str, Any]] = []
        for chunk in events:
            whole |= present(chunk, "candidates")
            match chunk.get("candidates"):
                case [{"content": {"parts": list(pieces)}}, *_]:
                    _extend_parts(parts, pieces)
        return {**whole, "candidates": [{"content": {"role": "model", "parts": parts}}]}


def _extend_parts(parts: list[dict[str, Any]], pieces: Sequence[Any]) -> None:
    """A part that is signed stays alone, because the signature is of that part."""
    for piece in map(present, pieces):
        last = parts[-1] if parts else {}
        are_words = all(isinstance(one.get("text"), str) and one.keys() <= {"text", "thought"} for one in (last, piece))
        if are_words and last.get("thought") == piece.get("thought"):
            parts[-1] = {**last, "text": last["text"] + piece["text"]}
        elif piece:
            parts.append(piece)
