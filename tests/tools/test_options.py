import getopt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.tools.shell_commands import Options, UncertainError

LETTERS, WORDS = "qvn:A:", "quiet lines= line-bytes= silent"

words = st.one_of(
    st.sampled_from(
        ["-", "--", "", "-q", "-vq", "-n", "-n5", "-qn", "--quiet", "--lines", "--lines=5", "--li", "--s", "--q=1"]
    ),
    st.text("-=nqvAlines5", max_size=6),
)


@given(st.lists(words, max_size=6))
def test_options_are_told_as_getopt_does(arguments):
    """Every list of arguments is taken apart, or refused, as the standard library does it."""
    try:
        expected = getopt.gnu_getopt(arguments, LETTERS, WORDS.split())
    except getopt.GetoptError:
        with pytest.raises(UncertainError):
            Options(LETTERS, WORDS).parse(arguments)
    else:
        assert Options(LETTERS, WORDS).parse(arguments) == expected


def test_after_two_hyphens_all_are_operands():
    """Whatever they look like."""
    assert Options("n").parse(["-n", "--", "-x", "--", "a"]) == ([("-n", "")], ["-x", "--", "a"])


def test_environment_changes_nothing(monkeypatch: pytest.MonkeyPatch):
    """Operands may come before options, whatever the environment says."""
    monkeypatch.setenv("POSIXLY_CORRECT", "1")
    assert Options("n").parse(["a.py", "-n"]) == ([("-n", "")], ["a.py"])
