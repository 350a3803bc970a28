"""A model that binds its reasoning takes every request, wherever the conversation or the client's list goes back to."""

import itertools
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import redline
from redline import Conversation, Editor, Policy
from redline.errors import ExecutionError, RedlineError
from redline.rules.masked_results import MaskedResults
from redline.testing.provider import ReasoningBinder
from tests.effort import tries

MODEL = "claude-sonnet-5-5"
RULES = (MaskedResults(keep_recent=1),)


class Provider:
    """Answers with reasoning that is bound to what it was sent, and says what it would have refused."""

    def __init__(self):
        self.binder, self.numbers, self.refused = ReasoningBinder(), itertools.count(), list[str]()

    def answer(self, messages, *, calls):
        body = {"messages": messages}
        if complaint := self.binder.complaint(body):
            self.refused.append(complaint)
        number = next(self.numbers)
        said = {"type": "tool_use", "id": f"c{number}", "name": "Bash", "input": {"command": "ls"}}
        said = said if calls else {"type": "text", "text": f"done {number}"}
        content = [{"type": "thinking", "thinking": "hm", "signature": ""}, said]
        self.binder.sign(body, content)
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": f"out {number % 9} " * 40}
        return [{"role": "assistant", "content": content}, {"role": "user", "content": [result] if calls else "go on"}]


@pytest.mark.parametrize("schedule", ["eager", "when_free"])
@pytest.mark.parametrize("is_reported", [False, True])
def test_a_strike_stays_on_its_branch(schedule, is_reported, tmp_path):
    """R157: a client goes back and gets a new answer there; what was struck on the branch it left is not struck before it."""
    provider, editor = Provider(), Editor(tmp_path, policy=Policy(rules=RULES, schedule=schedule))
    history = [{"role": "user", "content": "go"}]

    def turn(now, *, calls, preamble="be short"):
        made = editor.edit(history, model=MODEL, now=now, preamble=preamble)
        history.extend(provider.answer(made.messages, calls=calls))
        if is_reported:
            editor.report(made, {"input_tokens": 1000, "output_tokens": 10})
        return made

    for calls in (True, True, True, False):
        turn(0, calls=calls)
    assert turn(10_000_000, calls=True, preamble="be long").strikes  # another past lets the reasoning go, and with it results
    for back in (3, 5, 7):
        del history[back:]
        for calls in (True, True, False, True):
            turn(10_000_000 + back * 1000, calls=calls)
    editor.close()
    assert provider.refused == []


@tries(60, deadline=None)
@given(seed=st.integers(0, 10**6), schedule=st.sampled_from(["eager", "when_free"]))
@example(seed=98, schedule="eager")  # rolled back to reasoning before which a strike was lifted meanwhile
@example(seed=9, schedule="when_free")
def test_every_request_is_taken_whatever_was_hidden(seed, schedule):
    """R157: truncate, filter, rewind, roll back or undo in mid-turn either leaves a request that is taken, or is refused."""
    random, provider = Random(seed), Provider()
    talk = Conversation(format="anthropic", model=MODEL, policy=Policy(rules=RULES, schedule=schedule))
    talk.add({"role": "user", "content": "go"})
    now = 0
    for _ in range(20):
        now += random.choice([1000, 1000, 3_600_000])
        if random.random() < 0.3:
            change(talk, random)
        if not (sent := talk.preview(now=now).messages) or sent[-1]["role"] != "user":
            talk.add({"role": "user", "content": "next"})
        for message in provider.answer(talk.request(now=now).messages, calls=random.random() < 0.7):
            talk.add(message)
    assert provider.refused == []


def change(talk, random):
    """Some operation, which may be refused; then nothing has changed."""
    before = talk.messages
    number = random.randrange(1, 6)
    acts = [
        lambda: talk.process({"operation": "truncate", "truncate": {random.choice(["keep_last", "remove_first"]): number}}),
        lambda: talk.process({"operation": "truncate", "truncate": {random.choice(["keep_first", "remove_last"]): number}}),
        lambda: talk.process({"operation": "filter", "filter": {"content_excludes": [f"out {number}"]}}),
        lambda: talk.process({"operation": "filter", "filter": {"content_excludes": ["done"]}}),
        lambda: talk.rewind(random.randrange(len(talk.all_messages))),
        lambda: talk.rollback(random.randrange(talk.current_batch + 1)),
        lambda: talk.undo(random.choice(talk.strikes)) if talk.strikes else None,
        lambda: talk.compact(lambda _: "short", keep_last=number, in_place=True),
    ]
    try:
        random.choice(acts)()
    except RedlineError:
        assert talk.messages == before


def test_what_cannot_be_hidden_is_said():
    """R157: in mid-turn the error names the reasoning; when the turn is over the same operation is carried out."""
    provider = Provider()
    talk = Conversation(format="anthropic", model=MODEL, policy=Policy(rules=RULES))
    talk.add({"role": "user", "content": "go"})
    hide = {"operation": "truncate", "truncate": {"remove_first": 1}}
    for message in provider.answer(talk.request(now=0).messages, calls=True):
        talk.add(message)
    for act in (lambda: talk.process(hide), lambda: talk.start_batch(1)):
        with pytest.raises(ExecutionError, match=r"reasoning in message 1 is bound.*Nothing was changed"):
            act()
    talk.compact_when(tokens=1, summarize=lambda _: "short", keep_last=1)
    assert talk.check_tokens() > 1
    for message in provider.answer(talk.request(now=1).messages, calls=False):
        talk.add(message)
    talk.process(hide)
    provider.answer(talk.request(now=2).messages, calls=False)
    assert provider.refused == []


def test_other_models_may_hide_anything():
    """R157: only a model that binds its reasoning is asked."""
    provider = Provider()
    talk = Conversation(format="anthropic", model="claude-sonnet-4-6")
    talk.add({"role": "user", "content": "go"})
    for message in provider.answer(talk.request(now=0).messages, calls=True):
        talk.add(message)
    talk.process({"operation": "truncate", "truncate": {"remove_first": 1}})
    assert redline.check(talk.request(now=1).messages) == []
