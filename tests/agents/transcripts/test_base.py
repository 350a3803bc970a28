import pytest

from redline.agents.transcripts import (
    BadRecord,
    Entry,
    LazyEntries,
    OnDemand,
    Position,
    RecordedBranch,
    RecordedCompaction,
    RecordedConversation,
    Transcript,
    Usage,
    parse_time_ms,
)
from redline.providers import FORMATS

CHAT = FORMATS["openai_chat"]


def entry(text):
    return Entry(lambda: CHAT.read({"role": "user", "content": text}), (Position(0, 1),))


def test_windows_are_what_was_sent_together():
    """A compaction starts a new window; the last one goes on."""
    entries = tuple(entry(name) for name in "abcde")
    recorded = RecordedConversation("x", "openai_chat", entries, compactions=(RecordedCompaction(2), RecordedCompaction(4)))
    assert [[e.message.text for e in window] for window in recorded.windows] == [["a", "b"], ["c", "d"], ["e"]]


def test_walk_visits_path_branches_and_subagents():
    """Nothing that the file holds is passed over."""
    sub = RecordedConversation("s", "openai_chat", (entry("sub"),))
    recorded = RecordedConversation("x", "openai_chat", (entry("main"),), (RecordedBranch(0, (entry("branch"),)),), (sub,))
    assert [e.message.text for e in recorded.walk()] == ["main", "branch", "sub"]


def test_lazy_entries_are_made_when_looked_at():
    """Counting and slicing make no entry; looking at one makes that one."""
    made = []

    def grow(text):
        made.append(text)
        return entry(text)

    entries = LazyEntries(["a", "b", "c"], grow)
    tail = entries[1:]
    assert (len(entries), len(tail), made) == (3, 2, [])
    assert tail[0].message.text == "b"
    assert made == ["b"]
    assert [e.message.text for e in entries] == ["a", "b", "c"]


def test_transcript_yields_its_conversations(tmp_path):
    """A transcript is iterated by conversation."""
    recorded = RecordedConversation("x", "openai_chat", ())
    assert list(Transcript(tmp_path, "codex", (recorded,))) == [recorded]
    assert len(Transcript(tmp_path, "codex", (recorded,))) == 1


def test_bad_record_reads_as_a_place():
    """A bad record says file, line, column and reason."""
    assert str(BadRecord("a.jsonl", 3, 7, "not JSON")) == "a.jsonl, line 3, column 7: not JSON"


def test_prompt_tokens_are_all_that_was_sent():
    """Cached or not, it was in the prompt."""
    assert Usage(1, 50, 20, 300).input_tokens == 321


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-02-04T00:00:01Z", 1770163201000.0),
        ("2026-02-04T00:00:01.5+00:00", 1770163201500.0),
        ("2026-02-04T00:00:01", 1770163201000.0),
        (1770163201, 1770163201000.0),
        (1770163201000, 1770163201000.0),
        ("yesterday", None),
        (None, None),
        (True, None),
    ],
)
def test_times_become_milliseconds(value, expected):
    """ISO texts, seconds and milliseconds are understood; anything else is no time."""
    assert parse_time_ms(value) == expected


def test_items_are_made_once_when_they_are_looked_at():
    """Not before, and not again."""
    made = []
    items = OnDemand(lambda: made.append(1) or (7, 8, 9))
    assert not made
    assert (len(items), items[0], list(items[1:]), 9 in items) == (3, 7, [8, 9], True)
    assert made == [1]
