from redline.transcripts.base import Position
from redline.transcripts.opencode_messages import read_history, read_message


class Stored:
    """Messages by the place they are at."""

    def __init__(self, *records):
        self._records = records

    def decode(self, position):
        return self._records[position.offset]


def test_messages_come_from_wherever_they_are():
    """A history is read through its source, a file or a database."""
    source = Stored({"info": {"role": "user"}, "parts": [{"type": "text", "text": "hi"}]})
    history = read_history(source, [(Position(0, 1), read_message(b'{"info": {"id": "m"}, "parts": []}'))])
    assert [(entry.id, entry.message.text) for entry in history.entries] == [("m", "hi")]
    assert history.compactions == history.pruned == ()
