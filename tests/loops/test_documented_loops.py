"""The loops in the documents, run as they are printed: whole and streamed, killed and resumed."""

import re
from pathlib import Path

import pytest
from anthropic.types import Message
from anthropic.types import Usage as AnthropicUsage

import redline
from tests.providers.answered import BODIES, SENDABLE, USAGES, as_object

PAGE = Path(__file__).resolve().parents[2] / "docs" / "loops.md"

pytestmark = pytest.mark.skipif(
    not hasattr(redline.Conversation, "add_response"), reason="Conversation.add_response and Request.arguments are to come"
)


def test_every_loop_on_the_page_runs(tmp_path, monkeypatch, capsys):
    """In order, as a reader would try them; streams show what the model says as it comes (R44)."""
    monkeypatch.chdir(tmp_path)
    scope = {"__name__": "loops"}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), scope)
    assert capsys.readouterr().out.count("The total is None.") == 5


@pytest.mark.parametrize("format", BODIES)
def test_a_response_is_added_with_its_usage(format, tmp_path):
    """As the SDK returned it; the index of its last message is given back, and all of it is on disk (R34)."""
    with redline.open(tmp_path / "chat.jsonl", model=as_model(format), format=format) as talk:
        talk.add(asked(format))
        last = talk.add_response(as_object(format))
    with redline.open(tmp_path / "chat.jsonl", model=as_model(format), format=format) as talk:
        assert tuple(talk.all_messages[1:]) == SENDABLE[format]
        assert last == len(talk.all_messages) - 1
        assert talk.check_tokens() == USAGES[format].input_tokens + USAGES[format].output_tokens


@pytest.mark.parametrize("format", BODIES)
def test_a_request_gives_what_the_sdk_takes(format):
    """Model, system prompt, tools and messages in their places, and what is passed on (R34)."""
    tool = {"name": "read", "description": "Shows a file.", "parameters": {"type": "object", "properties": {}}}
    talk = redline.Conversation(model=as_model(format), format=format, system="Be brief.", tools=[tool])
    talk.add(asked(format))
    given = talk.request().arguments(temperature=0)
    assert given["model"] == as_model(format)
    assert "Be brief." in str(given)
    assert "Shows a file." in str(given)
    assert (given["config"] if format == "gemini" else given)["temperature"] == 0


def test_the_token_limit_fires_on_anthropics_own_numbers():
    """What was cached counts, as numbers, as a usage object, and in a response (R15)."""
    usage = AnthropicUsage(input_tokens=4, output_tokens=1, cache_read_input_tokens=51_000)
    answer = Message.model_validate({**BODIES["anthropic"], "usage": usage})
    for report in (
        lambda talk: talk.record_usage(input_tokens=4, cache_read_tokens=51_000),
        lambda talk: talk.record_usage(usage),
        lambda talk: talk.add_response(answer),
    ):
        told = []
        talk = redline.Conversation(model="claude-sonnet-4-6", token_limit=50_000)
        talk.on_token_limit(lambda used, limit, told=told: told.append((used, limit)))
        talk.add(asked("anthropic"))
        report(talk)
        talk.check_tokens()
        assert len(told) == 1


def as_model(format):
    return BODIES[format].get("model") or BODIES[format]["modelVersion"]


def asked(format):
    return {"role": "user", "parts": [{"text": "Hi."}]} if format == "gemini" else {"role": "user", "content": "Hi."}
