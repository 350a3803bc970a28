"""Settings of rules are checked when the rule is made."""

from pathlib import PurePosixPath

import pytest

from redline.errors import ValidationError
from redline.rules.settings import (
    check_at_least,
    check_counts,
    check_flags,
    check_texts,
    make_names,
    make_root,
    make_tools,
    text_of,
)
from redline.tools import DEFAULT
from redline.values.words import DOCUMENTS, EN


@pytest.mark.parametrize("value", [0, -1, None, "5", True, float("nan"), float("inf"), 10**400])
def test_other_numbers_are_refused(value):
    """The error names the rule, the setting and the value (R51)."""
    with pytest.raises(ValidationError, match=r"rule: count must be a finite number of at least 1"):
        check_at_least(1, "rule", count=value)
    check_at_least(1, "rule", count=1, size=2.5)


@pytest.mark.parametrize("value", [0, -1, None, "5", True, 2.0, float("nan"), float("inf"), 10**30])
def test_a_count_is_a_whole_number(value):
    """The error names the rule, the setting and the value (R51)."""
    with pytest.raises(ValidationError, match=r"rule: count must be a whole number of at least 1"):
        check_counts(1, "rule", count=value)
    check_counts(1, "rule", count=1, size=10**18)


def test_flags_are_true_or_false():
    """Nothing that is merely taken for it (R51)."""
    check_flags("rule", a=True, b=False)
    with pytest.raises(ValidationError, match="rule: a must be True or False, not 1"):
        check_flags("rule", a=1)  # type: ignore[arg-type]


def test_texts_are_text():
    """Or None, for that of the words, which are words (R51)."""
    check_texts("rule", None, a="x", b=None)
    with pytest.raises(ValidationError, match="rule: a must be text"):
        check_texts("rule", None, a=5)  # type: ignore[arg-type]
    with pytest.raises(ValidationError, match="rule: words must be redline"):
        check_texts("rule", "EN")  # type: ignore[arg-type]


@pytest.mark.parametrize("names", [{"a", "b"}, ["a", "b", "a"], ("b", "a"), frozenset("ab"), iter("ab")])
def test_names_in_any_collection_are_one_set(names):
    """So that rules compare and hash by value (R12)."""
    assert make_names(names, "rule", "tools") == make_tools(names, "rule") | {"a", "b"} == frozenset({"a", "b"})


@pytest.mark.parametrize("names", ["Bash", b"Bash", 5, {"Bash": 1}, [1], [None]])
def test_other_names_are_refused(names):
    """The error names the setting and says what to pass (R12)."""
    with pytest.raises(ValidationError, match=r"rule: tools must .* names?"):
        make_tools(names, "rule")


def test_a_book_of_tools_stays():
    """And so does the absence of one."""
    assert make_tools(DEFAULT, "rule") is DEFAULT
    assert make_tools(None, "rule") is None


def test_a_root_is_text_or_a_path():
    """Anything else is refused (R51)."""
    assert make_root(PurePosixPath("/p"), "rule") == make_root("/p", "rule") == "/p"
    for root in (None, 5, b"/p"):
        with pytest.raises(ValidationError, match="rule: project_root must be a path"):
            make_root(root, "rule")  # type: ignore[arg-type]


def test_an_own_text_comes_before_that_of_the_words():
    """Also an empty one; without words it is the documents' (R33)."""
    assert text_of("", EN, "stale_terminal") == ""
    assert text_of(None, EN, "stale_terminal") == EN.stale_terminal
    assert text_of(None, None, "stale_terminal") == DOCUMENTS.stale_terminal
