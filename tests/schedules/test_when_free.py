import itertools
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.schedule import decisions
from redline import Conversation, ValidationError
from redline.prices import Price, PriceRule, Tier, find_price
from redline.record.backends.memory import MemoryLog
from redline.record.records import StrikesApplied
from redline.rules.masked_results import MaskedResults
from redline.rules.rule import Mark, TimelessFold
from redline.schedules import Rates, WhenFree
from redline.testing import asks, conversation, says
from tests.effort import holds_once, tries

MINUTE = 60_000
RULES = (MaskedResults(keep_recent=2),)


def steps(count, size=400):
    turns = [asks("Bash", {"command": "ls"}, "line " * size, id=f"c{number}") for number in range(count)]
    return [conversation("openai_chat", turn) for turn in turns]


def play(talk, rounds, *, gap_ms=MINUTE, start=0.0, schedule="when_free"):
    """One exchange and one request a round; the bodies that were sent."""
    sent, now = [], start
    for exchange in rounds:
        for message in exchange:
            talk.add(message)
        now += gap_ms
        sent.append(talk.request(now=now, rules=RULES, schedule=schedule))
    return sent


def begun(log=None):
    return Conversation(conversation("openai_chat", [says("user", "go")]), log=log)


def test_warm_cache_is_left_alone_at_first():
    """While the cache is warm and little was paid for waiting, marks are held, each with the numbers."""
    sent = play(begun(), steps(4))
    assert sent[3].strikes[:] == ()
    assert len(sent[3].held) == 2
    assert "rewriting would cost" in sent[3].held[0].why


def test_cold_cache_makes_it_free():
    """After the cache has gone, everything that waits is applied at once."""
    talk = begun()
    play(talk, steps(4))
    later = talk.request(now=60 * MINUTE, rules=RULES, schedule="when_free")
    assert [strike.index for strike in later.new_strikes] == [2, 4]
    assert "cache is cold" in later.new_strikes[0].why_now


def test_waiting_long_enough_pays():
    """In a session that goes on without a pause the rewrite comes when waiting has cost as much."""
    sent = play(begun(), steps(60))
    applied = [number for number, request in enumerate(sent) if request.new_strikes]
    assert applied
    assert applied[0] > 4
    assert len(applied) < 20


def test_prefix_is_kept_unless_a_decision_says_why_not():
    """Consecutive requests share their bytes up to the first message that a new strike names."""
    sent = play(begun(), steps(40))
    for earlier, later in itertools.pairwise(sent):
        first = min((strike.index for strike in later.new_strikes), default=len(earlier.messages))
        assert later.messages[:first] == earlier.messages[:first]
        assert later.new_strikes or later.body.startswith(earlier.body[:-1])
        assert set(earlier.strikes) <= set(later.strikes)


def test_window_leaves_no_choice():
    """A request that would not fit is cut down, warm or not."""
    schedule = WhenFree(window_tokens=3_000)
    sent = play(begun(), steps(12), schedule=schedule)
    assert any("window" in strike.why_now for request in sent for strike in request.new_strikes)


def test_decisions_survive_a_restart():
    """Opened again, the conversation has the same strikes in force and knows how long its marks have waited."""
    log = MemoryLog()
    talk = begun(log)
    rounds = steps(30)
    first = play(talk, rounds[:20])
    again = Conversation(log=log)
    assert again.strikes == talk.strikes
    assert again.preview(now=20 * MINUTE, rules=RULES, schedule="when_free").body == first[-1].body
    rest = play(again, rounds[20:], start=20 * MINUTE)
    assert any(request.new_strikes for request in rest)


def test_preview_does_not_count_as_a_request():
    """Looking ahead costs no rent and records nothing."""
    talk = begun()
    play(talk, steps(6))
    looks = {talk.preview(now=7 * MINUTE, rules=RULES, schedule="when_free").body for _ in range(50)}
    assert len(looks) == 1


@pytest.mark.parametrize("rates", [Rates(0.1, 1.25), Rates(0.025, 1.25), Rates(0.1, 2.0)])
@given(gaps=st.lists(st.sampled_from([1, 2, 10]), min_size=1, max_size=12))
def test_strikes_only_grow(rates, gaps):
    """Whatever the pauses: a strike once applied stays."""
    talk, now, before = begun(), 0.0, set()
    for exchange, gap in zip(steps(12, size=30), gaps, strict=False):
        for message in exchange:
            talk.add(message)
        now += gap * MINUTE
        request = talk.request(now=now, rules=RULES, schedule=WhenFree(rates))
        assert before <= set(request.strikes)
        before = set(request.strikes)


# --- what a reopened conversation knows

asked = st.tuples(
    st.just("ask"),
    st.sampled_from([10, 90, 2000]),  # words of the result
    st.sampled_from([0.1, 1, 4, 7, 30]),  # minutes
    st.sampled_from([None, 0.0, 0.6, 1.0]),  # what share was read from the cache, if that is reported
)
meanwhile = st.one_of(
    st.tuples(st.just("undo"), st.integers(0, 30)),
    st.tuples(st.just("pin"), st.integers(0, 20)),
    st.tuples(st.just("eager"), st.integers(1, 3)),
    st.tuples(st.just("model"), st.sampled_from(["claude-sonnet-4-5", "gpt-5.6", "nobody-knows-it"])),
    st.tuples(st.just("preamble"), st.sampled_from(["You are.", "You are not." * 99])),
    st.tuples(st.just("truncate"), st.integers(2, 8)),
    st.tuples(st.just("rewind"), st.integers(1, 8)),
)
happenings = st.lists(st.tuples(asked, asked, asked, meanwhile), min_size=1, max_size=8)


def ledger_of(talk):
    rules = talk.policy.made_rules(RULES)
    (parts,) = (one for one in talk._engine._derived_states if one.settings.rules == rules)
    return parts, parts.open_ledger(None)


def messages_in_books(talk):
    """The tokens of the messages, as struck."""
    _, ledger = ledger_of(talk)
    return ledger.tokens - ledger.prefix_tokens


def books(talk, now):
    """The numbers that a decision is made with."""
    parts, ledger = ledger_of(talk)
    due = parts.due_marks(ledger, parts.marks.pending_at(parts.marking_time(now)))
    waiting = [(mark.position, mark.saving, mark.since) for mark in sorted([*ledger.marks, *due])]
    numbers = (ledger.saved, ledger.bill, ledger.prefix_tokens, ledger.requests, ledger.unstruck, ledger.sent_unstruck)
    return [*numbers, *ledger.sums, *itertools.chain.from_iterable(waiting)]


class TwoTalks:
    """A conversation that goes on, beside one that is opened again before each of its requests."""

    def __init__(self):
        self.log = MemoryLog()
        self.talk, self.now, self.number, self.to = begun(self.log), 0.0, 0, {}

    def ask(self, size, minutes, share):
        for message in conversation("openai_chat", asks("Bash", {"command": "ls"}, "line " * size, id=f"n{self.number}")):
            self.talk.add(message)
        self.now, self.number = self.now + minutes * MINUTE, self.number + 1
        self.check_books()
        opened = Conversation(log=self.log).preview(now=self.now, rules=RULES, schedule="when_free", **self.to)
        made = self.talk.request(now=self.now, rules=RULES, schedule="when_free", **self.to)
        assert (opened.body, opened.held) == (made.body, made.held)
        assert [strike.why_now for strike in opened.new_strikes] == [strike.why_now for strike in made.new_strikes]
        if share is not None:
            self.talk.record_usage(input_tokens=9000 + self.number, output_tokens=10, cache_read_tokens=int(share * 9000))

    def check_books(self):
        opened = Conversation(log=self.log)
        before = [talk.preview(now=self.now, rules=RULES, schedule="when_free", **self.to) for talk in (opened, self.talk)]
        assert before[0].body == before[1].body
        if self.talk._state.has_moved:  # strikes are looked at again first, in a conversation apart
            return
        assert books(opened, self.now) == pytest.approx(books(self.talk, self.now))
        if not before[0].repairs and not before[0].lifted:
            struck = sum(strike.tokens_saved for strike in before[0].strikes if strike not in before[0].new_strikes)
            assert messages_in_books(self.talk) == pytest.approx(before[0].stats.tokens_before - struck)

    def happen(self, what, value):
        talk = self.talk
        match what:
            case "undo" if talk.strikes:
                talk.undo(talk.strikes[value % len(talk.strikes)])
            case "pin" if value < len(talk.all_messages):
                talk.pin(value)
            case "eager":
                talk.request(now=self.now, rules=[MaskedResults(keep_recent=value)], schedule="eager")
            case "truncate":
                talk.process({"operation": "truncate", "truncate": {"keep_last": value}})
            case "rewind" if len(talk.all_messages) > value:
                talk.rewind(len(talk.all_messages) - 1 - value)
            case "model" | "preamble":
                self.to[what] = value


@tries(20, deadline=None)
@given(happenings)
def test_a_reopened_conversation_decides_as_the_one_that_went_on(story):
    """Whatever was reported, undone, pinned, struck by others or changed: the record is all that a decision depends on."""
    both = TwoTalks()
    for what, *values in itertools.chain.from_iterable(story):
        (both.ask if what == "ask" else both.happen)(*(values if what == "ask" else (what, *values)))


# --- model and preamble


def test_prices_of_a_model():
    """Rates, lifetime, tier and window are those of the table or of a price of one's own; without either the usual ones."""
    haiku = WhenFree.for_model("claude-haiku-5-5-20261001")
    assert (haiku.rates.read, haiku.rates.write, haiku.lifetime_ms) == (pytest.approx(0.1), 1.25, 5 * MINUTE)
    assert (haiku.tier_tokens, haiku.tier_factor, haiku.window_tokens) == (100_000, 5.0, 900_000)
    own = Price(model="mine", input=2, output=5, cache_read=1, cache_write=2, lifetime_minutes=9)
    assert WhenFree.for_model(own) == WhenFree(Rates(0.5, 1.0), 9 * MINUTE)
    assert WhenFree.for_model("nobody-knows-it") == WhenFree.for_model(None) == WhenFree()


def test_prices_of_the_one_hour_cache():
    """The price of writing to it and its lifetime; those of the usual cache where a model has no other."""
    haiku = WhenFree.for_model("claude-haiku-5-5-20261001", is_long=True)
    assert (haiku.rates.read, haiku.rates.write, haiku.lifetime_ms) == (pytest.approx(0.1), 2.0, 60 * MINUTE)
    assert (haiku.tier_tokens, haiku.tier_factor, haiku.window_tokens) == (100_000, 5.0, 900_000)
    assert WhenFree.for_model("gpt-5.6", is_long=True) == WhenFree.for_model("gpt-5.6")
    assert WhenFree.for_model("nobody-knows-it", is_long=True) == WhenFree()


def test_prices_of_a_rule():
    """Rates, lifetime and the first tier are the rule's; of the model's window a tenth stays free."""
    rule = PriceRule(0.1, 2.0, 60 * MINUTE, tiers=(Tier(100, 3.0, 1.0), Tier(200, 5.0, 1.0)))
    assert WhenFree.for_rule(rule) == WhenFree(Rates(0.1, 2.0), 60 * MINUTE, tier_tokens=100, tier_factor=3.0)
    assert WhenFree.for_rule(rule, window_tokens=1000).window_tokens == 900
    price = find_price("claude-sonnet-4-5")
    assert WhenFree.for_rule(price.rule(), price.window_tokens) == WhenFree.for_model(price)


@pytest.mark.parametrize(
    ("change", "said"),
    [({"model": "gpt-6-sol"}, "another model"), ({"preamble": ["Be brief."]}, "what is sent before the messages has changed")],
)
def test_another_model_or_preamble_finds_no_cache(change, said):
    """What was cached is of no use, so everything goes, and the reason is said; without the change it waits."""
    to = {"model": "gpt-5.6", "preamble": "Be kind."}
    talk = begun()
    talk.request(now=0.0, rules=(), schedule="when_free", **to)
    for exchange in steps(4):
        for message in exchange:
            talk.add(message)
    talk.request(now=1.0, rules=(), schedule="when_free")
    assert talk.preview(now=2.0, rules=RULES, schedule="when_free", **to).new_strikes == ()
    assert talk.preview(now=2.0, rules=RULES, schedule="when_free").new_strikes == ()
    changed = talk.request(now=2.0, rules=RULES, schedule="when_free", **to | change)
    assert [strike.index for strike in changed.new_strikes] == [2, 4]
    assert f"the cache is cold ({said})" in changed.new_strikes[0].why_now


def test_where_requests_go_is_recorded():
    """The model by its name, of the preamble a digest; once, as long as it does not change."""
    log = MemoryLog()
    talk = begun(log)
    for now in range(3):
        talk.request(now=now, schedule="when_free", model="gpt-5.6", preamble="a secret")
    records = [one.record for one in log.read() if isinstance(one.record, StrikesApplied)]
    assert [record.sent_to is None for record in records] == [False, True, True]
    assert records[0].sent_to.model == "gpt-5.6"
    assert "secret" not in repr(records)


def test_eager_requests_are_recorded_only_for_news():
    """Strikes, or another destination."""
    log = MemoryLog()
    talk = begun(log)
    for model in (None, "gpt-5.6", "gpt-5.6", None, "gpt-6-sol"):
        talk.request(now=0.0, model=model, schedule="eager")
    assert sum(isinstance(one.record, StrikesApplied) for one in log.read()) == 2


def test_a_learned_cache_decides():
    """Where the provider reports that the cache outlives its promise, a pause is no reason to strike; else it is."""
    for share, is_struck in ((1.0, False), (0.0, True)):
        talk, now = begun(), 0.0
        for exchange in steps(12):
            for message in exchange:
                talk.add(message)
            now += 8 * MINUTE
            talk.request(now=now, rules=(), schedule="when_free")
            talk.record_usage(input_tokens=10_000, cache_read_tokens=int(share * 10_000), cache_write_tokens=1)
        made = talk.request(now=now + 8 * MINUTE, rules=[MaskedResults(keep_recent=11)], schedule="when_free")
        assert bool(made.new_strikes) == is_struck


def test_a_known_prefix_makes_the_guard_less_strict():
    """A rewrite is held against all that the session costs, system prompt and tools included."""
    first = {}
    for preamble in (None, "You are a careful engineer. " * 3000):
        talk = begun()
        for number, exchange in enumerate(steps(60)):
            for message in exchange:
                talk.add(message)
            made = talk.request(now=number * MINUTE, rules=RULES, schedule="when_free", preamble=preamble)
            if made.new_strikes:
                first.setdefault(preamble, number)
    assert first[preamble] < first[None]


def test_what_a_law_refuses_does_not_drive_rewrites():
    """A mark that is refused once is held from then on, and says why."""

    class Emptier(TimelessFold):
        name = "emptier"

        def fold(self):
            return self

        def see(self, seen):
            if seen.index == 0:
                yield Mark("emptier", 0, seen.part.at, "", "nobody listens")

    rules, log = (Emptier(),), MemoryLog()
    talk = Conversation([{"role": "user", "content": "Go on, please."}], format="anthropic", log=log)
    first = talk.request(now=0.0, rules=rules, schedule="when_free")
    second = talk.request(now=60 * MINUTE, rules=rules, schedule="when_free")
    assert [refusal.problem.law for refusal in first.refused] == ["present_content"]
    opened = Conversation(log=log, format="anthropic").request(now=120 * MINUTE, rules=rules, schedule="when_free")
    for later in (second, opened):
        assert (later.refused, [decision.why for decision in later.held]) == ((), ["the provider would refuse it"])


@pytest.mark.parametrize("read", [0.1, 0.05, 0.02])
def test_deciding_costs_the_same_in_a_long_conversation(read):
    """At real prices few marks wait, however long a conversation is: what waits longer pays for its rewrite."""

    def cost(length):
        waiting, seconds = decisions(WhenFree(Rates(read=read)), length, steps=60)
        assert waiting < 100
        return statistics.median(seconds)

    assert holds_once(lambda: cost(10_000) < 4 * cost(1_000))


def test_deciding_costs_no_more_than_marks_wait():
    """Where every mark waits, as at no real price, ten times as many take about ten times as long."""

    def cost(length):
        waiting, seconds = decisions(WhenFree(Rates(read=1e-6)), length, steps=60)
        assert waiting > length // 3
        return statistics.median(seconds)

    assert holds_once(lambda: cost(10_000) < 20 * cost(1_000))


@pytest.mark.parametrize("is_undone", [False, True])
def test_what_is_written_anew_anyway_takes_the_marks_behind_it_along(is_undone):
    """Bringing back an early result rewrites all behind it, so that a mark there goes for nothing, also when opened again."""
    log, rules = MemoryLog(), [MaskedResults(keep_recent=2)]
    lengths = enumerate((100, 100, 100, 4000, 100))
    turns = [turn for number, lines in lengths for turn in asks("Bash", {}, f"line {number} " * lines, id=f"c{number}")]
    history = conversation("anthropic", [says("user", "hi"), *turns])
    talk = Conversation(history[:-2], log=log)
    first = talk.request(now=0, rules=rules, schedule="when_free").new_strikes[0]
    for message in history[-2:]:
        talk.add(message)
    if is_undone:
        talk.undo(first)
    requests = [one.preview(now=1000, rules=rules, schedule="when_free") for one in (talk, Conversation(log=log))]
    assert requests[0].body == requests[1].body
    assert ["nothing is cached" in strike.why_now for strike in requests[0].new_strikes] == [True] * is_undone
    assert len(requests[0].held) == 1 - is_undone


def test_settings_may_be_zero_and_not_below():
    """Nothing cached at all, and a window that nothing fits into, are settings; a number below zero is a mistake."""
    WhenFree(lifetime_ms=0, window_tokens=0, tier_tokens=0, tier_factor=0)
    for name in ("lifetime_ms", "window_tokens", "tier_tokens", "tier_factor"):
        with pytest.raises(ValidationError, match=f"when_free: {name}"):
            WhenFree(**{name: -1})
