"""Claude Code session files: a tree of lines, several to an API message, with sub-agents and compactions inside."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, ClassVar

import msgspec

from redline.agents.transcripts import (
    Attachment,
    Entry,
    LazyEntries,
    Position,
    RecordedBranch,
    RecordedCompaction,
    RecordedConversation,
    RecordedGap,
    Transcript,
)
from redline.agents.transcripts.detect import Reader, Sample, SessionDir
from redline.agents.transcripts.document import head_decoder
from redline.agents.transcripts.heads import AnthropicTokens, ItemHead, TokenCount, parse_time_ms, text_in
from redline.agents.transcripts.source import LineLinks, Source, index_lines, without_repeats
from redline.providers.anthropic.messages import Anthropic
from redline.values.messages import Message

_FORMAT = Anthropic()
_BOUNDARY = "compact_boundary"
_TREE_TYPES = frozenset({"user", "assistant", "system", "progress", "attachment"})


class ClaudeCode(Reader):
    """Reads `~/.claude/projects/*/*.jsonl`, main sessions and sub-agents alike."""

    name: ClassVar[str] = "claude-code"
    subagent_prefix = "agent-"
    session_dir = SessionDir("Claude Code", ".claude/projects", "**/*.jsonl", (("CLAUDE_CONFIG_DIR", "projects"),))

    def recognizes(self, sample: Sample) -> bool:
        """Lines with a session id and a place in a tree, of a type that Claude Code writes."""
        return any(
            "sessionId" in record and "parentUuid" in record and text_in(record.get("type")) in _TREE_TYPES
            for record in sample.records
        )

    def read(self, source: Source) -> Transcript:
        """One conversation with branches and sub-agents. A line without its parent follows the one before it of its agent."""
        index = index_lines(source, head_decoder(_ClaudeCodeLine))
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
        groups = _group(tree.nodes[number] for number in path)
        side_tree = _ClaudeCodeTree(source, side, beside=main)
        subagents = []
        for _, numbers in side_tree.links.branches(()):
            chain = [side_tree.nodes[number] for number in numbers]
            name = chain[0].line.agent_id or chain[0].line.uuid or ""
            subagents.append(RecordedConversation(name, _FORMAT.name, _entries(source, _group(chain))))
        gaps = tuple(tree.gaps(path))
        joined = [gap for gap in (*gaps, *side_tree.gaps(range(len(side_tree.nodes)))) if gap.joined_to]
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


class _ClaudeCodeMessage(msgspec.Struct, gc=False):
    id: str | None = None
    model: str | None = None
    content: list[ItemHead] | str | None = None
    usage: AnthropicTokens | None = None


class _CompactMetadata(msgspec.Struct, rename="camel", gc=False):
    trigger: str | None = None
    pre_tokens: TokenCount | None = None
    post_tokens: TokenCount | None = None


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
    attachment: ItemHead | None = None


class _ClaudeCodeNode(msgspec.Struct, eq=False, gc=False):
    """A line in the tree."""

    position: Position
    line: _ClaudeCodeLine
    is_result: bool

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


def _branches(
    source: Source, tree: "_ClaudeCodeTree", groups: list[list[_ClaudeCodeNode]], abandoned: list[tuple[int | None, list[int]]]
) -> Iterator[RecordedBranch]:
    number_of = {id(node): number for number, group in enumerate(groups) for node in group} if abandoned else {}
    for fork, numbers in abandoned:
        entries = _entries(source, _group(tree.nodes[number] for number in numbers))
        while fork is not None and id(tree.nodes[fork]) not in number_of:
            fork = tree.links.parents[fork]
        if entries:
            yield RecordedBranch(None if fork is None else number_of[id(tree.nodes[fork])], entries)


def _compactions(path: list[int], groups: list[list[_ClaudeCodeNode]], tree: "_ClaudeCodeTree") -> Iterator[RecordedCompaction]:
    """A new window begins with the first message after a boundary, or with a summary whose boundary is missing."""
    starts = {id(group[0]): number for number, group in enumerate(groups)}
    boundary: _ClaudeCodeNode | None = None
    for number in path:
        node = tree.nodes[number]
        if node.line.subtype == _BOUNDARY or tree.is_summary_alone(number):
            boundary = node
        if boundary is not None and id(node) in starts:
            told = boundary.line.compact_metadata or _CompactMetadata()
            sizes = (told.pre_tokens, told.post_tokens)
            yield RecordedCompaction(starts[id(node)], boundary.position, told.trigger, *sizes)
            boundary = None


class _ClaudeCodeTree:
    """Lines by number, with their links. A line that was written twice adds nothing; another one with a known id is kept."""

    def __init__(self, source: Source, nodes: Iterable[_ClaudeCodeNode], beside: Iterable[_ClaudeCodeNode] = ()) -> None:
        """`beside` are the lines of the file that are not in this tree: a line may name one of them as its parent."""
        located = without_repeats(source, ((node.position, node) for node in nodes), lambda node: node.line.uuid)
        self.nodes = [node for _, node in located]
        self.links = links = LineLinks(self.nodes, lambda node: (node.line.uuid, node.line.parent_uuid), joins_gaps=False)
        outside = {node.line.uuid for node in beside} if links.missing else set()
        links.missing = {number: parent for number, parent in links.missing.items() if parent not in outside}
        latest: int | None = None
        for number, node in enumerate(self.nodes):
            if node.line.subtype == _BOUNDARY and not node.line.parent_uuid:
                # It follows the line that it names; if that was not written, the message before.
                named = node.line.logical_parent_uuid
                links.parents[number] = links.number_of.get(named, latest) if named else latest
            if node.line.message is not None:
                latest = number
        if links.missing:
            self._join_gaps()

    def _join_gaps(self) -> None:
        """Make each line whose parent is missing follow the line before it of the same agent, if there is one.

        Sub-agents that have no id may have written side by side: there it is the latest line that no other line follows.
        """
        followed = {node.line.parent_uuid for node in self.nodes}
        latest: dict[tuple[bool, str | None], int] = {}
        for number, node in enumerate(self.nodes):
            agent = (node.line.is_sidechain, node.line.agent_id)
            if number in self.links.missing:
                self.links.parents[number] = latest.get(agent)
            if agent != (True, None) or node.line.uuid not in followed:
                latest[agent] = number

    def is_summary_alone(self, number: int) -> bool:
        """Whether a line is the summary of a compaction whose boundary is missing."""
        return self.nodes[number].line.is_compact_summary and number in self.links.missing

    def gaps(self, path: Iterable[int]) -> Iterator[RecordedGap]:
        """Where a line of the path has lost its parent. What comes before a summary is not sent: it is not joined."""
        for number in path if self.links.missing else ():
            if number in self.links.missing:
                above = None if self.is_summary_alone(number) else self.links.parents[number]
                joined_to = None if above is None else self.nodes[above].position
                yield RecordedGap(self.nodes[number].position, self.links.missing[number], joined_to)

    def active_path(self) -> tuple[list[int], list[tuple[int | None, list[int]]]]:
        """The path to the last message with the parallel work beside it, in file order, and what was abandoned."""
        end = next((number for number in reversed(range(len(self.nodes))) if self.nodes[number].line.message), -1)
        path = self.links.path(end)
        if len(path) == len(self.nodes):
            return path, []
        message_ids = {name for number in path if (name := self.nodes[number].message_id)}
        abandoned: list[tuple[int | None, list[int]]] = []
        # In file order; no line comes before the line that it follows.
        places: dict[int, int] = {}
        latest = 0
        for number in path:
            latest = places[number] = max(latest, number)
        for fork, numbers in self.links.branches(path):
            said = [node for node in map(self.nodes.__getitem__, numbers) if node.line.message]
            # Only further lines of messages on the path and results: calls that ran side by side, no turning back.
            if fork is not None and all(node.is_result or node.message_id in message_ids for node in said):
                places.update((number, max(places[fork], number)) for number in numbers)
            else:
                abandoned.append((fork, numbers))
        return sorted(places, key=places.__getitem__), abandoned


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
    load, time_ms = partial(_load, source, positions), parse_time_ms(group[0].line.timestamp)
    usage = said.usage.as_usage() if said.usage else None
    return Entry(load, positions, time_ms, said.id or group[0].line.uuid, said.model, usage)


def _load(source: Source, positions: tuple[Position, ...]) -> Message:
    """The API message: role and content as sent, the content of several lines put together."""
    said = [source.decode(position)["message"] for position in positions]
    content: Any = said[0].get("content", "")
    if len(said) > 1:
        contents = [part.get("content") for part in said]
        contents = [[{"type": "text", "text": held}] if isinstance(held, str) else held for held in contents]
        content = [block for held in contents if isinstance(held, list) for block in held]
    return _FORMAT.read({"role": said[0].get("role", "user"), "content": content})
