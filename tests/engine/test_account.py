from redline import Conversation
from redline.engine.account import Account
from redline.engine.balance import Moment, Rates
from redline.engine.marking import Marking
from redline.engine.protection import Protection
from redline.log.records import Destination, HeadMoved, Strike, StrikesApplied, StrikeUndone, UsageReported
from redline.rules.masked_results import MaskedResults
from redline.testing import asks, conversation


def account_of(count=6):
    turns = [turn for number in range(count) for turn in asks("Bash", {}, "line " * 50, id=f"c{number}")]
    state = Conversation(conversation("openai_chat", turns))._state
    marking = Marking(state, [MaskedResults(keep_recent=1)], Protection())
    return state, marking, Account(state, marking, Rates(), lifetime_ms=300_000, sizes=lambda _: 100, saving=lambda _: 90)


def strike(number, index, at=("content",)):
    return Strike(number, "masked_results", index, at, "[gone]", "why", 100, 10)


def test_marks_and_messages_are_booked_once():
    """A second look books nothing more, and a mark that fell away is taken out."""
    _, marking, account = account_of()
    marking.catch_up(0.0)
    account.catch_up()
    account.catch_up()
    assert account.decide(Moment(alive=0.0)).saving == 5 * 90
    marking.drop(1, ("content",))
    account.catch_up()
    assert account.decide(Moment(alive=0.0)).saving == 4 * 90


def test_the_cache_is_as_old_as_the_last_request():
    """Before the first request there is none; later its lifetime decides, and what changed, and why is said."""
    state, _, account = account_of()
    assert account.moment(5.0, None).alive == 0.0
    assert "nothing was sent yet" in account.moment(5.0, None).cold_because
    state.apply(StrikesApplied((), 10.0, 12, Destination("a", "p")))
    account.catch_up()
    assert account.moment(300_010.0, Destination("a", "p")).alive == 1.0
    assert account.moment(600_010.0, Destination("a", "p")).alive == 0.0
    assert "10 minutes ago" in account.moment(600_010.0, Destination("a", "p")).cold_because
    assert "another model" in account.moment(20.0, Destination("b", "p")).cold_because
    assert "before the messages" in account.moment(20.0, Destination("a", "q")).cold_because


def test_reported_usage_changes_what_is_expected():
    """The probability that the cache is there is the learned one."""
    state, _, account = account_of()
    for number in range(4):
        state.apply(StrikesApplied((), 60_000.0 * number, 12))
        state.apply(UsageReported(9000, 1, cache_read_tokens=0, cache_write_tokens=9000))
    account.catch_up()
    assert account.moment(240_000.0, None).alive == 4 / 7


def test_the_prefix_is_counted_or_reported():
    """What stands before the messages is the preamble's count, else what was reported beyond the messages, else unknown."""
    state, _, account = account_of()
    account.catch_up()
    account.moment(0.0, None)
    assert account.tokens == 12 * 100
    state.apply(StrikesApplied((), 10.0, 12))
    state.apply(UsageReported(5000))
    account.catch_up()
    account.moment(20.0, None)
    assert account.tokens == 5000
    account.moment(20.0, Destination("a", "p", preamble_tokens=300))
    assert account.tokens == 12 * 100 + 300


def test_marks_stand_where_their_messages_do():
    """From a cut on, in order."""
    _, marking, account = account_of()
    marking.catch_up(0.0)
    account.catch_up()
    assert [mark.index for mark in account.marks_from(5)] == [5, 7, 9]
    assert [account.position_of(mark) for mark in account.marks_from(5)] == [5, 7, 9]


def test_strikes_make_messages_smaller_once():
    """Of any schedule, before or after the message was booked; one that was undone, or is said again, counts no more."""
    state, marking, account = account_of()
    state.apply(StrikesApplied((strike(0, 1), strike(1, 3))))
    account.catch_up()
    assert account.tokens == 12 * 100 - 2 * 90
    state.apply(HeadMoved((strike(0, 1), strike(1, 3), strike(2, 5))))
    account.catch_up()
    assert account.tokens == 12 * 100 - 3 * 90
    state.apply(StrikeUndone(2))
    later = Account(state, marking, Rates(), lifetime_ms=1, sizes=lambda _: 100, saving=lambda _: 90)
    later.catch_up()
    assert later.tokens == 12 * 100 - 2 * 90


def test_what_a_law_refused_is_not_tried_again():
    """The mark is out of the account, however long it waits."""
    state, marking, account = account_of()
    marking.catch_up(0.0)
    account.catch_up()
    state.apply(StrikesApplied((), 10.0, 12, refused=((1, ("content",)),)))
    account.catch_up()
    assert account.decide(Moment(alive=0.0)).saving == 4 * 90
    assert account.barred == {(1, ("content",))}


def test_an_account_knows_whether_it_was_left_out():
    """One request is booked afterwards; of more it cannot know since when marks have waited."""
    state, _, account = account_of()
    state.apply(StrikesApplied((), 10.0, 12))
    assert not account.has_missed_requests
    state.apply(StrikesApplied((), 20.0, 12))
    assert account.has_missed_requests
