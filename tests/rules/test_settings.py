"""Settings of rules are checked when the rule is made."""

from pathlib import PurePosixPath

import pytest

from redline.errors import ValidationError
from redline.rules import HistoricalReads, MaskedResults, StaleTerminal
from redline.rules.settings import check_words, make_names, make_root
from redline.tools import DEFAULT
from redline.values.words import EN, ZH


def test_texts_are_text():
    """Or None, for that of the words, which are words (R51)."""
    MaskedResults(placeholder="x", words=None)
    with pytest.raises(ValidationError, match="masked_results: placeholder must be text"):
        MaskedResults(placeholder=5)  # type: ignore[arg-type]
    with pytest.raises(ValidationError, match="rule: words must be redline"):
        check_words("rule", "EN")


@pytest.mark.parametrize("names", [{"a", "b"}, ["a", "b", "a"], ("b", "a"), frozenset("ab"), iter("ab")])
def test_names_in_any_collection_are_one_set(names):
    """So that rules compare and hash by value (R12)."""
    assert make_names(names, "rule", "tools") | {"a", "b"} == frozenset({"a", "b"})


@pytest.mark.parametrize("names", ["Bash", b"Bash", 5, {"Bash": 1}, [1], [None]])
def test_other_names_are_refused(names):
    """The error names the setting and says what to pass (R12)."""
    with pytest.raises(ValidationError, match=r"rule: tools must .* names?"):
        make_names(names, "rule", "tools")


def test_a_book_of_tools_stays():
    """And so does the absence of one."""
    assert StaleTerminal(tools=DEFAULT).tools is DEFAULT
    assert HistoricalReads(tools=None).tools is None


def test_a_root_is_text_or_a_path():
    """Anything else is refused (R51)."""
    assert make_root(PurePosixPath("/p"), "rule") == make_root("/p", "rule") == "/p"
    for root in (None, 5, b"/p"):
        with pytest.raises(ValidationError, match="rule: project_root must be a path"):
            make_root(root, "rule")  # type: ignore[arg-type]


def test_an_own_text_comes_before_that_of_the_words():
    """Also an empty one; without words it is the documents' (R33)."""
    assert MaskedResults(placeholder="", words=EN).text("placeholder") == ""
    assert MaskedResults(words=EN).text("placeholder") == EN.masked_result
    assert MaskedResults().text("placeholder") == ZH.masked_result
