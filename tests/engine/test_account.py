from redline import Conversation
from redline.engine.account import Account
from redline.engine.balance import Choice, Moment, Rates
from redline.engine.marking import Marking
from redline.engine.protection import Protection
from redline.rules.masked_results import MaskedResults
from redline.testing import asks, conversation


def account_of(count=6):
    turns = [turn for number in range(count) for turn in asks("Bash", {}, "line " * 50, id=f"c{number}")]
    state = Conversation(conversation("openai_chat", turns))._state
    marking = Marking(state, [MaskedResults(keep_recent=1)], Protection())
    return marking, Account(state, marking, Rates(), sizes=lambda _: 100, saving=lambda _: 90)


def test_marks_and_messages_are_booked_once():
    """A second look books nothing more, and a mark that fell away is taken out."""
    marking, account = account_of()
    marking.catch_up(0.0)
    account.catch_up()
    account.catch_up()
    assert account.decide(Moment(alive=0.0)).saving == 5 * 90
    marking.drop(1, ("content",))
    account.catch_up()
    assert account.decide(Moment(alive=0.0)).saving == 4 * 90


def test_idle_time_counts_from_the_last_request():
    """Before the first request there is none."""
    _, account = account_of()
    assert account.idle_ms(5.0) is None
    account.sent(Choice("nothing"), Moment(), 10.0)
    assert account.idle_ms(25.0) == 15.0


def test_position_of_a_mark():
    """Marks are compared with a cut by the place of their message in the view."""
    marking, account = account_of()
    marking.catch_up(0.0)
    account.catch_up()
    assert account.is_behind((5, ("content",)), 5)
    assert not account.is_behind((3, ("content",)), 5)
