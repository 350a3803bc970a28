"""A session file with anything in it is repaired for good, or refused with a reason."""

import contextlib
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

import redline
from redline.errors import RedlineError
from tests.agents.mending.sessions import STRATEGIES, claude_line, neovate_line, result, sound, use, write
from tests.agents.test_neovate import answers, asks, line
from tests.agents.transcripts.hostile import KINDS, LINES, hostile_file
from tests.effort import tries

AGENTS = ("claude", "codex", "neovate", "opencode", "gemini", "lines", "chat", "ai-sdk")
MENDED = [kind for kind in KINDS if kind.startswith(AGENTS)]


@pytest.fixture(autouse=True, scope="module")
def quiet():
    """Thousands of warnings would hide the one that matters."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("kind", MENDED)
@tries(40)
@given(random=st.randoms(use_true_random=False), strategy=st.sampled_from(STRATEGIES))
def test_a_repair_is_for_good_or_refused(tmp_path_factory, kind, random, strategy):
    """What comes out is legal, and a second repair leaves it alone; what is raised is documented (R61)."""
    folder = tmp_path_factory.mktemp("hostile")
    path = write(folder, hostile_file(kind, random), "session.jsonl" if kind in LINES else "session.json")
    with contextlib.suppress(RedlineError):
        mending = redline.mend_transcript(path, strategy=strategy)
        mending.write(folder / "out.json")
        if any(mending.promised):
            assert redline.mend_transcript(folder / "out.json", strategy=strategy).content == mending.content


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_line_without_an_id_is_answered_too(tmp_path, strategy):
    """An answer needs a line to name as its parent, so the line gets an id (R61)."""
    for records in (
        [claude_line("a", None), claude_line(None, "a", "assistant", use("c"), id="m")],
        [claude_line("a", None), claude_line("a", "a", "assistant", use("c"), id="m")],
        [neovate_line("a", None), neovate_line("b", "a"), neovate_line("a", "b", use("c"), "assistant")],
    ):
        mending = sound(write(tmp_path, records), strategy)
        assert [len(messages) for messages in mending.promised] != [0]


def test_a_parallel_result_stays_when_its_sibling_goes(tmp_path):
    """It was on the path only beside the sibling, and is put on it (R61)."""
    records = [line("a", None), asks("b", "a", "t1"), answers("c", "b", "t1"), answers("d", "b", "t2"), asks("e", "d", "t3")]
    mending = sound(write(tmp_path, records), "answer")
    (said,) = mending.promised
    assert [result.call_id for message in said for result in message.results] == ["t1", "t3"]


def test_a_list_that_loses_its_format_is_repaired_in_the_other(tmp_path):
    """Without the result nothing says Anthropic, and elsewhere an empty message is not allowed (R61)."""
    records = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": []},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x"}]},
    ]
    mending = sound(write(tmp_path, records))
    assert mending.content == b'{"role": "user", "content": "hi"}\n'
    assert len(mending.fixes) == 2


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_ids_with_half_an_emoji_are_answered_too(tmp_path, strategy):
    """The id of a line that is added is made from them (R61)."""
    records = [claude_line("a", None), claude_line("b", "a", "assistant", use("\ud83d"), id="m")]
    sound(write(tmp_path, records), strategy)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_session_in_which_nobody_speaks_is_refused(tmp_path, strategy):
    """No line can stay where nobody can tell whose it is; that is said (R61)."""
    record = claude_line("a", None, "assistant", [{"type": "text", "text": "hi"}])
    record["message"]["role"] = None
    with pytest.raises(redline.ExecutionError, match="none of its lines says who speaks"):
        redline.mend_transcript(write(tmp_path, [record]), strategy=strategy).write(tmp_path / "out.jsonl")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_lines_that_were_written_in_another_order_are_repaired_too(tmp_path, strategy):
    """The agent goes on from the last line of the file, so the last message that stays comes to be that (R61)."""
    records = [
        claude_line("a", None),
        claude_line("c", "b", content=result("c1")),
        claude_line("b", "a", "assistant", use("c1"), id="m1"),
        claude_line("d", "c", "assistant", use("c2"), id="m2"),
    ]
    (said,) = sound(write(tmp_path, records), strategy).promised
    assert next(call.id for message in said for call in message.calls) == "c1"
