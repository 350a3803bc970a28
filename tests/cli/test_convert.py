import json

import pytest

from redline import FORMATS, check
from tests.cli.run import redline
from tests.cli.sample import write_session


@pytest.mark.parametrize("target", FORMATS)
def test_body_in_the_target_format_is_legal(tmp_path, target):
    """The output is a request body that the other provider would take."""
    done = redline("convert", write_session(tmp_path / "s.jsonl"), "--to", target)
    body = json.loads(done.stdout)
    assert check(body[FORMATS[target].messages_field], format=target) == []


def test_unknown_conversation_is_refused(tmp_path):
    """A number that the file does not have is a clear error."""
    done = redline("convert", write_session(tmp_path / "s.jsonl"), "--to", "gemini", "--conversation", "4")
    assert (done.returncode, "holds 1 conversations" in done.stderr) == (2, True)


def test_what_is_lost_is_listed(tmp_path):
    """Signed reasoning does not travel, and the command says so."""
    path = tmp_path / "messages.json"
    thought = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    answer = {"role": "assistant", "content": [thought, {"type": "text", "text": "ok"}]}
    path.write_text(json.dumps([{"role": "user", "content": "hi"}, answer]))
    done = redline("convert", path, "--to", "openai_chat")
    assert (done.returncode, "not carried: message 1: signed reasoning" in done.stderr) == (0, True)


DUPLICATES = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "x", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "b", "content": "lost"}]},
]
"""A call without a result and a result without a call."""


@pytest.mark.parametrize("command", ["convert", "export"])
def test_what_a_provider_would_refuse_is_said(tmp_path, command):
    """The exit code is 1 exactly if the body that was written is illegal, and standard error says what is wrong (R20)."""
    path = tmp_path / "messages.json"
    path.write_text(json.dumps(DUPLICATES))
    for target in FORMATS:
        done = redline(command, path, "--to", target)
        body = json.loads(done.stdout)
        messages = body if isinstance(body, list) else body[FORMATS[target].messages_field]
        problems = check(messages, format=target) if messages else []
        assert done.returncode == int(bool(problems))
        assert ("would be refused" in done.stderr) == bool(problems)


def test_several_sessions_are_a_body_a_line(tmp_path):
    """And what cannot be read is named (R39)."""
    for name in ("a.jsonl", "b.jsonl"):
        write_session(tmp_path / name)
    (tmp_path / "c.jsonl").write_text("hello")
    done = redline("convert", tmp_path, "--to", "openai_chat")
    assert (done.returncode, "c.jsonl" in done.stderr) == (2, True)
    assert [len(json.loads(line)["messages"]) for line in done.stdout.splitlines()] == [8, 8]


def test_which_of_several_conversations_is_said(tmp_path):
    """Nobody should take the first for all."""
    path = tmp_path / "bodies.jsonl"
    path.write_text('{"messages": [{"role": "user", "content": "one"}]}\n{"messages": [{"role": "user", "content": "two"}]}\n')
    done = redline("convert", path, "--to", "anthropic", "--conversation", "1")
    assert ("two" in done.stdout, "one" in done.stdout) == (True, False)
    assert "conversation 1 of 2" in done.stderr
