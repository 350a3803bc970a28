"""Lists that come again in another spelling: what is sent is the caller's own present messages, and legal."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import redline
from redline import EN, Editor, Policy
from redline.providers import FORMATS
from redline.testing import asks, conversation, says
from redline.testing.strategies import conversations
from tests.effort import tries

MINUTE = 60_000
SECRET = "sk-ant-api03-" + "a1B2" * 20
EAGER = Policy.documents(words=EN)


# --- R133: what is sent is the caller's


def gemini(call_id: str | None, answer_id: str | None, *, words: str = "ok", and_then: str = "") -> list:
    """A call that is answered, and perhaps one that is not."""
    ids = [{"id": one} if one else {} for one in (call_id, answer_id)]
    calls = [{"functionCall": {"name": "Read", "args": {"path": words}, **ids[0]}}]
    calls += [{"functionCall": {"name": "Open", "args": {}, **({"id": f"{call_id}2"} if call_id else {})}}] if and_then else []
    return [
        {"role": "user", "parts": [{"text": "Go on."}]},
        {"role": "model", "parts": calls},
        {"role": "user", "parts": [{"functionResponse": {"name": "Read", "response": {"output": words}, **ids[1]}}]},
        *([{"role": "user", "parts": [{"text": and_then}]}] if and_then else []),
    ]


@pytest.mark.parametrize("strategy", ["drop", "answer", "strip"])
@pytest.mark.parametrize("first", [(None, None), ("x", "x")])
@pytest.mark.parametrize("then", [("a", "a"), (None, None)])
def test_a_repaired_message_has_the_ids_of_now(first, then, strategy):
    """R133: ids that a client invents are its own each time; those of the record are never sent in their place."""
    editor = Editor(policy=Policy.documents(words=EN, strategy=strategy))
    for ids in (first, then):
        request = editor.edit(gemini(*ids, and_then="And the other?"), format="gemini")
        assert redline.check(request.messages, format="gemini") == []
    assert request.repairs
    sent = json.dumps(request.messages)
    assert all(f'"id": "{one}"' not in sent for one in first if one and one not in then)
    if strategy != "drop":  # then the whole exchange goes
        assert all(f'"id": "{one}"' in sent for one in then if one)


@pytest.mark.parametrize("strategy", ["drop", "answer", "strip"])
def test_an_answer_that_the_repair_makes_has_the_id_of_now(strategy):
    """R133: the answer to an open call answers the call that is sent, not the one of the record."""
    editor = Editor(policy=Policy(words=EN, strategy=strategy))
    for name in "xay":
        call = {"role": "model", "parts": [{"functionCall": {"name": "Open", "args": {}, "id": name}}]}
        said = [{"role": "user", "parts": [{"text": words}]} for words in ("Go on.", "And?")]
        request = editor.edit([said[0], call, said[1]], format="gemini")
        assert redline.check(request.messages, format="gemini") == []
        assert {
            part["functionResponse"]["id"] for one in request.messages for part in one["parts"] if "functionResponse" in part
        } <= {name}


@pytest.mark.parametrize("strategy", ["drop", "answer", "strip"])
@pytest.mark.parametrize("format", [*FORMATS])
@pytest.mark.parametrize("cut", range(1, 8))
def test_the_model_gets_the_words_that_are_redacted_in_the_record(format, strategy, cut):
    """R133: redaction keeps secrets out of the store; nothing of "[redacted …]" is sent, also after a repair."""
    turns = [says("user", f"The key is {SECRET}"), *asks("t", {"key": SECRET}, f"got {SECRET}", id="call_1")]
    turns += [says("assistant", f"I use {SECRET}"), says("user", "Go on."), *asks("t", {"key": SECRET}, None, id="call_2")]
    messages = [*conversation(format, turns)[:cut], *conversation(format, [says("user", f"And {SECRET}?")])]
    editor = Editor(policy=Policy(words=EN, strategy=strategy), redact=redline.redact)
    for _ in range(2):
        request = editor.edit(messages, format=format)
        assert b"redacted" not in request.body
        assert redline.check(request.messages, format=format) == []
        own = [messages[position] for position in request.positions if position is not None]
        assert SECRET in json.dumps(own)
    for position, message in request.pieces:
        if position is not None and message == messages[position]:
            assert message is messages[position]


def test_words_of_the_record_are_not_sent_beside_a_system_message():
    """R133: where the system speaks among the others, the rest is the caller's own still."""
    broken = gemini("a", "a", words=SECRET, and_then="And the other?")
    messages = [*broken[:1], {"role": "system", "parts": [{"text": "Be brief."}]}, *broken[1:]]
    editor = Editor(policy=Policy(words=EN, strategy="answer"), redact=redline.redact)
    for _ in range(2):
        request = editor.edit(messages, format="gemini")
        assert b"redacted" not in request.body
        assert request.body.count(SECRET.encode()) == 2


# --- R134: whatever comes again is sent legal


@pytest.mark.parametrize("strategy", ["drop", "answer", "strip"])
@pytest.mark.parametrize("pair", [("", []), ([], ""), ("", [{"type": "text", "text": ""}]), (None, "")])
def test_empty_results_may_swap_their_spelling(pair, strategy):
    """R134: two empty results, each spelled as the other was before: the list is known, legal, and no error."""
    editor = Editor(policy=Policy(words=EN, strategy=strategy))

    def spelled(one, other):
        calls = [{"type": "tool_use", "id": name, "name": "t", "input": {}} for name in ("a", "b", "c")]
        results = [
            {"type": "tool_result", "tool_use_id": name, "content": held} for name, held in zip("ab", (one, other), strict=True)
        ]
        results = [{key: held for key, held in result.items() if held is not None} for result in results]
        return [
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": calls},
            {"role": "user", "content": [*results, {"type": "text", "text": "And c?"}]},
        ]

    for messages in (spelled(*pair), spelled(*reversed(pair)), spelled(*pair)):
        assert redline.check(editor.edit(messages, format="anthropic").messages, format="anthropic") == []


@pytest.mark.parametrize("place", range(3))
def test_a_blank_text_that_comes_later_is_not_sent(place):
    """R134: a block of no words in a message that was known without it is taken out, as it is the first time."""
    messages = conversation("anthropic", [says("user", "x"), *asks("t", {}, "y", id="a")])
    editor = Editor()
    editor.edit(messages, format="anthropic")
    again = copy.deepcopy(messages)
    again[place]["content"].append({"type": "text", "text": ""})
    for _ in range(2):
        request = editor.edit(again, format="anthropic")
        assert redline.check(request.messages, format="anthropic") == []
    assert again[place]["content"][-1] == {"type": "text", "text": ""}


def respelled(message: dict, how: str, format: str) -> dict:  # noqa: C901 - one case for each spelling
    """The message in another of the spellings in which clients send one."""
    message = copy.deepcopy(message)
    content = message.get("content")
    blocks = content if isinstance(content, list) else message.get("parts")
    match how:
        case "string" if isinstance(blocks, list) and len(blocks) == 1 and set(blocks[0]) == {"type", "text"}:
            message["content"] = blocks[0]["text"]
        case "block" if isinstance(content, str) and format in ("anthropic", "openai_chat") and message["role"] != "tool":
            message["content"] = [{"type": "text", "text": content}]
        case "blank" if isinstance(blocks, list):
            blocks.append({"text": ""} if "parts" in message else {"type": "text", "text": ""})
        case "mark" if format == "anthropic" and isinstance(blocks, list) and blocks and isinstance(blocks[-1], dict):
            blocks[-1]["cache_control"] = {"type": "ephemeral"}
        case "empty":
            for block in blocks if isinstance(blocks, list) else ():
                if isinstance(block, dict) and block.get("type") == "tool_result":
                    block["content"] = [] if block.get("content") == "" else ""
        case "thoughts" if isinstance(blocks, list) and message.get("role") == "assistant":
            kept = [one for one in blocks if not (isinstance(one, dict) and one.get("type") in ("thinking", "reasoning"))]
            blocks[:] = kept or blocks
        case "ids" if format == "gemini":
            for part in blocks or ():
                for key in ("functionCall", "functionResponse"):
                    if isinstance(part, dict) and isinstance(part.get(key), dict):
                        part[key]["id"] = f"new_{part[key].get('id')}"
    return message


HOWS = ("string", "block", "blank", "mark", "empty", "thoughts", "ids")


@st.composite
def sequences(draw):
    """A format, and lists of it: each a piece of one conversation, in any spelling, whole or broken."""
    format = draw(st.sampled_from([*FORMATS]))
    messages = draw(conversations(format))
    lists = []
    for _ in range(draw(st.integers(1, 4))):
        end = draw(st.integers(1, len(messages)))
        missing = draw(st.sets(st.integers(1, max(1, end - 1)), max_size=1))
        chosen = [respelled(one, draw(st.sampled_from((*HOWS, "", "", ""))), format) for one in messages[:end]]
        lists.append([one for place, one in enumerate(chosen) if place not in missing])
    return format, lists


@tries(150, deadline=None)
@given(sequences(), st.booleans(), st.sampled_from(["drop", "answer", "strip"]))
def test_any_sequence_of_lists_is_sent_legal(drawn, is_redacted, strategy):
    """R134, R133: whatever came before and in whatever spelling, what is sent is legal, and the caller's own if it is whole."""
    format, lists = drawn
    policy = Policy.documents(words=EN, strategy=strategy)
    editor = Editor(policy=policy, redact=redline.redact if is_redacted else None)
    for number, messages in enumerate(lists):
        before = copy.deepcopy(messages)
        request = editor.edit(messages, format=format, now=number * 60 * MINUTE)
        assert messages == before
        assert len(request.said) == len(request.positions)
        if request.untouched or (request.messages == messages and not redline.make_legal(messages, format=format)):
            continue
        assert redline.check(request.messages, format=format) == []
        struck = {strike.index for strike in request.strikes}
        for position, message in request.pieces:
            if position is not None and message == messages[position] and position not in struck:
                assert message is messages[position]
