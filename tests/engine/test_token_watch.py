from redline.engine.state import State
from redline.engine.token_watch import TokenWatch
from redline.log.records import MessageAdded, UsageReported, ViewChanged


class Letters:
    """One token a letter, so that numbers can be checked by eye."""

    name = "letters"

    def count(self, text):
        return len(text)


def watch(limit=None):
    state = State()
    return state, TokenWatch(limit, Letters())


def add(state, text):
    state.apply(MessageAdded(b'{"role":"user","content":"%s"}' % text.encode()))


def test_estimate_alone_where_nothing_was_reported():
    """The sum of the visible messages, each counted once, with the marks around it."""
    state, counting = watch()
    add(state, "x" * 10)
    first = counting.used(state)
    add(state, "x" * 7)
    assert counting.used(state) - first == first - 3


def test_reported_plus_what_was_added_since():
    """Reported tokens replace the estimate of what they cover."""
    state, counting = watch()
    add(state, "x" * 1000)
    state.apply(UsageReported(50, 5))
    assert counting.used(state) == 55
    add(state, "x" * 10)
    assert 65 <= counting.used(state) <= 75


def test_one_event_for_each_crossing():
    """The callbacks are told once when the limit is passed, and again after it was kept."""
    state, counting = watch(limit=100)
    told = []
    counting.on_limit(lambda used, limit: told.append((used, limit)))
    add(state, "hi")
    for used in (100, 120, 130, 90, 101):
        state.apply(UsageReported(used))
        counting.check(state)
    assert told == [(120, 100), (101, 100)]


def test_hidden_messages_do_not_count():
    """Only what is visible is counted."""
    state, counting = watch()
    add(state, "x" * 100)
    add(state, "x")
    state.apply(ViewChanged(((1, 2),), boundary=1))
    assert counting.used(state) < 20
