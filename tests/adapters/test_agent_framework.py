"""Microsoft Agent Framework through the story, and its messages there and back."""

import asyncio
import copy
import json
from types import SimpleNamespace

import pytest

import redline
from redline.testing import fake_provider, says
from tests.adapters.story import POLICY, AdapterStory, BoundReasoningStory, Scene, bash, calls, needs, read_file

pytestmark = needs("agent_framework")


class TestAgentFramework(BoundReasoningStory, AdapterStory):
    agent = "agent_framework_agent"
    ways = tuple((format, mode) for format in ("anthropic", "openai_chat", "openai_responses") for mode in ("async", "stream"))


def message_of(role, *contents):
    from agent_framework import Message

    return Message(role, list(contents), additional_properties={"kept": True})


def call_of(id, arguments='{"command": "make"}'):
    from agent_framework import Content

    return Content.from_function_call(id, "bash", arguments=arguments)


def result_of(id, result, exception=None):
    from agent_framework import Content

    return Content.from_function_result(id, result=result, exception=exception)


def shapes():
    """Messages as models make them, and as people and tools write them."""
    from agent_framework import Content

    picture = Content.from_data(b"\xff\x00", "image/png")
    page = Content.from_uri("https://example.org/a.pdf", media_type="application/pdf")
    signed = Content.from_text_reasoning(text="Hm.", protected_data="x")
    item = Content.from_text_reasoning(id="rs_1", text="Hm.", protected_data="y")
    return [
        message_of("system", "Be brief."),
        message_of("user", "hi"),
        message_of("user", "see", picture, page),
        message_of("user"),
        message_of("assistant", "ok"),
        message_of("assistant", signed, "So.", call_of("c1"), call_of("c2", {"command": "make"})),
        message_of("assistant", Content.from_text_reasoning(protected_data="x"), call_of("c1", "{")),
        message_of("assistant", item, "", call_of("c1")),
        message_of("tool", result_of("c1", "done"), result_of("c2", "broken", "CommandError()")),
        message_of("tool", result_of("c1", {"lines": ["a"]}), result_of("c2", None)),
        message_of("tool", result_of("c1", [Content.from_text("a"), picture])),
    ]


@pytest.mark.parametrize("number", range(11))
def test_there_and_back_nothing_is_lost(number):
    """A message that is read and written back has the very contents it had, and is of the format it is read as."""
    from redline.adapters.agent_framework import _mapping

    message = shapes()[number]
    payload = _mapping.read(message)
    redline.Editor().edit([{"role": "user", "content": "hi"}, payload], format="ai_sdk")
    if message.contents:  # of nothing, something is said in its place
        (written,) = _mapping.write(message, payload)
        assert written.to_dict() == message.to_dict()
        assert all(one is other for one, other in zip(written.contents, message.contents, strict=True))


def test_a_message_that_was_stored_is_the_same():
    """What is stored says of a failure only that it was one; a message is recognised by the rest."""
    from agent_framework import Message

    from redline.adapters.agent_framework import _mapping

    for message in shapes():
        assert _mapping.read(Message.from_dict(message.to_dict())) == _mapping.read(message)


def test_a_strike_changes_a_copy():
    """A result is said in two places, and both are struck; its pictures, and the message that was given, stay."""
    from redline.adapters.agent_framework import _mapping

    message = shapes()[10]
    payload = _mapping.read(message)
    payload["content"][0]["output"]["value"][0]["text"] = "…"
    (written,) = _mapping.write(message, payload)
    result = written.contents[0]
    assert (result.result, result.items[0].text) == ("…", "…")
    assert result.items[1] is message.contents[0].items[1]
    assert (message.contents[0].result, message.contents[0].items[0].text) == ("a", "a")
    assert written.additional_properties == message.additional_properties
    assert written.additional_properties is not message.additional_properties


@pytest.mark.parametrize("number", [5, 6])
def test_a_changed_call_keeps_its_shape(number):
    """Arguments may be JSON or an object."""
    from redline.adapters.agent_framework import _mapping

    message = shapes()[number]
    payload = _mapping.read(message)
    payload["content"][-1]["input"] = {"command": "…"}
    (written,) = _mapping.write(message, payload)
    assert written.contents[-1].parse_arguments() == {"command": "…"}
    assert type(written.contents[-1].arguments) is type(message.contents[-1].arguments)
    assert written.contents[0] is message.contents[0]


def context_of(messages, **fields):
    from agent_framework import ChatContext

    session = SimpleNamespace(session_id="s")
    return ChatContext(SimpleNamespace(model="gpt-5"), messages, **{"options": {}, "session": session, **fields})


def sent_by(middleware, context, problem=None):
    """What the model is sent; it then answers, or refuses."""
    from agent_framework import ChatResponse

    async def model():
        if problem is not None:
            raise RuntimeError("the service failed") from problem
        context.result = ChatResponse(messages=[message_of("assistant", "ok")])

    asyncio.run(middleware.process(context, model))
    return context.messages


def interrupted():
    """Of two calls one never got its result."""
    both = message_of("assistant", "I look.", call_of("c1"), call_of("c2"))
    return [message_of("user", "Build it."), both, message_of("tool", result_of("c1", "done"))]


@pytest.mark.parametrize("strategy", ["drop", "strip", "answer"])
def test_an_open_call_is_repaired_in_what_is_sent(strategy):
    """It goes, or is answered; the messages that were handed over stay."""
    from redline.adapters.agent_framework import RedlineChatMiddleware

    messages = [*interrupted(), message_of("assistant", "Done."), message_of("user", "Go on.")]
    before = [copy.deepcopy(message.to_dict()) for message in messages]
    sent = sent_by(RedlineChatMiddleware(policy=redline.Policy(strategy=strategy)), context_of(messages))
    contents = [content for message in sent for content in message.contents]
    calls = [content.call_id for content in contents if content.type == "function_call"]
    answers = [content.call_id for content in contents if content.type == "function_result"]
    assert calls == sorted(answers) == {"drop": [], "strip": ["c1"], "answer": ["c1", "c2"]}[strategy]
    assert (sent[0] is messages[0], sent[-1] is messages[-1]) == (True, True)
    assert [message.to_dict() for message in messages] == before


class RefusedError(Exception):
    status_code = 400


def test_what_was_refused_is_left_alone():
    """The framework wraps the provider's error in one of its own."""
    from redline.adapters.agent_framework import RedlineChatMiddleware

    middleware = RedlineChatMiddleware(policy=redline.Policy(strategy="strip"))
    with pytest.raises(RuntimeError):
        sent_by(middleware, context_of(interrupted()), RefusedError())
    assert len(sent_by(middleware, context_of(interrupted()))[1].contents) == 3


def test_agents_of_one_session_are_told_apart_by_name():
    """The middleware is told the session only."""
    from redline.adapters.agent_framework import _settings_of

    context = context_of(interrupted())
    assert [_settings_of(context, name).session for name in ("", "clerk")] == ["s", "s|clerk"]


def test_usage_with_a_cache_is_counted_once():
    """Anthropic leaves what was cached out of the input, OpenAI does not."""
    from redline.adapters.agent_framework import _usage_of

    both = {"cache_read_input_token_count": 70, "cache_creation_input_token_count": 30, "output_token_count": 5}
    apart = {"input_token_count": 10, "anthropic.cache_read_input_tokens": 70, **both}
    for usage in (apart, {"input_token_count": 110, **both}):
        found = _usage_of(SimpleNamespace(usage_details=usage))
        assert (found.input_tokens, found.fresh_tokens, found.output_tokens) == (110, 10, 5)
    assert _usage_of(SimpleNamespace(usage_details=None)) is None


@pytest.mark.parametrize("options", [{"conversation_id": "resp_1"}, {}], ids=["named", "unnamed"])
def test_news_without_history_pass_as_they_are(options, caplog):
    """Where the service keeps the history, results come without their calls; it is told once."""
    from redline.adapters.agent_framework import RedlineChatMiddleware

    middleware, messages = RedlineChatMiddleware(), interrupted()[2:]
    for _ in range(2):
        assert sent_by(middleware, context_of(messages, options=options)) is messages
    assert ["new messages" in record.message for record in caplog.records] == [True]


@pytest.mark.filterwarnings("default")
def test_the_services_own_history_is_left_to_it(caplog):
    """OpenAI's Responses keep the history by default: the second call of a run holds the result alone."""
    from agent_framework import Agent, tool
    from agent_framework.openai import OpenAIChatClient
    from openai import AsyncOpenAI

    from redline.adapters.agent_framework import RedlineChatMiddleware
    from tests.adapters.story import calls, read_file

    async def ask(url):
        client = OpenAIChatClient(model="gpt-5", async_client=AsyncOpenAI(api_key="none", base_url=f"{url}/v1"))
        tools = [tool(read_file, approval_mode="never_require")]
        agent = Agent(client=client, tools=tools, middleware=[RedlineChatMiddleware()])
        await agent.run("Read it.", session=agent.create_session())

    with (
        fake_provider([calls(("call_1", "read_file", "orders.py"))]) as provider,
        pytest.raises(Exception, match="call_1"),  # this provider keeps no history, and misses the call
    ):
        asyncio.run(ask(provider.url))
    sent = provider.exchanges[1].body
    assert sent["previous_response_id"] == provider.exchanges[0].answer["id"]
    assert [item["type"] for item in sent["input"]] == ["function_call_output"]
    assert ["new messages" in record.message for record in caplog.records if record.name == "redline.adapters"] == [True]


def test_compaction_is_told_of_once(caplog):
    """Two that prune would fight."""
    from redline.adapters.agent_framework import RedlineChatMiddleware

    middleware = RedlineChatMiddleware()
    for _ in range(2):
        context = context_of(interrupted(), kwargs={"compaction_strategy": object()})
        sent_by(middleware, context)
    assert ["compaction" in record.message for record in caplog.records] == [True]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("format", ["anthropic", "openai_chat", "openai_responses"])
def test_approvals_and_structured_output_go_on_as_without(format, streams):
    """Class 7: stopped for an approval, resumed with the person's answer, an answer in a shape: the same bytes with Redline as
    without."""
    from agent_framework import Agent, AgentSession, InMemoryHistoryProvider, Message, tool
    from pydantic import BaseModel

    from redline.adapters.agent_framework import RedlineChatMiddleware
    from tests.adapters.agent_framework_agent import client_of

    class Total(BaseModel):
        total: int

    async def run(agent, given, session):
        options = {"response_format": Total} if format != "anthropic" else {}
        if not streams:
            return await agent.run(given, session=session, options=options)
        stream = agent.run(given, session=session, stream=True, options=options)
        async for _ in stream:
            pass
        return await stream.get_final_response()

    async def work(url, middleware):
        agent = Agent(
            client=client_of(Scene(url, "", (), format)),
            tools=[tool(bash, approval_mode="always_require"), tool(read_file, approval_mode="never_require")],
            default_options={"max_tokens": 4000} if format == "anthropic" else {"store": False},
            context_providers=[InMemoryHistoryProvider("kept")],
            middleware=list(middleware),
        )
        session = agent.create_session(session_id="s1")
        asked = await run(agent, "Clean up.", session)
        session = AgentSession.from_dict(session.to_dict())  # as in another process
        answers = [one.to_function_approval_response(True) for one in asked.user_input_requests]
        return (await run(agent, Message("user", answers), session)).text

    bodies = []
    for middleware in ((), (RedlineChatMiddleware(policy=POLICY),)):
        with fake_provider([APPROVED, says("assistant", '{"total": 3}')]) as provider:
            assert json.loads(asyncio.run(work(provider.url, middleware))) == {"total": 3}
        assert provider.statuses == [200, 200]
        bodies.append([exchange.body for exchange in provider.exchanges])
    assert bodies[0] == bodies[1]


APPROVED = calls(("c1", "read_file", "a.py"), ("c2", "bash", "rm a.py"), ("c3", "read_file", "b.py"))
