import json

import pytest

from redline.agents.gemini_cli.reader import ids_given_after, read_record
from redline.agents.transcripts import Position

ANSWER = {"functionResponse": {"id": "c1", "name": "ls", "response": {"output": "a"}}}


def read(**fields):
    return read_record(json.dumps(fields).encode())


def test_a_record_knows_what_it_answers():
    """A user's record by its content, the model's by its calls."""
    assert read(id="u", type="user", content=[ANSWER, "x"]).given == {"c1"}
    assert read(id="g", type="gemini", toolCalls=[{"id": "c1", "result": [ANSWER]}, {"id": "c2"}]).inline == {"c1"}
    assert read(id="g", type="gemini", toolCalls=[{"id": "c3", "result": "words"}]).inline == {"c3"}


def test_a_copy_is_what_users_say_before_the_model_speaks_again():
    """An id may come again later; a result without one is never a copy."""
    asked, given = read(id="g", type="gemini"), read(id="u", type="user", content=[ANSWER, {"functionResponse": {}}])
    records = [(Position(0, 1), record) for record in (asked, read(id="i", type="info"), given, asked)]
    assert ids_given_after(records) == [{"c1"}, {"c1"}, frozenset(), frozenset()]


@pytest.mark.parametrize(("kind", "is_message"), [("user", True), ("gemini", True), ("info", False), (None, False)])
def test_notices_are_no_messages(kind, is_message):
    """What is shown on the screen only is not sent."""
    assert read(id="r", type=kind).is_message is is_message


def test_what_is_no_object_is_refused():
    """So that it is listed among the problems."""
    with pytest.raises(ValueError, match="must be a JSON object"):
        read_record(b"5")
