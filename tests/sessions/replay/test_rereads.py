"""The third measure: what was asked for again after a strike, and struck again."""

import pytest

from redline import EN, Policy
from redline.prices import PRICE_RULES
from redline.rules import MaskedResults
from redline.sessions.replay.rereads import Rereads
from redline.sessions.replay.simulated_run import SessionReplay
from redline.values.messages import Text
from tests.sessions.replay.recorded import past_strike, recorded, step

RULE = next(iter(PRICE_RULES.values()))
READ = ("Read", {"file_path": "/p/a.py"})


def session(*steps):
    """The user's task, steps of a call and its result, and an answer."""
    turns = [("user", (Text("go"),))]
    for number, (tool, arguments, answer) in enumerate(steps):
        turns += step(number, tool, arguments, answer)
    return SessionReplay(recorded([*turns, ("assistant", (Text("done"),))]))


def strike(made, number, first):
    """On the result of a step, from a request on."""
    index = 2 * number + 2
    return past_strike(index, first, at=made.history.load(index).parts[0].at, number=number)


def ls(name):
    return ("Bash", {"command": f"ls {name}"}, name)


def test_a_file_read_again_after_a_strike_counts_whatever_it_says_now():
    """Changed or not: the agent came back to it."""
    for words in ("the same", "edited"):
        made = session((*READ, "the same"), ls("x"), (*READ, words), ls("y"))
        assert made.rereads([strike(made, 0, 2)]) == Rereads(1, 0)


def test_struck_again_is_a_loop():
    """Unless a later read has taken its place by then."""
    made = session((*READ, "one"), ls("x"), (*READ, "two"), ls("y"), (*READ, "three"), ls("z"))
    early, late = strike(made, 2, 4), strike(made, 2, 6)
    assert made.rereads([strike(made, 0, 2), early]) == Rereads(2, 1)
    assert made.rereads([strike(made, 0, 2), late]) == Rereads(1, 0)


def test_asking_again_without_a_strike_is_none():
    """Nor with one that came later, or that ended before."""
    made = session((*READ, "one"), ls("x"), (*READ, "one"), ls("y"))
    at = made.history.load(2).parts[0].at
    assert made.rereads([]) == made.rereads([strike(made, 0, 4)]) == Rereads()
    assert made.rereads([past_strike(2, 1, at=at, end=2)]) == Rereads()


@pytest.mark.parametrize(("words", "asked"), [("a.py", 1), ("a.py\nb.py", 0)])
def test_a_call_counts_if_it_gives_the_same_words(words, asked):
    """One that gives others was made to see what is new."""
    made = session(("Bash", {"command": "ls"}, "a.py"), ls("x"), ("Bash", {"command": "ls"}, words), ls("y"))
    assert made.rereads([strike(made, 0, 2)]).asked_again == asked


def test_the_engine_does_not_strike_again_what_was_asked_for_again():
    """With a brake there is no loop, under a policy that would otherwise strike every result but the last."""
    steps = [(*READ, "one " * 50) if number % 4 == 0 else ls(f"{number}" * 30) for number in range(17)]
    made = session(*steps)
    run = made.under(Policy(rules=[MaskedResults(keep_recent=1)], words=EN, schedule="eager"), RULE)
    assert run.rereads.asked_again >= 1
    assert run.rereads.struck_again == 0
