"""Pi session files: a tree of lines, of which the path to the last is the conversation that goes on."""

from collections.abc import Iterator
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
    RecordedGap,
    TokenCount,
    Transcript,
    Usage,
    parse_time_ms,
)
from redline.transcripts.heads import head_decoder
from redline.transcripts.reader import Sample
from redline.transcripts.shapes import fields_in, objects_in, text_in
from redline.transcripts.source import Source, index_lines, without_repeats
from redline.values.messages import Message

__all__ = ["Pi"]

_FORMAT = AiSdk()
_MOST_MESSAGES = 2_000_000
"""A compaction says again what it keeps: a small file with many of them could fill the memory."""
_OUTSIDE_THE_TREE = frozenset({"session", "title"})
_SHOWN = frozenset({"message", "custom_message", "branch_summary", "compaction"})
_SIGNATURES = {
    "thinkingSignature": "signature",
    "textSignature": "textSignature",
    "thoughtSignature": "thoughtSignature",
}
_NOT_SIGNATURES = frozenset({"reasoning", "reasoning_content", "reasoning_text"})
"""In place of a signature, the field that the thoughts came in; Pi sends them back in the same."""


class Pi:
    """Reads `~/.pi/agent/sessions/*/*.jsonl`, also those of Oh My Pi."""

    name: ClassVar[str] = "pi"

    def recognizes(self, sample: Sample) -> bool:
        """The first line of a session, or a message with its place in the tree."""
        for record in sample.records:
            if record.get("type") == "session" and {"id", "timestamp", "cwd"} <= record.keys():
                return True
            is_placed = record.get("type") == "message" and {"id", "parentId"} <= record.keys()
            if is_placed and "role" in fields_in(record.get("message")):
                return True
        return False

    def read(self, source: Source) -> Transcript:
        """One conversation: its active path and its branches.

        A line whose parent is not in the file follows the line before it; the gap is one of the problems.
        """
        index = index_lines(source, _decode_line)
        nodes = [_PiNode(*record) for record in without_repeats(source, index.records, lambda line: line.id)]
        tree = _PiTree([node for node in nodes if node.line.type not in _OUTSIDE_THE_TREE])
        line_numbers = tree.path()
        path = _PiPath()
        for number in line_numbers:
            path.take(number, tree.nodes[number])
        if not path.nodes:
            return Transcript(source.path, self.name, (), tuple(index.problems))
        gaps = tuple(tree.gaps(line_numbers))
        session = next((node.line for node in nodes if node.line.type == "session"), _PiLine())
        # Only the files of sub-agents hold the system prompt.
        start = next((node for node in tree.nodes if node.line.type == "session_init"), None)
        prompt = source.decode(start.position).get("systemPrompt") if start else None
        conversation = RecordedConversation(
            id=session.id or source.path.stem,
            format=_FORMAT.name,
            entries=LazyEntries(path.nodes, partial(_entry, source)),
            branches=tuple(
                RecordedBranch(after, LazyEntries(said, partial(_entry, source)))
                for after, said in tree.branches(line_numbers, path.entry_of)
            ),
            compactions=tuple(path.compactions),
            gaps=gaps,
            system=prompt if isinstance(prompt, str) else None,
            metadata={"cwd": session.cwd} if session.cwd else {},
        )
        problems = (*index.problems, *(gap.as_problem(source.path) for gap in gaps if gap.joined_to))
        return Transcript(source.path, self.name, (conversation,), problems)


# --- the head of a line


class _PiTokens(msgspec.Struct, rename="camel", gc=False):
    input: TokenCount = 0
    output: TokenCount = 0
    cache_read: TokenCount = 0
    cache_write: TokenCount = 0
    cache_write_1h: TokenCount = msgspec.field(default=0, name="cacheWrite1h")


class _PiMessage(msgspec.Struct, gc=False):
    role: str | None = None
    model: str | None = None
    usage: _PiTokens | None = None


class _PiLine(msgspec.Struct, rename="camel", gc=False):
    type: str | None = None
    id: str | None = None
    parent_id: str | None = None
    timestamp: str | None = None
    message: _PiMessage = msgspec.field(default_factory=_PiMessage)
    cwd: str | None = None
    first_kept_entry_id: str | None = None
    tokens_before: TokenCount | None = None


_decode_line = head_decoder(_PiLine)


class _PiNode(msgspec.Struct, gc=False):
    """A line in the tree."""

    position: Position
    line: _PiLine
    is_repeated: bool = False
    """Kept by a compaction, and said before."""

    @property
    def is_shown(self) -> bool:
        """Whether the line is shown to the model."""
        return self.line.type in _SHOWN


# --- the tree


class _PiTree:
    """Lines by number. A line's parent comes before it; where it is missing, the line before is taken for it."""

    def __init__(self, nodes: list[_PiNode]) -> None:
        self.nodes = nodes
        self.parents: list[int | None] = []
        self._joined: dict[int, str] = {}
        """By the number of a line whose parent is missing, the id of that parent."""
        number_of: dict[str, int] = {}
        for number, node in enumerate(nodes):
            before = number - 1 if number else None
            parent_id = node.line.parent_id
            is_root = parent_id is None and node.line.id is not None
            self.parents.append(None if is_root else number_of.get(parent_id or "", before))
            if parent_id and parent_id not in number_of:
                self._joined[number] = parent_id
            if node.line.id is not None:
                number_of.setdefault(node.line.id, number)

    def gaps(self, path: list[int]) -> Iterator[RecordedGap]:
        """Where a line of the path has lost its parent."""
        for number in path if self._joined else ():
            if number in self._joined:
                above = self.nodes[number - 1].position if number else None
                yield RecordedGap(self.nodes[number].position, self._joined[number], above)

    def path(self) -> list[int]:
        """From the beginning to the last line."""
        path: list[int] = []
        number: int | None = len(self.nodes) - 1 if self.nodes else None
        while number is not None:
            path.append(number)
            number = self.parents[number]
        return path[::-1]

    def branches(self, path: list[int], entry_of: dict[int, int]) -> Iterator[tuple[int | None, list[_PiNode]]]:
        """What lies off the path: the number of the entry that each branch follows, and its messages."""
        on_path = set(path)
        first_of: dict[int, int] = {}
        lines: dict[int, list[int]] = {}
        for number, parent in enumerate(self.parents):
            if number not in on_path:
                first_of[number] = number if parent is None else first_of.get(parent, number)
                lines.setdefault(first_of[number], []).append(number)
        for first, numbers in lines.items():
            shown = [self.nodes[number] for number in numbers if self.nodes[number].is_shown]
            fork = self.parents[first]
            while fork is not None and fork not in entry_of:
                fork = self.parents[fork]
            if shown:
                yield None if fork is None else entry_of[fork], shown


class _PiPath:
    """The messages of the active path, window by window."""

    def __init__(self) -> None:
        self.nodes: list[_PiNode] = []
        self.compactions: list[RecordedCompaction] = []
        self.entry_of: dict[int, int] = {}
        """For a line of the tree, the number of its entry."""
        self._lines: list[_PiNode] = []
        self._line_of: dict[str, int] = {}
        """By the id of a line, its number on this path."""

    def take(self, number: int, node: _PiNode) -> None:
        """The next line of the path."""
        line = node.line
        if line.type == "compaction":
            self.compactions.append(RecordedCompaction(len(self.nodes), node.position, tokens_before=line.tokens_before))
        if node.is_shown:
            self.entry_of[number] = len(self.nodes)
            self.nodes.append(node)
        if line.type == "compaction":  # what it keeps follows the summary into the new window: said again, not paid again
            start = self._line_of.get(line.first_kept_entry_id or "", len(self._lines))
            if len(self.nodes) + len(self._lines) - start > _MOST_MESSAGES:
                raise TranscriptError(
                    f"Line {node.position.line} keeps so much of what came before it that the session would have more than "
                    f"{_MOST_MESSAGES:,} messages. Is it a session file?"
                )
            kept = [said for said in self._lines[start:] if said.is_shown and said.line.type != "compaction"]
            self.nodes += [_PiNode(said.position, said.line, is_repeated=True) for said in kept]
        if line.id is not None:
            self._line_of.setdefault(line.id, len(self._lines))
        self._lines.append(node)


def _entry(source: Source, node: _PiNode) -> Entry:
    line, told = node.line, node.line.message.usage or _PiTokens()
    usage = Usage(told.input, told.output, told.cache_read, told.cache_write, told.cache_write_1h)
    return Entry(
        load=partial(_load, source, node.position),
        positions=(node.position,),
        timestamp_ms=parse_time_ms(line.timestamp),
        id=line.id,
        model=line.message.model,
        # A request that failed is stored with zeros.
        usage=usage if usage != Usage() and not node.is_repeated else None,
    )


# --- content, when it is asked for


def _load(source: Source, position: Position) -> Message:
    record = source.decode(position)
    said = fields_in(record.get("message"))
    match record["type"], said.get("role"):
        case "message", "assistant":
            provider = text_in(said.get("provider")) or "pi"
            content = [_piece(block, provider) for block in _blocks(said.get("content"))]
            return _FORMAT.read({"role": "assistant", "content": content})
        case "message", "toolResult":
            return _FORMAT.read({"role": "tool", "content": [_result(said)]})
        case "message", "developer" | "system":
            words = (text_in(block.get("text")) for block in _blocks(said.get("content")))
            return _FORMAT.read({"role": "system", "content": "\n".join(words)})
        case "message", "bashExecution":
            shown: Any = f"{text_in(said.get('command'))}\n{text_in(said.get('output'))}"
        case "message", _:
            shown = said.get("content", said.get("summary"))
        case "custom_message", _:
            shown = record.get("content")
        case _:  # the summary of a branch, or of all before
            shown = record.get("summary")
    return _FORMAT.read({"role": "user", "content": [_piece(block, "pi") for block in _blocks(shown)]})


def _blocks(content: Any) -> list[dict[str, Any]]:
    return objects_in(content) if isinstance(content, list) else [{"type": "text", "text": text_in(content)}]


def _piece(block: dict[str, Any], provider: str) -> dict[str, Any]:
    """A block in the words of the format, with the signature that the provider wants back; an unknown one as it is."""
    match block.get("type"):
        case "text":
            piece: dict[str, Any] = {"type": "text", "text": text_in(block.get("text"))}
        case "thinking":
            piece = {"type": "reasoning", "text": text_in(block.get("thinking"))}
        case "toolCall":
            piece = {"type": "tool-call", "toolCallId": block.get("id"), "toolName": block.get("name")}
            piece["input"] = block.get("arguments")
        case "image":
            return {"type": "image", "image": block.get("data"), "mediaType": block.get("mimeType")}
        case _:
            return block
    for key, name in _SIGNATURES.items():
        signature = text_in(block.get(key))
        if signature and signature not in _NOT_SIGNATURES:
            return {**piece, "providerOptions": {provider: {name: signature}}}
    return piece


def _result(said: dict[str, Any]) -> dict[str, Any]:
    """The result of a tool: words, or pictures among them."""
    result = {"type": "tool-result", "toolCallId": said.get("toolCallId"), "toolName": said.get("toolName")}
    blocks = _blocks(said.get("content"))
    if all(block.get("type") == "text" for block in blocks):
        words = "\n".join(text_in(block.get("text")) for block in blocks)
        return {**result, "output": {"type": "error-text" if said.get("isError") is True else "text", "value": words}}
    shown: list[dict[str, Any]] = []
    for block in blocks:
        media = {"type": "media", "data": block.get("data"), "mediaType": block.get("mimeType")}
        shown.append(media if block.get("type") == "image" else block)
    return {**result, "output": {"type": "content", "value": shown}}
