import pytest

from redline import FORMATS, Conversation
from redline import open as open_conversation
from redline.errors import LogError
from redline.record.opening import read_log as read_log_at
from redline.record.reading import read_log_file
from redline.sessions.read_session import transcript_of_log
from redline.testing import asks, conversation, says
from redline.values import payloads

HISTORY = conversation(
    "anthropic", [says("user", "fix it"), *asks("bash", {"command": "ls"}, "a b"), says("assistant", "done")]
)


@pytest.fixture
def address(tmp_path, request):
    return tmp_path / "chat.jsonl" if request.param == "file" else f"sqlite:///{tmp_path}/chats.db#chat"


def transcript_of(address):
    return transcript_of_log(read_log_at(address) if isinstance(address, str) else read_log_file(address))


def begun(address, messages=HISTORY):
    talk = open_conversation(address)
    for number, message in enumerate(messages):
        talk.add(message, timestamp_ms=1e12 + number)
    return talk


@pytest.mark.parametrize("address", ["file", "database"], indirect=True)
def test_a_log_is_read_as_it_was_said(address):
    """Messages, times, and where each is (R37)."""
    begun(address).close()
    transcript = transcript_of(address)
    (recorded,) = transcript
    assert (transcript.format, recorded.id, recorded.format) == ("redline", "chat", "anthropic")
    assert [message.native for message in recorded.messages] == HISTORY
    assert [entry.timestamp_ms for entry in recorded.entries] == [1e12, 1e12 + 1, 1e12 + 2, 1e12 + 3]
    places = [entry.positions[0] for entry in recorded.entries]
    if isinstance(address, str):
        assert [place.member for place in places] == ["record 0", "record 1", "record 2", "record 3"]
    else:
        lines = address.read_bytes().splitlines(keepends=True)
        assert [lines[place.line - 1] for place in places] == lines[1:5]
        assert b"".join(lines)[places[2].offset :].startswith(lines[3])


@pytest.mark.parametrize("address", ["file", "database"], indirect=True)
def test_the_last_window_is_what_is_visible(address):
    """What was said and hidden is there too, before it."""
    talk = begun(address)
    talk.process({"operation": "truncate", "truncate": {"keep_last": 1}})
    visible, everything = talk.messages, talk.all_messages
    talk.close()
    (recorded,) = transcript_of(address)
    assert [entry.message.native for entry in recorded.windows[-1]] == visible
    assert len(recorded.entries) == len(everything)


def test_a_branch_is_off_the_path(tmp_path):
    """After a rewind, what came later is a branch."""
    talk = begun(tmp_path / "chat.jsonl")
    talk.rewind(0)
    talk.add({"role": "assistant", "content": "no"})
    talk.close()
    (recorded,) = transcript_of(tmp_path / "chat.jsonl")
    assert [message.text for message in recorded.messages] == ["fix it", "no"]
    (branch,) = recorded.branches
    assert [payloads.decode(entry.message.native) for entry in branch.entries] == HISTORY[1:]


def test_usage_belongs_to_the_answer(tmp_path):
    """Reported before or after the answer is added; what came from the cache is apart."""
    talk = begun(tmp_path / "chat.jsonl", HISTORY[:1])
    talk.add(HISTORY[1])
    talk.record_usage(input_tokens=100, output_tokens=5, cache_read_tokens=90)
    talk.add(HISTORY[2])
    talk.record_usage(input_tokens=120, output_tokens=6)
    talk.add(HISTORY[3])
    talk.close()
    (recorded,) = transcript_of(tmp_path / "chat.jsonl")
    usages = [entry.usage and (entry.usage.fresh_tokens, entry.usage.input_tokens) for entry in recorded.entries]
    assert usages == [None, (10, 100), None, (120, 120)]


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_is_found_again(tmp_path, format):
    """As the conversation itself finds it."""
    said = conversation(format, [says("user", "fix it"), *asks("bash", {"command": "ls"}, "a b")])
    begun(tmp_path / "chat.jsonl", said).close()
    (recorded,) = transcript_of(tmp_path / "chat.jsonl")
    assert recorded.format == Conversation(said).format
    assert [message.native for message in recorded.messages] == said


def test_damage_is_reported_and_left(tmp_path):
    """The records before it are read, and the file is not touched."""
    begun(tmp_path / "chat.jsonl").close()
    lines = (tmp_path / "chat.jsonl").read_bytes().splitlines(keepends=True)
    damaged = b"".join([*lines[:3], lines[3].replace(b"a b", b"a c"), *lines[4:]])
    (tmp_path / "chat.jsonl").write_bytes(damaged)
    transcript = transcript_of(tmp_path / "chat.jsonl")
    assert [bad.line for bad in transcript.problems] == [4]
    assert [message.native for message in transcript.conversations[0].messages] == HISTORY[:2]
    assert (tmp_path / "chat.jsonl").read_bytes() == damaged


def test_what_is_not_there_is_an_error(tmp_path):
    """And is not made by asking for it."""
    with pytest.raises(LogError, match="There is no conversation"):
        transcript_of(f"sqlite:///{tmp_path}/chats.db#chat")
    with pytest.raises(LogError, match="cannot be read"):
        transcript_of(tmp_path / "chat.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_what_is_lost_with_a_damaged_record_is_counted(tmp_path):
    """A reader learns that the rest of the conversation is missing, not one line of it (R37)."""
    path = tmp_path / "chat.jsonl"
    begun(path).close()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], lines[2].replace(b"ls", b"xx"), *lines[3:]]))
    transcript = transcript_of(path)
    assert [len(recorded.entries) for recorded in transcript] == [1]
    (bad,) = transcript.problems
    assert bad.reason == f"damaged or incomplete, and with it {len(lines) - 3} later records that were made on it"
