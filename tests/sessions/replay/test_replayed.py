from dataclasses import replace

import pytest
from hypothesis import given

from redline import Conversation, Policy
from redline.policy.policy import find_policy
from redline.prices import PriceRule
from redline.record.reading import read_log_file
from redline.sessions.replay.history import history_of_log
from redline.sessions.replay.risk import Risk
from redline.sessions.replay.simulated_run import SessionReplay, SimulatedRun
from redline.testing import asks, conversation, says
from redline.values.messages import Text
from tests.sessions.replay.recorded import past_strike, recorded, step
from tests.sessions.replay.sessions import RULE, rules, struck_sessions

LINE = "the_answer = compute_everything(42)"
FILE = "import os\n" + f"{LINE}\n" + "print(1)\n" * 60
MASKING = replace(find_policy("masking"), schedule="eager")


def quoting_session(*, says=LINE):
    """A file is read, twelve commands follow, and then the agent says something."""
    turns = [("user", (Text("go"),)), *step(0, "Read", {"file_path": "/p/a.py"}, FILE)]
    for number in range(1, 13):
        turns += step(number, "Bash", {"command": "ls"}, f"a.py {number}\n" * 40)
    return SessionReplay(recorded([*turns, ("assistant", (Text(says),))]))


def test_a_miss_says_what_was_used_and_where():
    """Struck, then quoted: by both measures, with the words of each; the strike has those of the quotation."""
    found = quoting_session().under(MASKING, RULE)
    strike = found.strikes[0]
    assert (strike.index, strike.used_at, strike.used_words) == (2, 13, LINE)
    uses = {measure: [(number, use.request, use.words) for number, use in one.items()] for measure, one in found.misses.items()}
    assert uses == {"quoted": [(0, 13, LINE)], "strict": [(0, 13, "the_answer, compute_everything")]}
    assert [(risk.strikes, risk.requests) for risk in found.risks.values()] == [(1, 1), (1, 1)]
    assert found.reread_cost > 0


def test_what_nobody_uses_is_no_miss():
    """The words were in the struck file, and nobody said them."""
    found = quoting_session(says="done").under(MASKING, RULE)
    assert found.strikes
    assert {strike.used_at for strike in found.strikes} == {None}
    assert found.misses == {"quoted": {}, "strict": {}}
    assert found.reread_cost == 0


def test_dropped_messages_count_by_the_strict_measure_too():
    """Whoever drops messages takes away what the assistant said itself; of what is still there nothing is missed."""
    turns = [("user", (Text("go"),)), ("assistant", (Text("I call it part_99"),)), ("user", (Text("go on"),))]
    turns += step(0, "Bash", {"command": "make"}, "nothing new")
    turns += [("assistant", (Text("part_99"),)), ("user", (Text("go on"),)), ("assistant", (Text("part_99"),))]
    session = SessionReplay(recorded(turns))
    dropped = session.with_strikes([past_strike(index, 2, number=index) for index in (1, 2)], RULE)
    assert (dropped.risks["strict"].strikes, dropped.risks["strict"].requests) == (1, 1)
    part = past_strike(4, 2, at=session.history.load(4).parts[0].at)
    assert session.with_strikes([part], RULE).risks["strict"] == Risk()


@given(struck_sessions(), rules)
def test_changes_that_lose_no_cache_are_the_least_that_can_be_paid(struck, rule):
    """No course with the same strikes is below that."""
    sizes, strikes = struck
    found = SimulatedRun(sizes, rule, strikes)
    bound = sum(charge.cost for charge in found.charges_without_rewrites())
    assert bound <= found.cost + 1e-6


def test_costs_are_those_of_its_requests():
    """In uncached input tokens: what is read, written and sent without a cache, each at its price."""
    found = quoting_session().under(MASKING, PriceRule(0.1, 1.25, 300_000))
    read, written = sum(one.read for one in found.charges), sum(one.written for one in found.charges)
    assert found.cost == pytest.approx(0.1 * read + 1.25 * written)
    assert read + written == pytest.approx(found.tokens)
    assert min(request.sent for request in found.requests) > 0


def test_as_it_was_sent_has_the_strikes_that_were_made(tmp_path):
    """In tokens as the provider counts; nothing is said of their risk, since the model had no words of them."""
    turns = [says("user", "go")]
    for number in range(10):
        turns += asks("Read", {"file_path": "/p/a.py"}, f"line {number}\n" * 300, id=f"t{number}")
    with Conversation(log=tmp_path / "c.jsonl", policy=Policy.documents(), model="claude-opus-4-6") as talk:
        for payload in conversation("anthropic", [*turns, says("assistant", "done")]):
            if payload["role"] == "assistant":
                tokens = talk.request().stats.tokens_after
            talk.add(payload)
            if payload["role"] == "assistant":
                talk.record_usage(input_tokens=2 * tokens, output_tokens=1)
    session = SessionReplay(history_of_log(read_log_file(tmp_path / "c.jsonl")))
    found = session.as_sent(RULE)
    pairs = list(zip(found.strikes, session.history.strikes, strict=True))
    assert len(pairs) == 5
    for scaled, made in pairs:
        assert scaled.tokens_saved == pytest.approx(session.sizes.scale * made.tokens_saved, abs=2)
    reported = [request.usage.input_tokens for request in session.history.requests]
    assert [request.sent for request in found.requests] == pytest.approx(reported, rel=0.03)
    assert (found.risks, found.misses) == ({}, {})
