from statistics import mean

import pytest

from redline import read_transcript
from redline.replay.session import sessions_in
from redline.values.messages import Text
from tests.cli.sample import write_session
from tests.corpus import corpus_path, corpus_rows, needs_corpus
from tests.replay.recorded import Usage, recorded, step

TURNS = [("user", (Text("go"),)), *step(0, "Bash", {"command": "ls"}, "a.py " * 50), ("assistant", (Text("done"),))]


def test_a_request_goes_out_before_each_answer():
    """Each thing the assistant says answers a request with all that was said before, at the time of its last message."""
    session = recorded(TURNS)
    assert [(one.start, one.end, one.time_ms) for one in session.requests] == [(0, 1, 1000.0), (0, 3, 3000.0)]


def test_what_is_sent_besides_comes_from_the_reported_usage():
    """The prompt of the first request, less its messages, is system prompt and tools."""
    grown = recorded(TURNS).tokens
    usages = [Usage(fresh_tokens=5000), Usage(fresh_tokens=5000 + round(1.5 * (grown[1] + grown[2])))]
    session = recorded(TURNS, usages=usages)
    assert session.scale == pytest.approx(1.5, rel=0.01)
    assert session.prefix_tokens + session.tokens[0] == pytest.approx(5000)


def test_each_window_sends_what_its_own_reports_say():
    """After a compaction the prompt starts again: what a window sends besides its messages is its own, the scale is one."""
    turns = [
        *TURNS,
        ("user", (Text("summary"),)),
        *step(1, "Bash", {"command": "ls"}, "b.py " * 50),
        ("assistant", (Text("ok"),)),
    ]
    bare = recorded(turns, compact_before=[4])
    grown = [sum(bare.tokens[1:3]), sum(bare.tokens[5:7])]
    reports = [9000, 9000 + 2 * grown[0], 4000, 4000 + 2 * grown[1]]
    session = recorded(turns, compact_before=[4], usages=[Usage(fresh_tokens=round(one)) for one in reports])
    sent = [session.prefix_tokens + sum(session.tokens[one.start : one.end]) for one in session.requests]
    assert session.scale == pytest.approx(2.0, rel=0.01)
    assert sent == pytest.approx(reports, rel=0.001)
    assert session.prefix_tokens <= 4000


def test_without_reports_nothing_is_known_besides_the_messages():
    """No usage, no prefix, and the estimate as it is."""
    session = recorded(TURNS)
    assert (session.prefix_tokens, session.scale) == (0.0, 1.0)


def test_a_compaction_starts_a_new_window():
    """What follows it is sent without what came before."""
    turns = [*TURNS, ("user", (Text("summary"),)), ("assistant", (Text("ok"),))]
    assert [(one.start, one.end) for one in recorded(turns, compact_before=[4]).requests] == [(0, 1), (0, 3), (4, 5)]


def test_what_the_agent_wrote_itself_was_no_request():
    """A message that no model said answers nothing."""
    assert recorded(TURNS, model="<synthetic>") is None


def test_a_session_file_gives_its_sessions(tmp_path):
    """The reported prompt, 903 tokens, is that of the first request."""
    [session] = sessions_in(read_transcript(write_session(tmp_path / "s.jsonl")))
    assert (session.agent, len(session.requests)) == ("claude-code", 4)
    assert session.prefix_tokens + session.tokens[0] == pytest.approx(903)


@needs_corpus
@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_estimated_prompts_are_near_the_reported_ones(agent):
    """Over recorded sessions, in every window: most prompts are within 5 percent of what was reported, 3 percent on average."""
    off = []
    real = [row for row in corpus_rows(agent) if "hand-made-fixture" not in row["features"]]
    for row in real:
        for session in sessions_in(read_transcript(corpus_path(row))):
            for request in session.requests:
                if request.usage is not None:
                    estimated = session.prefix_tokens + sum(session.tokens[request.start : request.end])
                    off.append(abs(estimated / request.usage.input_tokens - 1))
    assert mean(off) <= 0.03
    assert mean(one <= 0.05 for one in off) >= 0.9
