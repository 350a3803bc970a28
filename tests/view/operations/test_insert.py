import pytest

from redline.errors import ValidationError
from redline.view.operations import parse_operation
from tests.view.driver import Driven, insert, numbered, truncate

HI = {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    ("position", "visible"),
    [
        (0, [3, 4, 0, 1, 2]),
        (1, [0, 3, 4, 1, 2]),
        (3, [0, 1, 2, 3, 4]),
        (50, [0, 1, 2, 3, 4]),
        (-1, [0, 1, 2, 3, 4]),
    ],
)
def test_messages_are_shown_at_their_place(position, visible):
    """They get the next indices, keep their order, and are at the position; -1 or past the end is the end."""
    driven = Driven(numbered(3))
    driven.process(insert(position, "x", "y"))
    assert driven.visible_indices == visible
    assert [message["content"] for message in driven.all_messages] == ["m0", "m1", "m2", "x", "y"]


def test_the_position_counts_what_is_visible():
    """After a truncate position 1 is after the first message that is still shown."""
    driven = Driven(numbered(5))
    driven.process(truncate(keep_last=2))
    driven.process(insert(1, "x"))
    assert driven.visible_indices == [3, 5, 4]


def test_it_opens_no_batch():
    """The current batch goes on, and a rollback to it changes nothing."""
    driven = Driven(numbered(3))
    driven.process(insert(0, "x"))
    assert driven.batches.current == 0
    driven.rollback(0)
    assert driven.visible_indices == [3, 0, 1, 2]


def test_it_works_on_an_empty_view():
    """Where nothing is visible, every position is the end."""
    driven = Driven()
    driven.process(insert(4, "x"))
    assert driven.visible_indices == [0]


def test_the_view_before_is_untouched():
    """Also at the end, where the new view shares its list with the old one."""
    driven = Driven(numbered(2))
    before = driven.view
    driven.process(insert(-1, "x"))
    assert list(before.indices) == [0, 1]


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ({"position": -2, "messages": [HI]}, "insert.position must be a whole number, -1 or more"),
        ({"position": True, "messages": [HI]}, "insert.position must be"),
        ({"position": "end", "messages": [HI]}, "insert.position must be"),
        ({"messages": [HI]}, "insert.position is missing"),
        ({"position": 0}, "insert.messages is missing"),
        ({"position": 0, "messages": []}, "at least one message"),
        ({"position": 0, "messages": HI}, "must be a list"),
        ({"position": 0, "messages": [HI, {"content": "x"}]}, r"insert.messages\[1\] has no role"),
        ({"position": 0, "messages": [{"role": "user"}]}, r"insert.messages\[0\] has neither content nor calls"),
        ({"position": 0, "messages": ["hi"]}, r"insert.messages\[0\] must be an object"),
        ({"position": 0, "message": HI}, "insert has no option 'message'"),
        (None, "insert.position is missing"),
    ],
)
def test_a_bad_configuration_is_refused(section, problem):
    """The error names the option, and the message in the list that is wrong."""
    with pytest.raises(ValidationError, match=problem):
        parse_operation({"operation": "insert", "insert": section})


def test_the_given_objects_are_passed_on():
    """The messages to store are the very objects of the configuration, and they are not changed."""
    message = dict(HI)
    operation = parse_operation({"operation": "insert", "insert": {"position": 0, "messages": [message]}})
    outcome = operation.apply(Driven().context)
    assert outcome.appended[0] is message
    assert message == HI
