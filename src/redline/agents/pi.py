"""Pi session files: a tree of lines, of which the path to the last is the conversation that goes on."""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import msgspec

from redline.agents.transcripts import (
    Entry,
    LazyEntries,
    Position,
    RecordedBranch,
    RecordedCompaction,
    RecordedConversation,
    Transcript,
    Usage,
)
from redline.agents.transcripts.detect import Reader, Sample, SessionDir
from redline.agents.transcripts.document import head_decoder
from redline.agents.transcripts.heads import TokenCount, fields_in, known_fields, objects_in, parse_time_ms, text_in
from redline.agents.transcripts.source import LineLinks, Source, index_lines, without_repeats
from redline.errors import TranscriptError
from redline.providers.ai_sdk.messages import AiSdk
from redline.values.messages import Message

_FORMAT = AiSdk()
_MOST_MESSAGES = 2_000_000
"""A compaction says again what it keeps: a small file with many of them could fill the memory."""
_OUTSIDE_THE_TREE = frozenset({"session", "title"})
_SHOWN = frozenset({"message", "custom_message", "branch_summary", "compaction"})
_SIGNATURES = {"thinkingSignature": "signature", "textSignature": "textSignature", "thoughtSignature": "thoughtSignature"}
_NOT_SIGNATURES = frozenset({"reasoning", "reasoning_content", "reasoning_text"})
"""In place of a signature, the field that the thoughts came in; Pi sends them back in the same."""


class Pi(Reader):
    """Reads `~/.pi/agent/sessions/*/*.jsonl`, also those of Oh My Pi."""

    name: ClassVar[str] = "pi"
    session_dir = SessionDir(
        "pi", ".pi/agent/sessions", "**/*.jsonl", (("PI_CODING_AGENT_SESSION_DIR", ""), ("PI_CODING_AGENT_DIR", "sessions"))
    )

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
        """One conversation: its active path and its branches. A line whose parent is missing follows the line before it."""
        index = index_lines(source, head_decoder(_PiLine))
        nodes = [_PiNode(*record) for record in without_repeats(source, index.records, lambda line: line.id)]
        tree = [node for node in nodes if node.line.type not in _OUTSIDE_THE_TREE]
        links = LineLinks(tree, lambda node: (node.line.id, node.line.parent_id), in_order=True)
        for number, node in enumerate(tree):
            if node.line.id is None and not node.line.parent_id:  # a session of an older version is no tree
                links.parents[number] = number - 1 if number else None
        line_numbers = links.path()
        shown, compactions, entry_of = _follow(tree, line_numbers)
        if not shown:
            return Transcript(source.path, self.name, (), tuple(index.problems))
        gaps = links.gaps([node.position for node in tree], line_numbers)
        session = next((node.line for node in nodes if node.line.type == "session"), _PiLine())
        # Only the files of sub-agents hold the system prompt.
        start = next((node for node in tree if node.line.type == "session_init"), None)
        prompt = source.decode(start.position).get("systemPrompt") if start else None
        branches: list[RecordedBranch] = []
        for fork, numbers in links.branches(line_numbers):
            said = [tree[number] for number in numbers if tree[number].is_shown]
            while fork is not None and fork not in entry_of:
                fork = links.parents[fork]
            if said:
                after = None if fork is None else entry_of[fork]
                branches.append(RecordedBranch(after, LazyEntries(said, partial(_entry, source))))
        conversation = RecordedConversation(
            id=session.id or source.path.stem,
            format=_FORMAT.name,
            entries=LazyEntries(shown, partial(_entry, source)),
            branches=tuple(branches),
            compactions=tuple(compactions),
            gaps=gaps,
            system=prompt if isinstance(prompt, str) else None,
            metadata=known_fields(cwd=session.cwd),
        )
        problems = (*index.problems, *(gap.as_problem(source.path) for gap in gaps if gap.joined_to))
        return Transcript(source.path, self.name, (conversation,), problems)


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


def _follow(tree: Sequence[_PiNode], numbers: Sequence[int]) -> tuple[list[_PiNode], list[RecordedCompaction], dict[int, int]]:
    """The messages of the active path, window by window; its compactions; and by the number of a line that of its entry."""
    shown, compactions, entry_of = list[_PiNode](), list[RecordedCompaction](), dict[int, int]()
    place_of: dict[str, int] = {}
    for place, number in enumerate(numbers):
        node, line = tree[number], tree[number].line
        if line.type == "compaction":
            compactions.append(RecordedCompaction(len(shown), node.position, tokens_before=line.tokens_before))
        if node.is_shown:
            entry_of[number] = len(shown)
            shown.append(node)
        if line.type == "compaction":  # what it keeps follows the summary into the new window: said again, not paid again
            start = place_of.get(line.first_kept_entry_id or "", place)
            if len(shown) + place - start > _MOST_MESSAGES:
                raise TranscriptError(
                    f"Line {node.position.line} keeps so much of what came before it that the session would have more than "
                    f"{_MOST_MESSAGES:,} messages. Is it a session file?"
                )
            before = (tree[earlier] for earlier in numbers[start:place])
            kept = (said for said in before if said.is_shown and said.line.type != "compaction")
            shown += [_PiNode(said.position, said.line, is_repeated=True) for said in kept]
        if line.id is not None:
            place_of.setdefault(line.id, place)
    return shown, compactions, entry_of


def _entry(source: Source, node: _PiNode) -> Entry:
    line, told = node.line, node.line.message.usage or _PiTokens()
    usage = Usage(told.input, told.output, told.cache_read, told.cache_write, told.cache_write_1h)
    is_paid = usage != Usage() and not node.is_repeated  # a request that failed is stored with zeros
    load, time_ms = partial(_load, source, node.position), parse_time_ms(line.timestamp)
    return Entry(load, (node.position,), time_ms, line.id, line.message.model, usage if is_paid else None)


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
