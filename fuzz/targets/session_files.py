"""Bytes as the session file of an agent: found out, read by every reader, inspected, mended, loaded."""

import contextlib
from collections.abc import Sequence
from functools import cache

import redline
from fuzz.sandbox import BrokenProperty, Sandbox
from fuzz.seeds import recorded_sessions, session_files
from fuzz.targets.target import Target, each_case
from redline.agents.readers import READERS
from redline.agents.transcripts.source import Source
from redline.errors import RedlineError
from redline.providers import FORMATS
from redline.values import payloads
from redline.values.payloads import Payload

__all__ = ["MENDING", "READING"]


@cache
def _seeds() -> Sequence[bytes]:
    return (*session_files(), *recorded_sessions())


def _read(sandbox: Sandbox, case: bytes) -> None:
    path = sandbox.give("session.jsonl", case)
    source = Source(path)
    reader = READERS[sum(case) % len(READERS)]
    with contextlib.suppress(RedlineError):  # a reader is also handed what is not its own
        for conversation in reader.read(source):
            for entry in conversation.walk():
                payloads.encode(entry.message.native)
    with contextlib.suppress(RedlineError):
        loaded = redline.load_session_messages(path, skip_bad_lines=True)
        payloads.encode(loaded)
    for conversation in redline.read_transcript(path):
        natives = [entry.message.native for entry in conversation.walk()]
        if natives:
            _use(natives, conversation.format)


def _use(natives: list[Payload], format: str) -> None:
    legal = redline.make_legal(natives, format=format)
    if problems := redline.check(legal, format=format):
        raise BrokenProperty(f"make_legal left {problems[0]}")
    target = list(FORMATS)[len(natives) % len(FORMATS)]
    converted = redline.convert(natives, target=target, source=format).messages
    payloads.encode(converted)


def _mend(sandbox: Sandbox, case: bytes) -> None:
    path = sandbox.give("session.jsonl", case)
    with contextlib.suppress(RedlineError):
        redline.inspect_transcript(path)
    mending = redline.mend_transcript(path)
    out = sandbox.out / "mended.jsonl"
    mending.write(out)
    redline.read_transcript(out)


READING = Target("sessions", _seeds, each_case(_read))
MENDING = Target("mending", _seeds, each_case(_mend))
