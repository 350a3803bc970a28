"""What a message is known by when it comes again: cases as data, each a pair of messages that are one, or two."""

import json
from pathlib import Path

import pytest

from redline import Editor
from redline.providers import find_format

CASES = Path(__file__).parent / "identities"


def pairs(name: str) -> list:
    read = [json.loads(line) for line in (CASES / name).read_text().splitlines()]
    return [pytest.param(one, id=f"{one['format']}: {one['why']}") for one in read]


def places(case: dict) -> list[tuple]:
    """Where an Editor finds each of the pair, after the same words."""
    begun = find_format(case["format"]).read(case["one"]).role
    words = {"parts": [{"text": "Hi"}]} if case["format"] == "gemini" else {"content": "Hi"}
    first = {"role": "user", **words}
    editor = Editor()
    requests = [editor.edit([first, case[name]], format=case["format"]) for name in ("one", "other")]
    assert begun in ("user", "assistant", "tool")
    return [(request.log, request.record) for request in requests]


@pytest.mark.parametrize("case", pairs("differ.jsonl"))
def test_messages_that_mean_different_things_are_two(case):
    """R137: a speaker's name, a server, a document's title or context: whatever may change the meaning is part of identity."""
    one, other = places(case)
    assert one != other


@pytest.mark.parametrize("case", pairs("same.jsonl"))
def test_what_clients_move_about_is_no_other_message(case):
    """R137: cache marks, ids that are invented, spellings, fields without a value: what docs/resent-lists.md lists, no more."""
    one, other = places(case)
    assert one == other
