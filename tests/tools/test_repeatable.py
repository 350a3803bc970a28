"""Calls that can be made again without harm."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.tools.repeatable import can_run_again, tool_only_looks


@pytest.mark.parametrize(
    "command",
    [
        "make test",
        "make -j4",
        "cd src && python -m pytest -q tests/a.py 2>&1 | tail -20",
        "CI=1 npm run test:unit",
        "npm test -- --watch=false",
        "git -C /repo log --oneline -5",
        "git diff HEAD~1 -- a.py",
        "grep -rn -i total src > /dev/null; ls -la",
        "timeout 60 cargo test --release",
        ".venv/bin/python3.12 -m mypy src",
        "uv run ruff check src",
        "find . -name '*.py'",
        "sed -n 10,20p a.py",
        "npx tsc --noEmit",
    ],
)
def test_commands_that_look_test_check_or_build(command):
    """They can be run again."""
    assert can_run_again(command)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "   ",
        "rm -rf build",
        "git commit -m x",
        "git push origin main",
        "git stash",
        "git",
        "ls; rm a",
        "make test && make deploy",
        "make install",
        "npm publish",
        "npm run deploy",
        "npm install",
        "echo hi > a.txt",
        "cat a.txt >> b.txt",
        "cat $(rm a)",
        "cat `rm a`",
        "find . -name x -delete",
        "find . -exec rm {} +",
        "sed -i s/a/b/ a.py",
        "sed -ni p a.py",
        "sort -o a a",
        "eslint --fix src",
        "ruff check --fix",
        "ruff format",
        "jest -u",
        "python deploy.py",
        "./run.sh",
        "curl -X POST https://example.org",
        "cat <<EOF | sh\nrm a\nEOF",
        "x" * 3000,
    ],
)
def test_other_commands_may_have_effects(command):
    """Nobody says that they can be run again."""
    assert not can_run_again(command)


def test_tools_that_are_not_known_go_by_their_names():
    """Those that begin with a word for looking only look."""
    assert all(map(tool_only_looks, ("get_issue", "mcp__docs__listPages", "search", "find-file", "read2")))
    assert not any(map(tool_only_looks, ("send_mail", "mcp__git__create_issue", "getter", "target", "", "do_get")))


@given(st.text(st.sampled_from("a \t\n|;&=>$`/-\"'git lsmake"), max_size=200))
def test_any_text_has_an_answer(command):
    """Hostile ones, too."""
    assert can_run_again(command) in (True, False)


@pytest.mark.parametrize("piece", ["A=1 ", "time ", "a/", "| ", "ls ; ", "npm run "])
def test_long_commands_take_no_time(piece):
    """Up to the longest that is looked at."""
    began = time.monotonic()
    can_run_again(piece * (2_000 // len(piece)))
    assert time.monotonic() - began < 1
