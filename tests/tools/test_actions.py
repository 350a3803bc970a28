import pytest

from redline.tools import Asks, Fetches, Lists, Notes, Reads, Resumes, Runs, Searches, SearchesWeb, Writes

ACTIONS = [
    Reads("a.py", (1, 9)),
    Writes("a.py", is_edit=True),
    Lists("src", "*.py"),
    Searches("x", ("src",)),
    Runs("ls"),
    Resumes("7"),
    Fetches("https://example.com"),
    SearchesWeb("q"),
    Asks("look", whom="user"),
    Notes(),
]


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: type(action).__name__)
def test_actions_are_values(action) -> None:
    """An action can be a key, equals only its like, and cannot be changed."""
    assert len({*ACTIONS, action}) == len(ACTIONS)
    for field in action.__struct_fields__:
        with pytest.raises(AttributeError):
            setattr(action, field, "other")


def test_the_same_path_read_and_written_are_two_things() -> None:
    """Kinds never compare equal, even with equal fields."""
    assert Reads("a") != Writes("a")
    assert Runs("a") != Resumes("a")
