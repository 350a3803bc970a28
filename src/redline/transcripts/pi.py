"""Pi session files: a tree of lines, of which the path to the last is the conversation that goes on."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

import msgspec

from redline.errors import TranscriptError
from redline.formats.ai_sdk import AiSdk
from redline.transcripts.base import (
    Entry,
    LazyEntries,
    Position,
    RecordedBranch,
    RecordedCompaction,
    RecordedConversation,
    TokenCount,
    Transcript,
    Usage,
    parse_time_ms,
)
from redline.transcripts.heads import head_decoder
from redline.transcripts.reader import Sample
from redline.transcripts.shapes import fields_in, objects_in, text_in
from redline.transcripts.source import Source, index_lines
from redline.values.messages import Message

__all__ = ["Pi"]

_FORMAT = AiSdk()
_MOST_MESSAGES = 2_000_000
"""A compaction says again what it keeps: a small file with many of them could fill the memory."""
_OUTSIDE_THE_TREE = frozenset({"session", "title"})
_NOT_SIGNATURES = frozenset({"reasoning", "reasoning_content", "reasoning_text"})
"""In place of a signature, the field that the thoughts came in; Pi sends them back in the same."""


class Pi:
    """Reads `~/.pi/agent/sessions/*/*.jsonl`, also those of Oh My Pi."""

    name: ClassVar[str] = "pi"

    def recognizes(self, sample: Sample) -> bool:
        """The first line of a session, or a message with its place in the tree."""
        return any(_is_start(record) or _is_message(record) for record in sample.records)

    def read(self, source: Source) -> Transcript:
        """One conversation: its active path and its branches."""
        index = index_lines(source, _decode_head)
        tree = _Tree([_Node(position, head) for position, head in index.records])
        conversation = _conversation(source, tree, [head for _, head in index.records])
        conversations = (conversation,) if conversation.entries else ()
        return Transcript(source.path, self.name, conversations, tuple(index.problems))


def _is_start(record: dict[str, Any]) -> bool:
    return record.get("type") == "session" and {"id", "timestamp", "cwd"} <= record.keys()


def _is_message(record: dict[str, Any]) -> bool:
    message = record.get("message")
    is_placed = record.get("type") == "message" and {"id", "parentId"} <= record.keys()
    return is_placed and isinstance(message, dict) and "role" in message


# --- the head of a line


class _Tokens(msgspec.Struct, rename="camel", gc=False):
    input: TokenCount = 0
    output: TokenCount = 0
    cache_read: TokenCount = 0
    cache_write: TokenCount = 0


class _Said(msgspec.Struct, gc=False):
    role: str | None = None
    model: str | None = None
    usage: _Tokens | None = None


class _Head(msgspec.Struct, rename="camel", gc=False):
    type: str | None = None
    id: str | None = None
    parent_id: str | None = None
    timestamp: str | None = None
    message: _Said = msgspec.field(default_factory=_Said)
    cwd: str | None = None
    first_kept_entry_id: str | None = None
    tokens_before: TokenCount | None = None


_decode_head = head_decoder(_Head)


class _Node(msgspec.Struct, gc=False):
    position: Position
    head: _Head
    is_repeated: bool = False

    @property
    def is_spoken(self) -> bool:
        """Whether the line is shown to the model."""
        return self.head.type in _READERS


# --- the tree


class _Tree:
    """Lines by number. A line's parent stands before it; where it is missing, the line before is taken for it."""

    def __init__(self, nodes: list[_Node]) -> None:
        self.nodes = [node for node in nodes if node.head.type not in _OUTSIDE_THE_TREE]
        self.parents: list[int | None] = []
        number_of: dict[str, int] = {}
        for number, node in enumerate(self.nodes):
            before = number - 1 if number else None
            parent_id = node.head.parent_id
            is_root = parent_id is None and node.head.id is not None
            self.parents.append(None if is_root else number_of.get(parent_id or "", before))
            if node.head.id is not None:
                number_of.setdefault(node.head.id, number)

    def path(self) -> list[int]:
        """From the beginning to the last line."""
        path: list[int] = []
        number: int | None = len(self.nodes) - 1 if self.nodes else None
        while number is not None:
            path.append(number)
            number = self.parents[number]
        return path[::-1]

    def branches(self, path: list[int]) -> dict[int, list[int]]:
        """What lies off the path, by the first line of each branch."""
        on_path = set(path)
        first_of: dict[int, int] = {}
        lines: dict[int, list[int]] = {}
        for number, parent in enumerate(self.parents):
            if number not in on_path:
                first_of[number] = number if parent is None else first_of.get(parent, number)
                lines.setdefault(first_of[number], []).append(number)
        return lines


def _conversation(source: Source, tree: _Tree, heads: list[_Head]) -> RecordedConversation:
    path = tree.path()
    told = _Path()
    for number in path:
        told.take(number, tree.nodes[number])
    session = next((head for head in heads if head.type == "session"), _Head())
    return RecordedConversation(
        id=session.id or source.path.stem,
        format=_FORMAT.name,
        entries=LazyEntries(told.nodes, partial(_entry, source)),
        branches=tuple(_branches(source, tree, path, told.number_of)),
        compactions=tuple(told.compactions),
        system=_system(source, tree),
        metadata={"cwd": session.cwd} if session.cwd else {},
    )


class _Path:
    """The messages of the active path, window by window."""

    def __init__(self) -> None:
        self.nodes: list[_Node] = []
        self.compactions: list[RecordedCompaction] = []
        self.number_of: dict[int, int] = {}
        """For a line of the tree, the number of its entry."""
        self._lines: list[_Node] = []
        self._line_of: dict[str, int] = {}
        """By the id of a line, its number on this path."""

    def take(self, line: int, node: _Node) -> None:
        if node.head.type == "compaction":
            told = node.head.tokens_before
            self.compactions.append(RecordedCompaction(len(self.nodes), node.position, tokens_before=told))
        if node.is_spoken:
            self.number_of[line] = len(self.nodes)
            self.nodes.append(node)
        if node.head.type == "compaction":
            self._keep(node)
        if node.head.id is not None:
            self._line_of.setdefault(node.head.id, len(self._lines))
        self._lines.append(node)

    def _keep(self, compaction: _Node) -> None:
        """What follows the summary into the new window: said again, but not paid for again."""
        start = self._line_of.get(compaction.head.first_kept_entry_id or "", len(self._lines))
        if len(self.nodes) + len(self._lines) - start > _MOST_MESSAGES:
            raise TranscriptError(
                f"Line {compaction.position.line} keeps so much of what came before it that the session would have more than "
                f"{_MOST_MESSAGES:,} messages. Is it a session file?"
            )
        for node in self._lines[start:]:
            if node.is_spoken and node.head.type != "compaction":
                self.nodes.append(_Node(node.position, node.head, is_repeated=True))


def _branches(source: Source, tree: _Tree, path: list[int], number_of: dict[int, int]) -> Iterator[RecordedBranch]:
    for first, lines in tree.branches(path).items():
        spoken = [tree.nodes[line] for line in lines if tree.nodes[line].is_spoken]
        fork = tree.parents[first]
        while fork is not None and fork not in number_of:
            fork = tree.parents[fork]
        if spoken:
            yield RecordedBranch(None if fork is None else number_of[fork], LazyEntries(spoken, partial(_entry, source)))


def _entry(source: Source, node: _Node) -> Entry:
    head, said = node.head, node.head.message
    return Entry(
        load=partial(_load, source, node.position),
        positions=(node.position,),
        timestamp_ms=parse_time_ms(head.timestamp),
        id=head.id,
        model=said.model,
        usage=_usage(said.usage) if said.usage and not node.is_repeated else None,
    )


def _usage(tokens: _Tokens) -> Usage | None:
    """None for a request that failed, which Pi stores with zeros."""
    usage = Usage(tokens.input, tokens.output, tokens.cache_read, tokens.cache_write)
    return usage if usage != Usage() else None


def _system(source: Source, tree: _Tree) -> str | None:
    """The system prompt, which only the files of sub-agents hold."""
    for node in tree.nodes:
        if node.head.type == "session_init":
            prompt = source.decode(node.position).get("systemPrompt")
            return prompt if isinstance(prompt, str) else None
    return None


# --- content, when it is asked for


def _load(source: Source, position: Position) -> Message:
    record = source.decode(position)
    return _FORMAT.read(_READERS[record["type"]](record))


def _message(record: dict[str, Any]) -> dict[str, Any]:
    said = fields_in(record.get("message"))
    match said.get("role"):
        case "assistant":
            provider = text_in(said.get("provider")) or "pi"
            content = [_said(block, provider) for block in _blocks(said.get("content"))]
            return {"role": "assistant", "content": content}
        case "toolResult":
            return {"role": "tool", "content": [_result(said)]}
        case "developer" | "system":
            words = (text_in(block.get("text")) for block in _blocks(said.get("content")))
            return {"role": "system", "content": "\n".join(words)}
        case "bashExecution":
            return _user(f"{text_in(said.get('command'))}\n{text_in(said.get('output'))}")
        case _:
            return _user(said.get("content", said.get("summary")))


def _user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": [_said(block, "pi") for block in _blocks(content)]}


def _blocks(content: Any) -> list[dict[str, Any]]:
    return objects_in(content) if isinstance(content, list) else [{"type": "text", "text": text_in(content)}]


def _said(block: dict[str, Any], provider: str) -> dict[str, Any]:
    """A block in the words of the format; an unknown one is carried as it is."""
    match block.get("type"):
        case "text":
            return _with_options({"type": "text", "text": text_in(block.get("text"))}, block, provider)
        case "thinking":
            return _with_options({"type": "reasoning", "text": text_in(block.get("thinking"))}, block, provider)
        case "toolCall":
            call = {"type": "tool-call", "toolCallId": block.get("id"), "toolName": block.get("name")}
            return _with_options({**call, "input": block.get("arguments")}, block, provider)
        case "image":
            return {"type": "image", "image": block.get("data"), "mediaType": block.get("mimeType")}
        case _:
            return block


def _with_options(piece: dict[str, Any], block: dict[str, Any], provider: str) -> dict[str, Any]:
    """The piece with the signature that the provider wants back with it."""
    for key, name in _SIGNATURES.items():
        signature = text_in(block.get(key))
        if signature and signature not in _NOT_SIGNATURES:
            return {**piece, "providerOptions": {provider: {name: signature}}}
    return piece


_SIGNATURES = {
    "thinkingSignature": "signature",
    "textSignature": "textSignature",
    "thoughtSignature": "thoughtSignature",
}


def _result(said: dict[str, Any]) -> dict[str, Any]:
    result = {"type": "tool-result", "toolCallId": said.get("toolCallId"), "toolName": said.get("toolName")}
    return {**result, "output": _output(_blocks(said.get("content")), is_error=said.get("isError") is True)}


def _output(blocks: list[dict[str, Any]], *, is_error: bool) -> dict[str, Any]:
    if all(block.get("type") == "text" for block in blocks):
        words = "\n".join(text_in(block.get("text")) for block in blocks)
        return {"type": "error-text" if is_error else "text", "value": words}
    return {"type": "content", "value": [_shown(block) for block in blocks]}


def _shown(block: dict[str, Any]) -> dict[str, Any]:
    if block.get("type") != "image":
        return block
    return {"type": "media", "data": block.get("data"), "mediaType": block.get("mimeType")}


_READERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "message": _message,
    "custom_message": lambda record: _user(record.get("content")),
    "branch_summary": lambda record: _user(record.get("summary")),
    "compaction": lambda record: _user(record.get("summary")),
}
