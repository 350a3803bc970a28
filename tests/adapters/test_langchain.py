"""LangChain through the story, and its messages there and back."""

import copy
from types import SimpleNamespace

import pytest

import redline
from redline.testing import fake_provider
from redline.values import ToolCall
from tests.adapters.story import (
    POLICY,
    QUESTIONS,
    REPLIES,
    REQUESTS_OF_FIRST_TURN,
    AdapterStory,
    BoundReasoningStory,
    bash,
    calls,
    needs,
    problems,
    read_file,
    results,
    struck_calls,
)

pytestmark = needs("langchain")


class TestLangChain(BoundReasoningStory, AdapterStory):
    agent = "langchain_agent"
    ways = tuple(
        (format, mode) for format in ("anthropic", "openai_chat", "openai_responses") for mode in ("sync", "async", "stream")
    )

    def test_a_rewind(self, tmp_path):
        """Time travel: what lies behind it is not sent, strikes that lost their ground are lifted, and all is legal."""
        with fake_provider(REPLIES) as provider:
            self.run(self.scene(provider, tmp_path, QUESTIONS, ("anthropic", "rewind")))
        assert provider.statuses == [200] * len(REPLIES)
        assert problems(provider, "anthropic") == []
        before, after = (provider.exchanges[number].body for number in (REQUESTS_OF_FIRST_TURN - 1, REQUESTS_OF_FIRST_TURN))
        assert {"call_2", "call_3"} <= set(struck_calls(before, "anthropic"))
        assert list(results(after, "anthropic")) == ["call_1", "call_2", "call_3"]
        assert {"call_2", "call_3"}.isdisjoint(struck_calls(after, "anthropic"))


def call_of(id, command="make"):
    return {"type": "tool_call", "id": id, "name": "bash", "args": {"command": command}}


def shapes():
    """Messages as the integrations make them, and as people write them."""
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

    use = {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "make"}, "caller": {"type": "direct"}}
    thinking = [{"type": "thinking", "thinking": "Hm.", "signature": "x"}, {"type": "redacted_thinking", "data": "y"}]
    item = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "bash", "arguments": '{"command":"make"}'}
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    return [
        HumanMessage("hi"),
        HumanMessage([{"type": "text", "text": "hi"}]),
        HumanMessage([{"type": "text", "text": "see"}, picture, {"type": "image", "base64": "aGk=", "mime_type": "image/png"}]),
        HumanMessage([{"type": "file", "file_id": "f1"}, "and words"]),
        SystemMessage("Be brief."),
        AIMessage("ok"),
        AIMessage("", tool_calls=[call_of("c1"), call_of("c2")]),
        AIMessage([*thinking, {"type": "text", "text": "So."}, use], tool_calls=[call_of("c1")]),
        AIMessage([{"type": "reasoning", "id": "rs_1", "summary": []}, item], tool_calls=[call_of("c1")]),
        AIMessage(
            "", invalid_tool_calls=[{"type": "invalid_tool_call", "id": "c1", "name": "bash", "args": "{", "error": "e"}]
        ),
        ToolMessage("done", tool_call_id="c1", name="bash", artifact={"kept": True}),
        ToolMessage("broken", tool_call_id="c1", status="error"),
        ToolMessage([{"type": "text", "text": "a"}, picture], tool_call_id="c1"),
    ]


@pytest.mark.parametrize("number", range(13))
def test_there_and_back_nothing_is_lost(number):
    """A message that is read and written back unchanged says the same, and is of the format it is read as."""
    from redline.adapters.langchain import _mapping

    message = shapes()[number]
    (written,) = _mapping.write(message, _mapping.read(message))
    assert written.content == message.content or written.content == message.text
    assert (written.model_dump() | {"content": ""}) == (message.model_dump() | {"content": ""})
    redline.Editor().edit([{"role": "user", "content": "hi"}, _mapping.read(message)], format="ai_sdk")


def test_a_changed_input_is_changed_wherever_it_is_said():
    """A call is in `tool_calls`, and with Anthropic in the content as well."""
    from redline.adapters.langchain import _mapping

    message = shapes()[7]
    before, payload = copy.deepcopy(message), _mapping.read(message)
    payload["content"][-1]["input"] = {"command": "…"}
    (written,) = _mapping.write(message, payload)
    assert written.tool_calls[0]["args"] == {"command": "…"}
    assert written.content[-1]["input"] == {"command": "…"}
    assert written.content[:-1] == message.content[:-1]
    assert message == before


@pytest.mark.parametrize("strategy", ["drop", "strip", "answer"])
def test_an_open_call_is_repaired_in_what_is_sent(strategy):
    """Of two calls one never got its result: it goes from content and `tool_calls`, or is answered; the state stays."""
    from langchain.agents.middleware import ModelRequest, ModelResponse
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    from redline.adapters.langchain import RedlineMiddleware

    uses = [{"type": "tool_use", "id": id, "name": "bash", "input": {"command": "make"}} for id in ("c1", "c2")]
    both = AIMessage([{"type": "text", "text": "I look."}, *uses], tool_calls=[call_of("c1"), call_of("c2")])
    done = ToolMessage([{"type": "text", "text": "done"}, {"type": "other"}], tool_call_id="c1", name="bash")
    messages = [HumanMessage("Build it."), both, done, HumanMessage("Go on.")]
    before, sent = copy.deepcopy(messages), []

    def handler(request):
        sent.extend(request.messages)
        return ModelResponse(result=[AIMessage("ok")])

    request = ModelRequest(
        model=SimpleNamespace(model_name="claude-sonnet-4-6"),
        system_prompt=None,
        messages=messages,
        tool_choice=None,
        tools=[],
        response_format=None,
        state={"messages": messages},
        runtime=None,
    )
    RedlineMiddleware(policy=redline.Policy(strategy=strategy)).wrap_model_call(request, handler)
    calls = [call["id"] for message in sent if isinstance(message, AIMessage) for call in message.tool_calls]
    blocks = [block["id"] for message in sent if isinstance(message, AIMessage) for block in message.content if "id" in block]
    answers = [message.tool_call_id for message in sent if isinstance(message, ToolMessage)]
    assert calls == blocks == sorted(answers) == {"drop": [], "strip": ["c1"], "answer": ["c1", "c2"]}[strategy]
    assert (sent[0] is messages[0], sent[-1] is messages[-1]) == (True, True)
    assert messages == before


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("format", ["openai_chat", "anthropic"])
def test_interrupts_checkpoints_retries_and_structured_output_go_on_as_without(format, streams):
    """Class 7: stopped for an approval, resumed from its checkpoint with an edited call, an answer in a shape, wrong at first:
    the same bytes with Redline as without."""
    from langchain.agents import create_agent
    from langchain.agents.middleware import HumanInTheLoopMiddleware, ModelRetryMiddleware
    from langchain.agents.structured_output import ToolStrategy
    from langchain_anthropic import ChatAnthropic
    from langchain_openai import ChatOpenAI
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command
    from pydantic import BaseModel

    from redline.adapters.langchain import RedlineMiddleware

    class Total(BaseModel):
        """The total of the orders."""

        total: int

    def answer(url, middleware):
        address = {"base_url": f"{url}/v1" if format == "openai_chat" else url, "api_key": "none", "max_retries": 0}
        model = ChatOpenAI(model="gpt-5", **address) if format == "openai_chat" else ChatAnthropic(model=CLAUDE, **address)
        saver, thread = InMemorySaver(), {"configurable": {"thread_id": "t1"}}
        asked = {"messages": [("user", "Clean up.")]}
        edited = {"type": "edit", "edited_action": {"name": "bash", "args": {"command": "make"}}}
        for given in (asked, Command(resume={"decisions": [edited]})):
            kept = [HumanInTheLoopMiddleware({"bash": True}), ModelRetryMiddleware(max_retries=1, initial_delay=0), *middleware]
            agent = create_agent(
                model, [read_file, bash], middleware=kept, checkpointer=saver, response_format=ToolStrategy(Total)
            )
            if not streams:
                agent.invoke(given, thread)
            else:
                assert list(agent.stream(given, thread, stream_mode="messages"))
        return dict(agent.get_state(thread).values["structured_response"])

    bodies = []
    for middleware in ((), (RedlineMiddleware(policy=POLICY),)):
        with fake_provider(APPROVED) as provider:
            assert answer(provider.url, middleware) == {"total": 3}
        assert provider.statuses == [200] * len(APPROVED)
        bodies.append([exchange.body for exchange in provider.exchanges])
    assert bodies[0] == bodies[1]


CLAUDE = "claude-sonnet-4-6"
APPROVED = [
    calls(("c1", "read_file", "a.py"), ("c2", "bash", "rm a.py"), ("c3", "read_file", "b.py")),
    ("assistant", (ToolCall("c4", "Total", {"total": "many"}),)),
    ("assistant", (ToolCall("c5", "Total", {"total": 3}),)),
]
