import pytest

from redline.agents.readers import READERS
from redline.agents.transcripts.detect import Sample


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_no_reader_claims_nothing(reader):
    """A file without anything in it belongs to nobody."""
    assert not reader.recognizes(Sample("empty.json", ()))
    assert not reader.recognizes(Sample("empty.json", ({},), {}))
    assert not reader.recognizes(Sample("empty.json", (), []))


def test_readers_have_names_of_their_own():
    """A reader is known by the agent it reads."""
    assert len({reader.name for reader in READERS}) == len(READERS)
