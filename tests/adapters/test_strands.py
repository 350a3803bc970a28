"""Strands through the story, and its messages there and back."""

import asyncio
import copy
from types import SimpleNamespace

import pytest

import redline
from redline.adapters.framework_editor import CallSettings
from redline.testing import fake_provider
from redline.testing.builders import says
from redline.values import ToolCall
from tests.adapters.story import (
    POLICY,
    QUESTIONS,
    REPLIES,
    AdapterStory,
    BoundReasoningStory,
    Scene,
    calls,
    needs,
    problems,
    read_file,
    results,
    struck_calls,
)

pytestmark = needs("strands")


class TestStrands(BoundReasoningStory, AdapterStory):
    agent = "strands_agent"
    ways = tuple(
        (format, mode) for format in ("anthropic", "openai_chat", "openai_responses") for mode in ("sync", "async", "stream")
    )

    def test_a_rewind(self, tmp_path):
        """A snapshot is loaded: what came after it is not sent, strikes that lost their ground are lifted, and all is legal."""
        with fake_provider([*REPLIES, says("assistant", "They were.")]) as provider:
            self.run(self.scene(provider, tmp_path, [*QUESTIONS, "Were they?"], ("anthropic", "rewind")))
        assert provider.statuses == [200] * (len(REPLIES) + 1)
        assert problems(provider, "anthropic") == []
        before, after = (exchange.body for exchange in provider.exchanges[-2:])
        assert {"call_3", "call_4"} <= set(struck_calls(before, "anthropic"))
        assert list(results(after, "anthropic")) == [id for id in results(before, "anthropic") if id != "call_11"]
        assert "call_3" in struck_calls(after, "anthropic")
        assert "call_4" not in struck_calls(after, "anthropic")


def call_of(id):
    return {"toolUse": {"toolUseId": id, "name": "bash", "input": {"command": "make"}, "reasoningSignature": "s"}}


def result_of(id, *content, status="success"):
    return {"toolResult": {"toolUseId": id, "status": status, "content": list(content)}}


def shapes():
    """Messages as models make them, and as people and tools write them."""
    picture = {"image": {"format": "png", "source": {"bytes": b"\xff\x00"}}}
    document = {"document": {"format": "pdf", "name": "a", "source": {"bytes": b"%PDF"}}}
    signed = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "x"}}}
    sealed = {"reasoningContent": {"redactedContent": b"\x00y"}}
    unsigned = {"reasoningContent": {"reasoningText": {"text": "Hm."}}}
    return [
        ("user", {"text": "hi"}, {"cachePoint": {"type": "default"}}),
        ("user", {"text": "see"}, picture, document),
        ("user", document),
        ("assistant", {"text": "ok"}),
        ("assistant", signed, sealed, {"text": "So."}, call_of("c1"), call_of("c2")),
        ("assistant", unsigned, {"text": ""}, call_of("c1")),
        ("user", result_of("c1", {"text": "done"}), result_of("c2", {"text": "broken"}, status="error")),
        ("user", result_of("c1", {"json": {"lines": ["a"]}})),
        ("user", result_of("c1", {"text": "a"}, picture, document), {"text": "and?"}),
        ("user", result_of("c1")),
    ]


def message_of(role, *content):
    return {"role": role, "content": list(content), "metadata": {"kept": True}}


@pytest.mark.parametrize("number", range(10))
def test_there_and_back_nothing_is_lost(number):
    """A message that is read and written back has the very blocks it had, and is of the format it is read as."""
    from redline.adapters.strands import _mapping

    message = message_of(*shapes()[number])
    payload = _mapping.read(message)
    redline.Editor().edit([{"role": "user", "content": "hi"}, payload], format="anthropic")
    (written,) = _mapping.write(message, payload)
    assert written == message
    assert all(one is other for one, other in zip(written["content"], message["content"], strict=True))


def test_a_strike_in_a_result_leaves_its_pictures():
    """Only the text of a result is written anew, with the rest of the message as it was."""
    from redline.adapters.strands import _mapping

    message = message_of(*shapes()[8])
    before, payload = copy.deepcopy(message), _mapping.read(message)
    payload["content"][0]["content"][0]["text"] = "…"
    (written,) = _mapping.write(message, payload)
    items = written["content"][0]["toolResult"]["content"]
    assert items[0] == {"text": "…"}
    assert items[1] is message["content"][0]["toolResult"]["content"][1]
    assert message == before


def context_of(messages, **model):
    from strands.middleware import InvokeModelContext

    config = {"model_id": "claude-sonnet-4-6"}
    return InvokeModelContext(
        agent=SimpleNamespace(session_id="s", agent_id="default", name="clerk"),
        messages=messages,
        system_prompt="Be brief.",
        tool_specs=[],
        tool_choice=None,
        invocation_state={},
        model=SimpleNamespace(**{"stateful": False, "get_config": lambda: config, **model}),
    )


def sent_by(plugin, context, problem=None):
    """What the model is sent; it then answers, or refuses."""
    from strands.middleware import ModelStopReason

    sent = []

    async def model(context):
        sent.extend(context.messages)
        if problem is not None:
            raise problem
        usage = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}
        answer = {"role": "assistant", "content": [{"text": "ok"}]}
        yield ModelStopReason(stop_reason="end_turn", message=answer, usage=usage, metrics={"latencyMs": 1})

    async def listen():
        return [event async for event in plugin._invoke(context, model)]

    asyncio.run(listen())
    return sent


def interrupted():
    """Of two calls one never got its result."""
    both = message_of("assistant", {"text": "I look."}, call_of("c1"), call_of("c2"))
    return [message_of("user", {"text": "Build it."}), both, message_of("user", result_of("c1", {"text": "done"}))]


@pytest.mark.parametrize("strategy", ["drop", "strip", "answer"])
def test_an_open_call_is_repaired_in_what_is_sent(strategy):
    """It goes, or is answered; the messages that were handed over stay."""
    from redline.adapters.strands import RedlineAgentPlugin

    messages = [*interrupted(), message_of("assistant", {"text": "Done."}), message_of("user", {"text": "Go on."})]
    before = copy.deepcopy(messages)
    sent = sent_by(RedlineAgentPlugin(policy=redline.Policy(strategy=strategy)), context_of(messages))
    blocks = [block for message in sent for block in message["content"]]
    calls = [block["toolUse"]["toolUseId"] for block in blocks if "toolUse" in block]
    answers = [block["toolResult"]["toolUseId"] for block in blocks if "toolResult" in block]
    assert calls == sorted(answers) == {"drop": [], "strip": ["c1"], "answer": ["c1", "c2"]}[strategy]
    assert (sent[0] is messages[0], sent[-1] is messages[-1]) == (True, True)
    assert messages == before


def test_a_history_that_the_service_keeps_is_passed_on():
    """A stateful model is sent what is new, to which the calls are missing."""
    from redline.adapters.strands import RedlineAgentPlugin

    messages = interrupted()[2:]
    sent = sent_by(RedlineAgentPlugin(), context_of(messages, stateful=True))
    assert [one is other for one, other in zip(sent, messages, strict=True)] == [True]


class RefusedError(Exception):
    """As botocore raises it."""

    response = {"ResponseMetadata": {"HTTPStatusCode": 400}}  # noqa: RUF012 - the shape of botocore's


def test_what_was_refused_is_left_alone():
    """Bedrock's errors hold the status that was answered in their response."""
    from redline.adapters.strands import RedlineAgentPlugin

    plugin = RedlineAgentPlugin(policy=redline.Policy(strategy="strip"))
    with pytest.raises(RefusedError):
        sent_by(plugin, context_of(interrupted()), RefusedError())
    assert sent_by(plugin, context_of(interrupted())) == interrupted()


def test_usage_with_a_cache_is_counted_once():
    """Anthropic leaves what was cached out of `inputTokens`, OpenAI does not."""
    from redline.adapters.strands import _usage_of

    apart = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 115, "cacheReadInputTokens": 70, "cacheWriteInputTokens": 30}
    within = {"inputTokens": 110, "outputTokens": 5, "totalTokens": 115, "cacheReadInputTokens": 100}
    assert (_usage_of(apart).input_tokens, _usage_of(apart).fresh_tokens) == (110, 10)
    assert (_usage_of(within).input_tokens, _usage_of(within).fresh_tokens) == (110, 10)
    assert _usage_of({"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}) is None


@pytest.mark.filterwarnings("default")
def test_the_sliding_window_is_told_of_once(caplog):
    """It is there by default, and drops messages for good."""
    from strands import Agent
    from strands.agent.conversation_manager import NullConversationManager
    from strands.models.anthropic import AnthropicModel

    from redline.adapters.strands import RedlineAgentPlugin

    model = AnthropicModel(client_args={"api_key": "none"}, model_id="claude-sonnet-4-6", max_tokens=99)
    plugin = RedlineAgentPlugin()
    Agent(model=model, plugins=[plugin], conversation_manager=NullConversationManager())
    assert not caplog.records
    for _ in range(2):
        Agent(model=model, plugins=[plugin])
    assert ["sliding window" in record.message for record in caplog.records] == [True]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("format", ["anthropic", "openai_chat"])
def test_interrupts_sessions_and_structured_output_go_on_as_without(format, tmp_path):
    """Class 7: stopped for an approval, resumed by another agent from the stored session, an answer in a shape: the same bytes
    with Redline as without."""
    from pydantic import BaseModel
    from strands import Agent, tool
    from strands.agent.conversation_manager import NullConversationManager
    from strands.session import FileSessionManager
    from strands.types.tools import ToolContext

    from redline.adapters.strands import RedlineAgentPlugin
    from tests.adapters.strands_agent import model_of

    class Total(BaseModel):
        """The total of the orders."""

        total: int

    @tool(context=True, name="bash")
    def shell(command: str, tool_context: ToolContext) -> str:
        """Run a command in the shell."""
        return "ran" if tool_context.interrupt("approval", reason=command) == "y" else "refused"

    def agent_of(url, folder, plugins):
        return Agent(
            model=model_of(Scene(url, str(folder), (), format)),
            tools=[shell, tool(read_file)],
            plugins=list(plugins),
            session_manager=FileSessionManager("s1", str(folder)),
            conversation_manager=NullConversationManager(),
            callback_handler=None,
        )

    bodies = []
    for folder, plugins in (("plain", ()), ("edited", (RedlineAgentPlugin(policy=POLICY),))):
        with fake_provider(APPROVED) as provider:
            asked = agent_of(provider.url, tmp_path / folder, plugins)("Clean up.")
            assert asked.stop_reason == "interrupt"
            answers = [{"interruptResponse": {"interruptId": one.id, "response": "y"}} for one in asked.interrupts]
            resumed = agent_of(provider.url, tmp_path / folder, plugins)
            assert resumed(answers, structured_output_model=Total).structured_output.total == 3
        assert provider.statuses == [200] * len(APPROVED)
        bodies.append([exchange.body for exchange in provider.exchanges])
    assert bodies[0] == bodies[1]


APPROVED = [
    calls(("c1", "read_file", "a.py"), ("c2", "bash", "rm a.py"), ("c3", "read_file", "b.py")),
    ("assistant", (ToolCall("c4", "Total", {"total": "many"}),)),
    ("assistant", (ToolCall("c5", "Total", {"total": 3}),)),
]


def test_a_merged_result_is_the_frameworks_own_part():
    """R160: a document in a result is still there when the result moves to the message of another result."""
    from redline.adapters.strands import RedlineAgentPlugin

    document = {"document": {"format": "pdf", "name": "a", "source": {"bytes": b"pdf"}}}
    uses = [{"toolUse": {"toolUseId": id, "name": "read_file", "input": {}}} for id in ("c1", "c2")]
    parts = [{"toolResult": {"toolUseId": id, "status": "success", "content": [document]}} for id in ("c1", "c2")]
    history = [
        {"role": "user", "content": [{"text": "hi"}]},
        {"role": "assistant", "content": uses},
        *({"role": "user", "content": [part]} for part in parts),
    ]
    call = RedlineAgentPlugin()._messages.edit(history, CallSettings)
    assert [message["role"] for message in call.messages] == ["user", "assistant", "user"]
    assert call.messages[2]["content"] == parts
