"""Claude Code session files: a tree of lines, several to an API message, with sub-agents and compactions inside."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, ClassVar

import msgspec

from redline.formats.anthropic import Anthropic
from redline.transcripts.base import (
    Attachment,
    CacheCreation,
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
        """One conversation: its active path, its branches, its sub-agents.

        A line whose parent is not in the file follows the line before it of the same agent; the gap is one of the problems.
        """
        index = index_lines(source, _decode_line)
        in_tree = ((position, line) for position, line in index.records if line.type in _TREE_TYPES or line.uuid)
        nodes = [_ClaudeCodeNode.of(position, line) for position, line in in_tree]
        index.records.clear()  # a file of a million lines should not be held twice
        if not nodes:
            return Transcript(source.path, self.name, (), tuple(index.problems))
        side = [node for node in nodes if node.line.is_sidechain]
        main = [node for node in nodes if not node.line.is_sidechain] if side else nodes
        if not any(node.line.message for node in main):  # the file of a sub-agent, or nothing said yet
            main, side = nodes, []
        tree = _ClaudeCodeTree(source, main, beside=side)
        path, abandoned = tree.active_path()
        groups = _group(path)
        side_tree = _ClaudeCodeTree(source, side, beside=main)
        subagents = [
            RecordedConversation(chain.agent_id, _FORMAT.name, _entries(source, _group(chain.nodes)))
            for chain in side_tree.offshoots()
        ]
        gaps = tuple(tree.gaps(path))
        joined = [gap for gap in (*gaps, *side_tree.gaps(side)) if gap.joined_to]
        agents = {node.line.agent_id for node in nodes if node.line.agent_id}
        is_subagent = len(agents) == 1 and all(node.line.is_sidechain for node in nodes)
        known = {"cwd": source.decode(nodes[0].position).get("cwd"), "agent_id": agents.pop() if is_subagent else None}
        session_ids = (source.decode(node.position).get("sessionId") for node in nodes)
        conversation = RecordedConversation(
            id=next((name for name in session_ids if isinstance(name, str)), source.path.stem),
            format=_FORMAT.name,
            entries=_entries(source, groups),
            branches=tuple(_branches(source, tree, groups, abandoned)),
            subagents=tuple(subagent for subagent in subagents if subagent.entries),
            compactions=tuple(_compactions(path, groups, tree)),
            attachments=tuple(
                Attachment(node.line.attachment.type or "unknown", node.position) for node in nodes if node.line.attachment
            ),
            gaps=gaps,
            metadata={key: value for key, value in known.items() if isinstance(value, str) and value},
        )
        problems = (*index.problems, *(gap.as_problem(source.path) for gap in joined))
        return Transcript(source.path, self.name, (conversation,), problems)


# --- the head of a line: what the tree needs, nothing of the content


class _ClaudeCodeBlock(msgspec.Struct, gc=False):
    type: str | None = None


class _ClaudeCodeTokens(msgspec.Struct, gc=False):
    input_tokens: TokenCount | None = None
    output_tokens: TokenCount | None = None
    cache_read_input_tokens: TokenCount | None = None
    cache_creation_input_tokens: TokenCount | None = None
    cache_creation: CacheCreation | None = None


class _ClaudeCodeMessage(msgspec.Struct, gc=False):
    id: str | None = None
    model: str | None = None
    content: list[_ClaudeCodeBlock] | str | None = None
    usage: _ClaudeCodeTokens | None = None


class _CompactMetadata(msgspec.Struct, rename="camel", gc=False):
    trigger: str | None = None
    pre_tokens: TokenCount | None = None
    post_tokens: TokenCount | None = None


class _ClaudeCodeAttachment(msgspec.Struct, gc=False):
    type: str | None = None


class _ClaudeCodeLine(msgspec.Struct, rename="camel", gc=False):
    type: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    is_sidechain: bool = False
    is_compact_summary: bool = False
    agent_id: str | None = None
    timestamp: str | None = None
    subtype: str | None = None
    message: _ClaudeCodeMessage | None = None
    """Only lines of the user and the assistant have one."""
    compact_metadata: _CompactMetadata | None = None
    attachment: _ClaudeCodeAttachment | None = None


_decode_line = head_decoder(_ClaudeCodeLine)


class _ClaudeCodeNode(msgspec.Struct, eq=False, gc=False):
    """A line in the tree."""

    position: Position
    line: _ClaudeCodeLine
    is_result: bool
    """Whether it holds results of tools."""
    is_on_path: bool = False
    """Of the active path; a set of a million lines would be expensive."""

    @classmethod
    def of(cls, position: Position, line: _ClaudeCodeLine) -> "_ClaudeCodeNode":
        """The line, without the heads of its blocks: once it is known whether they are results, they are only weight."""
        message, is_result = line.message, False
        if message is not None and isinstance(message.content, list):
            is_result = any(block.type == "tool_result" for block in message.content)
            message.content = None
        return cls(position, line, is_result)

    @property
    def message_id(self) -> str | None:
        """The id of the API message that the line is a piece of."""
        return self.line.message.id if self.line.type == "assistant" and self.line.message else None


# --- what lies beside the active path, and where a new window begins


def _branches(
    source: Source, tree: "_ClaudeCodeTree", groups: list[list[_ClaudeCodeNode]], abandoned: list["_Offshoot"]
) -> Iterator[RecordedBranch]:
    number_of = {id(node): number for number, group in enumerate(groups) for node in group}
    for offshoot in abandoned:
        entries = _entries(source, _group(offshoot.nodes))
        fork = offshoot.fork
        while fork is not None and id(fork) not in number_of:
            fork = tree.parent(fork)
        if entries:
            yield RecordedBranch(number_of[id(fork)] if fork else None, entries)


def _compactions(
    path: list[_ClaudeCodeNode], groups: list[list[_ClaudeCodeNode]], tree: "_ClaudeCodeTree"
) -> Iterator[RecordedCompaction]:
    """A new window begins with the first message after a boundary, or with a summary whose boundary is missing."""
    starts = {id(group[0]): number for number, group in enumerate(groups)}
    boundary: _ClaudeCodeNode | None = None
    for node in path:
        if node.line.subtype == _BOUNDARY or tree.is_summary_alone(node):
            boundary = node
        if boundary is not None and id(node) in starts:
            told = boundary.line.compact_metadata or _CompactMetadata()
            sizes = (told.pre_tokens, told.post_tokens)
            yield RecordedCompaction(starts[id(node)], boundary.position, told.trigger, *sizes)
            boundary = None


# --- the tree


class _ClaudeCodeTree:
    """Lines by their ids and parents."""

    def __init__(self, source: Source, nodes: Iterable[_ClaudeCodeNode], beside: Iterable[_ClaudeCodeNode] = ()) -> None:
        """`beside` are the lines of the file that are not in this tree: a line may name one of them as its parent."""
        self._nodes: dict[str, _ClaudeCodeNode] = {}
        self._before: dict[str, _ClaudeCodeNode | None] = {}
        """For a compaction the last message written before it."""
        parent_not_seen: list[_ClaudeCodeNode] = []
        latest: _ClaudeCodeNode | None = None
        for node in nodes:
            uuid, offset = node.line.uuid, node.position.offset
            if node.line.parent_uuid and node.line.parent_uuid not in self._nodes:
                parent_not_seen.append(node)
            first = self._nodes.setdefault(uuid or f"no id, at {offset}", node)
            # A line that was written twice adds nothing; another one with a known id is kept, too.
            if first is not node and source.read(first.position) != source.read(node.position):
                self._nodes[f"{uuid} again, at {offset}"] = node
            if node.line.message is not None:
                latest = node
            elif node.line.subtype == _BOUNDARY:
                self._before[node.line.uuid or ""] = latest
        unknown = {node for node in parent_not_seen if node.line.parent_uuid not in self._nodes}
        outside = {node.line.uuid for node in beside} if unknown else set()
        missing = {node for node in unknown if node.line.parent_uuid not in outside}
        self._joined = self._join(missing) if missing else {}
        """By a line whose parent is missing, the line that is taken for it; None where no line comes before it."""
        self._is_in_order = len(unknown) == len(parent_not_seen)
        """Whether every line comes after its parent."""

    def _join(self, missing: set[_ClaudeCodeNode]) -> dict[_ClaudeCodeNode, _ClaudeCodeNode | None]:
        """By each line whose parent is missing, the line before it of the same agent.

        Sub-agents that have no id may have written side by side: there it is the latest line that no other line follows.
        """
        followed = {node.line.parent_uuid for node in self._nodes.values()}
        joined: dict[_ClaudeCodeNode, _ClaudeCodeNode | None] = {}
        latest: dict[tuple[bool, str | None], _ClaudeCodeNode] = {}
        for node in self._nodes.values():
            agent = (node.line.is_sidechain, node.line.agent_id)
            if node in missing:
                joined[node] = latest.get(agent)
            if agent != (True, None) or node.line.uuid not in followed:
                latest[agent] = node
        return joined

    def parent(self, node: _ClaudeCodeNode) -> _ClaudeCodeNode | None:
        """The line before it; across a compaction the one it follows; if that was not written, the message before."""
        line = node.line
        if node in self._joined:
            return self._joined[node]
        if line.parent_uuid:
            return self._nodes.get(line.parent_uuid)
        if line.subtype != _BOUNDARY:
            return None
        return self._nodes.get(line.logical_parent_uuid or "") or self._before.get(line.uuid or "")

    def is_summary_alone(self, node: _ClaudeCodeNode) -> bool:
        """Whether a line is the summary of a compaction whose boundary is missing."""
        return node.line.is_compact_summary and node in self._joined

    def gaps(self, path: Iterable[_ClaudeCodeNode]) -> Iterator[RecordedGap]:
        """Where a line of the path has lost its parent. What comes before a summary is not sent: it is not joined."""
        for node in path if self._joined else ():
            if node in self._joined:
                above = None if self.is_summary_alone(node) else self._joined[node]
                yield RecordedGap(node.position, node.line.parent_uuid or "", above.position if above else None)

    def active_path(self) -> tuple[list[_ClaudeCodeNode], list["_Offshoot"]]:
        """The path to the last message with the parallel work beside it, in file order, and what was abandoned."""
        path: list[_ClaudeCodeNode] = []
        node = next((node for node in reversed(self._nodes.values()) if node.line.message), None)
        while node is not None and not node.is_on_path:  # a circle ends the walk
            node.is_on_path = True
            path.append(node)
            node = self.parent(node)
        path.reverse()
        if len(path) == len(self._nodes):
            return path, []
        message_ids = {node.message_id for node in path if node.message_id}
        abandoned: list[_Offshoot] = []
        parallel: list[_Offshoot] = []
        for offshoot in self.offshoots():
            (parallel if offshoot.is_parallel_work(message_ids) else abandoned).append(offshoot)
        return self._in_order(path, parallel), abandoned

    def _in_order(self, path: list[_ClaudeCodeNode], parallel: list["_Offshoot"]) -> list[_ClaudeCodeNode]:
        """The path with the parallel work in it, in file order; no line comes before the line that it follows."""
        nodes = [*path, *(node for offshoot in parallel for node in offshoot.nodes)]
        if self._is_in_order:
            return sorted(nodes, key=lambda node: node.position.offset)
        places: dict[_ClaudeCodeNode | None, int] = {None: 0}
        latest = 0
        for node in path:
            latest = places[node] = max(latest, node.position.offset)
        for offshoot in parallel:
            for node in offshoot.nodes:
                places[node] = max(places[offshoot.fork], node.position.offset)
        return sorted(nodes, key=places.__getitem__)

    def offshoots(self) -> list["_Offshoot"]:
        """What hangs off the active path, or off nothing, each piece from its topmost line down."""
        found: list[_Offshoot] = []
        offshoot_of: dict[_ClaudeCodeNode, _Offshoot] = {}
        for node in self._nodes.values():
            if node.is_on_path or node in offshoot_of:
                continue
            # Upwards, until it is known where the line belongs, or nothing is above, or the way goes in a circle.
            way, parent = {node: None}, self.parent(node)
            while parent is not None and not (parent in way or parent.is_on_path or parent in offshoot_of):
                way[parent] = None
                parent = self.parent(parent)
            offshoot = offshoot_of.get(parent) if parent else None
            if offshoot is None:
                offshoot = _Offshoot(parent if parent and parent.is_on_path else None)
                found.append(offshoot)
            offshoot_of.update(dict.fromkeys(way, offshoot))
        for node in self._nodes.values():
            if node in offshoot_of:
                offshoot_of[node].nodes.append(node)
        return found


class _Offshoot:
    """Lines apart from the active path."""

    def __init__(self, fork: _ClaudeCodeNode | None) -> None:
        self.fork = fork
        """The line of the path it hangs off."""
        self.nodes: list[_ClaudeCodeNode] = []

    @property
    def agent_id(self) -> str:
        """Of the sub-agent whose lines these are, in a file that holds it beside the main conversation."""
        first = self.nodes[0].line
        return first.agent_id or first.uuid or ""

    def is_parallel_work(self, message_ids: set[str]) -> bool:
        """Only further lines of messages on the path and results: calls that ran side by side, no turning back."""
        said = [node for node in self.nodes if node.line.message]
        return self.fork is not None and all(node.is_result or node.message_id in message_ids for node in said)


# --- API messages out of lines


def _group(path: Iterable[_ClaudeCodeNode]) -> list[list[_ClaudeCodeNode]]:
    """Lines of one API message together: assistant lines by message id, the results that answer them in one message."""
    groups: list[list[_ClaudeCodeNode]] = []
    answer: list[_ClaudeCodeNode] = []
    results: list[_ClaudeCodeNode] | None = None
    message_id: str | None = None
    for node in path:
        said = node.line.message
        if said is None:
            continue
        if node.line.type == "assistant":
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


def _entries(source: Source, groups: list[list[_ClaudeCodeNode]]) -> LazyEntries:
    return LazyEntries(groups, partial(_entry, source))


def _entry(source: Source, group: list[_ClaudeCodeNode]) -> Entry:
    positions = tuple(node.position for node in group)
    said = group[-1].line.message or _ClaudeCodeMessage()
    usage: Usage | None = None
    if told := said.usage:
        fresh, output = told.input_tokens or 0, told.output_tokens or 0
        read, written = told.cache_read_input_tokens or 0, told.cache_creation_input_tokens or 0
        split = told.cache_creation or CacheCreation()
        usage = Usage(fresh, output, read, written, split.ephemeral_1h_input_tokens or 0)
    return Entry(
        load=partial(_load, source, positions),
        positions=positions,
        timestamp_ms=parse_time_ms(group[0].line.timestamp),
        id=said.id or group[0].line.uuid,
        model=said.model,
        usage=usage,
    )


def _load(source: Source, positions: tuple[Position, ...]) -> Message:
    """The API message: role and content as sent, the content of several lines put together."""
    said = [source.decode(position)["message"] for position in positions]
    content: Any = said[0].get("content", "")
    if len(said) > 1:
        contents = [part.get("content") for part in said]
        contents = [[{"type": "text", "text": held}] if isinstance(held, str) else held for held in contents]
        content = [block for held in contents if isinstance(held, list) for block in held]
    return _FORMAT.read({"role": said[0].get("role", "user"), "content": content})
