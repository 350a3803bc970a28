import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.tools.shell import command_text, shell_actions
from redline.tools.shell_commands import Actions
from redline.tools.tool import Lists, Reads, Searches, Writes


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cd src && cat a.py", (Reads("src/a.py"),)),
        ("cd /p && cd src && nl -ba a.py | sed -n '5,9p'", (Reads("/p/src/a.py", (5, 9)),)),
        ("cd '/my files' && cat \"a b.py\"", (Reads("/my files/a b.py"),)),
        ("cat a.py && cat b.py", (Reads("a.py"), Reads("b.py"))),
        ("cat a.py; echo '--- b'; cat b.py", (Reads("a.py"), Reads("b.py"))),
        ("cat a.py\ncat b.py\n", (Reads("a.py"), Reads("b.py"))),
        ("# look at it\ncat a.py  # all of it", (Reads("a.py"),)),
        ("cat a.py 2>/dev/null", (Reads("a.py"),)),
        ("cat a.py 2>&1 | head -5", (Reads("a.py", (1, 5)),)),
        ("cat \\\n  a.py", (Reads("a.py"),)),
        ("cat 'a$b.py' a\\ b.py issue#1.md", (Reads("a$b.py"), Reads("a b.py"), Reads("issue#1.md"))),
        ("cat a.py && rg -n 'x|y' src | head -20", (Reads("a.py"), Searches("x|y", ("src",)))),
        ("pwd", ()),
        ("", ()),
    ],
)
def test_commands_that_only_look(command: str, expected: Actions) -> None:
    """Lists and pipelines of looking commands are told file by file, from the folder they change into."""
    assert shell_actions(command) == expected


@pytest.mark.parametrize(
    "command",
    [
        "cat $FILE",
        'cat "$FILE"',
        "cat `which x`",
        "cat $(which x)",
        "cat *.py",
        "cat a?.py",
        "cat [ab].py",
        "cat {a,b}.py",
        "cat ~/a.py",
        "cat a.py > b.py",
        "cat a.py >> b.py",
        "cat a.py 1>b.py",
        "cat < a.py",
        "cat <<EOF\nx\nEOF",
        "cat a.py &",
        "cat a.py || true",
        "cat a.py |& head",
        "cat a.py | tee b.py",
        "cat a.py | xargs rm",
        "cat a.py && rm b.py",
        "cat a.py; make",
        "X=1 cat a.py",
        "cd src; cat a.py",
        "cd && cat a.py",
        "cd - && cat a.py",
        "cd src | cat a.py",
        "for f in a b; do cat f; done",
        "(cat a.py)",
        "sudo cat a.py",
        "git show a.py",
        "cat 'a.py",
        'cat "a.py',
        "cat a.py\\",
        "cat",
        "cat -",
        "cat a.py | cat b.py",
        "cat a.py 2>b.py",
    ],
)
def test_everything_else_is_uncertain(command: str) -> None:
    """Expansion, redirection, other commands and broken quoting leave open what is shown."""
    assert shell_actions(command) is None


def test_a_very_long_command_is_uncertain_at_once() -> None:
    """Options are parsed in quadratic time, so a command of a hundred thousand words is not looked into."""
    assert shell_actions("cat " + "a " * 100_000) is None


def test_base_folder() -> None:
    """A relative path is told from the folder the command starts in."""
    assert shell_actions("cat a.py /b.py", "/p") == (Reads("/p/a.py"), Reads("/b.py"))
    assert shell_actions("cd src && ls", "/p") == (Lists("/p/src"),)


@pytest.mark.parametrize(
    ("command", "base", "expected"),
    [
        (
            "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.py\n+x\n*** End Patch\nEOF",
            None,
            (Writes("a.py", is_edit=True),),
        ),
        (
            "cd src && apply_patch <<EOF\n*** Begin Patch\n*** Add File: a.py\n+x\n*** End Patch\nEOF\n",
            "/p",
            (Writes("/p/src/a.py"),),
        ),
        ("apply_patch '*** Begin Patch\n*** Delete File: a.py\n*** End Patch'", None, (Writes("a.py"),)),
    ],
)
def test_a_patch_inside_a_command(command: str, base: str | None, expected: Actions) -> None:
    """`apply_patch` with its patch in the command writes the files that the patch names."""
    assert shell_actions(command, base) == expected


def test_a_patch_with_more_after_it_is_uncertain() -> None:
    """What follows the patch may do anything."""
    assert shell_actions("apply_patch <<'EOF'\n*** Add File: a.py\n+x\nEOF\nmake") is None


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["bash", "-lc", "cat a.py | head"], "cat a.py | head"),
        (["/bin/zsh", "-c", "ls"], "ls"),
        (["cat", "a b.py"], "cat 'a b.py'"),
        (["bash", "-lc", "ls", "more"], "bash -lc ls more"),
        ([], ""),
    ],
)
def test_commands_given_as_lists(arguments: list[str], expected: str) -> None:
    """A shell's script is unwrapped; other words are quoted."""
    assert command_text(arguments) == expected


@given(
    st.text()
    | st.lists(st.sampled_from([*"ab .-|;&\n'\"\\$<>(){}*~#=,0123456789", "cat ", "sed -n ", "head ", " | ", "&& "])).map(
        "".join
    )
)
def test_no_text_breaks_it(command: str) -> None:
    """Whatever the command, the answer is actions or None."""
    actions = shell_actions(command)
    assert actions is None or all(isinstance(action, Reads | Lists | Searches | Writes) for action in actions)


@given(
    st.text(min_size=1).filter(lambda name: name not in ("-",) and not name.startswith("-")),
    st.integers(1, 10**6),
    st.integers(0, 10**4),
)
def test_a_quoted_name_is_read_back(name: str, first: int, more: int) -> None:
    """Any file name, quoted as a shell needs it, is the path that is read."""
    command = command_text(["sed", "-n", f"{first},{first + more}p", name])
    assert shell_actions(command) in ((Reads(name, (first, first + more)),), None)
    if name.isascii() and name.isprintable():
        assert shell_actions(command) is not None
