"""Repairs a session file that its agent cannot resume, in the agent's own format; the file itself is never written."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from redline.blobs.files import create_whole, write_whole
from redline.errors import ExecutionError, ValidationError
from redline.mending.claude_code import ClaudeCodeMender
from redline.mending.codex import CodexMender
from redline.mending.edits import apply
from redline.mending.fixes import Fix
from redline.mending.gemini_cli import GeminiCliMender
from redline.mending.mender import Mender
from redline.mending.neovate import NeovateMender
from redline.mending.opencode import OpenCodeMender
from redline.mending.plain import PlainMender
from redline.mending.proof import prove
from redline.mending.torn import cut_torn_line
from redline.messages import Message
from redline.transcripts import Transcript, read_transcript
from redline.transcripts.opencode_database import OpenCodeDatabase
from redline.transcripts.source import Source
from redline.view.repair import Strategy
from redline.view.repair.strategies import check_strategy

__all__ = ["MENDERS", "Mending", "mend_transcript"]

MENDERS: tuple[Mender, ...] = (
    ClaudeCodeMender(),
    CodexMender(),
    GeminiCliMender(),
    OpenCodeMender(),
    NeovateMender(),
    PlainMender(),
)

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

    def write(self, out: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the repaired file elsewhere, whole or not at all, for its owner only.

        It is first read again and proven legal; an ExecutionError says so if it is not, and nothing is written. The file that
        was repaired is never overwritten, by whatever name.
        """
        target = Path(out)
        self._refuse(target, overwrite=overwrite)
        try:
            with TemporaryDirectory(dir=target.parent, prefix=".redline-") as directory:
                draft = Path(directory) / self.path.name
                write_whole(draft, self.content)
                prove(draft, self.mender.reader, self.promised)
            self._name(target, overwrite=overwrite)
        except OSError as problem:
            raise ExecutionError(f"{target} cannot be written: {problem.strerror}. Choose another place.") from problem

    def _refuse(self, target: Path, *, overwrite: bool) -> None:
        if target.exists() and target.samefile(self.path):
            raise ValidationError(f"{target} is the file to repair itself; it is never overwritten. Choose another name.")
        if target.is_dir():
            raise ValidationError(f"{target} is a directory. Name a file.")
        if os.path.lexists(target) and not overwrite:
            raise _exists(target)

    def _name(self, target: Path, *, overwrite: bool) -> None:
        if overwrite:
            write_whole(target, self.content)
        elif not create_whole(target, self.content):
            raise _exists(target)


def mend_transcript(path: str | os.PathLike[str], *, strategy: Strategy = "drop") -> Mending:
    """What must change in a session file so that its agent can go on with it.

    Only the last window of each conversation is repaired, as `make_legal` would; branches and earlier windows stay as they are.
    The file is read, and never written.
    """
    check_strategy(strategy)
    transcript = read_transcript(path)
    if transcript.path.is_dir():
        raise ValidationError(f"{transcript.path} is a folder. Name the session file in it that is to be repaired.")
    mender = _mender_of(transcript)
    source = Source(transcript.path)
    content = transcript.path.read_bytes()
    mended = [mender.mend(source, conversation, strategy) for conversation in transcript]
    edits = [*(one.edits for one in mended), cut_torn_line(source, content)]
    fixes = sorted((fix for edit in edits for fix in edit.fixes), key=_in_file)
    after = apply((splice for edit in edits for splice in edit.splices()), content)
    promised = tuple(one.messages for one in mended)
    return Mending(transcript.path, transcript.format, tuple(fixes), after, mender, promised)


def _mender_of(transcript: Transcript) -> Mender:
    if transcript.format == OpenCodeDatabase.name:
        raise ValidationError(f"{transcript.path} {_WHY_NO_DATABASE}")
    for mender in MENDERS:
        if transcript.format in mender.formats:
            return mender
    known = ", ".join(mender.name for mender in MENDERS)
    raise ValidationError(
        f"{transcript.path} is a session of {transcript.format}, which cannot be repaired in its own format. "
        f"That is possible for: {known}."
    )


def _in_file(fix: Fix) -> tuple[int, int]:
    return fix.line or 0, -1 if fix.message is None else fix.message


def _exists(target: Path) -> ValidationError:
    return ValidationError(f"{target} exists. Choose another name, or force it.")
