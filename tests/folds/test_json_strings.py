"""Tools that answer in JSON: the lines in a string are folded, the JSON stays JSON, and the exact text comes back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.folds import fold_text, unfold_text
from tests.effort import tries
from tests.folds.folding import WHOLE, all_cases

MATCHES = "\n".join(f"src/module_{number % 2}.py:{number}:    total = total_of(é, {number})" for number in sorted(range(12)))
PASSED = "\n".join([*(f"test_part_{number} (parts.TestParts.test_part_{number}) ... ok" for number in range(40)), "", "OK"])


def answer(printed, **spelling):
    return json.dumps([{"query": "rg total", "result": printed, "success": True}], **spelling)


@pytest.mark.parametrize("spelling", [{}, {"ensure_ascii": False}, {"ensure_ascii": False, "separators": (",", ":")}])
def test_what_a_command_printed_is_folded_in_its_string(spelling):
    """Cline's `run_commands` answers so; spaces and letters stay as they were written."""
    text = answer("\n".join(sorted(MATCHES.split("\n"))), **spelling)
    folded = fold_text(text)
    assert folded is not None
    assert folded.names == ("search_matches",)
    assert json.loads(folded.text)[0]["result"].startswith("src/module_0.py\n")
    assert unfold_text(folded) == text


def test_lines_are_left_out_where_the_whole_is_kept():
    """The notice stands in the string."""
    folded = fold_text(answer(PASSED), whole=WHOLE)
    assert folded is not None
    assert not folded.is_exact
    assert f"lines of passed tests left out; all of it: {WHOLE}]" in json.loads(folded.text)[0]["result"]
    assert fold_text(answer(PASSED)) is None


@tries(200)
@given(
    printed=st.lists(st.one_of(st.sampled_from([case["text"] for _, case in all_cases()]), st.text()), max_size=4),
    is_ascii=st.booleans(),
    cut=st.integers(0, 3),
)
def test_any_answer_comes_back(printed, is_ascii, cut):
    """Also one that is cut, so that it is no JSON any more."""
    text = json.dumps([{"result": one} for one in printed], ensure_ascii=is_ascii)
    text = text[: len(text) - cut]
    folded = fold_text(text)
    if folded is not None:
        assert len(folded.text) < len(text)
        assert unfold_text(folded) == text
