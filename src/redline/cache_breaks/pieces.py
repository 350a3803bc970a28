"""A request cut into the pieces that a provider's cache is looked up by: digests, and no words."""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from redline.providers import find_format
from redline.providers.api import Api
from redline.values import payloads

LEADING_ROLES = ("system", "developer")
"""Messages of these roles ahead of all others are a system prompt."""
_MARK = "cache_control"
_CACHE_KEY = "prompt_cache_key"
_HEADERS = ("anthropic-version", "anthropic-beta", "openai-beta")
"""Headers that change what the provider makes of a prompt."""
_ATTESTATION = "x-anthropic-billing-header"
"""How the block of a system prompt begins that a client signs anew for each request."""
_TOOL_FIELDS = ("tools", "functions")
_MOST_KEPT_BYTES = 8 << 20
"""Of each of two generations of texts."""
_PICTURE_CHARS, _PICTURE_TOKENS = 2_000, 1_500
_CHARS_PER_TOKEN = 4


class CachePiece(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True, gc=False):
    """A part of a request that changes as a whole."""

    kind: str
    """`model`, `header`, `key`, `tool`, `system`, `attestation`, `field` or `message`."""
    name: str
    """The name of the model, header, tool or field; a message's role."""
    meaning: str
    """A digest of what it says, however that is spelled, without cache marks."""
    spelling: str = ""
    """A digest of how it is written; empty where a cache mark decides the spelling."""
    tokens: int = 0
    """About how many."""
    blocks: int = 1
    given: str = ""
    """The client's meaning, where Redline sent something else."""


class SentPieces(msgspec.Struct, frozen=True):
    """All pieces of one request in the order of the cache, and its cache marks."""

    ahead: tuple[CachePiece, ...]
    messages: tuple[CachePiece, ...]
    marks: tuple[tuple[int, str], ...] = ()
    """Of each, the number of blocks up to its end, and the lifetime it asks for."""


_Marks = tuple[tuple[int, str], ...]


class PieceReader:
    """Cuts requests into pieces. It remembers pieces by their bytes: a history is sent again with every request."""

    def __init__(self) -> None:
        self._young: dict[bytes | tuple[str, bytes], tuple[tuple[CachePiece, _Marks], ...]] = {}
        self._old: dict[bytes | tuple[str, bytes], tuple[tuple[CachePiece, _Marks], ...]] = {}
        self._texts: dict[str, bytes] = {}
        self._old_texts: dict[str, bytes] = {}
        self._kept_bytes = 0

    def read(
        self,
        api: Api,
        model: str,
        written: Mapping[str, bytes],
        headers: Mapping[str, str],
        sent: Sequence[tuple[bytes, bytes]],
    ) -> SentPieces:
        """The pieces of a request; `sent` is each message as it was sent, and as the client wrote it."""
        named = model.encode("utf-8", "replace")  # half an emoji may be in it
        ahead: list[tuple[CachePiece, _Marks]] = [(CachePiece("model", named.decode(), _digest(named)), ())]
        for name in (name for name in _HEADERS if name in headers):
            values = sorted(value.strip() for value in headers[name].split(","))
            ahead += self._known("header", name, payloads.encode(values))
        ahead += self._field("key", _CACHE_KEY, written)
        for name in (name for name in _TOOL_FIELDS if name in written and name in api.in_cache_key):
            ahead += self._known("tool", api.declared_under, written[name])
        ahead += self._field("system", find_format(api.name).system_field or "", written)
        first = 0
        while first < len(sent) and _leads(sent[first][1]):
            ahead += self._known("system", "", sent[first][0])
            first += 1
        others = set(api.in_cache_key) - {*_TOOL_FIELDS, find_format(api.name).system_field}
        for name in sorted(others):
            ahead += self._field("field", name, written)
        messages = []
        for native, given in sent[first:]:
            ((piece, marks),) = self._known("message", "", native)
            if native is not given and native != given:
                ((original, _),) = self._known("message", "", given)
                piece = msgspec.structs.replace(piece, given=original.meaning)
            messages.append((piece, marks))
        is_automatic = _MARK in written and written[_MARK] != b"null"
        return _joined(ahead, messages, is_automatic=is_automatic)

    def text_of(self, piece: CachePiece | None) -> bytes | None:
        """The JSON that a piece was made of, where it is still known."""
        if piece is None:
            return None
        names = (piece.spelling, piece.meaning)
        return next((texts[name] for texts in (self._texts, self._old_texts) for name in names if name in texts), None)

    def _field(self, kind: str, name: str, written: Mapping[str, bytes]) -> tuple[tuple[CachePiece, _Marks], ...]:
        return self._known(kind, name, written[name]) if name in written else ()

    def _known(self, kind: str, name: str, native: bytes) -> tuple[tuple[CachePiece, _Marks], ...]:
        """The pieces of a value by its bytes, cut anew only if they were not met lately."""
        key = native if kind == "message" else (kind + name, native)
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is None:
                found = tuple(self._cut(kind, name, native))
            named = [name for piece, _ in found for name in (piece.meaning, piece.spelling)]
            self._texts |= {name: self._old_texts[name] for name in named if name in self._old_texts}
            self._young[key] = found
            self._kept_bytes += len(native)
            if self._kept_bytes > _MOST_KEPT_BYTES:
                self._old, self._young = self._young, {key: found}
                self._old_texts, self._texts = self._texts, {name: self._texts[name] for name in named if name in self._texts}
                self._kept_bytes = len(native)
        return found

    def _cut(self, kind: str, name: str, native: bytes) -> Iterator[tuple[CachePiece, _Marks]]:
        for inner_kind, inner_name, held in _inner(kind, name, payloads.decode(native)):
            plain, digest = unmarked(held), _digest(payloads.canonical(as_said(held)))
            encoded = payloads.encode(plain)
            marks, blocks = _marks_in(held)
            spelling = "" if marks and _is_one_text(held) else _digest(encoded)
            self._texts[digest] = self._texts[spelling or digest] = native if kind == "message" else encoded
            yield CachePiece(inner_kind, inner_name, digest, spelling, tokens_in(plain), blocks), marks


def _inner(kind: str, name: str, value: Any) -> Iterator[tuple[str, str, Any]]:
    """The pieces of a field: single tools, single blocks of a system prompt, else the whole."""
    if kind == "tool":
        for tool in value if isinstance(value, list) else [value]:
            declared = tool.get(name) if name and isinstance(tool, dict) else None
            for one in declared if isinstance(declared, list) else [tool]:
                yield kind, _tool_name(one), one
    elif kind == "system":
        held = value.get("content", value.get("parts", value)) if isinstance(value, dict) else value
        for block in held if isinstance(held, list) else [held]:
            text = block.get("text") if isinstance(block, dict) else block
            is_signed = isinstance(text, str) and text.startswith(_ATTESTATION)
            yield "attestation" if is_signed else kind, "", block
    elif kind == "message" and isinstance(value, dict):
        yield kind, str(value.get("role") or value.get("type") or ""), value
    else:
        yield kind, name, value


def _tool_name(tool: Any) -> str:
    if not isinstance(tool, dict):
        return ""
    inner = tool.get(str(tool.get("type")))
    return str(tool.get("name") or (inner.get("name") if isinstance(inner, dict) else None) or tool.get("type") or "")


def _leads(native: bytes) -> bool:
    """Whether a message is said by the system."""
    if not any(role.encode() in native for role in LEADING_ROLES):
        return False
    value = payloads.decode(native)
    return isinstance(value, dict) and value.get("role") in LEADING_ROLES


def _joined(
    ahead: Sequence[tuple[CachePiece, _Marks]], messages: Sequence[tuple[CachePiece, _Marks]], *, is_automatic: bool
) -> SentPieces:
    """All pieces, with the places of the marks counted in blocks from the first."""
    blocks, marks = 0, list[tuple[int, str]]()
    for piece, own in (*ahead, *messages):
        if piece.kind in ("tool", "system", "attestation", "message"):
            marks += [(blocks + place, lifetime) for place, lifetime in own]
            blocks += piece.blocks
    if is_automatic:
        marks.append((blocks, ""))
    return SentPieces(tuple(piece for piece, _ in ahead), tuple(piece for piece, _ in messages), tuple(marks))


def unmarked(value: Any) -> Any:
    """A value without cache marks, at any depth but inside a tool's arguments and schemas."""
    if isinstance(value, dict):
        return {
            name: held if name in ("input", "input_schema", "arguments", "parameters") else unmarked(held)
            for name, held in value.items()
            if name != _MARK
        }
    return [unmarked(held) for held in value] if isinstance(value, list) else value


def as_said(value: Any) -> Any:
    """A value without cache marks, in which one block of text is a text: both say the same."""
    match value:
        case [{"text": str(text), **others}] if others.keys() <= {"type", _MARK}:
            return text
        case {"text": str(text), **others} if others.keys() <= {"type", _MARK}:
            return text
        case dict():
            kept = ("input", "input_schema", "arguments", "parameters")
            return {name: held if name in kept else as_said(held) for name, held in value.items() if name != _MARK}
        case list():
            return [as_said(held) for held in value]
    return value


def _is_one_text(value: Any) -> bool:
    """Whether a mark decides how it is spelled: a text alone carries none, a block does."""
    content = value.get("content", value) if isinstance(value, dict) else value
    blocks = content if isinstance(content, list) else [content]
    return len(blocks) == 1 and isinstance(blocks[0], dict) and isinstance(blocks[0].get("text"), str)


def _marks_in(value: Any) -> tuple[_Marks, int]:
    """The marks of a tool, a block or a message: after which of its blocks each stands; and how many blocks it has."""
    content = value.get("content") if isinstance(value, dict) and "role" in value else None
    blocks = content if isinstance(content, list) else [value]
    found = []
    for number, block in enumerate(blocks, 1):
        inner = block.get("content") if isinstance(block, dict) else None
        held = [block, *(inner if isinstance(inner, list) else [])]
        marks = (one.get(_MARK) for one in held if isinstance(one, dict))
        found += [(number, str(mark.get("ttl") or "")) for mark in marks if isinstance(mark, dict)]
    return tuple(found), max(len(blocks), 1)


def tokens_in(value: Any) -> int:
    """About how many tokens a value has; a picture has some hundred, however long it is written."""
    if isinstance(value, str):
        is_picture = len(value) > _PICTURE_CHARS and " " not in value[:_PICTURE_CHARS] and "\n" not in value[:_PICTURE_CHARS]
        return _PICTURE_TOKENS if is_picture else len(value) // _CHARS_PER_TOKEN + 1
    if isinstance(value, dict):
        return sum(1 + tokens_in(held) for held in value.values())
    return sum(map(tokens_in, value)) if isinstance(value, list) else 1


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=8).hexdigest()
