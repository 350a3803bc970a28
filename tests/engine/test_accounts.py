import pytest

from redline import FORMATS
from redline.engine.accounts import Accounts
from redline.engine.balance import Rates
from redline.engine.marking import Marking
from redline.engine.protection import Protection
from redline.engine.sizes import Sizes
from redline.engine.state import State
from redline.log.records import MessageAdded, StrikesApplied
from redline.payloads import encode
from redline.rules.masked_results import MaskedResults
from redline.testing import asks, conversation, says
from redline.tokens import Estimate

TURNS = [turn for number in range(6) for turn in asks("Bash", {}, f"line {number} " * 90, id=f"c{number}")]
HISTORY = [MessageAdded(encode(message)) for message in conversation("openai_chat", [says("user", "hi"), *TURNS])]


def begin(state, marked=None):
    return Marking(state, (MaskedResults(keep_recent=1),), Protection(), marked=marked)


def accounts_of(state, **before):
    marking = begin(state, before.get("marked"))
    marking.catch_up(0)
    return marking, Accounts(state, Sizes(state, Estimate()), marking, lambda marked: begin(state, marked), **before)


def told(state, accounts):
    account = accounts.at(Rates())
    return account.decide(account.moment(9.0, None)), account.tokens


@pytest.fixture
def state():
    state = State(FORMATS["openai_chat"])
    state.apply_all(HISTORY[:5])
    return state


def test_one_account_for_each_rates(state):
    """It is kept, and the same is given again."""
    _, accounts = accounts_of(state)
    assert accounts.at(Rates()) is accounts.at(Rates())
    assert accounts.at(Rates()) is not accounts.at(Rates(read=0.2))
    assert len(accounts.booked()) == 2


@pytest.mark.parametrize("requests", [0, 1, 3])
def test_what_was_booked_is_taken_up_again(state, requests):
    """However many requests were made since: the account decides as one that starts from the beginning."""
    marking, accounts = accounts_of(state)
    accounts.at(Rates())
    before = {"booked": accounts.booked(), "marked": marking.marked()}
    for number in range(requests):
        state.apply_all([*HISTORY[5 + 2 * number : 7 + 2 * number], StrikesApplied((), float(number), 7 + 2 * number)])
    assert told(state, accounts_of(state, **before)[1]) == told(state, accounts_of(state)[1])
