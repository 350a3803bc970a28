"""What the tests of several readers share: writing small session files, counting what is in them, damaging them."""

import json
from collections import Counter

from hypothesis import strategies as st

from redline.agents.transcripts.detect import take_sample
from redline.agents.transcripts.source import Source
from redline.values.messages import ToolCall
from tests.corpus import corpus_path, corpus_rows


def write_lines(directory, records):
    path = directory / "session.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def write_document(directory, value):
    path = directory / "session.json"
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
    return path


def only(transcript):
    (conversation,) = transcript.conversations
    return conversation


def said(conversation):
    return [(message.role, message.text) for message in conversation.messages]


def tool_counts(transcript):
    """Calls by tool (those the provider ran too) and the number of results."""
    messages = [entry.message for conversation in transcript for entry in conversation.walk()]
    calls = Counter(part.name for message in messages for part in message.parts if isinstance(part, ToolCall))
    return calls, sum(len(message.results) for message in messages)


def recognized_formats(reader):
    """Of all recorded sessions, the agents whose files a reader takes for its own."""
    rows = [row for row in corpus_rows() if reader.recognizes(take_sample(Source(corpus_path(row))))]
    return Counter(row["format"] for row in rows)


ODD_VALUES = st.sampled_from((None, -1, 1.5, True, "", "x", [], {}, [None], [[]], [{}], {"type": 5}, [{"type": []}]))


def damaged(value):
    """The value with one place in it, anywhere, holding something of a type nobody expects there."""
    places = list(_places(value))
    return st.builds(lambda place, odd: _put(value, place, odd), st.sampled_from(places[1:]), ODD_VALUES)


def load_all(reader, path):
    """Every message of a file, decoded."""
    return [entry.message for conversation in reader.read(Source(path)) for entry in conversation.walk()]


def _places(value, above=()):
    yield above
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _places(inner, (*above, key))


def _put(value, place, odd):
    if not place:
        return odd
    changed = value.copy()
    changed[place[0]] = _put(value[place[0]], place[1:], odd)
    return changed
