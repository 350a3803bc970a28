import copy
import json
import logging
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import FORMATS, check, clean_orphaned_tool_calls, make_legal
from redline.agents.readers import read_transcript
from redline.providers.laws import History
from redline.providers.laws.hosted_results import hosted_results, open_hosted_calls
from redline.repair import INTERRUPTED, STRATEGIES
from redline.testing import conversations
from redline.values.messages import Text, ToolCall
from redline.values.pairs import pair_up
from tests.corpus import corpus_path, corpus_rows, needs_corpus
from tests.effort import tries
from tests.repair.damage import WOUNDS, append_itself, damaged, damaged_at_random, delay, spoiled
from tests.repair.histories import assistant, calls, read, result, tool, use, user

everywhere = pytest.mark.parametrize(("format", "strategy"), [(name, strategy) for name in FORMATS for strategy in STRATEGIES])


def are_same(one, other):
    return len(one) == len(other) and all(left is right for left, right in zip(one, other, strict=True))


# --- for any damage, in every format, with every strategy


@everywhere
@tries(60)
@given(data=st.data())
def test_any_damage_is_made_legal(format, strategy, data):
    """The result breaks no law, made again it is the same objects, and the input is untouched."""
    history = data.draw(damaged(format))
    before = copy.deepcopy(history)
    after = make_legal(history, format=format, strategy=strategy)
    assert check(after, format=format) == []
    assert history == before
    assert are_same(make_legal(after, format=format, strategy=strategy), after)
    assert make_legal(before, format=format, strategy=strategy) == after


@everywhere
@tries(25)
@given(data=st.data())
def test_any_nonsense_is_made_legal(format, strategy, data):
    """Whatever values messages hold: the result breaks no law, and made again it is the same objects (R61)."""
    history = data.draw(spoiled(format))
    after = make_legal(history, format=format, strategy=strategy)
    assert check(after, format=format) == []
    assert are_same(make_legal(after, format=format, strategy=strategy), after)


@everywhere
@tries(40)
@given(data=st.data())
def test_cleaning_leaves_no_orphan(format, strategy, data):
    """Every call is answered and every result asked for; cleaned again nothing changes, and the input is untouched."""
    history = data.draw(damaged(format))
    before = copy.deepcopy(history)
    after = clean_orphaned_tool_calls(history, format=format, strategy=strategy)
    pairs = pair_up(read(FORMATS[format], after), items_are_messages=FORMATS[format].items_are_messages)
    assert pairs.unanswered == ()
    assert pairs.orphans == ()
    assert history == before
    assert are_same(clean_orphaned_tool_calls(after, format=format, strategy=strategy), after)


@everywhere
@tries(25)
@given(data=st.data())
def test_legal_list_comes_back_as_it_is(format, strategy, data):
    """The same objects in the same order, also from a damaged list that happens to be legal."""
    history = data.draw(conversations(format) | damaged(format, max_wounds=1))
    if check(history, format=format) == []:
        assert are_same(make_legal(history, format=format, strategy=strategy), history)
        assert are_same(clean_orphaned_tool_calls(history, format=format, strategy=strategy), history)


@pytest.mark.parametrize("format", FORMATS)
@tries(60)
@given(data=st.data())
def test_answering_keeps_all_content(format, data):
    """Every text, every call of the assistant that can be answered and every result that had its call is still there."""
    reader = FORMATS[format]
    history = data.draw(damaged(format))
    after = make_legal(history, format=format, strategy="answer")
    assert not content(read(reader, history), reader) - content(read(reader, after), reader)


@pytest.mark.parametrize("format", FORMATS)
@tries(25)
@given(data=st.data())
def test_bytes_are_repaired_as_objects_are(format, data):
    """JSON bytes give the same messages, and the unchanged ones are the same bytes."""
    history = data.draw(damaged(format, max_wounds=3))
    lines = [json.dumps(payload).encode() for payload in history]
    after = make_legal(lines, format=format, strategy="answer")
    wanted = make_legal(history, format=format, strategy="answer")
    assert [payload if isinstance(payload, dict) else json.loads(payload) for payload in after] == wanted


def content(messages, format):
    """What must not get lost: texts with words in them, calls that can be answered, and matched results.

    Two kinds of calls cannot be answered: a computer's, which wants a picture, and one that the provider was to run itself and
    that was interrupted, because only the provider gives such results.
    """
    found = Counter()
    interrupted = interrupted_hosted_calls(messages, format)
    for number, message in enumerate(messages):
        for place, part in enumerate(message.parts):
            if isinstance(part, Text) and part.text.strip():
                found["text", part.text] += 1
            elif isinstance(part, ToolCall) and message.role == "assistant":
                is_answerable = part.name != "computer" and (number, place) not in interrupted
                found["call", part.name, repr(part.input)] += is_answerable
    for step in pair_up(messages, items_are_messages=format.items_are_messages).steps:
        for spot in step.answers.values():
            found["result", messages[spot.message].parts[spot.part].text] += 1
    return found


def interrupted_hosted_calls(messages, format):
    """By message and place: the calls that the provider was to run, for which the law finds no result."""
    if format.name not in hosted_results.rules:
        return set()
    law = hosted_results.broken(History.of(messages, format))
    parts = [(one.index, messages[one.index].parts[one.part]) for one in law]
    without_result = {(number, part.id) for number, part in parts if isinstance(part, ToolCall)}
    return {
        (number, place)
        for number, message in enumerate(messages)
        for place, own in open_hosted_calls(message).items()
        if (number, own) in without_result
    }


# --- what is promised, case by case


def test_empty_list():
    """Empty in, empty out."""
    assert clean_orphaned_tool_calls([]) == []
    assert make_legal([]) == []


def test_message_between_call_and_result_separates_them():
    """Cleaning matches by adjacency; making legal brings the late result back to its call."""
    history = [user("hi"), assistant(use("a")), user("there?"), user(result("a"))]
    assert clean_orphaned_tool_calls(history) == [history[0], history[2]]
    assert make_legal(history) == [history[0], history[1], history[3], history[2]]


def test_ambiguous_late_result_is_not_moved():
    """With two open calls of its id a late result goes nowhere."""
    history = [user("hi"), assistant(use("a")), assistant(use("a")), user("x"), user(result("a"))]
    assert make_legal(history) == [history[0], history[3]]


def test_first_result_wins():
    """A second result for one call is dropped, also a late one."""
    history = [
        user("hi"),
        assistant(use("a")),
        user(result("a", "1"), result("a", "2")),
        assistant("ok"),
        user(result("a", "3")),
    ]
    assert make_legal(history) == [history[0], history[1], user(result("a", "1")), history[3]]


def test_reused_id_is_renamed_in_call_and_result():
    """In an Anthropic request an id means one call; the later ones are named from their position."""
    history = [user("hi"), assistant(use("a")), user(result("a")), assistant(use("a")), user(result("a"))]
    assert make_legal(history) == [*history[:3], assistant(use("a_3_0")), user(result("a_3_0", "of a"))]


def test_results_stand_in_the_very_next_message():
    """Results spread over two user messages are merged, in front of the words."""
    history = [user("hi"), assistant(use("a"), use("b")), user(result("a")), user("x", result("b"))]
    assert make_legal(history) == [*history[:2], user(result("b"), result("a"), "x")]


def test_strategy_is_passed_on():
    """Making legal treats an open call as cleaning does."""
    history = [user("hi"), assistant("look", use("a"))]
    assert make_legal(history) == history[:1]
    assert make_legal(history, strategy="strip") == [history[0], assistant("look")]
    assert make_legal(history, strategy="answer")[2]["content"][0]["content"] == INTERRUPTED


def test_openai_takes_reused_ids():
    """Elsewhere an id may come again: such a list is legal and stays."""
    history = [{"role": "user", "content": "hi"}, calls("a"), tool("a"), calls("a"), tool("a")]
    assert are_same(make_legal(history), history)


def test_what_was_done_is_logged(caplog):
    """How much at INFO, each change at DEBUG, and nothing for a list that needs none."""
    with caplog.at_level(logging.DEBUG, logger="redline"):
        make_legal([user("hi")])
        assert caplog.records == []
        make_legal([user("hi"), assistant(use("a"))], format="anthropic")
    assert [record.levelname for record in caplog.records] == ["INFO", "DEBUG"]
    assert "message 1: dropped" in caplog.messages[1]


# --- recorded sessions


@needs_corpus
@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_recorded_sessions_survive_damage(agent):
    """Real histories, cut, shuffled and doubled by a seeded random, are all legal afterwards."""
    for format, history, rng in recorded(agent):
        for strategy in STRATEGIES:
            broken = damaged_at_random(history, format, rng, 1 + len(history) // 20, LASTING_WOUNDS)
            assert check(make_legal(broken, format=format, strategy=strategy), format=format) == []


@needs_corpus
@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_recorded_results_find_home(agent):
    """Of results that came a few messages late, every one is reunited with its call."""
    for format, history, rng in recorded(agent):
        legal = make_legal(history, format=format)
        late = damaged_at_random(legal, format, rng, 1 + len(legal) // 20, [delay])
        assert real_results(make_legal(late, format=format, strategy="answer"), format) == real_results(legal, format)


LASTING_WOUNDS = [wound for wound in WOUNDS if wound is not append_itself]


def recorded(agent):
    for row in corpus_rows(agent):
        for conversation in read_transcript(corpus_path(row)):
            history = natives_of(conversation.messages)
            yield conversation.format, history, Random(len(history))


def natives_of(messages):
    return [message.native for message in messages]


def real_results(history, format):
    texts = (found.text for message in read(FORMATS[format], history) for found in message.results)
    return Counter(words for words in texts if INTERRUPTED not in words)
