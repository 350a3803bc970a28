import pytest

from redline.agents.menders import MENDERS
from redline.agents.mending import MendedConversation
from redline.agents.readers import READERS, RecordedConversation
from redline.agents.transcripts.source import Source


@pytest.mark.parametrize("mender", MENDERS, ids=lambda mender: mender.name)
def test_a_mender_belongs_to_a_reader(mender):
    """What a mender writes is read again by the reader of the same files."""
    assert type(mender.reader) in {type(reader) for reader in READERS}
    assert mender.reader.name == "plain" or mender.formats == (mender.reader.name,)


def test_no_two_menders_claim_a_format():
    """Which one mends a file is not a matter of their order."""
    formats = [format for mender in MENDERS for format in mender.formats]
    assert len(formats) == len(set(formats))


@pytest.mark.parametrize("mender", MENDERS, ids=lambda mender: mender.name)
def test_a_conversation_without_messages_needs_nothing(mender, tmp_path):
    """Nothing to say is nothing to repair."""
    path = tmp_path / "x"
    path.write_bytes(b"[]")
    spoken = {"claude-code": "anthropic", "codex": "openai_responses"}.get(mender.formats[0], "ai_sdk")
    mended = mender.mend(Source(path), RecordedConversation("id", spoken, ()), "drop")
    assert isinstance(mended, MendedConversation)
    assert (mended.edits.fixes, list(mended.messages)) == ([], [])
