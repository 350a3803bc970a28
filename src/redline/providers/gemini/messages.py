"""The Gemini format: contents made of parts, each part named by the one key it holds, in camelCase or snake_case."""

import base64
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from redline.providers.flaws import STORED_FIELDS, Flaw, corrected, fields_in, names
from redline.providers.format import (
    Composed,
    Evidence,
    Format,
    base64_text,
    blocks_of,
    compose_turn,
    input_as_object,
    is_flagged_failed,
)
from redline.values import payloads
from redline.values.messages import Media, Message, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult
from redline.values.payloads import Path, value_at

_KNOWN_ROLES = (None, "user", "model", "function", "tool", "system")
"""`system` is known, and its place is beside the contents: another law."""
_TAKEN_ROLES = (None, "user", "model", "function", "system")
"""`Please use a valid role: user, model` (https://ai.google.dev/api/caching#Content); `function` was one earlier."""
_WIRE_ROLES = {"assistant": "model", "system": "system"}
_ANY_PART_KEYS = frozenset({"thought", "thoughtSignature", "thought_signature", "partMetadata", "part_metadata"})
"""What may be beside the data of any kind of part, and is none."""
_WORD_KEYS = ("output", "result", "content", "error")
"""Customary keys for the words of a response."""
_CODE_TOOL = "code_execution"
_FILES_API = "https://generativelanguage.googleapis.com/"


class Gemini(Format):
    """Reads and writes the contents of the Gemini API and of Vertex AI."""

    name = "gemini"
    model_prefix = "gemini-"
    messages_field = "contents"
    volatile_fields = frozenset({"thoughtSignature", "thought_signature"})
    told_fields = frozenset({"role", "parts"})
    told_block_fields = names(
        "text inlineData.data inlineData.mimeType fileData.fileUri fileData.mimeType executableCode functionCall.id "
        "functionCall.name functionCall.args toolCall.id toolCall.toolType toolCall.args functionResponse.id "
        "functionResponse.name functionResponse.response functionResponse.parts toolResponse codeExecutionResult"
    )
    invents_call_ids = True
    accepted_id = re.compile(r"(?s:.*)")  # it may be absent: the name pairs then
    system_field = "systemInstruction"
    has_system_messages = False
    begins_with_system = False
    calls_follow_user = True
    blocks_field = "parts"

    def evidence(self, native: dict[str, Any]) -> Evidence:
        """Certain by its list of parts; the parts of other formats say their type."""
        parts = native.get("parts")
        if not isinstance(parts, list) or "content" in native or native.get("role") not in _KNOWN_ROLES:
            return 0
        return 0 if any(isinstance(part, dict) and isinstance(part.get("type"), str) for part in parts) else 2

    def _role(self, native: dict[str, Any]) -> Role:
        match native.get("role"):
            case "model":
                return "assistant"
            case "system":
                return "system"
        kinds = {_kind(part)[0] for part in _part_list(native)}
        return "tool" if kinds == {"functionResponse"} else "user"

    def _parts(self, native: dict[str, Any], role: Role) -> tuple[Part, ...]:  # noqa: ARG002 - parts say what they are
        return tuple([_read_part(part, ("parts", position)) for position, part in enumerate(_part_list(native))])

    def _listed(self, held: Any) -> list[Any]:
        """The SDKs also take one content, or plain words."""
        if isinstance(held, str):
            return [{"role": "user", "parts": [{"text": held}]}]
        return [held] if isinstance(held, dict) else super()._listed(held)

    def field_name(self, spelled: str) -> str:
        """As it is on the wire."""
        first, *rest = spelled.split("_")
        return first + "".join(map(str.capitalize, rest)) if first else spelled

    def _reworded(self, native: dict[str, Any], part: Part, replacement: Any) -> tuple[Path, object]:
        held = value_at(native, part.at)
        is_inside_result = len(part.at) > len(("parts", 0))
        if is_inside_result and not isinstance(part, Text):  # only a text file can take the place of media
            return part.at, {"inlineData": {"mimeType": "text/plain", "data": base64_text(replacement)}}
        if is_inside_result:
            return part.at, replacement if isinstance(held, str) else _response(replacement, is_error=_is_failure(held))
        kind, key = _kind(held)
        inside = (*part.at, key)
        match part:
            case ToolCall():
                return (inside if kind == "executableCode" else (*inside, "args")), replacement
            case ToolResult() if kind == "codeExecutionResult":
                return (*inside, "output"), replacement
            case ToolResult(is_error=is_error):
                # The whole response gives way to the customary `output`, or `error`; media attached to it go with it.
                response = _response(replacement, is_error=is_error)
                if "parts" not in held[key]:
                    return (*inside, "response"), response
                return inside, {**{name: value for name, value in held[key].items() if name != "parts"}, "response": response}
            case Text() | Reasoning() if kind == "text":
                return (*part.at, "text"), replacement
        # Words in the place of another part. Its signature stays: the API misses it even where the rest is gone.
        keys = _ANY_PART_KEYS if isinstance(part, Reasoning) else _ANY_PART_KEYS - {"thought"}
        kept = {name: value for name, value in held.items() if name in keys} if isinstance(held, dict) else {}
        return part.at, {"text": replacement, **kept}

    def _id_path(self, native: dict[str, Any], part: Part) -> Path:
        return (*part.at, _kind(value_at(native, part.at))[1], "id")

    def compose(self, role: Role, parts: Sequence[Part]) -> Composed:
        """One content with all results first. The system speaks in words only, read back as its own: see `split_system`."""
        composed, lost = compose_turn(role, parts, _compose_part, self.name)
        content = {"role": _WIRE_ROLES.get(role, "user"), "parts": composed}
        return Composed((content,) if composed else (), lost)

    def declare_tool(self, name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
        """One tool holds a list of declarations."""
        return {"functionDeclarations": [{"name": name, "description": description, "parameters": schema}]}

    def write_system(self, prompt: str) -> object:
        """A content like any other, without a role."""
        return {"parts": [{"text": prompt}]}

    def _system_of(self, messages: Sequence[Message]) -> dict[str, Any]:
        """One content of all their parts, each as it was said."""
        natives = [payloads.decode(self.sendable(message.native)) for message in messages]
        return {"parts": [part for native in natives for part in _part_list(native)]}

    def _flaws(self, native: dict[str, Any]) -> Iterator[Flaw]:
        if native.get("role") not in _TAKEN_ROLES:
            yield Flaw("known_roles", ("role",), f"the role {native.get('role')!r}", "user")
        if not native.keys() <= _CONTENT_FIELDS:
            yield from fields_in(native, native.keys() - _CONTENT_FIELDS)
        parts = _part_list(native)
        if any(len(_kinds_in(part)) > 1 for part in parts):
            apart = {"parts": [one for part in parts for one in _apart(part)]}
            flaws = [flaw for place, part in enumerate(apart["parts"]) for flaw in _part_flaws(part, ("parts", place))]
            held = payloads.decode(corrected(apart, flaws))["parts"]
            yield Flaw("block_shapes", ("parts",), "a part that holds data of two kinds", held)
            return
        for position, part in enumerate(parts):
            yield from _part_flaws(part, ("parts", position))


# --- keys: camelCase on the wire, snake_case from the Python SDK


@cache
def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def _get(holder: dict[str, Any], name: str) -> Any:
    """The value under either spelling. Null is none: the Python SDK dumps every absent field as null."""
    held = holder.get(name)
    return holder.get(_snake(name)) if held is None else held


def _string(holder: dict[str, Any], name: str) -> str | None:
    value = _get(holder, name)
    return value if isinstance(value, str) else None


def _part_list(native: dict[str, Any]) -> list[Any]:
    parts = native.get("parts")
    return parts if isinstance(parts, list) else []


_CALLS_AND_RESULTS = (
    *("functionCall", "functionResponse", "toolCall", "toolResponse"),
    *("executableCode", "codeExecutionResult"),
)
_SHAPES: dict[str, type] = {**dict.fromkeys(_CALLS_AND_RESULTS, dict), "inlineData": dict, "fileData": dict, "text": str}
_NAMES = {spelling: name for name in _SHAPES for spelling in (name, _snake(name))}
"""By the spelling of a key, the kind of part that it makes."""
_RANKS = {spelling: rank for rank, spelling in enumerate(_NAMES)}
"""Which key counts where a part holds several."""


def _kind(part: Any) -> tuple[str, str]:
    """What a part is, and the key that says so as it is spelled there; both empty for a kind not known here."""
    told = _kinds_in(part)
    for key in told if len(told) < 2 else sorted(told, key=_RANKS.__getitem__):
        if isinstance(part[key], _SHAPES[_NAMES[key]]):
            return _NAMES[key], key
    return "", ""


def _kinds_in(part: Any) -> list[str]:
    """The keys of a part that hold data, as they are spelled; there may be one of them only."""
    return [key for key, held in part.items() if held is not None and key in _NAMES] if isinstance(part, dict) else []


def _apart(part: Any) -> list[Any]:
    """A part for each kind of data in it; what is beside the data stays with the kind that counts."""
    keys = _kinds_in(part)
    if len(keys) < 2:
        return [part]
    main = _kind(part)[1] or keys[0]
    others = [key for key in keys if key != main and part[key] != ""]
    rest = {key: held for key, held in part.items() if key == main or key not in keys}
    return [rest if key == main else {key: part[key]} for key in keys if key == main or key in others]


def _read_part(part: Any, at: Path) -> Part:
    kind, key = _kind(part)
    held: Any = part[key] if kind else None
    match kind:
        case "functionCall":
            return ToolCall(_string(held, "id") or None, _string(held, "name") or "", held.get("args"), at=at)
        case "functionResponse" | "toolResponse" | "codeExecutionResult":
            return _read_result(held, kind, at, (*at, key))
        case "toolCall":
            return ToolCall(_string(held, "id"), _string(held, "toolType") or "", held.get("args"), is_hosted=True, at=at)
        case "executableCode":
            return ToolCall(_string(held, "id"), _CODE_TOOL, held, is_hosted=True, at=at)
    text = held if kind == "text" else ""
    if isinstance(part, dict) and _is_thought(part, kind, text):
        return Reasoning(text, bool(_get(part, "thoughtSignature")), at)
    return Text(text, at) if kind == "text" else _read_media(part, at)


def _is_thought(part: dict[str, Any], kind: str, text: str) -> bool:
    """Marked as one, in words or pictures; or empty but for a signature, which must go back as it came."""
    if part.get("thought") is True and kind != "":
        return True
    if text or not _get(part, "thoughtSignature"):
        return False
    return _ANY_PART_KEYS.issuperset(key for key, value in part.items() if value not in (None, ""))


def _read_result(answer: dict[str, Any], kind: str, at: Path, inside: Path) -> ToolResult:
    if kind == "codeExecutionResult":
        output = _string(answer, "output")
        printed = () if output is None else (Text(output, (*inside, "output")),)
        failed = answer.get("outcome") not in (None, "OUTCOME_OK", "OUTCOME_UNSPECIFIED")
        return ToolResult(_string(answer, "id"), printed, _CODE_TOOL, failed, is_hosted=True, at=at)
    response = answer.get("response")
    words, failed = _response_words(response, (*inside, "response")), _is_failure(response)
    if kind == "toolResponse":
        return ToolResult(_string(answer, "id"), words, _string(answer, "toolType"), failed, is_hosted=True, at=at)
    media = [_read_media(item, (*inside, "parts", position)) for position, item in enumerate(_part_list(answer))]
    return ToolResult(_string(answer, "id") or None, (*words, *media), _string(answer, "name"), failed, at=at)


def _response_words(response: Any, at: Path) -> tuple[Text, ...]:
    """The one string of a response under a customary key, else all of the response as JSON."""
    if response is None or response == {}:
        return ()
    if isinstance(response, str):
        return (Text(response, at),)
    key = next(iter(response)) if isinstance(response, dict) and len(response) == 1 else ""
    if key in _WORD_KEYS and isinstance(response[key], str):
        return (Text(response[key], (*at, key)),)
    return (Text(payloads.encode(response).decode(), at),)


def _is_failure(response: Any) -> bool:
    """An empty `error` beside an output reports no failure; alone it does."""
    if not isinstance(response, dict):
        return False
    return bool(response.get("error")) or list(response) == ["error"] or is_flagged_failed(response)


def _read_media(part: Any, at: Path) -> Media | Opaque:
    kind, key = _kind(part)
    data = _get(part[key], "data") if kind == "inlineData" else None
    if isinstance(data, bytes):  # the Python SDK's own objects
        data = base64.b64encode(data).decode()
    if isinstance(data, str):
        return Media(_media_type(part[key]), data, "base64", at)
    uri = _string(part[key], "fileUri") if kind == "fileData" else None
    if uri is not None:
        is_public = uri.startswith(("https://", "http://")) and not uri.startswith(_FILES_API)
        return Media(_media_type(part[key]), uri, "url" if is_public else "file", at)
    present = [name for name, value in part.items() if value is not None] if isinstance(part, dict) else []
    return Opaque(present[0] if present else "unknown", part, at)


def _media_type(held: dict[str, Any]) -> str:
    return _string(held, "mimeType") or "application/*"


def _compose_part(part: Part, lost: list[str]) -> dict[str, Any] | None:
    match part:
        case Text(text):
            return {"text": text}
        case ToolCall(is_hosted=False):
            return {"functionCall": {**_id_field(part.id), "name": part.name, "args": part.arguments}}
        case ToolResult(is_hosted=False):
            return {"functionResponse": _compose_result(part, lost)}
        case Media():
            return _compose_media(part)
    return None


def _compose_result(result: ToolResult, lost: list[str]) -> dict[str, Any]:
    """The name is required; media are attached, as Gemini 3 and later take them."""
    if result.name is None:
        lost.append(f"the name of the tool that answered call {result.call_id!r}: gemini wants it, the result lacks it")
    response = _response(result.text, is_error=result.is_error)
    answer = {**_id_field(result.call_id), "name": result.name or "", "response": response}
    others = [part for part in result.parts if not isinstance(part, Text)]
    attached = blocks_of(others, _compose_part, Gemini.name, lost)
    return {**answer, "parts": attached} if attached else answer


def _id_field(call_id: str | None) -> dict[str, str]:
    return {} if call_id is None else {"id": call_id}


def _response(words: str, *, is_error: bool) -> dict[str, str]:
    return {"error" if is_error else "output": words}


def _compose_media(media: Media) -> dict[str, Any] | None:
    is_exact = not media.media_type.endswith("*")
    typed = {"mimeType": media.media_type} if is_exact else {}
    match media.source_type:
        case "base64" if is_exact:
            return {"inlineData": {**typed, "data": media.source}}
        case "text":
            return {"inlineData": {"mimeType": "text/plain", "data": base64_text(media.source)}}
        case "url" | "file" if "://" in media.source:  # another provider's file id is no address
            return {"fileData": {**typed, "fileUri": media.source}}
    return None


# --- what the API refuses, wherever the content is


_CONTENT_FIELDS = frozenset({"role", "parts"})
"""`Unknown name "…" at 'contents[0]': Cannot find field`; in the SDK, types.Content."""
_NOT_IN_PARTS = STORED_FIELDS | {"type", "id"}
_NO_DATA = _NOT_IN_PARTS | _ANY_PART_KEYS
_PART_FIELDS = _ANY_PART_KEYS | _NAMES.keys() | {"videoMetadata", "video_metadata", "mediaResolution", "media_resolution"}
"""`Unknown name "…" at 'contents[0].parts[0]': Cannot find field`; in the SDK, types.Part."""


def _part_flaws(part: Any, at: Path) -> Iterator[Flaw]:
    if isinstance(part, str):
        yield Flaw("block_shapes", at, "a string among the parts", {"text": part})
        return
    # `required oneof field 'data' must have one initialized field`; a signature alone is sent back as it came.
    fields = part if isinstance(part, dict) else {}
    has_data = any(value is not None for key, value in fields.items() if key not in _NO_DATA)
    if not has_data and not _get(fields, "thoughtSignature"):
        yield Flaw("block_shapes", at, "a part that holds no data")
        return
    # A part of a kind that is not known here is carried as it is.
    yield from fields_in(part, part.keys() - _PART_FIELDS if _kinds_in(part) else _NOT_IN_PARTS, at)
    for key, held in part.items():
        kind = _NAMES.get(key)
        if kind in ("functionCall", "functionResponse") and isinstance(held, dict):
            yield from _function_flaws(held, kind, (*at, key))


def _function_flaws(held: dict[str, Any], kind: str, at: Path) -> Iterator[Flaw]:
    """`response` is a Struct (https://ai.google.dev/api/caching#FunctionResponse), and so are `args`, which may be absent."""
    args, response, name = held.get("args"), held.get("response"), held.get("name")
    if kind == "functionCall" and args is not None and not isinstance(args, dict):
        found = f"the args are {type(args).__name__}, not an object"
        yield Flaw("call_inputs", (*at, "args"), found, input_as_object(args))
    if kind == "functionResponse" and not isinstance(response, dict):
        said = {} if response is None else {"output": response}
        yield Flaw("block_shapes", (*at, "response"), f"the response is {type(response).__name__}, not an object", said)
    if not isinstance(name, str) or not name:  # `function_response.name: Name cannot be empty` (google-gemini/gemini-cli)
        yield Flaw("tool_names", (*at, "name"), f"the name {name!r}", "tool")
