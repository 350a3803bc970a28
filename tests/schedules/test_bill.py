"""What a request cost and what strikes saved in it: by one calculator, live and from the log."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import Conversation, Editor, Policy
from redline.prices import PriceRule, find_price
from redline.providers import FORMATS
from redline.providers.usage import Usage, cost_of
from redline.record.reading import read_log_file
from redline.record.records import SavedTokens
from redline.rules import MaskedResults
from redline.schedules.bill import Charge, OpenBill, PaidRequest, charge, expected_cost
from redline.sessions.replay.history import history_of_log
from redline.testing import asks, conversation, says
from tests.effort import tries

PRICE = find_price("claude-opus-4-6")
READ, WRITE, WRITE_1H = PRICE.cache_read / 1e6, PRICE.cache_write / 1e6, PRICE.cache_write_1h / 1e6
MINUTE_MS = 60_000


def saved_by(usage, bill, *, before=None, before_struck=0, **settings):
    """What a bill says was saved, after a request with this usage."""
    paid = PaidRequest(before, before_struck, None, None) if before is not None else None
    struck, new, *after = (*bill, 0, 0)[: max(len(bill), 2)]
    return OpenBill(SavedTokens(0, struck), SavedTokens(0, new), *after, before=paid).settle(usage, PRICE, **settings).saved


def test_what_was_paid_is_what_was_reported():
    """At list prices, whatever was struck."""
    usage = Usage(10, 10, 1000, 100)
    for bill in (OpenBill(), OpenBill(SavedTokens(100, 400), SavedTokens(100, 400), 900.0)):
        for is_dry_run in (False, True):
            assert bill.settle(usage, PRICE, is_dry_run=is_dry_run).paid == cost_of(usage, PRICE)


def test_no_strikes_save_nothing():
    """Where nothing was struck, nothing is claimed."""
    assert saved_by(Usage(10, 10, 1000, 100), ()) == 0.0


def test_a_standing_strike_saves_its_reads():
    """What is not sent would have been read from the cache, on every request."""
    usage = Usage(0, 0, 50_000, 1000)
    assert saved_by(usage, (20_000,), before=Usage(0, 0, 49_000, 1000)) == pytest.approx(20_000 * READ)


def test_a_cold_strike_saves_its_writes():
    """Where nothing was read from the cache, all that was not sent would have been written."""
    usage = Usage(0, 0, 0, 50_000)
    assert saved_by(usage, (20_000, 20_000)) == pytest.approx(20_000 * WRITE)


def test_a_rewrite_is_paid_for():
    """A strike in a warm cache saves its own reads, and pays for writing again what comes after it."""
    before = Usage(0, 0, 90_000, 10_000)
    after = Usage(0, 0, 10_000, 72_000)  # 20,000 struck near the front, 2,000 new
    saved = saved_by(after, (20_000, 20_000), before=before)
    unchanged = 100_000 * READ + 2000 * WRITE
    assert saved == pytest.approx(unchanged - (10_000 * READ + 72_000 * WRITE))
    assert saved < 0


def test_a_one_hour_cache_is_written_at_its_own_price():
    """The other course writes to the caches that the request wrote to, or, where it wrote nothing, the one before it."""
    usage = Usage(0, 0, 0, 50_000, 50_000)
    assert saved_by(usage, (20_000, 20_000)) == pytest.approx(20_000 * WRITE_1H)
    halves = Usage(0, 0, 0, 50_000, 25_000)
    assert saved_by(halves, (20_000, 20_000)) == pytest.approx(10_000 * (WRITE + WRITE_1H))
    before = Usage(0, 0, 90_000, 10_000, 10_000)
    saved = saved_by(Usage(0, 0, 100_000), (20_000, 20_000, 90_000.0), before=before, is_dry_run=True)
    assert saved == pytest.approx(100_000 * READ - (10_000 * READ + 70_000 * WRITE_1H))


def test_a_dry_run_says_what_would_have_been():
    """The same course, told from the other side: the usage is that of the unchanged request."""
    before = Usage(0, 0, 90_000, 10_000)
    usage = Usage(0, 0, 100_000, 2000)
    saved = saved_by(usage, (20_000, 20_000, 92_000.0), before=before, is_dry_run=True)
    assert saved == pytest.approx((100_000 * READ + 2000 * WRITE) - (10_000 * READ + 72_000 * WRITE))
    later = saved_by(Usage(0, 0, 102_000, 1000), (20_000,), before=usage, is_dry_run=True)
    assert later == pytest.approx(20_000 * READ)


def test_a_dry_run_counts_what_was_struck_before():
    """Of what is ahead of a new strike, earlier strikes have taken their share: only the rest would have been read."""
    usage, before = Usage(0, 0, 100_000, 2000), Usage(0, 0, 98_000, 2000)
    bill = 70_000, 10_000, 22_000.0  # 60,000 of the 80,000 in front are gone already
    saved = saved_by(usage, bill, before=before, before_struck=60_000, is_dry_run=True)
    assert saved == pytest.approx((100_000 * READ + 2000 * WRITE) - (20_000 * READ + 12_000 * WRITE))


def test_a_new_fold_saves_its_writing_and_later_its_reads():
    """It makes smaller what was never sent: nothing in the cache is lost, and in the next request less is read."""
    before, folded = Usage(0, 0, 90_000, 10_000), SavedTokens(folded=5_000)
    paid = PaidRequest(before, 0, None, None)
    usage = Usage(0, 0, 100_000, 2_000)
    assert OpenBill(folded, folded, before=paid).settle(usage, PRICE).saved == pytest.approx(5_000 * WRITE)
    assert OpenBill(folded, before=paid).settle(usage, PRICE).saved == pytest.approx(5_000 * READ)
    unchanged = Usage(0, 0, 100_000, 7_000)
    would = OpenBill(folded, folded, before=paid).settle(unchanged, PRICE, is_dry_run=True)
    assert would.saved == pytest.approx(5_000 * WRITE)


@pytest.mark.parametrize(
    ("minutes", "is_long", "is_rewrite"), [(4, False, True), (6, False, False), (6, True, True), (61, True, False)]
)
def test_an_expired_cache_is_lost_by_no_strike(minutes, is_long, is_rewrite):
    """What would have had to be written anyway is not the price of a rewrite."""
    written = Usage(0, 0, 0, 100_000, 100_000 if is_long else 0)
    before = PaidRequest(written, 0, 0.0, None)
    bill = OpenBill(SavedTokens(0, 20_000), SavedTokens(0, 20_000), 90_000.0, minutes * MINUTE_MS, before=before)
    usage = Usage(0, 0, 0, 82_000, 82_000 if is_long else 0)
    saved = bill.settle(usage, PRICE).saved
    assert (saved < 0) is is_rewrite
    assert is_rewrite or saved == pytest.approx(20_000 * (WRITE_1H if is_long else WRITE))


def test_a_request_below_the_least_size_is_not_cached():
    """Neither read nor written; above it, what is cached is read if there is enough of it."""
    rule = PriceRule(0.1, 1.25, 300_000, min_cached_tokens=1024)
    assert charge(rule, 1000.0, 900.0) == Charge(0.0, 0.0, 1000.0, 1000.0)
    assert charge(rule, 3000.0, 900.0) == Charge(0.0, 3000.0, 0.0, 1.25 * 3000)
    assert charge(rule, 3000.0, 2000.0) == Charge(2000.0, 1000.0, 0.0, 0.1 * 2000 + 1.25 * 1000)


@given(st.floats(0, 1), st.floats(1, 3), st.floats(0, 1e6), st.floats(0, 1), st.floats(0, 1))
def test_what_is_expected_lies_between_warm_and_cold(read, write, tokens, share, alive):
    """A cache that is there with a probability costs what warm and cold cost, in that proportion."""
    rule, cached = PriceRule(read, write, 300_000), share * tokens
    warm, cold = charge(rule, tokens, cached).cost, charge(rule, tokens, 0.0).cost
    found = expected_cost(read, write, tokens, cached, alive)
    assert found == pytest.approx(alive * warm + (1 - alive) * cold, abs=1e-6)


# --- the log says what the request said


@st.composite
def talks(draw):
    """An agent that runs commands: of each its output, the time it took, what was reported and when."""
    steps = []
    for number in range(draw(st.integers(2, 8))):
        output = f"line {number} of the output\n" * draw(st.sampled_from([1, 20, 90]))
        tokens = draw(st.integers(100, 9_000))
        usage = draw(st.sampled_from([None, Usage(tokens), Usage(10, 1, tokens, 50), Usage(0, 1, 0, tokens, tokens)]))
        gap_ms = draw(st.sampled_from([10_000.0, 400_000.0, 4_000_000.0]))
        steps.append((output, gap_ms, usage, draw(st.booleans())))
    return steps


def in_turns(steps):
    turns = [says("user", "go")]
    for number, (output, *_) in enumerate(steps):
        turns += asks("Bash", {"command": f"make {number}"}, output, id=f"call_{number}")
    return [*turns, says("assistant", "done")]


SCHEDULES = ["eager", "when_free"]
KEEP_ONE = Policy(rules=[MaskedResults(keep_recent=1)])


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("format", FORMATS)
@tries(12)
@given(steps=talks())
def test_the_log_of_a_conversation_has_the_bills_of_its_requests(tmp_path_factory, format, schedule, steps):
    """In every format, whether usage was reported before the answer was added, after it, or not at all."""
    path, made, now = tmp_path_factory.mktemp("log") / "c.jsonl", [], 0.0
    told, is_answer = iter([*steps, ("", 1_000.0, Usage(50), True)]), False
    policy = replace(KEEP_ONE, schedule=schedule)
    with Conversation(log=path, policy=policy, model="claude-opus-4-6", format=format) as talk:
        late = None
        for payload in conversation(format, in_turns(steps)):
            was_answer, is_answer = is_answer, FORMATS[format].read(payload).role == "assistant"
            if was_answer and not is_answer and late is not None:
                talk.record_usage(late)
            if is_answer and not was_answer:
                _, gap_ms, usage, is_late = next(told)
                now += gap_ms
                made.append(talk.request(now=now))
                late = usage if is_late else None
                if usage is not None and not is_late:
                    talk.record_usage(usage)
            talk.add(payload, timestamp_ms=now)
    requests = history_of_log(read_log_file(path)).requests
    assert [request.bill for request in requests] == [request.bill for request in made]
    assert any(request.bill.saved.total for request in made) == any(request.strikes for request in made)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("format", FORMATS)
@tries(12)
@given(steps=talks())
def test_the_log_of_an_editor_has_the_bills_of_its_requests(tmp_path_factory, format, schedule, steps):
    """An agent's list is sent whole each time; what was reported came between."""
    folder, now = tmp_path_factory.mktemp("store"), 0.0
    editor, made = Editor(folder, policy=replace(KEEP_ONE, schedule=schedule, strategy="answer")), []
    native = conversation(format, in_turns(steps))
    is_answer = [FORMATS[format].read(payload).role == "assistant" for payload in native]
    starts = [index for index in range(1, len(native)) if is_answer[index] and not is_answer[index - 1]]
    for end, (_, gap_ms, usage, _) in zip(starts, steps, strict=False):
        now += gap_ms
        made.append(editor.edit(native[:end], session="s", now=now, model="claude-opus-4-6", format=format))
        if usage is not None:
            editor.report(made[-1], usage)
    editor.edit(native, session="s", now=now + 1, model="claude-opus-4-6", format=format)
    editor.close()
    [path] = folder.glob("*.jsonl")
    requests = history_of_log(read_log_file(path)).requests
    assert [request.bill for request in requests][: len(made)] == [request.bill for request in made]


@pytest.mark.parametrize(("model", "is_other"), [("claude-opus-4-6", False), ("claude-sonnet-4-5", True)])
def test_another_model_has_nothing_of_the_request_before(model, is_other):
    """What one model cached is of no use to another, so that no strike loses it."""
    talk = Conversation([{"role": "user", "content": "go"}], policy=replace(KEEP_ONE, schedule="when_free"))
    talk.request(model="claude-opus-4-6")
    talk.record_usage(usage := Usage(0, 1, 0, 3_000))
    talk.add({"role": "assistant", "content": "well"})
    talk.add({"role": "user", "content": "go on"})
    before = talk.request(model=model).bill.before
    assert before is None if is_other else before.usage == usage


def test_another_view_has_nothing_of_the_request_before():
    """What is sent after a change of the view has little in common with what was cached."""
    talk = Conversation([{"role": "user", "content": "go"}], policy=KEEP_ONE, model="claude-opus-4-6")
    talk.request()
    talk.record_usage(Usage(0, 1, 0, 3_000))
    talk.process({"operation": "clear", "clear": {"keep_system_message": False}})
    talk.add({"role": "user", "content": "and now for something else"})
    assert talk.request().bill.before is None
