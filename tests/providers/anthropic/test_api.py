"""Bodies of Anthropic's Messages API."""

import json

import pytest

from redline.providers.anthropic.api import AnthropicApi

SAID = {"role": "user", "content": "Hello."}
BILLING = {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.325.abc; cc_entrypoint=cli; cc_prev_req=1;"}
MARK = {"type": "ephemeral"}


def read(**fields):
    return AnthropicApi().read(json.dumps({"model": "claude-opus-5", "messages": [SAID], **fields}).encode(), "/v1/messages")


def test_model_and_stream():
    """They are fields of the body."""
    assert (read().model, read().is_streamed, read(stream=True).is_streamed) == ("claude-opus-5", False, True)


def test_the_preamble_is_what_the_cache_key_holds():
    """System, tools, choice of tool and thinking; not temperature or limits."""
    tools = [{"name": "read", "input_schema": {"properties": {"cache_control": {"type": "string"}}}}]
    held = {"system": "Be brief.", "tools": tools, "tool_choice": {"type": "auto"}, "thinking": {"type": "enabled"}}
    assert read(**held, temperature=1, max_tokens=5).preamble == held


def test_what_clients_move_is_no_part_of_the_preamble():
    """Cache marks, and the block with which Claude Code bills, which is new with every request."""
    tool, text = {"name": "read"}, {"type": "text", "text": "Be brief."}
    marked = read(system=[BILLING, {**text, "cache_control": MARK}], tools=[{**tool, "cache_control": MARK}])
    assert marked.preamble == {"system": [text], "tools": [tool]}
    assert marked.untouchable == ""
    assert read(system=f"{BILLING['text']}\nBe brief.").preamble == {"system": "Be brief."}


def test_a_signed_body_is_untouchable():
    """Where `cch=` is in the billing block, it hashes the body; in the user's words it does nothing."""
    signed = {**BILLING, "text": f"{BILLING['text']} cch=0a1b2;"}
    assert "cch=" in read(system=[signed, {"type": "text", "text": "Be brief."}]).untouchable
    assert "cch=" in read(system=signed["text"]).untouchable
    assert read(messages=[{"role": "user", "content": "What is cch=?"}], system="About cch=").untouchable == ""


def test_a_thread_is_untouchable():
    """Only new messages are sent, the service keeps the others."""
    assert "thread" in read(thread={"type": "continue", "previous_message_id": "msg_1"}).untouchable
    assert read(thread={"type": "start"}).untouchable == ""


@pytest.mark.parametrize(
    ("user_id", "session"),
    [
        (json.dumps({"device_id": "d", "account_uuid": "", "session_id": "5f-1"}), "5f-1"),
        ("user_0a_account__session_5f-1", "5f-1"),
        ("someone", ""),
        ("[1]", ""),
        (7, ""),
        (None, ""),
    ],
)
def test_the_session_in_the_metadata(user_id, session):
    """Claude Code writes it into the user's id, as JSON or at its end."""
    assert read(metadata={"user_id": user_id}).session == session


def test_the_lifetime_that_the_client_asked_for():
    """The longest in system, tools and the last messages; a tool's input is not a mark."""
    hour, minutes = {**MARK, "ttl": "1h"}, {**MARK, "ttl": "5m"}
    block = {"type": "text", "text": "Hello."}
    assert read(system=[{**block, "cache_control": MARK}]).lifetime == ""
    assert read(messages=[{"role": "user", "content": [{**block, "cache_control": minutes}]}]).lifetime == "5m"
    both = read(system=[{**block, "cache_control": hour}], tools=[{"name": "a", "cache_control": minutes}])
    assert both.lifetime == "1h"
    assert read(cache_control=hour).lifetime == "1h"
    call = {"type": "tool_use", "id": "a", "name": "set", "input": {"ttl": "1h", "of": "cache_control"}}
    assert read(messages=[SAID, {"role": "assistant", "content": [call]}]).lifetime == ""
