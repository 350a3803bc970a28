"""Words or a pattern in all that a session said."""

import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import redline
from redline.errors import ValidationError
from redline.providers import FORMATS
from redline.record.blobs.search import search_record, search_tool
from redline.rules import Faded
from redline.testing import asks, conversation, says
from redline.values.messages import Message

BUILD = "".join(f"line {number}\n" for number in range(1, 400)) + "ERROR: the total is None\n" + "line 401\n" * 3


def talk_of(*turns: Any, **settings: Any) -> redline.Conversation:
    return redline.Conversation(conversation("anthropic", [says("user", "Why does the build fail?"), *turns]), **settings)


def shown(answer: str) -> list[str]:
    """The lines, without the first, which counts them."""
    return answer.split("\n")[1:]


def test_a_line_comes_with_the_reference_that_recall_takes():
    """Reference and line, speaker, words; the first line says how to read around it, and that is true."""
    talk = talk_of(*asks("Bash", {"command": "make"}, BUILD))
    answer = talk.search("total none")
    assert shown(answer) == ["#2.0:400 Bash: ERROR: the total is None"]
    reference, lines = re.findall(r'reference="(.+?)", lines="(.+?)"', answer)[0]
    assert talk.recall(reference, lines=lines).split("\n")[5] == "ERROR: the total is None"
    assert talk.recall("#2.0:400", lines="400") == "ERROR: the total is None"


def test_what_is_struck_or_hidden_is_found_as_what_is_sent():
    """Results that were struck, messages that are not in the view, inputs of calls."""
    dull = [turn for number in range(8) for turn in asks("Read", {"file_path": f"/{number}"}, "text " * 90, id=f"r{number}")]
    policy = redline.Policy(rules=[Faded(0)], schedule="eager")
    talk = talk_of(*asks("Bash", {"command": "make needle"}, "x" * 500 + " haystack", id="b"), *dull, policy=policy, model="x")
    request = talk.request()
    assert any(strike.index == 2 for strike in request.strikes)
    assert "haystack" not in str(request.messages)
    assert shown(talk.search("haystack"))[0].startswith("#2.0:1 Bash: …x")
    talk.process({"operation": "truncate", "truncate": {"keep_last": 4}})
    assert shown(talk.search("needle")) == ['#1.0:1 Bash input: {"command":"make needle"}']


def test_lines_with_the_most_words_come_first():
    """Then those that have them side by side, then the latest; the answer says if no line has all of them."""
    said = "is the total\ntotal is None here\nNone is the total\nis"
    talk = talk_of(*asks("Read", {"file_path": "/a"}, said))
    assert [line.partition(": ")[2] for line in shown(talk.search("TOTAL  is none"))] == [
        "total is None here",
        "None is the total",
    ]
    assert "1 lines with 2 of the 3 words" in talk.search("none here missing")
    assert talk.search("nowhere").startswith("Nothing was found")


def test_equal_lines_are_given_once():
    """The latest of them."""
    reads = [turn for number in range(3) for turn in asks("Read", {"file_path": "/a"}, "def total():", id=f"r{number}")]
    assert shown(talk_of(*reads).search("def total")) == ["#6.0:1 Read: def total():"]


def test_a_pattern_keeps_the_lines_in_which_it_is_found():
    """As recall does; with words, those that have any of them."""
    talk = talk_of(*asks("Bash", {"command": "make"}, BUILD))
    assert [line.partition(" ")[0] for line in shown(talk.search(grep=r"^line 39\d$", limit=3))] == [
        "#2.0:390",
        "#2.0:391",
        "#2.0:392",
    ]
    assert talk.search(grep=r"^line 39\d$", limit=3).startswith("3 of 10 lines")
    assert shown(talk.search("395", grep=r"^line 39\d$")) == ["#2.0:395 Bash: line 395"]


def test_what_asks_for_earlier_words_is_not_found():
    """Calls of the recall and the search tool, and their results; the call that asks now, whatever its tool's name."""
    own = [
        *asks("mcp__redline__recall", {"reference": "#2.0", "grep": "needle"}, "1: needle", id="a"),
        *asks("redline_search_record", {"words": "needle", "limit": 5}, "1 of 1 lines\n#2.0:1 Bash: needle", id="b"),
        *asks("look_up", {"words": "needle"}, "#2.0:1 Bash: needle", id="c"),
    ]
    talk = talk_of(*asks("Bash", {"command": "make"}, "needle", id="m"), *own)
    assert shown(talk.search("needle")) == ["#2.0:1 Bash: needle"]


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({}, "nothing to look for"),
        ({"words": "  "}, "nothing to look for"),
        ({"words": 5}, "words must be a text"),
        ({"words": "a" * 501}, "at most 500"),
        ({"words": " ".join(map(str, range(21)))}, "20 is the most"),
        ({"grep": 5}, "grep must be"),
        ({"grep": "("}, "no regular expression"),
        ({"words": "a", "limit": 0}, "limit must be a number from 1 to 100"),
        ({"words": "a", "limit": True}, "limit must be"),
        ({"words": "a", "max_chars": 10}, "max_chars must be a number of 500 or more"),
    ],
)
def test_what_cannot_be_looked_for_is_refused(wrong: Any, expected: str):
    """With words for the model."""
    with pytest.raises(ValidationError, match=expected):
        talk_of(*asks("Bash", {"command": "make"}, BUILD)).search(**wrong)


def large_record(size: int) -> list[Message]:
    text = ("y" * 99 + "\n") * (size // 100)
    return [FORMATS["anthropic"].read(one) for one in conversation("anthropic", asks("Bash", {"command": "make"}, text))]


@pytest.mark.parametrize("pattern", [r"(y+)+$x", r"(y|y)*z", "y*" * 30 + "z"])
def test_a_pattern_that_would_run_for_ever_is_ended(pattern: str):
    """After the time that a pattern has."""
    messages, began = large_record(3_000_000), time.monotonic()
    with pytest.raises(ValidationError, match="simpler pattern"):
        search_record("", messages.__getitem__, len(messages), grep=pattern)
    assert time.monotonic() - began < 20


def test_words_end_in_any_amount_of_text():
    """The latest is looked through, and the answer says so."""
    messages = [*large_record(15_000_000), *large_record(10_000_000)]
    began = time.monotonic()
    answer = search_record(" ".join("y" * number for number in range(1, 21)), messages.__getitem__, len(messages))
    assert time.monotonic() - began < 20
    assert answer.endswith("[Only the latest 16,000,000 characters were looked through.]")


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=3000), max_size=6), st.text(min_size=1, max_size=8))
def test_an_answer_is_short_and_its_references_lead_to_the_lines(said: list[str], word: str):
    """Whatever was said: at most so many characters, and each line is where its reference says."""
    talk = talk_of(*(says("user", f"{text} {word}") for text in said))
    for limit, max_chars in ((10, 2_000), (100, 500)):
        try:
            answer = talk.search(word, limit=limit, max_chars=max_chars)
        except ValidationError:
            assert not word.strip()
            continue
        assert len(answer) <= max_chars
        for reference, number, text in re.findall(r"^(#\d+\.\d+):(\d+) user: …?(.*?)…?$", answer, re.MULTILINE):
            assert text in " ".join(talk.recall(reference, lines=number).split())


def test_every_provider_gets_the_tool():
    """Under a name that no agent has for a tool of its own, or another."""
    assert search_tool("anthropic")["name"] == "search_record"
    assert redline.search_tool("openai_chat", name="find")["function"]["name"] == "find"
    assert search_tool("gemini")["functionDeclarations"][0]["parameters"]["required"] == ["words"]
    with pytest.raises(ValidationError, match="no search tool for a format"):
        search_tool("smoke")
