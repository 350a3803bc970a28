from redline.prices import Survival
from redline.record.records import Destination, LedgerEntry, Strike, StrikesApplied, UsageReported
from redline.schedules.history import RequestHistory, what_changed

MINUTE = 60_000
PROMISED = {"lifetime_ms": 5 * MINUTE}
LEDGER = LedgerEntry(0.0, 0.0, 500.0, 400.0)


def strike(number, index):
    return Strike(number, "a_rule", index, ("content",), "[gone]", "why", 10, 2)


def asked(requests, minutes, *, strikes=(), sent_to=None, stored=10):
    requests.add(StrikesApplied(tuple(strikes), minutes * MINUTE, 10, sent_to, ledger=LEDGER), stored)


def reported(requests, read, tokens=10_000, written=0):
    requests.report(UsageReported(tokens, 50, read, written))


def alive(requests, minutes):
    return requests.survival.alive(minutes * MINUTE, **PROMISED)


def test_a_cache_that_outlives_its_promise_is_learned():
    """After a pause of ten minutes everything was read again, so that it may be so once more."""
    requests = RequestHistory()
    for number in range(5):
        asked(requests, 10 * number)
        reported(requests, 0 if number == 0 else 10_000, written=100)
    assert alive(requests, 10) == 4 / 8
    assert alive(requests, 1) == 1.0


def test_a_cache_that_dies_early_is_learned():
    """And so is the opposite."""
    requests = RequestHistory()
    for number in range(5):
        asked(requests, 2 * number)
        reported(requests, 0, written=10_000)
    assert alive(requests, 2) == 4 / 8


def test_silence_teaches_nothing():
    """A provider or agent that never says a word of a cache is not one whose cache is always gone."""
    requests = RequestHistory()
    for number in range(9):
        asked(requests, number)
        reported(requests, 0)
    assert requests.survival == Survival()
    asked(requests, 9)
    reported(requests, 1)
    assert alive(requests, 1) < 0.5, "once it speaks, what it said before counts"


def test_what_a_rewrite_loses_is_not_held_against_the_cache():
    """Own strikes, undone ones, another preamble, and prompts too short to be cached teach nothing."""
    for disturb in (
        lambda requests: asked(requests, 1, strikes=[strike(0, 3)]),
        lambda requests: (requests.rewrite(0), asked(requests, 1)),
        lambda requests: (requests.add_strikes((strike(0, 3),)), asked(requests, 1)),
        lambda requests: asked(requests, 1, sent_to=Destination("m", "q")),
    ):
        requests = RequestHistory()
        asked(requests, 0, sent_to=Destination("m", "p"))
        reported(requests, 0, written=10_000)
        disturb(requests)
        reported(requests, 0, written=10_000)
        assert requests.survival == Survival()
    asked(requests, 2, strikes=[strike(1, 10)], stored=11)
    reported(requests, 0, written=10_000)
    assert alive(requests, 1) < 1.0, "a strike on what was never sent rewrites nothing"


def test_short_prompts_teach_nothing():
    """Providers cache none that is shorter than some thousand tokens."""
    requests = RequestHistory()
    for number in range(3):
        asked(requests, number)
        reported(requests, 0, tokens=900, written=900)
    assert requests.survival == Survival()


def test_another_model_starts_over():
    """What one provider keeps says nothing of another."""
    requests = RequestHistory()
    for number, model in enumerate("aaab"):
        asked(requests, number, sent_to=Destination(model))
        reported(requests, 0, written=10_000)
    assert requests.survival == Survival()
    assert requests.sent_to == Destination("b")


def test_a_report_counts_once():
    """A second one for the same request, or one without a request, changes nothing."""
    requests = RequestHistory()
    reported(requests, 5000)
    asked(requests, 0)
    reported(requests, 0, tokens=9000)
    reported(requests, 0, tokens=100)
    assert requests.reported_prefix == 9000 - LEDGER.tokens


def test_a_new_view_keeps_what_was_learned():
    """Requests count anew, and strikes from before are told apart."""
    requests = RequestHistory()
    for number in range(3):
        asked(requests, number)
        reported(requests, 0, written=10_000)
    learned = requests.survival
    requests.start_view(7)
    assert (requests.count, requests.reported_prefix, requests.first_strike, requests.is_new_view) == (0, None, 7, True)
    assert requests.survival == learned != Survival()
    asked(requests, 9)
    assert not requests.is_new_view


def test_what_changed_is_said():
    """Only what both requests said can have changed."""
    assert what_changed(None, Destination("a")) == what_changed(Destination(), Destination("a", "p")) == ""
    assert what_changed(Destination("a", "p"), Destination("a", "p", 9)) == ""
    assert "model" in what_changed(Destination("a"), Destination("b"))
    assert "before the messages" in what_changed(Destination("a", "p"), Destination("a", "q"))


def test_marks_wait_since_the_request_that_held_them():
    """Each is dated once, by the number of requests before; a strike ends its waiting, a new view everything."""
    requests = RequestHistory()
    requests.add(StrikesApplied((), 0.0, held=((1, ("content",)),)), 1)
    requests.add(StrikesApplied((), 1.0, held=((2, ("content",)),)), 1)
    assert requests.waiting == {(1, ("content",)): 0, (2, ("content",)): 1}
    requests.add(StrikesApplied((Strike(0, "r", 1, ("content",), None, "why", 9, 1),), 2.0), 1)
    assert requests.waiting == {(2, ("content",)): 1}
    requests.start_view(1)
    assert requests.waiting == {}


def test_time_never_goes_back():
    """The latest time that rules were told is remembered, whatever the schedule and the view."""
    requests = RequestHistory()
    requests.add(StrikesApplied((), 50.0), 1)
    requests.add(StrikesApplied((), None, marked_at=70.0), 1)
    requests.add(StrikesApplied((), 20.0), 1)
    requests.start_view(0)
    assert requests.latest_now == 70.0


def test_another_model_has_another_cache():
    """What was learned of the one says nothing about the other, nor that it has a cache at all."""
    requests = RequestHistory()
    for number in range(3):
        asked(requests, 10 * number, sent_to=Destination("m", "p"))
        reported(requests, 10_000 if number else 0, written=100)
    assert requests.has_cache
    assert requests.survival != Survival()
    asked(requests, 40, sent_to=Destination("other", "p"))
    assert not requests.has_cache
    reported(requests, 0, written=100)
    assert requests.survival == Survival()
