import itertools
import json

import pytest

import redline
from redline import Conversation, LogError, ValidationError, check
from redline.conversation.opening import is_foreign
from redline.record import codec
from redline.testing import asks, conversation, says
from tests.cli.sample import write_session
from tests.corpus import CORPUS, corpus_path, needs_corpus

HI = {"role": "user", "content": "hi"}


def test_conversation_is_there_again(tmp_path):
    """What was added is there when the log is opened again, in a file or in a database."""
    for address in (tmp_path / "chat.jsonl", f"sqlite:///{tmp_path}/chats.db#first"):
        redline.open(address).add(HI)
        again = redline.open(address)
        again.add({"role": "assistant", "content": "hello"})
        assert [message["content"] for message in redline.open(address).messages] == ["hi", "hello"]


def test_resume_sends_the_same_bytes(tmp_path):
    """After a restart the request is the very same, strikes included."""
    path = write_session(tmp_path / "session.jsonl")
    talk = redline.open(path, project_root="/p")
    first = talk.request(now=2e12, rules=["masked_results", "stale_terminal"])
    assert redline.open(path, project_root="/p").request(now=2e12, rules=[]).body == first.body


def test_session_of_another_agent_is_continued_beside_it(tmp_path):
    """The session file is not touched; the log beside it names its origin and takes what is said from now on."""
    path = write_session(tmp_path / "session.jsonl", is_open=True)
    before = path.read_bytes()
    talk = redline.open(path)
    talk.add({"role": "user", "content": "go on"})
    assert path.read_bytes() == before
    again = redline.open(path)
    assert again.origin == str(path)
    assert (len(again.all_messages), again.format) == (9, "anthropic")
    assert check(again.request(now=0).messages, format="anthropic") == []


@pytest.mark.parametrize("kept", [0, 30, 300])
def test_session_whose_taking_over_was_torn_is_taken_over_again(tmp_path, kept):
    """A process killed, or a disk that filled up, while a session was taken over leaves no empty conversation."""
    path = write_session(tmp_path / "session.jsonl")
    expected = redline.open(path).all_messages
    beside = tmp_path / "session.jsonl.redline.jsonl"
    beside.write_bytes(beside.read_bytes()[:kept])
    again = redline.open(path)
    assert expected
    assert (again.all_messages, again.origin) == (expected, str(path))


def test_conversation_goes_on_beside_damage(tmp_path):
    """With a damaged record in the middle a conversation opens with all before it, and goes on, time after time."""
    path = tmp_path / "chat.jsonl"
    talk = redline.open(path)
    for text in ("one", "two", "three", "four"):
        talk.add({"role": "user", "content": text})
    path.write_bytes(path.read_bytes().replace(b"three", b"thief"))
    expected = ["one", "two"]
    for text in ("five", "six"):
        again = redline.open(path)
        assert [message["content"] for message in again.messages] == expected
        again.add({"role": "user", "content": text})
        expected.append(text)
        assert [message["content"] for message in again.messages] == expected
        assert [branch.messages for branch in again.branches] == [len(expected)]


def test_which_conversation_of_several(tmp_path):
    """A number picks one, whichever was opened before; one that is not there is refused (R60)."""
    path = tmp_path / "many.json"
    path.write_text(json.dumps([{"messages": [HI]}, {"messages": [{"role": "user", "content": "second"}]}]))
    assert redline.open(path).messages == [HI]
    assert redline.open(path, number=1).messages[0]["content"] == "second"
    assert redline.open(path, number=0).messages == [HI]
    assert redline.open(path, number=1).messages[0]["content"] == "second"
    with pytest.raises(ValidationError, match="holds 2 conversations"):
        redline.open(path, number=2)
    with pytest.raises(ValidationError, match="number must be a whole number of at least 0, not '1'"):
        redline.open(path, number="1")


@pytest.mark.parametrize("address", [None, 5, b"chat.jsonl", {}, "a\0b"])
def test_what_is_no_address_is_refused(address):
    """With an error of Redline's own that says what an address is (R61)."""
    with pytest.raises(ValidationError, match=r"An address is a path, or a text such as|no file name can have"):
        redline.open(address)


def test_a_tilde_is_the_home_folder(tmp_path, monkeypatch):
    """As in a shell: no folder named ~ is made."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with redline.open("~/chat.jsonl") as talk:
        talk.add(HI)
        assert talk.name == str(tmp_path / "chat.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["chat.jsonl"]


def test_what_the_agent_has_said_since_is_taken_over(tmp_path):
    """A session that its agent went on with opens in its present state; what was said here stays (R60)."""
    path = tmp_path / "session.json"
    said = [{"role": "user", "content": str(number)} for number in range(4)]
    path.write_text(json.dumps(said[:2]))
    with redline.open(path) as talk:
        talk.request()
    path.write_text(json.dumps(said[:3]))
    with redline.open(path) as talk:
        assert talk.messages == said[:3]
        talk.add(HI)
    path.write_text(json.dumps(said))
    with redline.open(path) as talk:
        assert talk.messages == [*said[:3], HI]


def test_what_is_no_session_is_refused(tmp_path):
    """A file of something else is neither read nor written."""
    path = tmp_path / "notes.txt"
    path.write_text("hello\n")
    with pytest.raises((LogError, redline.TranscriptError)):
        redline.open(path)
    assert path.read_text() == "hello\n"


@needs_corpus
def test_real_earlier_states_replay_as_growth(tmp_path):
    """Each saved state of a session is the beginning of the next, in its messages and in the bytes that are sent."""
    rows = [json.loads(line) for line in (CORPUS / "SNAPSHOTS.jsonl").read_text(encoding="utf-8").splitlines()]
    assert rows
    for row in rows:
        whole = corpus_path(row).read_bytes()
        sizes = sorted(prefix["bytes"] for prefix in row["prefixes"])
        states = [_sent(tmp_path / "state.jsonl", whole[:size]) for size in (*sizes, len(whole))]
        for earlier, later in itertools.pairwise(states):
            settled = len(earlier) - 2  # the last exchange of a saved state may still have been going on
            assert later[:settled] == earlier[:settled], row["path"]


def _sent(path, content):
    """The bytes of each message that would be sent of a session saved in this state."""
    path.write_bytes(content)
    (conversation,) = redline.read_transcript(path)
    talk = redline.Conversation(format=conversation.format)
    for entry in conversation.entries:
        talk.add(entry.message.native, timestamp_ms=entry.timestamp_ms)
    return [message.native for message in talk.request(now=0, rules=[]).sent]


def test_log_with_a_record_beyond_a_reader_goes_on(tmp_path):
    """One record that cannot be read hides what was said on top of it, and the conversation goes on before it (R51)."""
    path = tmp_path / "chat.jsonl"
    talk = redline.open(path)
    for text in ("a", "b"):
        talk.add({"role": "user", "content": text})
    talk.close()
    with path.open("ab") as file:
        file.writelines(codec.sealed_lines([b'{"type":"strikes","strikes":"none","now":"noon"}'], first=2, parent=1))
    talk = redline.open(path)
    assert [message["content"] for message in talk.messages] == ["a", "b"]
    talk.add({"role": "user", "content": "c"})
    assert [message["content"] for message in redline.open(path).messages] == ["a", "b", "c"]


@pytest.mark.parametrize("zeros", [0, 5, 5000])
def test_torn_first_append_is_opened(tmp_path, zeros):
    """Whatever a crash left of the very first append, bytes or zeros, is Redline's own file and goes on (R57)."""
    path = tmp_path / "chat.jsonl"
    redline.open(path).add(HI)
    content = path.read_bytes()
    for length in range(0 if zeros else 1, len(content) - 1, 3):
        path.write_bytes(content[:length] + bytes(zeros))
        assert not is_foreign(path)
        talk = redline.open(path)
        talk.add({"role": "user", "content": "on"})
        talk.close()
        assert [message["content"] for message in redline.open(path).messages] == ["on"]
        path.with_name("chat.jsonl.torn").unlink(missing_ok=True)


def test_log_whose_header_is_damaged_is_opened(tmp_path):
    """A byte of the first line that changed does not make it another agent's file (R57)."""
    path = tmp_path / "chat.jsonl"
    redline.open(path).add(HI)
    path.write_bytes(path.read_bytes().replace(b'"redline-log"', b'"redline-lag"', 1))
    assert not is_foreign(path)
    assert [message["content"] for message in redline.open(path).messages] == ["hi"]


@pytest.mark.parametrize("stored", [None, "openai_chat"])
@pytest.mark.parametrize("format", ["anthropic", "gemini", "openai_responses"])
@pytest.mark.parametrize("address", ["chat.jsonl", "sqlite:///chats.db#x"])
def test_a_log_is_not_read_in_another_format(tmp_path, monkeypatch, address, format, stored):
    """Calls would be lost silently; the error names both formats, and without format= all is there (R16)."""
    monkeypatch.chdir(tmp_path)
    with redline.open(address, format=stored or "auto") as talk:
        for message in conversation("openai_chat", [says("user", "go"), *asks("ls", {}, "a.py", id="c1")]):
            talk.add(message)
    for call in (lambda: redline.open(address, format=format), lambda: Conversation(log=address, format=format)):
        with pytest.raises(ValidationError, match=f"not in {format}"):
            call()
    with redline.open(address, model="claude-sonnet-4-6") as talk:
        assert len(talk.request().messages) == 3
