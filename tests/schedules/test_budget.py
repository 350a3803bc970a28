import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import Budget, Conversation, Protection, ValidationError, check
from redline.record.backends.memory import MemoryLog
from redline.rules.masked_results import MaskedResults
from redline.rules.rule import Mark
from redline.schedules import ScheduleInput
from redline.testing import asks, conversation, says

RULES = (MaskedResults(keep_recent=0),)


def history(count, size=300, format="anthropic"):
    turns = [turn for number in range(count) for turn in asks("Bash", {"command": "ls"}, "line " * size, id=f"c{number}")]
    return conversation(format, [says("user", "go"), *turns])


def case_of(savings, size):
    """Marks that save so many tokens each, the oldest first, in a request of a size."""
    marks = [Mark("r", index, ("content",), "", "old") for index in range(len(savings))]
    return ScheduleInput(marks, 0.0, size=lambda: size, saving=lambda mark: savings[mark.index])


def decided(budget, savings, size):
    decisions = budget.decide(case_of(savings, size))
    return [*decisions.applied, *decisions.held()]


def applied(budget, savings, size):
    return [decision.mark.index for decision in decided(budget, savings, size) if decision.is_applied]


def test_nothing_goes_up_to_the_trigger():
    """A request at the trigger is left alone, and each mark says how large the request is."""
    budget = Budget(trigger_tokens=1000, keep=0)
    held = decided(budget, [100, 100], 1000)
    assert [decision.is_applied for decision in held] == [False, False]
    assert held[0].why == "the request has about 1,000 tokens, and nothing goes up to 1,000"
    assert applied(budget, [100, 100], 1001) == [0, 1]


def test_the_oldest_go_until_the_target_is_reached():
    """At the target it stops; what waits says why, and what goes says how much."""
    budget = Budget(trigger_tokens=1000, target_tokens=800, keep=0)
    decisions = decided(budget, [150, 100, 100, 100], 1050)
    assert [decision.is_applied for decision in decisions] == [True, True, False, False]
    assert decisions[0].why == "the request had about 1,050 tokens, above 1,000: 250 go, 800 are left"
    assert decisions[2].why == "the request is down to 800 tokens without it"


def test_the_newest_stay():
    """So many of the newest marks as are to be kept are held, even if the target is not reached."""
    budget = Budget(trigger_tokens=1000, target_tokens=0, keep=2)
    assert applied(budget, [10, 10, 10, 10], 5000) == [0, 1]
    assert applied(budget, [10, 10], 5000) == []


def test_a_small_gain_is_not_worth_it():
    """Nothing is applied if too little can go; and if enough can, at least so much does, past the target."""
    budget = Budget(trigger_tokens=1000, target_tokens=990, keep=0, least_gain_tokens=200)
    assert applied(budget, [90, 90], 1001) == []
    assert "only 180 can go, and at least 200 must" in decided(budget, [90, 90], 1001)[0].why
    assert applied(budget, [90, 90, 90, 90], 1001) == [0, 1, 2]


budgets = st.builds(
    Budget,
    trigger_tokens=st.integers(500, 3000),
    target_tokens=st.none() | st.integers(0, 500),
    keep=st.integers(0, 4),
    least_gain_tokens=st.integers(0, 900),
)


@given(budgets, st.lists(st.integers(0, 400), max_size=12), st.integers(0, 6000))
def test_no_more_goes_than_must(budget, savings, size):
    """Only past the trigger, the oldest first, never the newest, at least the least gain, and none that is needless."""
    gone = applied(budget, savings, size)
    gain = sum(savings[index] for index in gone)
    assert gone == list(range(len(gone)))
    assert len(gone) <= max(len(savings) - budget.keep, 0)
    assert not gone or (size > budget.trigger_tokens and gain >= budget.least_gain_tokens)
    if gone and budget.target_tokens is not None:
        without_last = gain - savings[gone[-1]]
        assert size - without_last > budget.target_tokens or without_last < budget.least_gain_tokens
    may_go = savings[: max(len(savings) - budget.keep, 0)]
    if size > budget.trigger_tokens and sum(may_go) >= max(budget.least_gain_tokens, 1):
        is_at_target = budget.target_tokens is not None and size - gain <= budget.target_tokens
        assert is_at_target or len(gone) == len(may_go)


@pytest.mark.parametrize(
    "settings",
    [
        {"trigger_tokens": 0},
        {"trigger_tokens": 1.5},
        {"keep": -1},
        {"keep": True},
        {"target_tokens": -1},
        {"least_gain_tokens": -1},
        {"trigger_tokens": 1000, "target_tokens": 1001},
        {"by_provider": True, "target_tokens": 10},
        {"clear_tool_inputs": True},
    ],
)
def test_senseless_settings_are_refused(settings):
    """A wrong setting is found when the schedule is made, and named."""
    with pytest.raises(ValidationError, match=r"budget: .*(tokens|keep|inputs)"):
        Budget(**settings)


def test_a_conversation_is_kept_below_its_budget():
    """As it grows, requests stay legal and small, and strikes stay."""
    talk, before = Conversation(), set()
    budget = Budget(trigger_tokens=2000, target_tokens=1200, keep=1)
    sizes = []
    for message in history(30):
        talk.add(message)
        request = talk.request(now=0, rules=RULES, schedule=budget)
        sizes.append(request.stats.tokens_after)
        assert before <= set(request.strikes)
        assert check(request.messages, format="anthropic") == []
        before = set(request.strikes)
    assert max(sizes) <= 2000
    assert len(before) > 10


def test_by_name_it_acts_at_a_hundred_thousand_tokens():
    """The default is that of the provider's own clearing."""
    talk = Conversation(history(8, size=30_000))
    request = talk.request(now=0, rules=RULES, schedule="budget")
    assert [strike.index for strike in request.new_strikes] == [2, 4, 6, 8, 10]
    assert "above 100,000" in request.new_strikes[0].why_now


def test_reported_usage_counts():
    """System prompt and tools are in what the provider reports, and what was struck since the report is out of it."""
    talk = Conversation(history(6))
    budget = Budget(trigger_tokens=5000, keep=0)
    assert not talk.request(now=0, rules=RULES, schedule=budget).new_strikes
    talk.record_usage(input_tokens=50_000)
    first = talk.request(now=0, rules=RULES, schedule=Budget(trigger_tokens=5000, target_tokens=5000, keep=3))
    assert len(first.new_strikes) == 3
    assert f"about {50_000:,} tokens" in first.new_strikes[0].why_now
    left = 50_000 - sum(strike.tokens_saved for strike in first.strikes)
    assert f"about {left:,} tokens" in talk.preview(now=0, rules=RULES, schedule=budget).new_strikes[0].why_now


def test_decisions_survive_a_restart():
    """Opened again, the conversation sends the same bytes and goes on from the same size."""
    log = MemoryLog()
    talk = Conversation(history(12), log=log)
    budget = Budget(trigger_tokens=2000, target_tokens=1500, keep=0)
    sent = talk.request(now=0, rules=RULES, schedule=budget)
    assert sent.new_strikes
    again = Conversation(log=log)
    repeated = again.request(now=0, rules=RULES, schedule=budget)
    assert (repeated.body, repeated.new_strikes) == (sent.body, ())
    assert [decision.why for decision in repeated.held] == [
        decision.why for decision in talk.preview(now=0, rules=RULES, schedule=budget).held
    ]


def test_an_undone_strike_counts_again():
    """What undo brings back makes the request larger."""
    talk = Conversation(history(12))
    budget = Budget(trigger_tokens=2000, target_tokens=2000, keep=0)
    first = talk.request(now=0, rules=RULES, schedule=budget)
    talk.undo(first.strikes[0])
    assert talk.request(now=0, rules=RULES, schedule=budget).new_strikes


def test_the_provider_is_asked_with_the_same_settings():
    """The request carries the field; every mark is held, and protected tools are excluded."""
    protection = Protection(tools=frozenset({"WebFetch", "Task"}))
    talk = Conversation(history(8), protection=protection)
    budget = Budget(trigger_tokens=1000, keep=5, least_gain_tokens=200, by_provider=True, clear_tool_inputs=True)
    request = talk.request(now=0, rules=RULES, schedule=budget)
    assert (len(request.strikes), len(request.held)) == (0, 8)
    assert request.held[0].why == "left to the provider, which clears above 1,000 tokens"
    assert request.context_management == budget.context_management(exclude_tools=["Task", "WebFetch"])
    assert request.messages == history(8)


def test_only_anthropic_is_asked():
    """Elsewhere the error says so; without by_provider a request carries nothing."""
    talk = Conversation(history(3, format="openai_chat"))
    with pytest.raises(ValidationError, match=r"only Anthropic .* openai_chat"):
        talk.request(now=0, schedule=Budget(by_provider=True))
    assert talk.request(now=0, schedule="budget").context_management is None


def test_a_target_cannot_be_handed_over():
    """The provider knows no target."""
    with pytest.raises(ValidationError, match="knows no target"):
        Budget(target_tokens=1).context_management()
