"""The Gemini format: contents made of parts, each part named by the one key it holds, in camelCase or snake_case."""

import base64
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, ClassVar

from redline.formats.base import Composed, Evidence, Format, base64_text, what_is_lost
from redline.formats.flaws import Flaw
from redline.formats.gemini_flaws import find_flaws
from redline.values import payloads
from redline.values.messages import Media, Message, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult
from redline.values.payloads import Path, value_at

__all__ = ["Gemini"]

_KNOWN_ROLES = (None, "user", "model", "function", "tool", "system")
_WIRE_ROLES = {"assistant": "model", "system": "system"}
_FILES_API = "https://generativelanguage.googleapis.com/"


class Gemini(Format):
    """Reads and writes the contents of the Gemini API and of Vertex AI."""

    name: ClassVar[str] = "gemini"
    messages_field: ClassVar[str] = "contents"
    system_field: ClassVar[str | None] = "systemInstruction"
    has_system_messages: ClassVar[bool] = False
    begins_with_system: ClassVar[bool] = False
    calls_follow_user: ClassVar[bool] = True
    blocks_field: ClassVar[str | None] = "parts"

    def write_system(self, prompt: str) -> object:
        """A content like any other, without a role."""
        return {"parts": [{"text": prompt}]}

    def evidence(self, native: dict[str, Any]) -> Evidence:
        """Certain by its list of parts; the parts of other formats say their type."""
        parts = native.get("parts")
        if not isinstance(parts, list) or "content" in native or native.get("role") not in _KNOWN_ROLES:
            return 0
        return 0 if any(isinstance(part, dict) and isinstance(part.get("type"), str) for part in parts) else 2

    def compose(self, role: Role, parts: Sequence[Part]) -> Composed:
        """One content; all results of a turn together, before anything else.

        The system's is read back as such, and is sent beside the others: see `split_system`.
        """
        ordered = parts if role == "assistant" else sorted(parts, key=lambda part: not isinstance(part, ToolResult))
        lost: list[str] = []
        compose_part = _composed_in_system if role == "system" else _composed
        composed = [said for part in ordered for said in compose_part(part, lost)]
        content = {"role": _WIRE_ROLES.get(role, "user"), "parts": composed}
        return Composed((content,) if composed else (), tuple(lost))

    def _system_of(self, messages: Sequence[Message]) -> dict[str, Any]:
        """One content of all their parts, each as it was said."""
        natives = [payloads.decode(self.sendable(message.native)) for message in messages]
        return {"parts": [part for native in natives for part in _part_list(native)]}

    def _flaws(self, native: dict[str, Any]) -> Iterator[Flaw]:
        return find_flaws(native)

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

    def _reworded(self, native: dict[str, Any], part: Part, replacement: Any) -> tuple[Path, object]:
        held = value_at(native, part.at)
        if len(part.at) > len(("parts", 0)):
            return part.at, _reworded_inside(held, part, replacement)
        match part:
            case ToolCall():
                return _reworded_call(held, part, replacement)
            case ToolResult():
                return _reworded_result(held, part, replacement)
            case Text() | Reasoning() if _kind(held)[0] == "text":
                return (*part.at, "text"), replacement
            case _:
                return part.at, _words_instead(held, replacement, is_thought=isinstance(part, Reasoning))

    def _listed(self, held: Any) -> list[Any]:
        """The SDKs also take one content, or plain words."""
        if isinstance(held, str):
            return [{"role": "user", "parts": [{"text": held}]}]
        return [held] if isinstance(held, dict) else super()._listed(held)

    def accepts_id(self, message: Message, part: ToolCall | ToolResult) -> bool:  # noqa: ARG002 - every id is taken
        """Ids are free, and may be absent: the name pairs then."""
        return True

    def _id_path(self, native: dict[str, Any], part: Part) -> Path:
        return (*part.at, _kind(value_at(native, part.at))[1], "id")


# --- keys: camelCase on the wire, snake_case from the Python SDK


@cache
def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def _key(holder: dict[str, Any], name: str) -> str | None:
    """The spelling under which a value stands. Null is none: the Python SDK dumps every absent field as null."""
    if holder.get(name) is not None:
        return name
    snake = _snake(name)
    return snake if holder.get(snake) is not None else None


def _get(holder: dict[str, Any], name: str) -> Any:
    key = _key(holder, name)
    return holder[key] if key is not None else None


def _string(holder: dict[str, Any], name: str) -> str | None:
    value = _get(holder, name)
    return value if isinstance(value, str) else None


def _part_list(native: dict[str, Any]) -> list[Any]:
    parts = native.get("parts")
    return parts if isinstance(parts, list) else []


# --- reading


def _kind(part: Any) -> tuple[str, str]:
    """What a part is, and the key that says so as it is spelled there; both empty for a kind not known here."""
    told = [key for key, held in part.items() if held is not None and key in _NAMES] if isinstance(part, dict) else []
    for key in told if len(told) < 2 else sorted(told, key=_RANKS.__getitem__):
        if isinstance(part[key], _SHAPES[_NAMES[key]]):
            return _NAMES[key], key
    return "", ""


def _read_part(part: Any, at: Path) -> Part:
    kind, key = _kind(part)
    if kind in _READERS:
        return _READERS[kind](part[key], at, (*at, key))
    text = part[key] if kind == "text" else ""
    if isinstance(part, dict) and _is_thought(part, kind, text):
        return Reasoning(text, _is_signed(part), at)
    return Text(text, at) if kind == "text" else _read_media(part, at)


def _is_thought(part: dict[str, Any], kind: str, text: str) -> bool:
    """Marked as one, in words or pictures; or empty but for a signature, which must go back as it came."""
    if part.get("thought") is True and kind != "":
        return True
    if text or not _is_signed(part):
        return False
    return _KEPT_KEYS.issuperset(key for key, value in part.items() if value not in (None, ""))


def _is_signed(part: dict[str, Any]) -> bool:
    return bool(_get(part, "thoughtSignature"))


def _read_call(call: dict[str, Any], at: Path, _inside: Path) -> Part:
    return ToolCall(_string(call, "id") or None, _string(call, "name") or "", call.get("args"), at=at)


def _read_result(answer: dict[str, Any], at: Path, inside: Path) -> Part:
    response, attached = answer.get("response"), _part_list(answer)
    words = _response_words(response, (*inside, "response"))
    media = tuple(_read_media(item, (*inside, "parts", position)) for position, item in enumerate(attached))
    own = _string(answer, "id") or None
    return ToolResult(own, (*words, *media), _string(answer, "name"), _is_failure(response), at=at)


def _read_hosted_call(call: dict[str, Any], at: Path, _inside: Path) -> Part:
    return ToolCall(_string(call, "id"), _string(call, "toolType") or "", call.get("args"), is_hosted=True, at=at)


def _read_hosted_result(answer: dict[str, Any], at: Path, inside: Path) -> Part:
    words = _response_words(answer.get("response"), (*inside, "response"))
    failed = _is_failure(answer.get("response"))
    return ToolResult(_string(answer, "id"), words, _string(answer, "toolType"), failed, is_hosted=True, at=at)


def _read_code(code: dict[str, Any], at: Path, _inside: Path) -> Part:
    return ToolCall(_string(code, "id"), _CODE_TOOL, code, is_hosted=True, at=at)


def _read_code_result(ran: dict[str, Any], at: Path, inside: Path) -> Part:
    output = _string(ran, "output")
    words = (Text(output, (*inside, "output")),) if output is not None else ()
    failed = ran.get("outcome") not in (None, "OUTCOME_OK", "OUTCOME_UNSPECIFIED")
    return ToolResult(_string(ran, "id"), words, _CODE_TOOL, failed, is_hosted=True, at=at)


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
    return Opaque(_first_key(part), part, at)


def _media_type(held: dict[str, Any]) -> str:
    return _string(held, "mimeType") or "application/*"


def _first_key(part: Any) -> str:
    present = (key for key, value in part.items() if value is not None) if isinstance(part, dict) else ()
    return next(iter(present), "unknown")


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
    return isinstance(response, dict) and (bool(response.get("error")) or list(response) == ["error"])


_KEPT_KEYS = frozenset({"thought", "thoughtSignature", "thought_signature", "partMetadata", "part_metadata"})
"""What may stand beside any kind of part."""

_CODE_TOOL = "code_execution"
_WORD_KEYS = ("output", "result", "content", "error")

_READERS: dict[str, Callable[[dict[str, Any], Path, Path], Part]] = {
    "functionCall": _read_call,
    "functionResponse": _read_result,
    "toolCall": _read_hosted_call,
    "toolResponse": _read_hosted_result,
    "executableCode": _read_code,
    "codeExecutionResult": _read_code_result,
}
_SHAPES: dict[str, type] = {**dict.fromkeys(_READERS, dict), "inlineData": dict, "fileData": dict, "text": str}
_NAMES = {spelling: name for name in _SHAPES for spelling in (name, _snake(name))}
"""By the spelling of a key, the kind of part that it makes."""
_RANKS = {spelling: rank for rank, spelling in enumerate(_NAMES)}
"""Which key counts where a part holds several."""


# --- rewording


def _reworded_call(held: dict[str, Any], call: ToolCall, arguments: Any) -> tuple[Path, object]:
    kind, key = _kind(held)
    inside = (*call.at, key)
    return (inside if kind == "executableCode" else (*inside, "args")), arguments


def _reworded_result(held: dict[str, Any], result: ToolResult, words: str) -> tuple[Path, object]:
    """The whole response gives way to the customary `output`, or `error`; media attached to it go with it."""
    kind, key = _kind(held)
    inside = (*result.at, key)
    if kind == "codeExecutionResult":
        return (*inside, "output"), words
    response = _response(words, is_error=result.is_error)
    if "parts" not in held[key]:
        return (*inside, "response"), response
    kept = {name: value for name, value in held[key].items() if name != "parts"}
    return inside, {**kept, "response": response}


def _reworded_inside(held: Any, part: Part, words: str) -> object:
    """What stands inside a response: its string, all of it, or media, in whose place only a text file can stand."""
    if not isinstance(part, Text):
        return {"inlineData": {"mimeType": "text/plain", "data": base64_text(words)}}
    return words if isinstance(held, str) else _response(words, is_error=_is_failure(held))


def _response(words: str, *, is_error: bool) -> dict[str, str]:
    return {"error" if is_error else "output": words}


def _words_instead(held: Any, words: str, *, is_thought: bool) -> dict[str, Any]:
    """Words in the place of another part. Its signature stays: the API misses it even where the rest is gone."""
    keys = _KEPT_KEYS if is_thought else _KEPT_KEYS - {"thought"}
    kept = {key: value for key, value in held.items() if key in keys} if isinstance(held, dict) else {}
    return {"text": words, **kept}


# --- composing


def _composed(part: Part, lost: list[str]) -> list[dict[str, Any]]:
    match part:
        case Text(text):
            return [{"text": text}] if text else []
        case ToolCall(is_hosted=False):
            return [{"functionCall": {**_identified(part.id), "name": part.name, "args": part.arguments}}]
        case ToolResult(is_hosted=False):
            return [{"functionResponse": _composed_result(part, lost)}]
        case Media():
            return _composed_media(part, lost)
        case _:
            lost.append(what_is_lost(part, "gemini"))
            return []


def _composed_in_system(part: Part, lost: list[str]) -> list[dict[str, Any]]:
    """The system speaks in words only."""
    if isinstance(part, Text):
        return _composed(part, lost)
    lost.append(what_is_lost(part, "gemini"))
    return []


def _identified(call_id: str | None) -> dict[str, str]:
    return {} if call_id is None else {"id": call_id}


def _composed_result(result: ToolResult, lost: list[str]) -> dict[str, Any]:
    """The name is required; media are attached, as Gemini 3 and later take them."""
    if result.name is None:
        lost.append(f"the name of the tool that answered call {result.call_id!r}: gemini wants it, the result lacks it")
    response = _response(result.text, is_error=result.is_error)
    answer = {**_identified(result.call_id), "name": result.name or "", "response": response}
    others = [part for part in result.parts if not isinstance(part, Text)]
    attached = [medium for part in others for medium in _composed(part, lost)]
    return {**answer, "parts": attached} if attached else answer


def _composed_media(media: Media, lost: list[str]) -> list[dict[str, Any]]:
    is_exact = not media.media_type.endswith("*")
    typed = {"mimeType": media.media_type} if is_exact else {}
    match media.source_type:
        case "base64" if is_exact:
            return [{"inlineData": {**typed, "data": media.source}}]
        case "text":
            return [{"inlineData": {"mimeType": "text/plain", "data": base64_text(media.source)}}]
        case "url" | "file" if "://" in media.source:  # another provider's file id is no address
            return [{"fileData": {**typed, "fileUri": media.source}}]
    lost.append(what_is_lost(media, "gemini"))
    return []
