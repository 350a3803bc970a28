import pytest

from redline.errors import ValidationError
from redline.view.operations import Clear, parse_operation
from tests.view.driver import Driven, clear, insert, numbered, replace, truncate

TOOLS = [{"name": "read", "description": "read a file"}]
DESCRIPTION = {"role": "system", "content": "可用工具:\n- read: read a file"}


def system(text):
    return {"role": "system", "content": text}


@pytest.mark.parametrize("config", [{"operation": "clear"}, clear(), clear(keepSystemMessage=True)])
def test_the_system_messages_of_the_whole_history_are_kept(config):
    """By default all system messages are shown, in the order of the history, hidden ones again."""
    driven = Driven([system("A"), *numbered(3), system("B")])
    driven.process(truncate(keep_first=2))
    driven.process(config)
    assert driven.visible_indices == [0, 4]
    assert driven.batches.boundaries == (0, 0, 0)


def test_none_is_kept_when_asked_so():
    """Without system messages nothing is visible, and the batch opens after all that is stored."""
    driven = Driven([system("A"), *numbered(2)])
    driven.process(clear(keep_system_message=False))
    assert (driven.visible_indices, driven.batches.boundaries) == ([], (0, 3))


def test_a_replaced_message_counts_as_what_it_says_now():
    """A system message that was replaced by another role is none any more."""
    driven = Driven([system("A"), system("B"), *numbered(1)])
    driven.process(replace(0, "now from the user"))
    driven.process(clear())
    assert driven.visible_indices == [1]


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_description_is_made_where_there_is_none(is_kept):
    """A conversation with tools shows what they are, last, and the description is stored."""
    driven = Driven([system("A"), *numbered(2)], TOOLS)
    driven.process(clear(keep_system_message=is_kept))
    assert driven.messages == [*([system("A")] if is_kept else []), DESCRIPTION]
    assert driven.all_messages[3] == DESCRIPTION


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_description_in_the_history_is_shown_again(is_kept):
    """It keeps its index and its place in the history, and no second one is made."""
    driven = Driven([DESCRIPTION, system("B"), *numbered(2)], TOOLS)
    driven.process(truncate(keep_last=1))
    driven.process(clear(keep_system_message=is_kept))
    assert driven.visible_indices == ([0, 1] if is_kept else [0])
    assert len(driven.store) == 4


def test_the_latest_description_counts():
    """Where the tools changed during the conversation, the last one said is shown."""
    driven = Driven([DESCRIPTION, *numbered(1), system("可用工具:\n- bash: run a command"), *numbered(1)], TOOLS)
    driven.process(clear(keep_system_message=False))
    assert driven.visible_indices == [2]


def test_clearing_twice_makes_one_description():
    """The one that was made is found again, with system messages or without."""
    driven = Driven(numbered(2), TOOLS)
    for is_kept in (False, True, False):
        driven.process(clear(keep_system_message=is_kept))
        assert driven.visible_indices == [2]
    assert len(driven.store) == 3
    assert driven.batches.boundaries == (0, 2, 2, 2)


def test_without_tools_a_description_is_a_system_message_like_any_other():
    """It is kept with them and goes with them."""
    driven = Driven([DESCRIPTION, *numbered(1)])
    driven.process(clear(keep_system_message=False))
    assert driven.visible_indices == []
    driven.process(clear())
    assert driven.visible_indices == [0]


def test_an_inserted_system_message_comes_in_the_order_of_the_history():
    """The order is that of the indices, not that of the view before."""
    driven = Driven([system("A"), *numbered(2)])
    driven.process(insert(0, "front", role="system"))
    driven.process(clear())
    assert driven.visible_indices == [0, 3]


@pytest.mark.parametrize("value", ["yes", 1, 0, []])
def test_the_choice_is_true_or_false(value):
    """Anything else is refused."""
    with pytest.raises(ValidationError, match=r"clear.keep_system_message must be true or false"):
        parse_operation(clear(keepSystemMessage=value))


def test_the_default_is_to_keep():
    """An empty or a null section is the default."""
    assert parse_operation({"operation": "clear", "clear": None}) == parse_operation(clear()) == Clear(True)
