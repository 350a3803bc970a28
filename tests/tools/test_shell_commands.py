import shlex

import pytest

from redline.tools.shell_commands import Actions, UncertainError, command_actions, filtered_actions
from redline.tools.tool import Lists, Reads, Searches


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat a.py b.py", (Reads("a.py"), Reads("b.py"))),
        ("cat -n a.py", (Reads("a.py"),)),
        ("nl -ba a.py", (Reads("a.py"),)),
        ("nl -b a -w 4 a.py", (Reads("a.py"),)),
        ("less -N a.py", (Reads("a.py"),)),
        ("more a.py", (Reads("a.py"),)),
        ("bat --paging=never -p a.py", (Reads("a.py"),)),
        ("batcat -r 10:20 a.py", (Reads("a.py", (10, 20)),)),
        ("bat --line-range=:20 a.py", (Reads("a.py", (1, 20)),)),
        ("bat -r 10: a.py", (Reads("a.py", (10, -1)),)),
        ("head a.py", (Reads("a.py", (1, 10)),)),
        ("head -n 50 a.py", (Reads("a.py", (1, 50)),)),
        ("head -50 a.py b.py", (Reads("a.py", (1, 50)), Reads("b.py", (1, 50)))),
        ("head --lines=5 a.py", (Reads("a.py", (1, 5)),)),
        ("tail -25 a.py", (Reads("a.py", (-25, -1)),)),
        ("tail -n +100 a.py", (Reads("a.py", (100, -1)),)),
        ("sed -n 10,20p a.py", (Reads("a.py", (10, 20)),)),
        ("sed -n '10,$p' a.py", (Reads("a.py", (10, -1)),)),
        ("sed -n '7p' a.py", (Reads("a.py", (7, 7)),)),
        ("sed -n '26,32p;276,304p' a.py", (Reads("a.py", (26, 32)), Reads("a.py", (276, 304)))),
        ("sed -n -e 1,2p -e 5p a.py", (Reads("a.py", (1, 2)), Reads("a.py", (5, 5)))),
        ("sed -n '20,10p' a.py", (Reads("a.py", (20, 20)),)),
        ("ls", (Lists("."),)),
        ("ls -la src docs", (Lists("src"), Lists("docs"))),
        ("tree -L 2 src", (Lists("src"),)),
        ("find src lib -type f -name '*.py'", (Lists("src", "*.py"), Lists("lib", "*.py"))),
        ("find", (Lists("."),)),
        (r"find . \( -name a -o -name b \)", (Lists("."),)),
        ("rg -n foo", (Searches("foo", (".",)),)),
        ("rg -n -C 3 'a|b' src docs -g '*.py'", (Searches("a|b", ("src", "docs")),)),
        ("rg --files src", (Lists("src"),)),
        ("grep -rn --include=*.go 'func X' .", (Searches("func X", (".",)),)),
        ("grep -e a -e b f.txt", (Searches("a|b", ("f.txt",)),)),
        ("grep --color=never x f.txt", (Searches("x", ("f.txt",)),)),
        ("echo hello", ()),
    ],
)
def test_what_a_command_looks_at(command: str, expected: Actions) -> None:
    """Each looking command, with the options agents use."""
    assert command_actions(shlex.split(command), None) == expected


@pytest.mark.parametrize(
    "command",
    [
        "sed 10,20p a.py",
        "sed -i s/a/b/ a.py",
        "sed -n s/a/b/p a.py",
        "sed -n 10,20w a.py",
        "sed -n 1,2p a.py b.py",
        "sed -n 0p a.py",
        "sed -n",
        "head -c 100 a.py",
        "head -n -5 a.py",
        "head -n x a.py",
        "tail -f a.py",
        "cat --unknown a.py",
        "bat --pager=x a.py",
        "bat -r x a.py",
        "find . -exec rm {} ;",
        "find . -delete",
        "find . -fprint out",
        "rg --pre cmd x",
        "grep -f patterns a.py",
        "grep",
        "sort a.py",
        "python a.py",
        "head -n 99999999999999 a.py",
    ],
)
def test_what_is_not_certain(command: str) -> None:
    """An effect, an unknown option or a count that cannot be told makes a command uncertain."""
    with pytest.raises(UncertainError):
        command_actions(shlex.split(command), None)


@pytest.mark.parametrize(
    ("shown", "command", "expected"),
    [
        (Reads("a"), "head -5", (Reads("a", (1, 5)),)),
        (Reads("a"), "tail -5", (Reads("a", (-5, -1)),)),
        (Reads("a"), "cat -n", (Reads("a"),)),
        (Reads("a", (10, 20)), "head -5", (Reads("a", (10, 14)),)),
        (Reads("a", (10, 20)), "head -50", (Reads("a", (10, 20)),)),
        (Reads("a", (10, -1)), "head -5", (Reads("a", (10, 14)),)),
        (Reads("a", (10, 20)), "tail -n +3", (Reads("a", (12, 20)),)),
        (Reads("a", (-20, -1)), "head -5", (Reads("a", (-20, -16)),)),
        (Reads("a", (-20, -1)), "head -50", (Reads("a", (-20, -1)),)),
        (Reads("a"), "sed -n '1,2p;8,9p'", (Reads("a", (1, 2)), Reads("a", (8, 9)))),
        (Reads("a"), "grep -i x", (Searches("x", ("a",)),)),
        (Searches("x", ("a",)), "sort -u", (Searches("x", ("a",)),)),
        (Searches("x", ("a",)), "grep -v y", (Searches("x", ("a",)),)),
        (Lists("a"), "wc -l", (Lists("a"),)),
        (Lists("a"), "head -3", (Lists("a"),)),
    ],
)
def test_what_a_filter_leaves(shown: Reads | Lists | Searches, command: str, expected: Actions) -> None:
    """A range of a range is one range; a search in what is shown is a search of the file."""
    assert filtered_actions((shown,), shlex.split(command)) == expected


@pytest.mark.parametrize(
    ("shown", "command"),
    [
        ((Reads("a"),), "sort"),
        ((Reads("a"),), "wc -l"),
        ((Reads("a", (10, 20)),), "tail -5"),
        ((Reads("a", (1, 5)),), "sed -n 10,20p"),
        ((Reads("a"), Reads("b")), "head -5"),
        ((Searches("x", ("a",)),), "sort -o out"),
        ((Searches("x", ("a",)),), "sort other"),
        ((Searches("x", ("a",)),), "xargs rm"),
        ((Searches("x", ("a",)),), "head -5 b"),
        ((Searches("x", ("a",)),), "grep y b"),
    ],
)
def test_filters_that_hide_what_is_shown(shown: Actions, command: str) -> None:
    """After these it cannot be told which lines of which file are left."""
    with pytest.raises(UncertainError):
        filtered_actions(shown, shlex.split(command))
