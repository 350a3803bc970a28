from statistics import mean

import pytest

from redline import Conversation, Policy, read_transcript
from redline.record.reading import read_log_file
from redline.sessions.replay.history import histories_in, history_of_log
from redline.sessions.replay.under_policy import SessionSizes
from redline.testing import asks, conversation, says
from redline.tokens import Estimate, Remembered
from redline.values.messages import Text
from tests.cli.sample import write_session
from tests.corpus import corpus_path, corpus_rows, needs_corpus
from tests.sessions.replay.recorded import Usage, recorded, step

TURNS = [("user", (Text("go"),)), *step(0, "Bash", {"command": "ls"}, "a.py " * 50), ("assistant", (Text("done"),))]


def sizes_of(turns, **settings):
    return SessionSizes(recorded(turns, **settings))


def test_what_is_sent_besides_comes_from_the_reported_usage():
    """The prompt of the first request, less its messages, is system prompt and tools."""
    grown = sizes_of(TURNS).tokens
    usages = [Usage(fresh_tokens=5000), Usage(fresh_tokens=5000 + round(1.5 * (grown[1] + grown[2])))]
    sizes = sizes_of(TURNS, usages=usages)
    assert sizes.scale == pytest.approx(1.5, rel=0.1)  # of words: the marks around parts are not scaled
    assert sizes.prefix + sizes.tokens[0] == pytest.approx(5000)


def test_each_window_sends_what_its_own_reports_say():
    """After a compaction the prompt starts again: what a window sends besides its messages is its own, the scale is one."""
    turns = [
        *TURNS,
        ("user", (Text("summary"),)),
        *step(1, "Bash", {"command": "ls"}, "b.py " * 50),
        ("assistant", (Text("ok"),)),
    ]
    bare = sizes_of(turns, compact_before=[4])
    grown = [sum(bare.tokens[1:3]), sum(bare.tokens[5:7])]
    reports = [9000, 9000 + 2 * grown[0], 4000, 4000 + 2 * grown[1]]
    sizes = sizes_of(turns, compact_before=[4], usages=[Usage(fresh_tokens=round(one)) for one in reports])
    assert sizes.scale == pytest.approx(2.0, rel=0.1)
    assert sizes.unstruck == pytest.approx(reports, rel=0.001)
    assert sizes.prefix <= 4000
    assert [sizes.beside(number) > 8000 for number in range(4)] == [True, True, False, False]


def test_without_reports_nothing_is_known_besides_the_messages():
    """No usage, no prefix, and the estimate as it is; a system prompt that the file has is counted."""
    sizes = sizes_of(TURNS)
    assert (sizes.prefix, sizes.scale) == (0.0, 1.0)
    assert sizes.unstruck == [sizes.counts[0], sum(sizes.counts[:3])]
    assert sizes_of(TURNS, system="You are of help. " * 20).prefix > 50


def test_a_session_file_has_its_sizes(tmp_path):
    """The reported prompt, 903 tokens, is that of the first request."""
    [history] = histories_in(read_transcript(write_session(tmp_path / "s.jsonl")))
    sizes = SessionSizes(history)
    assert sizes.prefix + sizes.tokens[0] == pytest.approx(903)


MODEL, PREFIX, SCALE = "claude-opus-4-6", 3_000, 1.4
COUNTER = Remembered(Estimate())


def provider_reports(path, *, steps=12, is_struck=True):
    """A conversation before a provider that counts 1.4 tokens for each estimated one, and 3,000 besides; what it reports."""
    turns = [says("user", "go")]
    for number in range(steps):
        turns += asks("Read", {"file_path": "/p/a.py"}, f"line {number} of the file\n" * 80, id=f"t{number}")
    policy, reported = Policy(rules=["historical_reads"] if is_struck else (), schedule="eager"), []
    with Conversation(log=path, policy=policy, model=MODEL, counter=COUNTER) as talk:
        for number, payload in enumerate(conversation("anthropic", [*turns, says("assistant", "done")])):
            if payload["role"] == "assistant":
                reported.append(PREFIX + round(SCALE * talk.request(now=1_000.0 * number).stats.tokens_after))
            talk.add(payload, timestamp_ms=1_000.0 * number)
            if payload["role"] == "assistant":
                talk.record_usage(input_tokens=reported[-1], output_tokens=1)
    return reported


@pytest.mark.parametrize("is_struck", [False, True])
def test_struck_usage_is_fitted_to_what_was_struck(tmp_path, is_struck):
    """What strikes took out of a request is left out of what its report is compared with: sizes are the same with and
    without strikes, and what is modelled as sent is what was reported (R111)."""
    reported = provider_reports(tmp_path / "c.jsonl", is_struck=is_struck)
    history = history_of_log(read_log_file(tmp_path / "c.jsonl"))
    sizes = SessionSizes(history, COUNTER)
    assert bool(history.strikes) is is_struck
    assert sizes.scale == pytest.approx(SCALE, rel=0.03)
    assert sizes.prefix == pytest.approx(PREFIX, rel=0.02)
    struck = [SCALE * request.bill.saved.total for request in history.requests]
    sent = [whole - gone for whole, gone in zip(sizes.unstruck, struck, strict=True)]
    assert sent == pytest.approx(reported, rel=0.02)
    assert sizes.missing == 0.0


def agents_file(*, is_behind):
    """The file of an agent: a read in every step, and reports from which, behind something that strikes, old reads are left
    out."""
    turns = [("user", (Text("go"),))]
    for number in range(30):
        turns += step(number, "Read", {"file_path": "/p/a.py"}, f"line {number} of the file\n" * 200)
    counts = SessionSizes(recorded([*turns, ("assistant", (Text("done"),))])).counts
    usages = []
    for end in range(1, len(counts), 2):
        sent = [count for index, count in enumerate(counts[:end]) if not is_behind or index % 2 or index >= end - 10]
        usages.append(Usage(fresh_tokens=2_000 + sum(sent)))
    return SessionSizes(recorded([*turns, ("assistant", (Text("done"),))], usages=usages))


def test_what_is_missing_from_reports_was_left_out_on_the_way():
    """The file of an agent that ran behind something that strikes holds more than its provider was sent; its messages have
    the size that they have without it (R112)."""
    behind, alone = agents_file(is_behind=True), agents_file(is_behind=False)
    assert alone.missing == 0.0
    assert behind.tokens == pytest.approx(alone.tokens, rel=0.01)
    assert behind.missing == pytest.approx(25 * behind.counts[2] * behind.scale, rel=0.1)


def test_a_request_that_shrinks_starts_the_growth_anew():
    """Where much is left out at once, the requests after it tell the scale as well as those before it."""
    turns = [("user", (Text("go"),))]
    for number in range(30):
        turns += step(number, "Bash", {"command": "make"}, f"line {number} of the output\n" * 200)
    turns.append(("assistant", (Text("done"),)))
    counts = sizes_of(turns).counts
    told = [2_000 + 1.3 * sum(counts[:end]) - (30_000 if end > 40 else 0) for end in range(1, len(counts), 2)]
    sizes = sizes_of(turns, usages=[Usage(fresh_tokens=round(one)) for one in told])
    assert sizes.scale == pytest.approx(1.3, rel=0.01)
    assert sizes.missing == pytest.approx(30_000, rel=0.01)


@needs_corpus
@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_estimated_prompts_are_near_the_reported_ones(agent):
    """Over recorded sessions, in every window: most prompts are within 5 percent of what was reported, 3 percent on average."""
    off = []
    real = [row for row in corpus_rows(agent) if "hand-made-fixture" not in row["features"]]
    for row in real:
        for history in histories_in(read_transcript(corpus_path(row))):
            for request, estimated in zip(history.requests, SessionSizes(history).unstruck, strict=True):
                if request.usage is not None:
                    off.append(abs(estimated / request.usage.input_tokens - 1))
    assert mean(off) <= 0.03
    assert mean(one <= 0.05 for one in off) >= 0.9


@needs_corpus
def test_agents_that_leave_nothing_out_miss_nothing():
    """Of the recorded sessions only one was shortened on its way: opencode itself pruned it twice, by 24,684 and 81,037
    tokens as reported. A single small request in between, as Cline makes at its end, is none of it."""
    found = {}
    for row in corpus_rows(is_whole=True):
        if "hand-made-fixture" not in row["features"]:
            for history in histories_in(read_transcript(corpus_path(row))):
                if missing := SessionSizes(history).missing:
                    found[row["path"]] = missing
    assert list(found) == ["opencode/nimbus-ses_336ebe11.json"]
    assert found["opencode/nimbus-ses_336ebe11.json"] > 24_684 + 81_037
