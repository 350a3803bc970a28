"""What the system says goes where the provider takes it; what is stored beside a message is not sent."""

import json

import pytest

from redline import FORMATS, Conversation, check
from redline.errors import ValidationError
from redline.record.backends.memory import MemoryLog
from redline.testing import asks, conversation, fake_provider, says

TOOLS = [{"name": "ls", "description": "lists files"}]
SYSTEM = {"role": "system", "content": "Be brief."}


def words_of(system):
    """The words of a system prompt in any shape."""
    return system if isinstance(system, str) or system is None else "\n".join(block["text"] for block in system)


def said(request):
    """All that goes to the provider."""
    return f"{words_of(request.system)}\n{json.dumps(request.messages, ensure_ascii=False)}"


def begun(format, log=None, **settings):
    talk = Conversation(format=format, tools=TOOLS, log=log, **settings)
    for message in conversation(format, [says("user", "hi"), *asks("ls", {}, "files", id="call_1"), says("user", "thanks")]):
        talk.add(message)
    return talk


@pytest.mark.parametrize("format", sorted(FORMATS))
@pytest.mark.parametrize("keep", [True, False])
def test_clear_leaves_the_tools_in_every_format(format, keep):
    """`clear` with tools, then a request, a reopening and an export: never an error, and the description is sent (R5, R6)."""
    log = MemoryLog()
    talk = begun(format, log)
    talk.process({"operation": "clear", "clear": {"keep_system_message": keep}})
    for message in conversation(format, [says("user", "go on")]):
        talk.add(message)
    for one in (talk, Conversation(log=log, format=format, tools=TOOLS)):
        request = one.request()
        assert "- ls: lists files" in said(request)
        assert check(request.messages, format=format) == []
        assert len(one.messages) == 2


@pytest.mark.parametrize("format", sorted(FORMATS))
@pytest.mark.parametrize("position", [0, 2, -1])
def test_a_system_message_may_be_inserted_in_every_format(format, position):
    """OpenAI's shape is taken in any conversation, sent where the provider takes it, and the request is legal (R5, R6)."""
    talk = begun(format)
    talk.process({"operation": "insert", "insert": {"position": position, "messages": [SYSTEM]}})
    request = talk.request()
    assert "Be brief." in said(request)
    assert check(request.messages, format=format) == []
    assert len(talk.messages) == len(talk.all_messages)


@pytest.mark.parametrize("format", ["anthropic", "gemini"])
def test_what_is_said_first_is_the_systems(format):
    """A leading system message is the request's `system`, after the conversation's own, and never a message (R6)."""
    talk = Conversation(format=format, system="You are kind.")
    talk.add(SYSTEM)
    for message in conversation(format, [says("user", "hi")]):
        talk.add(message)
    request = talk.request()
    assert len(request.messages) == 1
    assert words_of(request.system).split() == ["You", "are", "kind.", "Be", "brief."]


@pytest.mark.parametrize(
    ("model", "is_lifted"),
    [
        (None, True),
        ("claude-3-5-sonnet-20241022", True),
        ("claude-sonnet-4-20250514", True),
        ("claude-sonnet-4-6", True),
        ("claude-opus-4-8-20260528", False),
        ("claude-haiku-5-5", False),
    ],
)
def test_older_models_take_the_systems_words_beside_the_messages_only(model, is_lifted):
    """Models before Claude 4.8 refuse the role in mid-history; newer ones take it where it was said (R6)."""
    talk = begun("anthropic", model=model)
    talk.add(SYSTEM)
    request = talk.request()
    assert ("Be brief." in str(words_of(request.system))) == is_lifted
    assert (request.messages[-1]["role"] == "system") != is_lifted
    settings = {"role": "system", "content": [], "output_config": {"effort": "medium"}}
    talk.add(settings)
    assert talk.request().messages[-1] == settings


def test_the_provider_takes_what_is_sent():
    """The fake provider refuses a system role in front and storage fields; a request holds neither (R6, R7)."""
    import anthropic

    with fake_provider() as provider:
        client = anthropic.Anthropic(base_url=provider.url, api_key="made-up", max_retries=0)
        talk = Conversation(model="claude-sonnet-4-6", system="You are kind.")
        talk.add(SYSTEM)
        talk.add({"role": "user", "content": "hi", "timestamp": 5, "uuid": "x", "messageStatus": "ok"})
        answer = client.messages.create(**talk.request().arguments(max_tokens=10))
        talk.add_response(answer)
        talk.add({"role": "assistant", **answer.model_dump(exclude={"role"})}, timestamp_ms=1)
        talk.add({"role": "user", "content": "go on", "timestamp": 7})
        client.messages.create(**talk.request().arguments(max_tokens=10))
    assert provider.statuses == [200, 200]


@pytest.mark.parametrize("format", sorted(FORMATS.keys() - {"ai_sdk"}))  # which no provider takes as it is
def test_what_is_stored_beside_a_message_is_not_sent(format):
    """`timestamp` in the documents' own shape and the like stay in the record (R7)."""
    stored = [
        {**message, "timestamp": 10 * number, "uuid": f"u{number}", "parentUuid": None}
        for number, message in enumerate(conversation(format, [says("user", "hi"), *asks("ls", {}, "files", id="call_1")]))
    ]
    talk = Conversation(stored, format=format)
    request = talk.request()
    assert talk.messages == stored
    assert b"uuid" not in request.body
    assert b"timestamp" not in request.body
    assert json.loads(request.body) == request.messages
    assert check(request.messages, format=format) == []
    assert {problem.law for problem in check(stored, format=format)} == {"known_fields"}


def test_what_the_conversation_lacks_is_given_to_arguments():
    """The model, the system prompt and the tools may be named where the SDK is called, but only once (R34)."""
    talk = Conversation(format="anthropic")
    talk.add({"role": "user", "content": "Hi."})
    given = talk.request().arguments(model="claude-sonnet-4-6", system="Be brief.", max_tokens=10)
    assert (given["model"], given["system"], given["max_tokens"]) == ("claude-sonnet-4-6", "Be brief.", 10)
    with pytest.raises(ValidationError, match="model is set by the conversation"):
        talk.request(model="claude-sonnet-4-6").arguments(model="claude-opus-4-8")
