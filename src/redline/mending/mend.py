"""Repairs a session file that its agent cannot resume, in the agent's own format; the file itself is never written."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, cast

from msgspec.structs import replace

from redline.errors import ExecutionError, TranscriptError, ValidationError
from redline.files import create_whole, write_whole
from redline.mending.claude_code import ClaudeCodeMender
from redline.mending.codex import CodexMender
from redline.mending.edits import LineEdits, apply_splices
from redline.mending.fixes import Action, Fix, LostRecord, excerpt
from redline.mending.gemini_cli import GeminiCliMender
from redline.mending.mender import Mender
from redline.mending.neovate import NeovateMender
from redline.mending.opencode import OpenCodeMender
from redline.mending.plain import PlainMender
from redline.mending.proof import prove
from redline.repair import Strategy
from redline.repair.strategies import check_strategy
from redline.transcripts import Position, Transcript, read_transcript
from redline.transcripts.damaged_document import Salvage
from redline.transcripts.detect import take_sample
from redline.transcripts.document import open_document
from redline.transcripts.opencode_database import OpenCodeDatabase
from redline.transcripts.source import Source, decode_line, index_lines
from redline.values.messages import Message

__all__ = ["MENDERS", "Mending", "mend_transcript"]

MENDERS: tuple[Mender, ...] = (
    ClaudeCodeMender(),
    CodexMender(),
    GeminiCliMender(),
    OpenCodeMender(),
    NeovateMender(),
    PlainMender(),
)

_LAST_RESORTS: tuple[Mender, ...] = (ClaudeCodeMender(relinks_all=True), NeovateMender(relinks_all=True))
"""Asked where the work of the first cannot be proven: ids in the file are missing, not unique, or lead elsewhere."""

_MOST_ROUNDS = 5
_WHY_SEPARATED = "what was written whole on it ({} records) is kept, a line for each; the rest was torn by a crash"
_TREES = frozenset({"claude-code", "neovate"})
"""Agents whose lines name their parents: what was abandoned hangs on the conversation."""
_COUNTED_AFTER = "(its place is counted after the changes above)"
_WHY_TORN = "torn by a crash while it was written"
_WHY_CUT = "what cannot be read is left out, and what it left open is closed"
_DONE: dict[Action, str] = {"remove": "removed", "change": "changed", "add": "added", "move": "moved"}

_WHY_NO_DATABASE = (
    "is opencode's database, which is not repaired: opencode may be writing to it, and goes on after a crash by itself (it "
    "tells the model that the call was interrupted). To repair one session all the same: `opencode export ID > session.json`, "
    "`redline repair session.json --write repaired.json`, `opencode session delete ID`, `opencode import repaired.json`."
)


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
        if target.exists() and target.samefile(self.path):
            raise ValidationError(f"{target} is the file to repair itself; it is never overwritten. Choose another name.")
        if target.is_dir():
            raise ValidationError(f"{target} is a directory. Name a file.")
        if os.path.lexists(target) and not overwrite:
            raise _exists(target)
        try:
            with TemporaryDirectory(dir=target.parent, prefix=".redline-") as directory:
                draft = Path(directory) / self.path.name
                write_whole(draft, self.content)
                prove(draft, self.mender.reader, self.promised)
            if overwrite:
                write_whole(target, self.content)
            elif not create_whole(target, self.content):
                raise _exists(target)
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
    readable = _made_readable(transcript)
    if not readable.fixes:
        return _mend_with_any(transcript, strategy)
    with TemporaryDirectory(prefix="redline-") as directory:
        draft = Path(directory) / transcript.path.name
        write_whole(draft, readable.content)
        mending = _continued(_mend_with_any(read_transcript(draft), strategy), transcript.path, readable.fixes)
        return replace_fields(mending, losses=(*readable.losses, *mending.losses))


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


def _menders_for(transcript: Transcript) -> list[Mender]:
    if transcript.format == OpenCodeDatabase.name:
        raise ValidationError(f"{transcript.path} {_WHY_NO_DATABASE}")
    if found := [mender for mender in (*MENDERS, *_LAST_RESORTS) if transcript.format in mender.formats]:
        return found
    known = ", ".join(mender.name for mender in MENDERS)
    raise ValidationError(
        f"{transcript.path} is a session of {transcript.format}, which cannot be repaired in its own format. "
        f"That is possible for: {known}. Its messages are not lost: `redline show {transcript.path}` shows them, "
        f"`redline export {transcript.path} --write messages.json` writes them as a list that a provider takes, and "
        "`--to markdown` as something to read, or to begin a new session with."
    )


def _mend_for_good(transcript: Transcript, mender: Mender, strategy: Strategy) -> Mending:
    """Mend, prove the result, and mend that until nothing is left to do: less of a history may look like another format."""
    mending = _mend_once(transcript, mender, strategy)
    for _ in range(_MOST_ROUNDS):
        if not mending.fixes or not any(mending.promised):
            return mending
        with TemporaryDirectory(prefix="redline-") as directory:  # as if it had been found on the disk
            draft = Path(directory) / mending.path.name
            write_whole(draft, mending.content)
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
    promised = tuple(one.messages for one in mended)
    losses = tuple(_losses(transcript, fixes))
    return Mending(transcript.path, transcript.format, tuple(fixes), after, mender, promised, losses)


def _losses(transcript: Transcript, fixes: Sequence[Fix]) -> Iterator[LostRecord]:
    """What is missing in the file or cannot be read, unless a fix names it, and what is not connected to a conversation."""
    torn = {fix.line for fix in fixes if fix.why == _WHY_TORN}
    for gap in (gap for conversation in transcript for gap in conversation.gaps if gap.joined_to is None):
        yield LostRecord(str(gap), gap.line.line)
    for problem in transcript.problems:
        if not problem.is_left_out:
            yield LostRecord(problem.reason, problem.line)
        elif problem.line not in torn:
            yield LostRecord(f"line {problem.line} cannot be read and stays as it is: {problem.reason}", problem.line)
    for conversation in transcript if transcript.format in _TREES else ():
        for branch in conversation.branches:
            if branch.after is None or branch.after == len(conversation.entries) - 1:
                for line in (position.line for entry in branch.entries for position in entry.positions):
                    yield LostRecord(f"line {line} stays beside the conversation: it does not lead to the last message", line)


class _ReadableFile(NamedTuple):
    """A damaged file in which every record that is left can be read by its agent."""

    content: bytes
    fixes: Sequence[Fix]
    losses: Sequence[LostRecord] = ()


def _made_readable(transcript: Transcript) -> _ReadableFile:
    """Lines get a line break each; a document is closed where it was torn, without what in it cannot be read."""
    source = Source(transcript.path)
    if take_sample(source).damage:
        salvaged = cast("Salvage", open_document(source).salvaged)
        fixes = [Fix("remove", _WHY_CUT, cut.line, text=excerpt(cut.lost)) for cut in salvaged.cuts]
        return _ReadableFile(salvaged.content, fixes, [LostRecord(cut.lost, cut.line) for cut in salvaged.cuts])
    separated = _separate_records(transcript)
    return _ReadableFile(apply_splices(separated.splices(), transcript.path.read_bytes()), separated.fixes)


def _separate_records(transcript: Transcript) -> LineEdits:
    """Give every record a line of its own, without what a crash left before or after it: agents read whole lines."""
    source = Source(transcript.path)
    edits = LineEdits(source)
    if take_sample(source).document is not None or not any(problem.is_left_out for problem in transcript.problems):
        return edits
    bad_lines = {problem.line for problem in transcript.problems if problem.is_left_out}
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
    return edits


def _cut_torn_line(source: Source, content: bytes) -> LineEdits:
    """Remove what a crash left after the last line break and is not JSON: the agent's next line would be glued to it.

    A whole record before it on the same line stays, and so do bad lines elsewhere, which harm nobody.
    """
    edits = LineEdits(source)
    start = content.rfind(b"\n") + 1
    if not content[start:].strip() or take_sample(source).document is not None:
        return edits
    ends = (position.offset + position.length for position, _ in index_lines(source, decode_line).records)
    start = max([start, *ends])
    if content[start:].strip():
        torn = Position(start, len(content) - start, content.count(b"\n") + 1)
        words = excerpt(content[start:].decode("utf-8", "replace"))
        edits.remove(torn, Fix("remove", _WHY_TORN, torn.line, text=words))
    return edits


def _exists(target: Path) -> ValidationError:
    return ValidationError(f"{target} exists. Choose another name, or force it.")
