import dataclasses
import stat
from pathlib import Path
from random import Random

import pytest

import redline
from redline import mend_transcript, read_transcript
from redline.agents import menders
from redline.agents.menders import MENDERS
from redline.conversation.lists import check
from redline.errors import ExecutionError, TranscriptError, ValidationError
from redline.providers import find_format
from redline.repair import legalize
from tests.agents.mending.sessions import (
    STRATEGIES,
    actions,
    as_lines,
    claude_line,
    is_subsequence,
    rest_is_unchanged,
    sound,
    use,
    write,
)
from tests.agents.transcripts.opencode_store import make_database
from tests.corpus import corpus_path, corpus_rows, needs_corpus

CRASHED = [claude_line("1", None), claude_line("2", "1", "assistant", use("a"))]
CRASHES = ("unmatched-tool-use", "ends-on-unanswered-tool-call")


def files_in(folder):
    return {path.name for path in folder.iterdir()}


def test_the_file_is_never_written(tmp_path):
    """Neither when it is mended nor when the result is written elsewhere."""
    path = write(tmp_path, CRASHED)
    path.chmod(0o400)
    before = path.stat()
    mend_transcript(path).write(tmp_path / "out.jsonl")
    after = path.stat()
    assert (after.st_mtime_ns, after.st_ino, path.read_bytes()) == (before.st_mtime_ns, before.st_ino, path.read_bytes())
    assert files_in(tmp_path) == {"out.jsonl", "session.jsonl"}


def test_the_result_is_for_its_owner_only(tmp_path):
    """A session may hold secrets."""
    mend_transcript(write(tmp_path, CRASHED)).write(tmp_path / "out.jsonl")
    assert stat.S_IMODE((tmp_path / "out.jsonl").stat().st_mode) == 0o600


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("name", ["itself", "spelled otherwise", "symbolic link", "hard link", "linked folder"])
def test_the_file_is_not_overwritten_by_any_name(tmp_path, name, overwrite):
    """Not even when overwriting is asked for."""
    path = write(tmp_path, CRASHED)
    (tmp_path / "folder").mkdir()
    (tmp_path / "symlink.jsonl").symlink_to(path)
    (tmp_path / "hardlink.jsonl").hardlink_to(path)
    (tmp_path / "linked").symlink_to(tmp_path)
    out = {
        "itself": path,
        "spelled otherwise": tmp_path / "folder" / ".." / path.name,
        "symbolic link": tmp_path / "symlink.jsonl",
        "hard link": tmp_path / "hardlink.jsonl",
        "linked folder": tmp_path / "linked" / path.name,
    }[name]
    before = path.read_bytes()
    with pytest.raises(ValidationError, match="never overwritten"):
        mend_transcript(path).write(out, overwrite=overwrite)
    assert path.read_bytes() == before


def test_another_file_is_overwritten_only_if_asked(tmp_path):
    """What is there stays otherwise; a link that leads nowhere is there too."""
    mending = mend_transcript(write(tmp_path, CRASHED))
    out, dangling = tmp_path / "out.jsonl", tmp_path / "dangling.jsonl"
    out.write_text("mine")
    dangling.symlink_to(tmp_path / "nowhere")
    for taken in (out, dangling):
        with pytest.raises(ValidationError, match="exists"):
            mending.write(taken)
    assert out.read_text() == "mine"
    for taken in (out, dangling):
        mending.write(taken, overwrite=True)
        assert (taken.read_bytes(), taken.is_symlink()) == (mending.content, False)


def test_a_place_that_cannot_be_written_is_a_clear_error(tmp_path):
    """A folder that is not there, and a folder in the place of the file."""
    mending = mend_transcript(write(tmp_path, CRASHED))
    with pytest.raises(ExecutionError, match="cannot be written"):
        mending.write(tmp_path / "nowhere" / "out.jsonl")
    with pytest.raises(ValidationError, match="is a directory"):
        mending.write(tmp_path)


def test_what_cannot_be_proven_is_not_left_behind(tmp_path):
    """Not the file, and nothing that was made on the way to it; what was there before is still there."""
    path = write(tmp_path, CRASHED)
    unsound = dataclasses.replace(mend_transcript(path), content=path.read_bytes())
    out = tmp_path / "out.jsonl"
    out.write_text("mine")
    with pytest.raises(ExecutionError, match="would still be refused"):
        unsound.write(out, overwrite=True)
    with pytest.raises(ExecutionError, match="would still be refused"):
        unsound.write(tmp_path / "other.jsonl")
    assert (files_in(tmp_path), out.read_text()) == ({"out.jsonl", "session.jsonl"}, "mine")


def test_other_agents_are_refused_with_the_names_of_those_that_are_not(tmp_path):
    """The sentence says what the file is and what can be repaired."""
    said = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
    path = write(tmp_path, [{"type": "message", "id": "1", "parentId": None, "message": said}])
    with pytest.raises(ValidationError, match="session of pi, which cannot be repaired") as refused:
        mend_transcript(path)
    assert all(mender.name in str(refused.value) for mender in MENDERS)


def test_the_database_of_opencode_is_refused_with_the_way_around(tmp_path):
    """It is in use, and opencode goes on by itself: the error says so, and how one session can be repaired (R42)."""
    with pytest.raises(ValidationError, match=r"goes on after a crash by itself.*opencode export ID.*opencode import"):
        mend_transcript(make_database(tmp_path))


def test_an_unknown_strategy_is_refused(tmp_path):
    """Before anything is read."""
    with pytest.raises(ValidationError, match="no strategy named 'hope'"):
        mend_transcript(tmp_path / "nowhere", strategy="hope")


def test_the_names_are_public():
    """A program can do what the command does."""
    assert redline.mend_transcript is mend_transcript
    assert "mend_transcript" in redline.__all__
    assert {"Fix", "Mending"} <= set(menders.__all__)


# --- a last line that a crash tore

LINES = as_lines([claude_line("1", None), claude_line("2", "1")])


def mended(tmp_path, content):
    mending = mend_transcript(write(tmp_path, content))
    return mending.content, actions(mending)


@pytest.mark.parametrize("length", [1, 20, 60])
def test_a_torn_last_line_is_cut_off(tmp_path, length):
    """Or the next line that the agent appends would be glued to it, and lost."""
    assert mended(tmp_path, LINES + LINES[:length]) == (LINES, [("remove", 3)])


def test_what_a_torn_line_is_glued_to_stays(tmp_path):
    """A whole record before it on the same line is not part of it."""
    glued = LINES.removesuffix(b"\n")
    assert mended(tmp_path, glued + b'{"torn') == (glued, [("remove", 2)])


@pytest.mark.parametrize(
    "content", [LINES, LINES.removesuffix(b"\n"), LINES + b"\n", LINES[:20] + b"\n" + LINES, LINES + b"// end\n"]
)
def test_lines_that_nothing_can_be_glued_to_stay(tmp_path, content):
    """Whole lines without a line break, empty lines, and bad lines elsewhere."""
    assert mended(tmp_path, content) == (content, [])


def test_one_json_value_has_no_last_line(tmp_path):
    """The last line of a document is not a record."""
    content = b'[\n{"role": "user", "content": "x"}\n]'
    assert mended(tmp_path, content) == (content, [])


def test_a_torn_line_is_cut_off_together_with_what_the_crash_left_open(tmp_path):
    """Both are fixes of one repair."""
    path = write(tmp_path, LINES + as_lines([claude_line("3", "2", "assistant", use("a"))]) + b'{"parentUuid": "3", "mess')
    mending = sound(path)
    assert actions(mending) == [("remove", 3), ("remove", 4)]
    assert mending.content == LINES


# --- recorded sessions


def is_crashed(row):
    return any(feature.startswith(CRASHES) for feature in row["features"])


MENDABLE = {format for mender in MENDERS for format in mender.formats}
CRASHED_ROWS = [row for row in corpus_rows(is_whole=True) if row["format"] in MENDABLE and is_crashed(row)]
OTHER_ROWS = [row for row in corpus_rows() if row["format"] in MENDABLE and not is_crashed(row)]


@needs_corpus
def test_there_are_crashed_sessions():
    """The corpus has them for both agents that crash in it."""
    assert {row["format"] for row in CRASHED_ROWS} == {"claude-code", "codex"}
    assert len(CRASHED_ROWS) >= 15


@needs_corpus
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("row", CRASHED_ROWS, ids=lambda row: Path(row["path"]).stem)
def test_every_crashed_session_is_repaired_in_its_own_format(tmp_path, row, strategy):
    """It is legal, read by the same reader, mended for good, and says otherwise what it said, byte for byte."""
    path, out = corpus_path(row), tmp_path / "out.jsonl"
    mending = mend_transcript(path, strategy=strategy)
    mending.write(out)
    if not any(mending.promised):  # three lines with a gap between call and result: nothing of them is left, and all are named
        assert (strategy, mending.content) == ("drop", b"")
        assert {fix.line for fix in mending.fixes} == set(range(1, path.read_bytes().count(b"\n") + 1))
        return
    before, after = read_transcript(path), read_transcript(out)
    assert after.format == before.format == row["format"]
    for was, now in zip(before, after, strict=True):
        assert check([entry.message.native for entry in now.windows[-1]], format=now.format) == []
        assert_rest_is_the_same(was, now, strategy)
    assert rest_is_unchanged(mending)
    assert mend_transcript(out, strategy=strategy).fixes == ()


def assert_rest_is_the_same(was, now, strategy):
    """Earlier windows, branches and sub-agents say what they said, and so do the messages that needed no repair."""
    for earlier, same in zip(was.windows[:-1], now.windows[:-1], strict=True):
        assert natives(earlier) == natives(same)
    assert sorted(map(str, natives_beside(was))) == sorted(map(str, natives_beside(now)))
    messages = [entry.message for entry in was.windows[-1]]
    items = legalize(messages, find_format(was.format), strategy).items
    untouched = [item.message.native for item in items if item.source is not None and item.message is messages[item.source]]
    assert is_subsequence(untouched, natives(now.windows[-1]))


def natives(entries):
    return [entry.message.native for entry in entries]


def natives_beside(conversation):
    beside = [*conversation.branches, *conversation.subagents]
    return [native for one in beside for native in natives(one.entries)]


@needs_corpus
@pytest.mark.parametrize("row", OTHER_ROWS, ids=lambda row: Path(row["path"]).stem)
def test_every_other_session_is_repaired_or_left_alone(tmp_path, row):
    """A session that a provider would take needs nothing, unless it is damaged; another becomes one that it takes."""
    path, out = corpus_path(row), tmp_path / "out"
    mending = mend_transcript(path)
    refused = [
        problem
        for conversation in read_transcript(path)
        for problem in check(natives(conversation.windows[-1]) if conversation.windows else [], format=conversation.format)
    ]
    assert bool(mending.fixes) == bool(refused or is_damaged(path))
    if mending.fixes:
        mending.write(out)
        assert mend_transcript(out).fixes == ()
    else:
        assert mending.content == path.read_bytes()


def is_damaged(path):
    """Whether lines are missing in what goes on, or records of it are on one line."""
    transcript, lines = read_transcript(path), path.read_bytes().split(b"\n")
    is_glued = any(b'}{"' in lines[problem.line - 1] for problem in transcript.problems if problem.is_left_out)
    return is_glued or any(gap.joined_to for conversation in transcript for gap in conversation.gaps)


SMALL_ROWS = [row for row in corpus_rows() if row["format"] in ("claude-code", "codex") and row["bytes"] < 300_000]


@needs_corpus
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("row", SMALL_ROWS, ids=lambda row: Path(row["path"]).stem)
def test_a_session_killed_at_any_moment_is_repaired(tmp_path, row, strategy):
    """Cut off at any byte, in a line or between two: whatever can still be read becomes a session that goes on."""
    content, random = corpus_path(row).read_bytes(), Random(row["path"])
    for end in (random.randrange(1, len(content)), content.find(b"\n", random.randrange(len(content))) + 1):
        path = write(tmp_path, content[:end])
        try:
            read_transcript(path)
        except TranscriptError:
            continue
        assert rest_is_unchanged(sound(path, strategy))
