"""Bound reasoning, against a provider that binds it."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import Conversation, ExecutionError
from redline.engine.bound_reasoning import BOUND_REASONING, BoundReasoning, restoring_problem
from redline.engine.state import State
from redline.prices import Price
from redline.providers import find_format
from redline.record.backends.memory import MemoryLog
from redline.record.records import Destination, MessageAdded, Strike, StrikesApplied, StrikeUndone
from redline.rules.masked_results import MaskedResults
from redline.rules.old_reasoning import OldReasoning
from redline.testing.provider import FakeProvider, ReasoningBinder
from redline.values import payloads
from redline.values.messages import Reasoning, Text, ToolCall
from tests.effort import tries

MINUTE = 60_000
MODEL = "claude-opus-5-5"
RULES = (MaskedResults(keep_recent=1),)


class Agent:
    """Sends every request to a provider that binds reasoning; the tests fail where one is refused."""

    def __init__(self, schedule="when_free", rules=RULES, model=MODEL):
        self.provider = FakeProvider(binder=ReasoningBinder())
        self.log, self.schedule, self.rules, self.model = MemoryLog(), schedule, rules, model
        self.talk = Conversation(log=self.log, format="anthropic")
        self.now, self.calls, self.system = 0.0, 0, "You are helpful."

    def turn(self, steps, *, minutes=1.0, size=300):
        """The user speaks, the model thinks and calls tools, and answers."""
        self.now += minutes * MINUTE
        self.talk.add({"role": "user", "content": f"Go on, {self.calls}."})
        for _ in range(steps):
            self.step(size)
        thought = Reasoning("So that is it. " * 5)
        self.ask(thought, Text("Done."))

    def step(self, size=300):
        """The model thinks and calls a tool, which answers."""
        self.calls += 1
        call = ToolCall(f"c{self.calls}", "Bash", {"command": f"ls {self.calls}"})
        self.ask(Reasoning("I should look. " * 5), Text("Let me see."), call)
        self.talk.add({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "line " * size}]})
        self.now += MINUTE / 10

    def ask(self, *parts):
        self.made = self.talk.request(
            now=self.now, rules=self.rules, schedule=self.schedule, model=self.model, preamble={"system": self.system}
        )
        self.provider.replies = [*self.provider.replies, ("assistant", parts)]
        body = {"model": MODEL, "system": self.system, "messages": self.made.messages}
        done = self.provider.exchange("/v1/messages", body)
        assert done.status == 200, done.answer
        self.talk.add({"role": "assistant", "content": done.answer["content"]})
        return self.made


def reasoning_in(messages):
    blocks = itertools.chain.from_iterable(one["content"] for one in messages if isinstance(one["content"], list))
    return sum(block["type"] == "thinking" for block in blocks)


def test_nothing_before_the_last_reasoning_is_struck():
    """While a turn goes on, marks in front of the reasoning wait, each with the reason."""
    agent = Agent()
    agent.turn(6)
    assert agent.talk.strikes == ()
    assert len(agent.made.held) == 5
    assert "the reasoning in message 11 is bound to it" in agent.made.held[0].why


def test_a_turn_that_begins_cold_strikes_all_and_the_reasoning_with_it():
    """Everything that waited goes, and so does all reasoning, under a name of its own."""
    agent = Agent()
    agent.turn(6)
    agent.turn(0, minutes=60)
    struck = [strike.rule for strike in agent.made.new_strikes]
    assert (struck.count("masked_results"), struck.count("bound_reasoning")) == (5, 7)
    assert reasoning_in(agent.made.messages) == 0
    assert agent.made.refused == ()
    agent.turn(3)
    assert reasoning_in(agent.made.messages) == 1 + 3


def test_a_warm_new_turn_keeps_reasoning_and_cache():
    """Reasoning is not given up while the cache is worth something."""
    agent = Agent()
    agent.turn(4)
    agent.turn(2)
    assert agent.talk.strikes == ()


def test_a_cold_turn_without_marks_keeps_its_reasoning():
    """Nothing is gained by its removal."""
    agent = Agent(rules=())
    agent.turn(3)
    agent.turn(1, minutes=60)
    assert reasoning_in(agent.made.messages) == 5


def test_a_cold_cache_in_mid_turn_changes_nothing():
    """The reasoning of the present turn must stay, and so must what stands before it."""
    agent = Agent()
    agent.talk.add({"role": "user", "content": "Go."})
    for _ in range(4):
        agent.step()
        agent.now += 60 * MINUTE
    assert agent.talk.strikes == ()


@pytest.mark.parametrize("rules", [RULES, (OldReasoning(keep_recent=1, bound_too=True),)])
def test_the_law_holds_for_every_schedule(rules):
    """Eager would strike at once: it is refused, with the law and the message whose reasoning is in the way."""
    agent = Agent("eager", rules)
    agent.turn(4)
    refusal = agent.made.refused[0]
    assert refusal.problem.law == "bound_reasoning"
    assert "is bound to it" in refusal.problem.found
    assert agent.talk.strikes == ()
    assert "Refused, message" in agent.made.explain()


@pytest.mark.parametrize("schedule", ["eager", "when_free"])
def test_strikes_behind_the_last_reasoning_are_legal(schedule):
    """What was never sent can be made small before its first sending."""
    agent = Agent(schedule, (MaskedResults(keep_recent=0),))
    agent.turn(4)
    assert [strike.index for strike in agent.talk.strikes] == [2, 4, 6, 8]


def test_a_full_window_is_a_reason_at_the_start_of_a_turn():
    """A request that does not fit is worse than lost reasoning."""
    own = Price(model="mine", input=1, output=5, cache_read=0.1, cache_write=1.25, window_tokens=4000, binds_reasoning=True)
    agent = Agent(model=own)
    agent.turn(12)
    agent.turn(0)
    assert any("window" in strike.why_now for strike in agent.made.new_strikes)


@pytest.mark.parametrize("schedule", ["eager", "when_free"])
def test_a_changed_preamble_costs_the_reasoning(schedule):
    """It is bound to the system prompt too, so with another one it is struck where a turn begins, whatever the schedule."""
    agent = Agent(schedule, rules=())
    agent.turn(3)
    agent.system = "You are careful."
    agent.turn(1)
    rules = {strike.rule for strike in agent.talk.strikes}
    assert rules == {"bound_reasoning"}
    assert "before the messages" in agent.talk.strikes[0].why_now


@pytest.mark.parametrize("schedule", ["eager", "when_free"])
def test_another_view_costs_the_reasoning(schedule):
    """Where the user hid messages, the reasoning behind them would be refused."""
    agent = Agent(schedule, rules=())
    agent.turn(3)
    agent.turn(1)
    agent.talk.start_batch(8)
    agent.turn(2)
    agent.turn(1)
    assert len({strike.why_now for strike in agent.talk.strikes}) == 1


def test_undo_is_refused_where_later_reasoning_is_bound():
    """What was struck stays as long as reasoning is sent that was made with it; the error says which."""
    agent = Agent()
    agent.turn(4)
    agent.turn(1, minutes=60)
    masked = next(strike for strike in agent.talk.strikes if strike.rule == "masked_results")
    for restore in (lambda: agent.talk.undo(masked), lambda: agent.talk.pin(masked.index)):
        with pytest.raises(ExecutionError, match=r"must stay. The reasoning in message \d+ is bound to it"):
            restore()


def test_reasoning_comes_back_only_with_its_past():
    """While a strike before it is newer than it, the provider would refuse it."""
    agent = Agent()
    agent.turn(3)
    agent.now += 60 * MINUTE
    agent.talk.add({"role": "user", "content": "Go on."})
    agent.talk.request(now=agent.now, rules=RULES, schedule="when_free", model=MODEL, preamble={"system": agent.system})
    last = [strike for strike in agent.talk.strikes if strike.rule == "bound_reasoning"][-1]
    with pytest.raises(ExecutionError, match="bound to what was sent before it"):
        agent.talk.undo(last)
    for strike in agent.talk.strikes:
        if strike.rule == "masked_results":
            agent.talk.undo(strike)
    agent.talk.undo(last)
    agent.ask(Text("ok"))
    assert reasoning_in(agent.made.messages) == 1


@pytest.mark.parametrize(
    ("struck", "undone", "is_bound"),
    [(2, "after it", True), (2, "before it", False), (4, "after it", False), (2, "never", False)],
    ids=["given back after it", "given back before it", "behind it", "still struck"],
)
def test_what_was_struck_before_reasoning_must_be_struck_still(struck, undone, is_bound):
    """Reasoning was made without a result; once that is given back, the reasoning cannot be."""
    answered, sent_to = [{"type": "tool_result", "tool_use_id": "c", "content": "x"}], Destination(MODEL, binds_reasoning=True)
    said = [
        ("user", "Look"),
        ("assistant", [{"type": "tool_use", "id": "c", "name": "Bash", "input": {}}]),
        ("user", answered),
        ("assistant", [{"type": "thinking", "thinking": "So", "signature": "s"}, {"type": "text", "text": "ok"}]),
        ("user", "Go on"),
    ]
    masked = Strike(0, "masked_results", struck, ("content", 0) if struck == 2 else ("content",), "-", "old", 9, 1)
    state = State(find_format("anthropic"))
    for index, (role, content) in enumerate(said):
        if index == 3 and struck < index:
            state.apply(
                StrikesApplied((Strike(0, "masked_results", struck, ("content", 0), "-", "old", 9, 1),), sent_to=sent_to)
            )
        if index == 3 and undone == "before it":
            state.apply(StrikeUndone(0))
        state.apply(MessageAdded(payloads.encode({"role": role, "content": content})))
    if struck > 3:
        state.apply(StrikesApplied((masked,), sent_to=sent_to))
    if undone == "after it":
        state.apply(StrikeUndone(0))
    removed = Strike(1, BOUND_REASONING, 3, ("content", 0), None, "a new turn", 9, 0)
    state.apply(StrikesApplied((removed,), sent_to=sent_to))
    assert bool(restoring_problem(state, removed)) == is_bound


def test_pinned_reasoning_is_not_removed():
    """A pin says that a message stays as it is, so that nothing before it can be struck either."""
    agent = Agent()
    agent.turn(4)
    agent.talk.pin(7)
    agent.turn(1, minutes=60)
    assert agent.talk.strikes == ()


def test_other_models_are_free():
    """Signed reasoning alone binds nothing: the model decides."""
    agent = Agent("eager")
    agent.model = None
    agent.talk.add({"role": "user", "content": "Go."})
    for _ in range(3):
        agent.talk.add({"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]})
    request = agent.talk.request(now=0.0, rules=[OldReasoning(keep_recent=1, bound_too=True)], model="claude-opus-4-5")
    assert request.refused == ()


def test_only_what_is_new_is_looked_at():
    """Blocks are found once, and dropped once they are struck."""
    agent = Agent()
    agent.turn(3)
    bound = BoundReasoning(agent.talk._state)
    bound.catch_up()
    first = bound.allowed_from
    agent.turn(2, minutes=60)
    bound.catch_up()
    assert bound.allowed_from == first + 6
    assert len(bound.marks("")) == 3


turns = st.lists(
    st.tuples(
        st.integers(0, 4),  # steps
        st.sampled_from([0.2, 1.0, 60.0]),  # minutes before
        st.sampled_from([5, 300, 3000]),  # words of a result
        st.sampled_from(["", "", "preamble", "undo", "pin", "model", "reopen", "truncate"]),
        st.integers(0, 30),
    ),
    min_size=1,
    max_size=10,
)


@tries(30, deadline=None)
@given(turns, st.sampled_from(["when_free", "eager"]), st.sampled_from([(), RULES, (*RULES, OldReasoning(bound_too=True))]))
def test_no_request_is_refused(story, schedule, rules):
    """Whatever the pauses, the schedule, what is undone or pinned or changed between turns: the provider takes each request."""
    agent = Agent(schedule, rules)
    for steps, minutes, size, event, number in story:
        talk = agent.talk
        try:
            if event == "undo" and talk.strikes:
                talk.undo(talk.strikes[number % len(talk.strikes)])
            elif event == "pin" and number < len(talk.all_messages):
                talk.pin(number)
        except ExecutionError:
            pass
        if event == "preamble":
            agent.system = f"You are number {number}."
        elif event == "model":
            agent.model = "claude-opus-5-5" if number % 2 else "claude-sonnet-5-5"
        elif event == "reopen":
            agent.talk = Conversation(log=agent.log, format="anthropic")
        elif event == "truncate" and talk.visible_indices:
            talk.start_batch(talk.visible_indices[-1] + 1)
        agent.turn(steps, minutes=minutes, size=size)


def test_reasoning_is_not_given_up_because_waiting_was_dear():
    """A new turn with a warm cache: what has waited for long goes on waiting, until the cache is cold."""
    agent = Agent()
    agent.turn(40)
    agent.turn(0)
    assert agent.talk.strikes == ()
    agent.turn(0, minutes=60)
    assert len(agent.talk.strikes) > 40
