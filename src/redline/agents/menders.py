"""Repairs a session file that its agent cannot resume, in the agent's own format; the file itself is never written."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from redline.agents.mending import Action, Fix, LineEdits, LostRecord, Mender, apply_splices, excerpt
from redline.agents.mending.window import gaps_in_last_window, last_window, model_of
from redline.agents.readers import READERS, read_transcript
from redline.agents.registry import KNOWN_AGENTS
from redline.agents.transcripts import Position, Transcript
from redline.agents.transcripts.detect import Reader, take_sample
from redline.agents.transcripts.document import open_document
from redline.agents.transcripts.source import Source, decode_line, index_lines
from redline.errors import ExecutionError, TranscriptError, ValidationError
from redline.files import create_whole, write_whole
from redline.providers import find_format, read_messages
from redline.providers.laws import History, problems_of
from redline.repair import Strategy, check_strategy
from redline.values.messages import Message, Part, Reasoning, Text, ToolCall, ToolResult

__all__ = ["MENDERS", "Fix", "LostRecord", "Mender", "Mending", "mend_transcript", "prove"]

MENDERS: tuple[Mender, ...] = tuple(agent.menders[0] for agent in KNOWN_AGENTS if agent.menders)

_MOST_ROUNDS = 5
_WHY_SEPARATED = "what was written whole on it ({} records) is kept, a line for each; the rest was torn by a crash"
_COUNTED_AFTER = "(its place is counted after the changes above)"
_WHY_TORN = "torn by a crash while it was written"
_WHY_CUT = "what cannot be read is left out, and what it left open is closed"
_DONE: dict[Action, str] = {"remove": "removed", "change": "changed", "add": "added", "move": "moved"}


@dataclass(frozen=True, slots=True)
class Mending:
    """A session file as it would be after the repair. Nothing is written until `write` is called."""

    path: Path
    format: str
    """The agent that wrote the file."""
    fixes: tuple[Fix, ...]
    """What changes, in the order of the file; none if the file needs no repair."""
    content: bytes = field(repr=False)
    """The whole file after the repair; what no fix names is as it was, byte for byte."""
    mender: Mender = field(repr=False)
    promised: tuple[Sequence[Message], ...] = field(repr=False)
    """For each conversation the messages that go on."""
    losses: tuple[LostRecord, ...] = ()
    """What is missing in the file, cannot be read, or is not connected to the conversation: no repair gives it back."""

    @property
    def summary(self) -> str:
        """How many messages go on, what was done for that, and how much is lost, in one sentence."""
        actions = Counter(fix.action for fix in self.fixes)
        answered = sum(fix.why.count("answered as interrupted") for fix in self.fixes)
        told = [(actions[action], f"record{{}} {words}") for action, words in _DONE.items()]
        told += [(answered, "call{} answered as interrupted"), (len(self.losses), "place{} where something is lost")]
        told.insert(0, (sum(map(len, self.promised)), "message{} in the conversation"))
        return "; ".join(f"{count:,} {words.format('s' if count != 1 else '')}" for count, words in told if count)

    def write(self, out: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the repaired file elsewhere, whole or not at all, for its owner only.

        It is first read again and proven legal; an ExecutionError says so if it is not, and nothing is written. The file that
        was repaired is never overwritten, by whatever name.
        """
        target = Path(out)
        exists = ValidationError(f"{target} exists. Choose another name, or force it.")
        if target.exists() and target.samefile(self.path):
            raise ValidationError(f"{target} is the file to repair itself; it is never overwritten. Choose another name.")
        if target.is_dir():
            raise ValidationError(f"{target} is a directory. Name a file.")
        if os.path.lexists(target) and not overwrite:
            raise exists
        try:
            with _written(self.path, self.content, target.parent) as draft:
                prove(draft, self.mender.reader, self.promised)
            if overwrite:
                write_whole(target, self.content)
            elif not create_whole(target, self.content):
                raise exists
        except OSError as problem:
            raise ExecutionError(f"{target} cannot be written: {problem.strerror}. Choose another place.") from problem


def mend_transcript(path: str | os.PathLike[str], *, strategy: Strategy = "drop") -> Mending:
    """What must change in a session file so that its agent can go on with it.

    Only the last window of each conversation is repaired, as `make_legal` would; branches and earlier windows stay as they are.
    The file is read, and never written. Repairing the result changes nothing more; where that cannot be reached, an
    ExecutionError says why.
    """
    check_strategy(strategy)
    transcript = read_transcript(path)
    if transcript.path.is_dir():
        raise ValidationError(f"{transcript.path} is a folder. Name the session file in it that is to be repaired.")
    _menders_for(transcript)
    content, fixes, losses = _made_readable(transcript)
    if not fixes:
        return _mend_with_any(transcript, strategy)
    with _written(transcript.path, content) as draft:
        mending = _continued(_mend_with_any(read_transcript(draft), strategy), transcript.path, fixes)
        return replace_fields(mending, losses=(*losses, *mending.losses))


@contextmanager
def _written(path: Path, content: bytes, parent: Path | None = None) -> Iterator[Path]:
    """A file of the same name with this content, as if it had been found on the disk; it is removed afterwards."""
    with TemporaryDirectory(dir=parent, prefix=".redline-") as directory:
        draft = Path(directory) / path.name
        write_whole(draft, content)
        yield draft


def _menders_for(transcript: Transcript) -> tuple[Mender, ...]:
    for menders in (agent.menders for agent in KNOWN_AGENTS if agent.menders):
        if transcript.format in menders[0].formats:
            return menders
    if why := next((reader.why_not_mended for reader in READERS if reader.name == transcript.format), ""):
        raise ValidationError(f"{transcript.path} {why}")
    known = ", ".join(mender.name for mender in MENDERS)
    raise ValidationError(
        f"{transcript.path} is a session of {transcript.format}, which cannot be repaired in its own format. "
        f"That is possible for: {known}. Its messages are not lost: `redline show {transcript.path}` shows them, "
        f"`redline export {transcript.path} --write messages.json` writes them as a list that a provider takes, and "
        "`--to markdown` as something to read, or to begin a new session with."
    )


def _mend_with_any(transcript: Transcript, strategy: Strategy) -> Mending:
    """The work of the first mender that can be proven."""
    *others, last = _menders_for(transcript)
    for mender in others:
        with suppress(ExecutionError):
            return _mend_for_good(transcript, mender, strategy)
    return _mend_for_good(transcript, last, strategy)


def _continued(mending: Mending, path: Path, fixes: Sequence[Fix]) -> Mending:
    """A mending of what other fixes made of the file at a path."""
    later = [replace(fix, why=f"{fix.why} {_COUNTED_AFTER}") for fix in mending.fixes]
    losses = [replace(loss, why=f"{loss.why} {_COUNTED_AFTER}") for loss in mending.losses]
    return replace_fields(mending, path=path, fixes=(*fixes, *later), losses=tuple(losses))


def _mend_for_good(transcript: Transcript, mender: Mender, strategy: Strategy) -> Mending:
    """Mend, prove the result, and mend that until nothing is left to do: less of a history may look like another format."""
    mending = _mend_once(transcript, mender, strategy)
    for _ in range(_MOST_ROUNDS):
        if not mending.fixes or not any(mending.promised):
            return mending
        with _written(mending.path, mending.content) as draft:
            prove(draft, mending.mender.reader, mending.promised)
            try:
                found = read_transcript(draft)
            except TranscriptError as problem:
                why = "the result would not be known as a session"
                raise ExecutionError(f"{mending.path} cannot be repaired: {why}.") from problem
            again = _mend_once(found, _menders_for(found)[0], strategy)
        if not again.fixes:
            return mending
        mending = replace_fields(_continued(again, mending.path, mending.fixes), losses=mending.losses)
    raise ExecutionError(f"{mending.path} cannot be repaired: each repair makes another necessary.")


def _mend_once(transcript: Transcript, mender: Mender, strategy: Strategy) -> Mending:
    source = Source(transcript.path)
    content = transcript.path.read_bytes()
    mended = [mender.mend(source, conversation, strategy) for conversation in transcript]
    edits = [*(one.edits for one in mended), _cut_torn_line(source, content)]
    fixes = sorted(
        (fix for edit in edits for fix in edit.fixes),
        key=lambda fix: (fix.line or 0, -1 if fix.message is None else fix.message),
    )
    after = apply_splices((splice for edit in edits for splice in edit.splices()), content)
    promised, losses = tuple(one.messages for one in mended), tuple(_losses(transcript, fixes, mender))
    return Mending(transcript.path, transcript.format, tuple(fixes), after, mender, promised, losses)


def _losses(transcript: Transcript, fixes: Sequence[Fix], mender: Mender) -> Iterator[LostRecord]:
    """What is missing in the file or cannot be read, unless a fix names it, and what is not connected to a conversation."""
    torn = {fix.line for fix in fixes if fix.why == _WHY_TORN}
    for gap in (gap for conversation in transcript for gap in conversation.gaps if gap.joined_to is None):
        yield LostRecord(str(gap), gap.line.line)
    for problem in transcript.problems:
        if not problem.is_left_out:
            yield LostRecord(problem.reason, problem.line)
        elif problem.line not in torn:
            yield LostRecord(f"line {problem.line} cannot be read and stays as it is: {problem.reason}", problem.line)
    for conversation in transcript if mender.is_tree else ():
        for branch in conversation.branches:
            if branch.after is None or branch.after == len(conversation.entries) - 1:
                for line in (position.line for entry in branch.entries for position in entry.positions):
                    yield LostRecord(f"line {line} stays beside the conversation: it does not lead to the last message", line)


def _made_readable(transcript: Transcript) -> tuple[bytes, Sequence[Fix], Sequence[LostRecord]]:
    """A damaged file in which every record that is left can be read by its agent, with the fixes and the losses.

    A document is closed where it was torn, without what in it cannot be read; lines get a line break each. What a crash left
    before or after a record on its line goes: agents read whole lines.
    """
    source = Source(transcript.path)
    sample = take_sample(source)
    if sample.damage and (salvaged := open_document(source).salvaged):
        fixes = [Fix("remove", _WHY_CUT, cut.line, text=excerpt(cut.lost)) for cut in salvaged.cuts]
        return salvaged.content, fixes, [LostRecord(cut.lost, cut.line) for cut in salvaged.cuts]
    edits = LineEdits(source)
    bad_lines = {problem.line for problem in transcript.problems if problem.is_left_out}
    if sample.document is not None or not bad_lines:
        return b"", (), ()
    found: dict[int | None, list[Position]] = {}
    for position, _ in index_lines(source, decode_line).records:
        if position.line in bad_lines:
            found.setdefault(position.line, []).append(position)
    offset, size = 0, transcript.path.stat().st_size
    for number, line in enumerate(source.lines(), 1):
        place, records = Position(offset, len(line), number), found.get(number, [])
        offset += len(line) + 1
        is_torn_end = offset > size and len(records) == 1 and records[0].offset == place.offset
        if records and not is_torn_end:  # the end is cut off as such
            content = b"\n".join(source.read(position) for position in records)
            if content != bytes(line).strip():
                edits.replace(place, content, Fix("change", _WHY_SEPARATED.format(len(records)), number))
    return apply_splices(edits.splices(), transcript.path.read_bytes()), edits.fixes, ()


def _cut_torn_line(source: Source, content: bytes) -> LineEdits:
    """Remove what a crash left after the last line break and is not JSON: the next line of the agent would be glued to it."""
    edits = LineEdits(source)
    start = content.rfind(b"\n") + 1
    if not content[start:].strip() or take_sample(source).document is not None:
        return edits
    start = max([start, *(position.end for position, _ in index_lines(source, decode_line).records)])
    if content[start:].strip():
        torn = Position(start, len(content) - start, content.count(b"\n") + 1)
        words = excerpt(content[start:].decode("utf-8", "replace"))
        edits.remove(torn, Fix("remove", _WHY_TORN, torn.line, text=words))
    return edits


_UNPROVEN = "The repaired file would still be refused"


def prove(path: Path, reader: Reader, promised: Sequence[Sequence[Message]]) -> None:
    """Raise unless every conversation of the file says in its last window what was promised of it, and that is legal."""
    conversations = reader.read(Source(path)).conversations if path.read_bytes().strip() else ()
    for gap in (gap for conversation in conversations for gap in gaps_in_last_window(conversation)):
        raise ExecutionError(f"{_UNPROVEN}: {gap}. Nothing was written.")
    windows = [window for window in map(last_window, conversations) if window]
    expected = [messages for messages in promised if messages]
    if len(windows) != len(expected):
        raise ExecutionError(f"{_UNPROVEN}: it holds {len(windows)} conversations, not {len(expected)}. Nothing was written.")
    for window, messages in zip(windows, expected, strict=True):
        # In the format of what was promised: a plain list that lost a message may look like one of another format.
        format = messages[0].format
        found = read_messages([entry.message.native for entry in window], format)
        for problem in problems_of(History.of(found, find_format(format), model=model_of(window)), is_stored=True):
            raise ExecutionError(f"{_UNPROVEN}: {problem}. Nothing was written.")
        if _said_in(found) != _said_in(messages):
            raise ExecutionError(f"{_UNPROVEN}: read again, it does not say what it should. Nothing was written.")


def _said_in(messages: Sequence[Message]) -> list[tuple[str, str | None]]:
    """What is said by whom: an agent may write one message in several records, and results in another order."""
    parts = ((message.role, part) for message in messages for part in message.parts)
    said: list[tuple[str, str | None]] = []
    for are_results, run in groupby(parts, key=lambda pair: isinstance(pair[1], ToolResult)):
        words = [(role, _words_of(part)) for role, part in run]
        said += sorted(words, key=str) if are_results else words
    return said


def _words_of(part: Part) -> str | None:
    match part:
        case Text() | Reasoning():
            return part.text
        case ToolCall():
            return part.id
        case ToolResult():
            return part.call_id
        case _:
            return type(part).__name__
