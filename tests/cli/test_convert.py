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
