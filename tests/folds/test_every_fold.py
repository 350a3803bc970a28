"""What every fold promises: nothing is lost, failures stay word for word, and no text takes long."""

import time
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.folds import FOLDS, fold_text
from tests.effort import holds_once, tries
from tests.folds.folding import WHOLE, all_cases, cases_of, changed, check_all_folds, check_fold

TEXTS = [(case.get("command", ""), case["text"]) for _, case in all_cases()]
LINES = sorted({line for _, text in TEXTS for line in text.split("\n")})
COMMANDS = sorted({command for command, _ in TEXTS})
HOSTILE = {
    "one long line": "a" * 200_000,
    "one long path": "/".join(["a"] * 100_000),
    "colons": ":" * 200_000,
    "colons in lines": "a:1:\n" * 40_000,
    "dashes in lines": "a-1-\n" * 40_000,
    "empty lines": "\n" * 200_000,
    "spaces": " " * 200_000,
    "brackets": "[" * 200_000,
    "braces": "{" * 200_000,
    "objects": '{"a":' * 40_000,
    "rows": '{"a":1}\n' * 40_000,
    "escapes": "\x1b[" * 100_000,
    "carriage returns": "a\r" * 100_000,
    "digits": "1" * 200_000,
    "numbers": "1 " * 100_000,
    "dots": "." * 200_000,
    "bars": "|" * 200_000,
    "notices": "[the line above 999999999 more times]\n" * 5_000,
    "half a character": "\ud800\n" * 50_000,
    "plus": "+\n" * 100_000,
    "hunks": "@@ -1 +1 @@\n" * 20_000,
    "dots of tests": "ok 1\n" * 40_000,
    "spinners": "\x1b[2K\x1b[1G⠋ waiting" * 10_000,
    "rows written over": "a 1%\x1b[9A\x1b[B\n" * 15_000,
    "links": "\x1b]8;;https://a" * 15_000,
    "titles": "\x1b]0;" * 40_000,
    "backspaces": "ab\x08" * 60_000,
    "letters before a table": "a" * 100_000 + " |" * 50_000,
    "spaces before bars": "a" + " " * 200_000 + "|",
    "words before numbers": "a-" * 100_000 + "1-",
    "times": "2026-03-01T10:00:" * 12_000,
    "prefixes": "[a] " * 50_000,
    "names": "a/b: " * 40_000,
    "tabs": "a\t" * 100_000,
    "pluses of a diff": "diff --git a/" * 15_000,
    "quotes": '{"' * 100_000,
    "backslashes": '{"' + "\\" * 200_000,
    "values": '{"a":' + "[" * 100_000,
    "strings": '{"a":"b"' * 25_000,
    "keys of a header": "[1 objects {" + '"a":…, ' * 25_000,
    "tests without an end": "a :: " * 40_000,
    "lines of tests": "test a ... " * 20_000,
    "percentages": "1% " * 70_000,
    "fields": "1s 2m 3:04 5/6 " * 13_000,
    "letters of hashes": "a1" * 100_000,
    "bars of progress": "[=" * 100_000,
    "folders": "a/b/c/\n" * 30_000,
    "many folders": "\n".join("/".join("abcdefgh"[: number % 9]) for number in range(20_000)),
    "nulls": "\x00" * 200_000,
    "failures": "error\n" * 30_000,
    "no failures": "0 errors " * 22_000,
    "carriage returns alone": "\r" * 200_000,
}


@pytest.mark.parametrize(("name", "case"), all_cases(), ids=lambda value: value if isinstance(value, str) else value["says"])
def test_each_case_is_folded_as_it_says(name, case):
    """The cases of a fold, in `cases/NAME.toml`."""
    assert check_fold(FOLDS[name], case["text"], case.get("command", "")) == case.get("folded")


@pytest.mark.parametrize("name", FOLDS)
def test_every_fold_has_cases(name):
    """Some that are folded, and some that stay as they are."""
    cases = cases_of(name)
    assert any("folded" in case for case in cases)
    assert any("folded" not in case for case in cases)


@pytest.mark.parametrize("name", FOLDS)
@tries(200)
@given(
    lines=st.lists(st.one_of(st.sampled_from(LINES), st.text(max_size=30)), min_size=3, max_size=60),
    times=st.integers(1, 4),
    command=st.sampled_from([*COMMANDS, ""]),
)
def test_any_lines_keep_what_the_fold_promises(name, lines, times, command):
    """Lines of all cases, in any order and number."""
    check_fold(FOLDS[name], "\n".join(lines * times), command)


@pytest.mark.parametrize("name", FOLDS)
@tries(200)
@given(which=st.sampled_from(TEXTS), seed=st.integers(0, 2**32), changes=st.integers(1, 6))
def test_changed_texts_keep_what_the_fold_promises(name, which, seed, changes):
    """Texts of cases with lines left out, doubled, cut and swapped, and characters changed."""
    command, text = which
    check_fold(FOLDS[name], changed(text, Random(seed), changes), command)


@tries(200)
@given(which=st.sampled_from(TEXTS), seed=st.integers(0, 2**32), changes=st.integers(0, 6))
def test_all_folds_together_lose_nothing(which, seed, changes):
    """Several folds on one text: the exact ones give the very text back."""
    command, text = which
    text = changed(text, Random(seed), changes)
    check_all_folds(text, command)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_take_time_in_proportion(text):
    """Twice the text takes about twice the time, for all folds together."""
    assert holds_once(lambda: seconds(text) < 0.05 + 3.5 * seconds(text[: len(text) // 2]))


def seconds(text: str) -> float:
    began = time.thread_time()
    fold_text(text, whole=WHOLE)
    return time.thread_time() - began
