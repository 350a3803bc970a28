"""pydantic-ai through the story, and its messages there and back."""

import asyncio

import pytest

import redline
from redline.adapters.framework_editor import CallSettings
from redline.testing import fake_provider, says
from redline.values import ToolCall
from tests.adapters.story import POLICY, AdapterStory, BoundReasoningStory, bash, calls, needs, problems, read_file, results

pytestmark = needs("pydantic_ai")


class TestPydanticAi(BoundReasoningStory, AdapterStory):
    agent = "pydantic_ai_agent"
    ways = tuple(
        (format, mode) for format in ("anthropic", "openai_chat", "openai_responses") for mode in ("sync", "async", "stream")
    )


def shapes():
    """Messages as models make them, and as people write them."""
    from pydantic_ai import messages as said

    call = said.ToolCallPart("bash", '{"command": "make"}', "c1", id="fc_1", provider_name="openai")
    signed = {"signature": "x", "provider_name": "anthropic"}
    picture = said.ImageUrl("https://example.org/a.png")
    return [
        said.ModelRequest([said.SystemPromptPart("Be brief."), said.UserPromptPart("hi")], instructions="Think."),
        said.ModelRequest([said.UserPromptPart(["see", picture, said.BinaryContent(b"hi", media_type="image/png")])]),
        said.ModelRequest([said.SystemPromptPart("Be brief.")]),
        said.ModelResponse([said.TextPart("ok")]),
        said.ModelResponse([said.ThinkingPart("Hm.", **signed), said.TextPart("So."), call]),
        said.ModelResponse([said.ThinkingPart("", id="redacted_thinking", **signed), call]),
        said.ModelResponse([said.ThinkingPart("Hm.", id="rs_1", signature="y", provider_name="openai"), call]),
        said.ModelResponse([said.TextPart(""), said.ToolCallPart("bash", "{", "c1")]),
        said.ModelRequest([said.ToolReturnPart("bash", {"lines": ["a"]}, "c1"), said.UserPromptPart("and?")]),
        said.ModelRequest([said.ToolReturnPart("bash", "broken", "c1", outcome="failed")]),
        said.ModelRequest([said.ToolReturnPart("bash", ["a", picture], "c1", metadata={"kept": True})]),
    ]


@pytest.mark.parametrize("number", range(11))
def test_there_and_back_nothing_is_lost(number):
    """A message that is read and written back unchanged has the very parts it had, and is of the format it is read as."""
    from redline.adapters.pydantic_ai import _mapping

    message = shapes()[number]
    payload = _mapping.read(message)
    redline.Editor().edit([{"role": "user", "content": "hi"}, payload], format="anthropic")
    if number == 2:  # nothing in it is looked at
        return
    (written,) = _mapping.write(message, payload)
    assert written == message
    assert all(one is other for one, other in zip(written.parts, message.parts, strict=True))


def test_a_changed_call_is_no_longer_the_providers_copy():
    """With the id of its item, OpenAI would replay the call that it has stored."""
    from redline.adapters.pydantic_ai import _mapping

    message = shapes()[6]
    payload = _mapping.read(message)
    payload["content"][-1]["input"] = {"command": "…"}
    (written,) = _mapping.write(message, payload)
    assert written.parts[0] is message.parts[0]
    assert (written.parts[1].args, written.parts[1].id) == ({"command": "…"}, None)
    assert message.parts[1].id == "fc_1"


def test_what_is_left_out_takes_its_part_along():
    """Reasoning and calls that are not sent; parts that are not looked at stay."""
    from redline.adapters.pydantic_ai import _mapping

    message = shapes()[4]
    payload = _mapping.read(message)
    payload["content"] = payload["content"][1:2]
    (written,) = _mapping.write(message, payload)
    assert list(written.parts) == [message.parts[1]]


def test_an_answer_to_an_open_call_is_added_before_the_rest():
    """The repair may put a result beside those of the other calls; the framework's own parts stay what they are."""
    from redline.adapters.pydantic_ai import _mapping

    message = shapes()[8]
    payload = _mapping.read(message)
    payload["content"].insert(1, {"type": "tool_result", "tool_use_id": "c2", "content": "It was interrupted."})
    (written,) = _mapping.write(message, payload)
    assert [getattr(part, "tool_call_id", "") for part in written.parts] == ["c2", "c1", ""]
    assert list(written.parts[1:]) == list(message.parts)


def google(url):
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    return GoogleModel("gemini-3-pro", provider=GoogleProvider(api_key="none", base_url=url))


def anthropic(url):
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    return AnthropicModel("claude-sonnet-4-6", provider=AnthropicProvider(api_key="none", base_url=url))


def openai_chat(url):
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIChatModel("gpt-5", provider=OpenAIProvider(api_key="none", base_url=f"{url}/v1"))


FORMATS = {google: "gemini", anthropic: "anthropic", openai_chat: "openai_chat"}
THREE_CALLS = calls(("c1", "read_file", "a.py"), ("c2", "bash", "rm a.py"), ("c3", "read_file", "b.py"))


def approving_agent(model, *capabilities):
    """An agent whose commands need a person's approval; files are read without."""
    from pydantic_ai import Agent, DeferredToolRequests

    agent = Agent(model, output_type=[str, DeferredToolRequests], capabilities=capabilities)
    agent.tool_plain(read_file)
    agent.tool_plain(requires_approval=True)(bash)
    return agent


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("approves", [True, False])
@pytest.mark.parametrize("model_of", FORMATS, ids=FORMATS.values())
def test_approvals_keep_the_names_of_tools(model_of, approves, tmp_path):
    """R160: results from before and after an approval become one message, each with the name of its tool and what it said."""
    from pydantic_ai import DeferredToolResults, ModelMessagesTypeAdapter

    from redline.adapters.pydantic_ai import Redline

    with fake_provider([THREE_CALLS, says("assistant", "Done.")]) as provider:
        asked = approving_agent(model_of(provider.url), Redline(tmp_path)).run_sync("Clean up.")
        stored = asked.all_messages_json()  # the process ends here, and a person looks at it the next day
        granted = DeferredToolResults(approvals={call.tool_call_id: approves for call in asked.output.approvals})
        agent = approving_agent(model_of(provider.url), Redline(tmp_path))
        history = ModelMessagesTypeAdapter.validate_json(stored)
        answer = agent.run_sync(message_history=history, deferred_tool_results=granted)
    format = FORMATS[model_of]
    assert (answer.output, provider.statuses) == ("Done.", [200, 200])
    assert problems(provider, format) == []
    sent = results(provider.exchanges[-1].body, format)
    assert list(sent) == ["c1", "c2", "c3"]
    assert ("# a.py" in sent["c1"], "# b.py" in sent["c3"]) == (True, True)
    assert ("14 passed" in sent["c2"]) == approves
    if format == "gemini":
        parts = provider.exchanges[-1].body["contents"][-1]["parts"]
        assert [part["functionResponse"]["name"] for part in parts] == ["read_file", "bash", "read_file"]


@pytest.mark.filterwarnings("default")
def test_an_interrupted_call_is_answered_under_its_own_name():
    """R160: Gemini matches results to calls by name; the answer that the repair adds has the name of the tool."""
    from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, UserPromptPart

    from redline.adapters.pydantic_ai import Redline

    policy = redline.Policy(words=redline.EN, strategy="answer")
    history = [ModelRequest([UserPromptPart("hi")]), ModelResponse([ToolCallPart("bash", {"command": "make"}, "c1")])]
    call = Redline(policy=policy)._messages.edit([*history, ModelRequest([UserPromptPart("Go on.")])], CallSettings)
    added = [part for message in call.messages[2:] for part in message.parts if part.part_kind == "tool-return"]
    assert [(part.tool_name, part.tool_call_id) for part in added] == [("bash", "c1")]


@pytest.mark.filterwarnings("default")
def test_merged_results_are_the_frameworks_own_parts():
    """R160: a picture in a result, its metadata and its time are still there when the result moves to another message."""
    from pydantic_ai import messages as said

    from redline.adapters.pydantic_ai import Redline

    picture = said.ToolReturnPart("look", ["see", said.ImageUrl("https://example.org/a.png")], "c1", metadata={"kept": True})
    late = said.ToolReturnPart("bash", "done", "c2")
    asked = said.ModelResponse([said.ToolCallPart("look", {}, "c1"), said.ToolCallPart("bash", {}, "c2")])
    history = [said.ModelRequest([said.UserPromptPart("hi")]), asked, said.ModelRequest([picture]), said.ModelRequest([late])]
    call = Redline()._messages.edit(history, CallSettings)
    assert len(call.messages) == 3
    assert all(one is other for one, other in zip(call.messages[2].parts, [picture, late], strict=True))


def typed_agent(model, *capabilities):
    """An agent that must answer in a shape, refuses the first answer, and calls several tools at once."""
    from pydantic import BaseModel
    from pydantic_ai import Agent, ModelRetry

    class Total(BaseModel):
        total: int

    agent = Agent(model, output_type=Total, capabilities=capabilities, retries=3)
    agent.tool_plain(read_file)

    @agent.tool_plain
    def bash(command: str) -> str:
        if command == "make deploy":
            raise ModelRetry("Build first.")
        return "built"

    @agent.output_validator
    def is_positive(answer):
        if answer.total < 0:
            raise ModelRetry("A total is positive.")
        return answer

    return agent


FINAL = [("assistant", (ToolCall(f"f{n}", "final_result", {"total": total}),)) for n, total in enumerate(("many", -1, 3))]
RETRIES = [calls(("c1", "read_file", "a.py"), ("c2", "bash", "make deploy")), calls(("c3", "bash", "make")), *FINAL]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("model_of", [google, openai_chat], ids=FORMATS.get)
def test_retries_and_structured_output_go_on_as_without(model_of, streams):
    """Class 7: where nothing is struck, the provider is sent the same bytes with Redline as without it."""
    from redline.adapters.pydantic_ai import Redline

    async def answered(agent):
        if not streams:
            return (await agent.run("What is the total?")).output
        async with agent.run_stream("What is the total?") as run:
            return await run.get_output()

    bodies, answers = [], []
    for capabilities in ((), (Redline(policy=POLICY),)):
        with fake_provider([*RETRIES[:2], FINAL[-1]] if streams else RETRIES) as provider:  # streamed answers get no retries
            answers.append(asyncio.run(answered(typed_agent(model_of(provider.url), *capabilities))).total)
        assert set(provider.statuses) == {200}
        bodies.append([exchange.body for exchange in provider.exchanges])
    assert answers == [3, 3]
    assert bodies[0] == bodies[1]
