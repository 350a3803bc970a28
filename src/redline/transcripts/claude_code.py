"""Claude Code session files: a tree of lines, several to an API message, with sub-agents and compactions inside."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, ClassVar

import msgspec

from redline.formats.anthropic import Anthropic
from redline.transcripts.base import (
    Attachment,
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
from redline.transcripts.shapes import text_in
from redline.transcripts.source import Source, index_lines
from redline.values.messages import Message

__all__ = ["ClaudeCode"]

_FORMAT = Anthropic()
_BOUNDARY = "compact_boundary"
_TREE_TYPES = frozenset({"user", "assistant", "system", "progress", "attachment"})


class ClaudeCode:
    """Reads `~/.claude/projects/*/*.jsonl`, main sessions and sub-agents alike."""

    name: ClassVar[str] = "claude-code"

    def recognizes(self, sample: Sample) -> bool:
        """Lines with a session id and a place in a tree, of a type that Claude Code writes."""
        return any(
            "sessionId" in record and "parentUuid" in record and text_in(record.get("type")) in _TREE_TYPES
            for record in sample.records
        )

    def read(self, source: Source) -> Transcript:
        """One conversation: its active path, its branches, its sub-agents."""
        index = index_lines(source, _decode_head)
        nodes = [_node(position, head) for position, head in index.records if head.type in _TREE_TYPES]
        index.records.clear()  # a file of a million lines should not be held twice
        conversations = (_conversation(source, nodes),) if nodes else ()
        return Transcript(source.path, self.name, conversations, tuple(index.problems))


# --- the head of a line: what the tree needs, nothing of the content


class _Block(msgspec.Struct, gc=False):
    type: str | None = None


class _Tokens(msgspec.Struct, gc=False):
    input_tokens: TokenCount | None = None
    output_tokens: TokenCount | None = None
    cache_read_input_tokens: TokenCount | None = None
    cache_creation_input_tokens: TokenCount | None = None


class _Said(msgspec.Struct, gc=False):
    id: str | None = None
    model: str | None = None
    content: list[_Block] | str | None = None
    usage: _Tokens | None = None


class _Compacted(msgspec.Struct, rename="camel", gc=False):
    trigger: str | None = None
    pre_tokens: TokenCount | None = None
    post_tokens: TokenCount | None = None


class _AttachmentHead(msgspec.Struct, gc=False):
    type: str | None = None


class _Head(msgspec.Struct, rename="camel", gc=False):
    type: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    is_sidechain: bool = False
    agent_id: str | None = None
    timestamp: str | None = None
    subtype: str | None = None
    message: _Said | None = None
    compact_metadata: _Compacted | None = None
    attachment: _AttachmentHead | None = None


_decode_head = head_decoder(_Head)


class _Node(msgspec.Struct, eq=False, gc=False):
    """A line in the tree."""

    position: Position
    head: _Head
    is_result: bool
    """Whether it holds results of tools."""
    is_on_path: bool = False
    """Of the active path; a set of a million lines would be dear."""

    @property
    def is_message(self) -> bool:
        """Only lines of the user and the assistant have a message."""
        return self.head.message is not None

    @property
    def message_id(self) -> str | None:
        """The id of the API message that the line is a piece of."""
        return self.head.message.id if self.head.type == "assistant" and self.head.message else None


def _node(position: Position, head: _Head) -> _Node:
    """The line, without the heads of its blocks: once it is known whether they are results, they are only weight."""
    said = head.message
    is_result = False
    if said is not None and isinstance(said.content, list):
        is_result = any(block.type == "tool_result" for block in said.content)
        said.content = None
    return _Node(position, head, is_result)


# --- the tree


class _Tree:
    """Lines by their ids and parents."""

    def __init__(self, source: Source, nodes: Iterable[_Node]) -> None:
        self.nodes: dict[str, _Node] = {}
        self._follows: dict[str, _Node | None] = {}
        """For a compaction the last message written before it."""
        before: _Node | None = None
        for node in nodes:
            if self.nodes.setdefault(node.head.uuid or f"line {node.position.line}", node) is not node:
                self._keep_twin(source, node)
            if node.head.message is not None:
                before = node
            elif node.head.subtype == _BOUNDARY:
                self._follows[node.head.uuid or ""] = before

    def _keep_twin(self, source: Source, node: _Node) -> None:
        """The same line a second time adds nothing; another one with a known id is kept too."""
        uuid = node.head.uuid or ""
        if source.read(self.nodes[uuid].position) != source.read(node.position):
            self.nodes[f"{uuid} line {node.position.line}"] = node

    def parent(self, node: _Node) -> _Node | None:
        """The line before it; across a compaction the one it follows; if that was not written, the message before."""
        head = node.head
        if head.parent_uuid:
            return self.nodes.get(head.parent_uuid)
        if head.subtype != _BOUNDARY:
            return None
        return self.nodes.get(head.logical_parent_uuid or "") or self._follows.get(head.uuid or "")

    def path_to(self, leaf: _Node) -> list[_Node]:
        """From the beginning to the leaf. A missing parent or a circle ends the walk."""
        path: list[_Node] = []
        node: _Node | None = leaf
        while node is not None and not node.is_on_path:
            node.is_on_path = True
            path.append(node)
            node = self.parent(node)
        path.reverse()
        return path

    def offshoots(self, path: list[_Node]) -> list["_Offshoot"]:
        """What hangs off the path, or off nothing, each piece from its topmost line down."""
        on_path = set(path)
        piece_of: dict[_Node, _Offshoot] = {}
        pieces: dict[_Node, _Offshoot] = {}
        for node in self.nodes.values():
            if node not in on_path and node not in piece_of:
                way = self._way_up(node, on_path, piece_of)
                parent = self.parent(way[-1])
                fork = parent if parent in on_path else None
                piece = piece_of.get(parent) if parent else None
                piece = piece or pieces.setdefault(way[-1], _Offshoot(fork))
                piece_of.update(dict.fromkeys(way, piece))
        for node in self.nodes.values():
            if node in piece_of:
                piece_of[node].nodes.append(node)
        return list(pieces.values())

    def _way_up(self, node: _Node, on_path: set[_Node], known: dict[_Node, "_Offshoot"]) -> list[_Node]:
        """From a line upwards, as long as nothing is known of where it belongs."""
        way = {node: None}
        while (parent := self.parent(node)) is not None and parent not in way:
            if parent in on_path or parent in known:
                break
            way[parent] = None
            node = parent
        return list(way)


class _Offshoot:
    """Lines apart from the active path."""

    def __init__(self, fork: _Node | None) -> None:
        self.fork = fork
        """The line of the path it hangs off."""
        self.nodes: list[_Node] = []

    def is_parallel_work(self, message_ids: set[str]) -> bool:
        """Only further lines of messages on the path and results: calls that ran side by side, no turning back."""
        said = [node for node in self.nodes if node.is_message]
        return self.fork is not None and all(node.is_result or node.message_id in message_ids for node in said)


def _conversation(source: Source, nodes: list[_Node]) -> RecordedConversation:
    side = [node for node in nodes if node.head.is_sidechain]
    main = [node for node in nodes if not node.head.is_sidechain] if side else nodes
    if not any(node.is_message for node in main):  # the file of a sub-agent, or nothing said yet
        main, side = nodes, []
    tree = _Tree(source, main)
    path, apart = _active_path(tree)
    groups = _group(path)
    return RecordedConversation(
        id=_session_id(source, nodes),
        format=_FORMAT.name,
        entries=LazyEntries(groups, partial(_entry, source)),
        branches=tuple(_branches(source, tree, groups, apart)),
        subagents=tuple(_subagents(source, side)),
        compactions=tuple(_compactions(path, groups)),
        attachments=tuple(_attachments(nodes)),
        metadata=_metadata(source, nodes),
    )


def _session_id(source: Source, nodes: list[_Node]) -> str:
    """Every line names the session; it is read from the first that does."""
    named = (source.decode(node.position).get("sessionId") for node in nodes)
    return next((name for name in named if isinstance(name, str)), source.path.stem)


def _active_path(tree: _Tree) -> tuple[list[_Node], list[_Offshoot]]:
    """The path to the last message with the parallel work beside it, in file order, and what lies apart from it."""
    leaf = next((node for node in reversed(tree.nodes.values()) if node.is_message), None)
    path = tree.path_to(leaf) if leaf else []
    if len(path) == len(tree.nodes):
        return path, []
    message_ids = {node.message_id for node in path if node.message_id}
    apart: list[_Offshoot] = []
    for offshoot in tree.offshoots(path):
        if offshoot.is_parallel_work(message_ids):
            path.extend(offshoot.nodes)
        else:
            apart.append(offshoot)
    return sorted(path, key=lambda node: node.position.offset), apart


# --- API messages out of lines


def _group(path: Iterable[_Node]) -> list[list[_Node]]:
    """Lines of one API message together: assistant lines by message id, the results that answer them in one message."""
    groups: list[list[_Node]] = []
    answer: list[_Node] = []
    results: list[_Node] | None = None
    message_id: str | None = None
    for node in path:
        said = node.head.message
        if said is None:
            continue
        if node.head.type == "assistant":
            if message_id is not None and said.id == message_id:
                answer.append(node)
                continue
            answer, results, message_id = [node], None, said.id
            groups.append(answer)
        elif results is not None and node.is_result:
            results.append(node)
        else:
            groups.append([node])
            results = groups[-1] if node.is_result else None
    return groups


def _entry(source: Source, group: list[_Node]) -> Entry:
    positions = tuple(node.position for node in group)
    said = group[-1].head.message
    return Entry(
        load=partial(_load, source, positions),
        positions=positions,
        timestamp_ms=parse_time_ms(group[0].head.timestamp),
        id=(said and said.id) or group[0].head.uuid,
        model=said.model if said else None,
        usage=_usage(said.usage) if said and said.usage else None,
    )


def _load(source: Source, positions: tuple[Position, ...]) -> Message:
    """The API message: role and content as sent, the content of several lines put together."""
    said = [source.decode(position)["message"] for position in positions]
    if len(said) == 1:
        content = said[0].get("content", "")
    else:
        content = [block for part in said for block in _blocks(part.get("content"))]
    return _FORMAT.read({"role": said[0].get("role", "user"), "content": content})


def _blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def _usage(tokens: _Tokens) -> Usage:
    return Usage(
        tokens.input_tokens or 0,
        tokens.output_tokens or 0,
        tokens.cache_read_input_tokens or 0,
        tokens.cache_creation_input_tokens or 0,
    )


# --- what lies beside the active path


def _branches(source: Source, tree: _Tree, groups: list[list[_Node]], apart: list[_Offshoot]) -> Iterator[RecordedBranch]:
    number_of = {id(node): number for number, group in enumerate(groups) for node in group}
    for offshoot in apart:
        entries = LazyEntries(_group(offshoot.nodes), partial(_entry, source))
        fork = offshoot.fork
        while fork is not None and id(fork) not in number_of:
            fork = tree.parent(fork)
        if entries:
            yield RecordedBranch(number_of[id(fork)] if fork else None, entries)


def _subagents(source: Source, side: list[_Node]) -> Iterator[RecordedConversation]:
    """Sub-agent lines inside the file, a chain for each root."""
    for chain in _Tree(source, side).offshoots([]):
        entries = LazyEntries(_group(chain.nodes), partial(_entry, source))
        first = chain.nodes[0].head
        if entries:
            yield RecordedConversation(first.agent_id or first.uuid or "", _FORMAT.name, entries)


def _compactions(path: list[_Node], groups: list[list[_Node]]) -> Iterator[RecordedCompaction]:
    starts = {id(group[0]): number for number, group in enumerate(groups)}
    boundary: _Node | None = None
    for node in path:
        if node.head.subtype == _BOUNDARY:
            boundary = node
        elif boundary is not None and id(node) in starts:
            told = boundary.head.compact_metadata or _Compacted()
            yield RecordedCompaction(starts[id(node)], boundary.position, told.trigger, told.pre_tokens, told.post_tokens)
            boundary = None


def _attachments(nodes: Iterable[_Node]) -> Iterator[Attachment]:
    for node in nodes:
        if node.head.attachment is not None:
            yield Attachment(node.head.attachment.type or "unknown", node.position)


def _metadata(source: Source, nodes: list[_Node]) -> dict[str, Any]:
    agents = {node.head.agent_id for node in nodes if node.head.agent_id}
    is_subagent = len(agents) == 1 and all(node.head.is_sidechain for node in nodes)
    known = {"cwd": source.decode(nodes[0].position).get("cwd"), "agent_id": agents.pop() if is_subagent else None}
    return {key: value for key, value in known.items() if isinstance(value, str) and value}
