import pytest

from redline.errors import ExecutionError, ValidationError
from redline.view.operations import parse_operation
from tests.view.driver import Driven, numbered, replace, truncate


def test_the_visible_message_gets_a_new_version():
    """The position counts visible messages; indices stay, and all messages show the new version too."""
    driven = Driven(numbered(4))
    driven.process(truncate(keep_last=2))
    driven.process(replace(0, "R"))
    assert driven.visible_indices == [2, 3]
    assert [message["content"] for message in driven.messages] == ["R", "m3"]
    assert [message["content"] for message in driven.all_messages] == ["m0", "m1", "R", "m3"]
    assert driven.batches.current == 1


def test_earlier_versions_stay_in_the_record():
    """Replacing again adds a version, and none is lost."""
    driven = Driven(numbered(1))
    driven.process(replace(0, "R"))
    driven.process(replace(0, "S"))
    assert [version.text for version in driven.store.versions[0]] == ["m0", "R", "S"]
    assert driven.messages[0]["content"] == "S"


@pytest.mark.parametrize("count", [0, 3])
def test_the_position_must_exist(count):
    """A position past the visible messages cannot be replaced, whatever is stored, and nothing changes."""
    driven = Driven(numbered(5))
    driven.process(truncate(keep_last=count))
    before = driven.snapshot()
    shown = "0 to 2" if count else "no message is visible"
    with pytest.raises(ExecutionError, match=f"replace.index {count} is not there: .*{shown}"):
        driven.process(replace(count, "R"))
    assert driven.snapshot() == before


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ({"index": -1, "message": {"role": "user", "content": "x"}}, "replace.index must be a whole number, 0 or more"),
        ({"index": True, "message": {"role": "user", "content": "x"}}, "replace.index must be"),
        ({"message": {"role": "user", "content": "x"}}, "replace.index is missing"),
        ({"index": 0}, "replace.message is missing"),
        ({"index": 0, "message": {"content": "x"}}, "replace.message has no role"),
        ({"index": 0, "message": {"role": "user"}}, "replace.message has neither"),
        ({"index": 0, "message": "x"}, "replace.message must be an object"),
        (None, "replace.index is missing"),
    ],
)
def test_a_bad_configuration_is_refused(section, problem):
    """The error names the option that is wrong."""
    with pytest.raises(ValidationError, match=problem):
        parse_operation({"operation": "replace", "replace": section})


def test_a_bad_message_is_found_before_a_bad_position():
    """The configuration is checked before the state is looked at."""
    driven = Driven()
    with pytest.raises(ValidationError):
        driven.process({"operation": "replace", "replace": {"index": 9, "message": {"content": "x"}}})
