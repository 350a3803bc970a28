"""How a log went, line by line: what merely follows is one line; forks and what changes the path have lines of their own."""

import redline
from redline.record.reading import read_log_file
from redline.sessions.record_lines import history_of_log


def lines_of(path):
    """Type, words, and whether it is on the present path."""
    return [(line.type, line.says, line.is_current) for line in history_of_log(read_log_file(path)).lines]


def say(talk, *words):
    """A question and its answer for each word, with the request between them."""
    for word in words:
        talk.add({"role": "user", "content": word})
        talk.request()
        talk.add({"role": "assistant", "content": f"{word} it is"})


def test_what_merely_follows_is_one_line(tmp_path):
    """Messages and requests that struck nothing are folded, however many there are."""
    with redline.open(tmp_path / "chat.jsonl", format="anthropic", model="claude-sonnet-4-5") as talk:
        say(talk, "one", "two", "three")
    assert lines_of(tmp_path / "chat.jsonl") == [("messages", "6 messages, 3 requests", True)]


def test_a_fork_and_a_pin_have_lines_of_their_own(tmp_path):
    """A run ends where the path forks or is changed, and every line goes on from one that is there."""
    with redline.open(tmp_path / "chat.jsonl", format="anthropic") as talk:
        say(talk, "one", "two")
        talk.pin(0)
        say(talk, "three")
        talk.rewind(1)
        say(talk, "four")
    assert [(kind, is_current) for kind, _, is_current in lines_of(tmp_path / "chat.jsonl")] == [
        ("messages", True),
        ("messages", False),
        ("pin", False),
        ("messages", False),
        ("head", True),
        ("messages", True),
    ]
    lines = history_of_log(read_log_file(tmp_path / "chat.jsonl")).lines
    assert {line.parent for line in lines[1:]} <= {line.number for line in lines}
    assert [(line.index, line.to) for line in lines if line.type == "messages"] == [(0, 2), (2, 4), (4, 6), (2, 4)]
