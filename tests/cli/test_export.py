import json
import stat

import pytest

from redline import FORMATS, Conversation, check, read_transcript
from redline.log.opening import open_log
from redline.testing import asks, conversation, says
from tests.cli.run import redline
from tests.cli.sample import write_session

KEY = "sk-ant-api03-" + "aB3d" * 12
HISTORY = conversation(
    "anthropic",
    [
        says("user", "fix it, 请"),
        *asks("bash", {"command": f"export K={KEY}", "api_key": "hunter2"}, f"K={KEY}"),
        says("assistant", "done"),
    ],
)


def write_log(address, messages=HISTORY):
    log = open_log(address)
    talk = Conversation(messages, log=log)
    log.close()
    return talk


@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_a_log_is_exported_as_it_was_said(tmp_path, kind):
    """The visible messages, as a list that can be read again."""
    address = tmp_path / "chat.jsonl" if kind == "jsonl" else f"sqlite:///{tmp_path / 'chats.db'}#chat"
    write_log(address)
    done = redline("export", address)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == HISTORY
    assert "请" in done.stdout


def test_what_is_not_visible_is_not_exported(tmp_path):
    """A view that was cut stays cut."""
    log = open_log(tmp_path / "chat.jsonl")
    talk = Conversation(HISTORY, log=log)
    talk.process({"operation": "truncate", "truncate": {"keep_last": 1}})
    log.close()
    exported = json.loads(redline("export", tmp_path / "chat.jsonl").stdout)
    assert exported[-1:] == HISTORY[-1:]
    assert not [message for message in exported if message in HISTORY[:-1]]


def test_a_session_file_is_exported_without_interrupted_calls(tmp_path):
    """As messages that its provider takes; the file is not touched."""
    file = write_session(tmp_path / "s.jsonl", is_open=True)
    before = file.read_bytes()
    messages = json.loads(redline("export", file).stdout)
    assert check(messages, format="anthropic") == []
    assert len(messages) == 7
    assert file.read_bytes() == before


@pytest.mark.parametrize("target", FORMATS)
def test_another_format_is_written(tmp_path, target):
    """What is exported is a session file that Redline reads."""
    write_log(tmp_path / "chat.jsonl")
    done = redline("export", tmp_path / "chat.jsonl", "--to", target, "--write", tmp_path / "out.json")
    assert (done.returncode, done.stdout) == (0, "")
    (recorded,) = read_transcript(tmp_path / "out.json")
    assert recorded.format == target
    assert check([message.native for message in recorded.messages], format=target) == []


@pytest.mark.parametrize("target", [None, *FORMATS])
def test_secrets_are_replaced_if_asked(tmp_path, target):
    """In every format, with the shape kept; without the option they stay."""
    write_log(tmp_path / "chat.jsonl")
    options = ["--to", target] if target else []
    plain, redacted = (redline("export", tmp_path / "chat.jsonl", *options, *more).stdout for more in ([], ["--redact"]))
    assert KEY in plain
    assert "hunter2" in plain
    assert KEY not in redacted
    assert "hunter2" not in redacted
    assert "[redacted Anthropic key]" in redacted
    assert shape(json.loads(redacted)) == shape(json.loads(plain))


def test_a_system_prompt_is_exported_beside_the_messages(tmp_path):
    """Where the format holds it apart; secrets in it are replaced too."""
    body = {"system": f"Use {KEY}.", "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]}
    (tmp_path / "body.json").write_text(json.dumps(body))
    assert json.loads(redline("export", tmp_path / "body.json", "--to", "anthropic").stdout) == body
    chat = json.loads(redline("export", tmp_path / "body.json", "--to", "openai_chat", "--redact").stdout)
    assert chat[0] == {"role": "system", "content": "Use [redacted Anthropic key]."}


def test_a_file_is_made_for_its_owner_only(tmp_path):
    """What is there is never written over, the log itself above all."""
    write_log(tmp_path / "chat.jsonl")
    before = (tmp_path / "chat.jsonl").read_bytes()
    out = tmp_path / "out.json"
    redline("export", tmp_path / "chat.jsonl", "--write", out)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert json.loads(out.read_bytes()) == HISTORY
    for taken in (out, tmp_path / "chat.jsonl"):
        done = redline("export", tmp_path / "chat.jsonl", "--write", taken)
        assert (done.returncode, "left as it is" in done.stderr) == (2, True)
    assert (tmp_path / "chat.jsonl").read_bytes() == before


@pytest.mark.parametrize("address", ["missing.jsonl", "sqlite:///missing.db#chat", "ftp://x"])
def test_what_is_not_there_is_an_error(tmp_path, address, monkeypatch):
    """In one line, and nothing is made."""
    monkeypatch.chdir(tmp_path)
    done = redline("export", address)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert list(tmp_path.iterdir()) == []


def test_several_are_exported_into_lines(tmp_path):
    """One a line, which is a file that redline reads again (R39)."""
    for name in ("a", "b"):
        write_log(f"sqlite:///{tmp_path}/chats.db#{name}")
    done = redline("export", tmp_path / "chats.db", "--write", tmp_path / "out.jsonl")
    assert (done.returncode, done.stderr) == (0, "")
    assert [[message.native for message in one.messages] for one in read_transcript(tmp_path / "out.jsonl")] == [HISTORY] * 2


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    """It says where."""
    write_log(tmp_path / "chat.jsonl")
    done = redline("export", tmp_path / "chat.jsonl", "--write", tmp_path / "no" / "out.json")
    assert (done.returncode, "cannot be written" in done.stderr) == (2, True)


def test_text_that_is_no_unicode_is_escaped(tmp_path):
    """It comes back as it was."""
    odd = [{"role": "user", "content": "\ud83d 请"}]
    write_log(tmp_path / "chat.jsonl", odd)
    assert json.loads(redline("export", tmp_path / "chat.jsonl").stdout) == odd


def shape(value):
    match value:
        case dict():
            return {name: shape(one) for name, one in value.items()}
        case list():
            return [shape(one) for one in value]
    return type(value).__name__
