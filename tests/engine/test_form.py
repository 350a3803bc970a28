import pytest

from redline import FORMATS
from redline.engine.form import Form
from redline.engine.state import State
from redline.errors import ValidationError
from redline.log.records import MessageAdded, Strike

SAID = b'{"role": "user",  "content": "hi"}'


@pytest.fixture
def state():
    state = State(FORMATS["openai_chat"])
    state.apply(MessageAdded(SAID))
    return state


def strike(at, replacement):
    return Strike(0, "r", 0, at, replacement, "why", 1, 0)


def test_unstruck_message_is_sent_unread(state, monkeypatch):
    """Its bytes are those that were given, and nobody parses them for that."""
    monkeypatch.setattr(State, "message", None)
    assert Form(state, 0, ()).native == SAID


def test_struck_message(state):
    """What is not struck stays byte for byte; nothing is sent of a message of which nothing is left."""
    assert Form(state, 0, (strike(("content",), "ho"),)).native == SAID.replace(b"hi", b"ho")
    gone = Form(state, 0, (strike(("content",), None),))
    assert (gone.message, gone.native) == (None, b"")


def test_form_stays_what_it_was(state):
    """Strikes that come later make another form."""
    form = Form(state, 0, ())
    state.apply(MessageAdded(b'{"role":"user","content":"later"}'))
    assert form.message is state.current(0)


def test_message_that_the_repair_made(state):
    """It is sent as it is."""
    made = FORMATS["openai_chat"].read(b'{"role":"user","content":"made"}')
    form = Form.of(state, made)
    assert (form.message, form.native) == (made, made.native)


def test_strike_that_cannot_be_said_is_refused_when_worked_out(state):
    """So that a request can be built without it."""
    state.apply(MessageAdded(b'{"role":"assistant","content":"x","audio":{"id":"a"}}'))
    with pytest.raises(ValidationError, match="no place for words"):
        Form(state, 1, (strike(("audio",), "words"),)).work_out()
