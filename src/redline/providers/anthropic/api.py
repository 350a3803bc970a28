"""Anthropic's Messages API: the history is under `messages`, the system prompt beside it."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from redline.providers.api import ERROR_TYPES, Api, Provider, ReadField, System, ToolFunction, present
from redline.providers.sessions import parse_user_id
from redline.values import payloads

_BILLING = "x-anthropic-billing-header"
"""How Claude Code's first block begins where it bills its maker: new with every request, and outside of the cache key."""
_TTL = re.compile(rb'"cache_control"\s*:\s*\{[^{}]*"ttl"\s*:\s*"(5m|1h)"')
_MOST_MARKED = 4
"""How many marks a request may have: they are looked for in so many messages from the end."""
_INPUT_PIECES = object()
"""Under this a block holds the pieces of its input while they come in."""
_CLIENT_TOOLS = ("function", "custom")


def _error(status: int, message: str) -> dict[str, Any]:
    """The error has its type, and so has the answer."""
    return {"type": "error", "error": {"type": ERROR_TYPES.get(status, "api_error"), "message": message}}


ANTHROPIC = Provider(
    name="anthropic",
    address="https://api.anthropic.com",
    version="/v1",
    first_names=frozenset({"messages", "models", "complete", "files"}),
    base_url_variable="ANTHROPIC_BASE_URL",
    own_headers=frozenset({"anthropic-version", "x-api-key"}),
    own_paths=re.compile(r"^/(?:$|api/hello)"),  # where Claude Code asks, without any header, whether the server answers
    genai_name="anthropic",
    limit_status=402,  # what Anthropic answers itself where the money is at its end
    error=_error,
)
"""The server of Anthropic's own API."""


class AnthropicApi(Api):
    """`POST /v1/messages`, and what speaks it. Tokens that are only counted, batches and threads of others are not taken."""

    name = "anthropic"
    provider = ANTHROPIC
    path = re.compile(r"^(?!.*/threads/)(?:.*/)?messages$")
    in_cache_key = ("system", "tools", "tool_choice", "thinking", "output_config", "speed", "mcp_servers")
    other_fields = ("metadata", "thread", "cache_control")
    result_marks = (b"tool_result",)

    def describe(self, raw: bytes, messages: tuple[bytes, ...], read: ReadField, path: str) -> dict[str, Any]:
        """As for every API, with the session and the account that Claude Code names, and how long the cache is to keep."""
        told = super().describe(raw, messages, read, path)
        preamble, metadata = told["preamble"], read("metadata")
        system, tools = preamble.get("system"), preamble.get("tools")
        session, account = parse_user_id(metadata.get("user_id") if isinstance(metadata, dict) else None)
        untouchable = ""
        match read("thread"):
            case {"type": "continue"} | {"previous_message_id": str()}:
                untouchable = "the service keeps the history (thread)"
        if not untouchable and any(text.startswith(_BILLING) and "cch=" in text for text in _texts(system)):
            untouchable = "the client signs the body (cch=)"
        cleaned = {"system": _unmarked(_without_billing(system)), "tools": _unmarked(tools)}
        return {
            **told,
            "preamble": {name: held for name, held in {**preamble, **cleaned}.items() if held is not None},
            "session": session,
            "account": account,
            "lifetime": _lifetime(raw, messages, read("cache_control"), [*_listed(system), *_listed(tools)]),
            "untouchable": untouchable,
        }

    def arguments(self, messages: list[dict[str, Any]], system: System, tools: dict[str, Any]) -> dict[str, Any]:
        """The system prompt is beside the messages, without texts of nothing but white space, which Anthropic refuses."""
        said = system if system and (not isinstance(system, str) or system.strip()) else ()
        if not isinstance(said, str):
            said = [block for block in said if not (isinstance(block.get("text"), str) and not str(block["text"]).strip())]
        return {**({"system": said} if said else {}), **tools, "messages": messages}

    def is_own_tool(self, tool: dict[str, Any]) -> bool:
        """Whether a tool has a schema under Anthropic's name for it, or a type that is the provider's."""
        kind = tool.get("type")
        return "input_schema" in tool or (isinstance(kind, str) and kind not in _CLIENT_TOOLS)

    def write_function(self, function: ToolFunction) -> dict[str, Any]:
        """A function is a tool."""
        if_strict = {} if function.strict is None else {"strict": function.strict}
        return {**function.told, "input_schema": function.schema, **if_strict}

    def said_in(self, response: dict[str, Any]) -> Any:
        """The response is the message."""
        match response:
            case {"content": list(), "role": "assistant"} if "stop_reason" in response or "usage" in response:
                return response
        return None

    def as_input(self, said: Any) -> list[dict[str, Any]]:
        """The message with its blocks, without what only the SDK parsed."""
        if not isinstance(said["content"], list):
            return [said]
        blocks = [present(block, "parsed_output") for block in said["content"] if isinstance(block, dict)]
        return [{"role": "assistant", "content": blocks}] if blocks else []

    def message_of(self, elements: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
        """Blocks, each with its type."""
        have_types = all(isinstance(block.get("type"), str) for block in elements)
        return {"role": "assistant", "content": elements} if have_types else None

    def is_event(self, event: dict[str, Any]) -> bool:
        """Whether an event has a type."""
        return isinstance(event.get("type"), str)

    def joined(self, events: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
        """The message as it began, its blocks filled by their deltas, and the usage of begin and end."""
        if all(event.get("type") != "message_start" for event in events):
            return None
        message: dict[str, Any] = {}
        blocks: dict[int, dict[Any, Any]] = {}
        for event in events:
            match event:
                case {"type": "message_start", "message": dict(start)}:
                    message = {**start}
                case {"type": "content_block_start", "index": int(place), "content_block": dict(block)}:
                    blocks[place] = {**block}
                case {"type": "content_block_delta", "index": int(place), "delta": dict(delta)} if place in blocks:
                    _extend_block(blocks[place], delta)
                case {"type": "message_delta"}:
                    message |= present(event.get("delta"))
                    message["usage"] = {**present(message.get("usage")), **present(event.get("usage"))}
        for block in blocks.values():
            if written := block.pop(_INPUT_PIECES, ""):
                try:
                    block["input"] = payloads.decode_text(written)
                except (ValueError, RecursionError):  # cut off: kept as text, in the way that Anthropic asks for
                    block["input"] = {"INVALID_JSON": written}
        return {**message, "content": [blocks[place] for place in sorted(blocks)]}


def _listed(blocks: Any) -> list[Any]:
    return blocks if isinstance(blocks, list) else []


def _texts(system: Any) -> list[str]:
    blocks = system if isinstance(system, list) else [{"text": system}]
    return [str(block.get("text")) for block in blocks if isinstance(block, dict)]


def _without_billing(system: Any) -> Any:
    """The system prompt without the block that changes with every request."""
    if isinstance(system, str) and system.startswith(_BILLING):
        return system.partition("\n")[2]
    if not isinstance(system, list):
        return system
    return [block for block in system if not any(text.startswith(_BILLING) for text in _texts([block]))]


def _unmarked(blocks: Any) -> Any:
    """Blocks or tools without their cache marks, which clients move about."""
    if not isinstance(blocks, list):
        return blocks
    return [
        {name: held for name, held in block.items() if name != "cache_control"} if isinstance(block, dict) else block
        for block in blocks
    ]


def _lifetime(raw: bytes, messages: tuple[bytes, ...], mark: Any, blocks: Sequence[Any]) -> str:
    """The longest time that a mark asks for: taken for shorter than it is, a cache would be thrown away. Without any mark
    Anthropic caches nothing."""
    if b"cache_control" not in raw:
        return "none"
    marks = [mark, *(block.get("cache_control") for block in blocks if isinstance(block, dict))]
    written = [one.get("ttl") for one in marks if isinstance(one, dict)]
    for message in messages[-_MOST_MARKED:]:
        if b'"ttl"' in message:
            written += [found.decode() for found in _TTL.findall(message)]
    return next((lifetime for lifetime in ("1h", "5m") if lifetime in written), "")


def _extend_block(block: dict[Any, Any], delta: Mapping[str, Any]) -> None:
    """Words come in pieces, citations one by one; anything else comes whole."""
    for name, piece in delta.items():
        before = block.get(name)
        if name == "partial_json" and isinstance(piece, str):
            block[_INPUT_PIECES] = block.get(_INPUT_PIECES, "") + piece
        elif name == "citation":
            block["citations"] = [*(block.get("citations") or ()), piece]
        elif name in ("text", "thinking", "content") and isinstance(before, str) and isinstance(piece, str):
            block[name] = before + piece
        elif name != "type" and piece is not None:
            block[name] = piece
