"""Control codes go, and every word that a terminal would show at the end stays."""

import re

from hypothesis import given
from hypothesis import strategies as st

from redline.folds import Output
from redline.folds.control_codes import ControlCodes
from tests.effort import tries

WHOLE = "whole/4f2a.txt"
WORDS = st.text(alphabet="abcdefgh 0123456789│✔", min_size=1, max_size=12)
COLOURS = st.sampled_from(["\x1b[0m", "\x1b[1;32m", "\x1b[38;5;3m", "\x1b[?25l", "\x1b(B", "\x1b]0;title\x07", "\x07"])
MOVES = st.sampled_from(["\r", "\b", "\x1b[2A", "\x1b[K", "\x1b[2K", "\x1b[1G", "\x1b[3C", "\x1b[H", "\x1b[2J", "\x1b[B"])


def without_codes(text: str) -> str | None:
    """The text after the fold, without its notice."""
    folded = ControlCodes().applied(Output(text, whole=WHOLE))
    return None if folded is None else re.sub(r"\n?\[terminal codes[^\n]*\](?=\n?\Z)", "", folded)


@tries(200)
@given(st.lists(st.tuples(WORDS, COLOURS), min_size=1, max_size=40))
def test_colours_alone_take_no_word(parts):
    """Words with codes that move the cursor nowhere: all words stay."""
    text = "".join(f"{words}{code}\n" for words, code in parts) + "\x1b[0m" * 40
    expected = "\n".join(words.rstrip() for words, _ in parts)
    assert (without_codes(text) or "").rstrip("\n") == expected.rstrip("\n")


@tries(200)
@given(st.lists(st.lists(WORDS, min_size=1, max_size=6), min_size=1, max_size=20))
def test_of_words_that_overwrite_each_other_the_last_stay(lines):
    """Each line is erased before it is written again."""
    text = "\n".join("\r\x1b[K".join(words) for words in lines) + "\n" + "\x1b[0m" * 40
    assert without_codes(text) == "\n".join([*(words[-1].rstrip() for words in lines), ""])


@tries(200)
@given(st.lists(st.one_of(WORDS, COLOURS, MOVES, st.just("\n"), st.just("it failed")), min_size=1, max_size=80))
def test_lines_that_speak_of_a_failure_stay_whatever_moves(parts):
    """Whatever codes stand around it, a line with a failure stays word for word."""
    text = "".join(parts) + "\n\n\n\n" + "\x1b[0m" * 60
    folded = ControlCodes().applied(Output(text, whole=WHOLE))
    for line in text.split("\n"):
        assert folded is None or "it failed" not in line or line in folded.split("\n")


def test_the_last_words_of_real_progress_stay():
    """Progress of `curl`, which writes no line feed until it is done."""
    bar = "".join(f"\r{share:3d} 8123k  {share:3d} {share * 81}k    0     0  10.1M" for share in range(0, 101, 5))
    assert without_codes(f"  % Total    % Received{bar}\ndone\n") == "100 8123k  100 8100k    0     0  10.1M\ndone\n"
