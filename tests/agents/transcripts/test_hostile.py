"""Whatever a session file holds, reading it gives messages or an error of Redline's: nothing else comes out, and soon."""

import contextlib
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import redline
from redline.agents.transcripts import parse_time_ms
from redline.errors import RedlineError, TranscriptError
from redline.values import payloads
from tests.agents.transcripts.hostile import KINDS, LINES, hostile_file

random_sources = st.randoms(use_true_random=False)


@pytest.fixture(autouse=True, scope="module")
def quiet():
    """Thousands of warnings would hide the one that matters."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def file_with(folder, content, kind="claude-code"):
    path = folder / ("session.jsonl" if kind in LINES else "session.json")
    path.write_bytes(content)
    return path


def read_everything(path):
    """All that can be read from a file, used in every way that needs no provider."""
    for conversation in redline.read_transcript(path):
        for entry in conversation.walk():
            assert entry.timestamp_ms is None or abs(entry.timestamp_ms) < 1e15
            payloads.encode(entry.message.native)
            redline.identity(entry.message)
        use_messages([entry.message.native for entry in conversation.entries], conversation.format)
    redline.inspect_transcript(path)


def use_messages(natives, format):
    if natives:
        redline.check(natives, format=format)
        legal = redline.make_legal(natives, format=format)
        assert redline.check(legal, format=format) == []
        for target in redline.FORMATS:
            redline.convert(natives, target=target, source=format)


@pytest.mark.parametrize("kind", KINDS)
@given(random=random_sources)
def test_only_documented_errors_come_out(tmp_path_factory, kind, random):
    """Wrong types, torn bytes, deep nesting, endless numbers and half an emoji raise nothing of Python's own (R61)."""
    path = file_with(tmp_path_factory.mktemp("hostile"), hostile_file(kind, random), kind)
    with contextlib.suppress(RedlineError):
        read_everything(path)


@pytest.mark.parametrize("kind", ["neovate", "claude-code", "lines of messages", "chat"])
@given(random=random_sources)
def test_session_messages_load_or_say_why_not(tmp_path_factory, kind, random):
    """A stored session is filtered to messages that filtering again leaves alone (R61)."""
    path = file_with(tmp_path_factory.mktemp("hostile"), hostile_file(kind, random), kind)
    loaded = redline.load_session_messages(path, skip_bad_lines=True)
    assert len(redline.filter_messages(loaded)) == len(loaded)
    payloads.encode(loaded)


def test_deep_nesting_is_read_as_words(tmp_path):
    """What lies deeper than the limit is its own JSON, in a line, in a document and in plain messages (R61)."""
    deep = b"[" * 100_000 + b"]" * 100_000
    line = b'{"type":"message","uuid":"a","parentUuid":null,"role":"user","content":[{"type":"x","data":%s}]}\n' % deep
    path = file_with(tmp_path, line)
    (message,) = redline.read_transcript(path).conversations[0].messages
    assert depth_of(message.native) == payloads.MAX_DEPTH
    assert redline.load_session_messages(path)[0]["uuid"] == "a"
    read_everything(path)
    read_everything(file_with(tmp_path, b'[{"role":"user","content":"hi","more":%s}]' % deep, "chat"))


def depth_of(value):
    if not isinstance(value, dict | list):
        return 0
    inside = value if isinstance(value, list) else value.values()
    return 1 + max(map(depth_of, inside), default=0)


def test_half_an_emoji_is_carried(tmp_path):
    """Read, converted and encoded again, it is the same half (R61)."""
    path = file_with(tmp_path, b'[{"role":"user","content":"a \\ud83d b"}]', "chat")
    (message,) = redline.read_transcript(path).conversations[0].messages
    assert message.text == "a \ud83d b"
    converted = redline.convert([message.native], target="gemini", source="openai_chat").messages
    assert b"a \\ud83d b" in payloads.encode(converted)
    read_everything(path)


@pytest.mark.parametrize("value", [10**400, -(10**400), float("nan"), float("inf"), "10000-01-01T00:00:00Z", True, [], "x"])
def test_what_is_no_time_is_none(value):
    """Endless numbers and the ends of the calendar included (R61)."""
    assert parse_time_ms(value) is None


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_file_is_refused_at_once(tmp_path, make):
    """A pipe is not waited for, a device is not read without end (R62)."""
    make(tmp_path / "odd")
    for read in (redline.read_transcript, redline.load_session_messages, redline.inspect_transcript, redline.mend_transcript):
        with pytest.raises(TranscriptError, match="not a session file"):
            read(tmp_path / "odd")


def test_a_name_that_no_file_can_have_is_refused():
    """A zero byte, or too many characters (R61)."""
    for name in ("a\0b", "a" * 5000):
        with pytest.raises(TranscriptError, match="cannot be opened"):
            redline.load_session_messages(name)


def test_reading_does_not_depend_on_how_deep_the_caller_is(tmp_path):
    """A value near the limit is read, checked and counted below hundreds of calls of the user's own (R61)."""
    nested = b"[" * 190 + b"]" * 190
    path = file_with(tmp_path, b'[{"role":"user","content":"hi","more":%s}]' % nested, "chat")
    code = "import redline, sys\ndef at(n): return at(n - 1) if n else redline.inspect_transcript(sys.argv[1])\nat(500)"
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == 0
