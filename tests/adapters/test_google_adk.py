"""Google ADK through the story, its contents there and back, and agents of one app at the same time."""

import asyncio
import contextlib
import copy
from types import SimpleNamespace

import pytest

import redline
from redline.record import JsonlLog
from redline.record.records import SessionNamed, UsageReported
from redline.testing import fake_provider
from redline.testing.builders import says
from redline.values import ToolCall
from tests.adapters.story import (
    POLICY,
    QUESTIONS,
    REPLIES,
    AdapterStory,
    BoundReasoningStory,
    bash,
    calls,
    needs,
    problems,
    read_file,
    results,
    struck_calls,
    tokens,
)

pytestmark = needs("google.adk")


class TestGoogleAdk(BoundReasoningStory, AdapterStory):
    agent = "google_adk_agent"
    ways = tuple((format, mode) for format in ("gemini", "anthropic") for mode in ("sync", "async", "stream"))

    def test_a_rewind(self, tmp_path):
        """What lies behind it is not sent, strikes that lost their ground are lifted, and all is legal."""
        with fake_provider([*REPLIES, says("assistant", "They were.")]) as provider:
            self.run(self.scene(provider, tmp_path, [*QUESTIONS, "Were they?"], ("gemini", "rewind")))
        assert provider.statuses == [200] * (len(REPLIES) + 1)
        assert problems(provider, "gemini") == []
        before, after = (exchange.body for exchange in provider.exchanges[-2:])
        assert {"call_3", "call_4"} <= set(struck_calls(before, "gemini"))
        assert list(results(after, "gemini")) == [id for id in results(before, "gemini") if id != "call_11"]
        assert "call_3" in struck_calls(after, "gemini")
        assert "call_4" not in struck_calls(after, "gemini")


def part(**fields):
    from google.genai import types

    return types.Part(**fields)


def content(role, *parts):
    from google.genai import types

    return types.Content(role=role, parts=list(parts))


def call_of(id):
    return part(function_call={"id": id, "name": "bash", "args": {"command": "make", "limit": None}})


def result_of(id, **response):
    return part(function_response={"id": id, "name": "bash", "response": response})


def shapes():
    """Contents as models make them, and as people and tools write them."""
    picture = {"mime_type": "image/png", "data": b"\xff\x00hi"}
    return [
        content("user", part(text="hi")),
        content("user", part(text="see"), part(inline_data=picture)),
        content("user", part(file_data={"file_uri": "gs://bucket/a.png", "mime_type": "image/png"})),
        content("model", part(text="Hm.", thought=True), part(text="So.", thought_signature=b"\xfe\x01")),
        content("model", part(text="", thought=True, thought_signature=b"sealed"), call_of("c1"), call_of("c2")),
        content("model", part(executable_code={"code": "1", "language": "PYTHON"})),
        content("user", result_of("c1", result="done"), result_of("c2", error="broken")),
        content("user", result_of("c1", lines=["a", None], more={"b": 1.5})),
        content("user", part(function_response={"name": "bash", "response": {}, "parts": [{"inline_data": picture}]})),
    ]


@pytest.mark.parametrize("number", range(9))
def test_there_and_back_nothing_is_lost(number):
    """A content that is read and written back has the very parts it had, a new one says the same, and both are Gemini's."""
    from redline.adapters.google_adk import _mapping

    said = shapes()[number]
    payload = _mapping.read(said)
    redline.Editor().edit([{"role": "user", "parts": [{"text": "hi"}]}, payload], format="gemini")
    (written,) = _mapping.write(said, payload)
    assert all(one is other for one, other in zip(written.parts, said.parts, strict=True))
    (composed,) = _mapping.write(None, payload)
    assert written == composed == said


def context_of(agent="clerk"):
    session = SimpleNamespace(app_name="shop", user_id="u", id="s", events=[])
    return SimpleNamespace(session=session, agent_name=agent, actions=object())


def request_of(contents, **fields):
    from google.adk.models.llm_request import LlmRequest

    return LlmRequest(model="gemini-3-pro", contents=contents, **fields)


def interrupted():
    """Of two calls one never got its result."""
    both = content("model", part(text="I look."), call_of("c1"), call_of("c2"))
    return [content("user", part(text="Build it.")), both, content("user", result_of("c1", result="done"))]


@pytest.mark.parametrize("strategy", ["drop", "strip", "answer"])
def test_an_open_call_is_repaired_in_what_is_sent(strategy):
    """It goes, or is answered; the contents that were handed over stay."""
    from redline.adapters.google_adk import RedlinePlugin

    contents = [*interrupted(), content("user", part(text="Go on."))]
    before, request = copy.deepcopy(contents), request_of(contents)
    plugin = RedlinePlugin(policy=redline.Policy(strategy=strategy))
    asyncio.run(plugin.before_model_callback(callback_context=context_of(), llm_request=request))
    parts = [one for content in request.contents for one in content.parts]
    calls = [one.function_call.id for one in parts if one.function_call]
    answers = [one.function_response.id for one in parts if one.function_response]
    assert calls == sorted(answers) == {"drop": [], "strip": ["c1"], "answer": ["c1", "c2"]}[strategy]
    assert request.contents[0] is contents[0]
    assert contents == before


def test_a_history_that_the_service_keeps_is_passed_on():
    """With the Interactions API only what is new is sent, though all contents are there."""
    from redline.adapters.google_adk import RedlinePlugin

    contents = interrupted()
    request = request_of(contents, previous_interaction_id="i1")
    asyncio.run(RedlinePlugin().before_model_callback(callback_context=context_of(), llm_request=request))
    assert all(sent is own for sent, own in zip(request.contents, contents, strict=True))


def ask_app(url, question, monkeypatch, **settings):
    """A run of an app whose agents answer at the same time."""
    from google.adk.agents import LlmAgent, ParallelAgent
    from google.adk.apps import App
    from google.adk.runners import InMemoryRunner

    monkeypatch.setenv("GOOGLE_API_KEY", "none")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", url)
    clerks = [LlmAgent(name=f"clerk_{n}", model="gemini-3-pro", instruction="x" * 200 * n) for n in range(6)]
    runner = InMemoryRunner(app=App(name="shop", root_agent=ParallelAgent(name="all", sub_agents=clerks), **settings))
    asyncio.run(runner.run_debug([question], quiet=True))


def usage_by_agent(folder):
    """What was reported for each agent, which has a log of its own."""
    found = {}
    for path in folder.glob("*.jsonl"):
        with contextlib.closing(JsonlLog(path)) as log:
            records = [one.record for one in log.read()]
        usage = [record.input_tokens for record in records if isinstance(record, UsageReported)]
        names = {record.session.rpartition("|")[2] for record in records if isinstance(record, SessionNamed)}
        if usage:
            (name,) = names
            found[name] = usage
    return found


@pytest.mark.filterwarnings("default")
def test_agents_at_the_same_time_are_kept_apart(tmp_path, monkeypatch, caplog):
    """Each agent of an app has its own log, and its own usage."""
    from redline.adapters.google_adk import RedlinePlugin

    with fake_provider() as provider:
        ask_app(provider.url, "Are you there?", monkeypatch, plugins=[RedlinePlugin(tmp_path)])
    agents = {str(one.body["systemInstruction"]).partition("internal name is ")[2][1:8]: one for one in provider.exchanges}
    assert usage_by_agent(tmp_path) == {name: [tokens(one.answer)] for name, one in agents.items()}
    assert len(agents) == 6
    assert not [record for record in caplog.records if record.name == "redline.adapters"]


@pytest.mark.filterwarnings("default")
def test_what_else_shortens_the_history_is_told_once(monkeypatch, caplog):
    """Two that prune would fight."""
    from google.adk.apps.app import EventsCompactionConfig
    from google.adk.plugins.context_filter_plugin import ContextFilterPlugin

    from redline.adapters.google_adk import RedlinePlugin

    rivals = {
        "plugins": [ContextFilterPlugin(num_invocations_to_keep=3), RedlinePlugin()],
        "events_compaction_config": EventsCompactionConfig(compaction_interval=100, overlap_size=1),
    }
    with fake_provider() as provider:
        for _ in range(2):
            ask_app(provider.url, "Are you there?", monkeypatch, **rivals)
    told = [record.message for record in caplog.records if record.name == "redline.adapters"]
    assert [message.split()[0] for message in told] == ["ContextFilterPlugin", "Events"]


@pytest.mark.filterwarnings("default")
def test_what_was_refused_is_left_alone(monkeypatch):
    """Google's errors have the status that was answered under a name of their own."""
    from google.genai.errors import ClientError

    from redline.adapters.google_adk import RedlinePlugin

    plugin, requests = RedlinePlugin(policy=redline.Policy(strategy="strip")), [request_of(interrupted()) for _ in range(2)]
    context = context_of()

    async def refuse():
        await plugin.before_model_callback(callback_context=context, llm_request=requests[0])
        error = ClientError(400, {"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}})
        await plugin.on_model_error_callback(callback_context=context, llm_request=requests[0], error=error)
        await plugin.before_model_callback(callback_context=context, llm_request=requests[1])

    asyncio.run(refuse())
    assert [len(request.contents[1].parts) for request in requests] == [2, 3]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
def test_confirmations_transfers_and_structured_output_go_on_as_without(streams, monkeypatch):
    """Class 7: stopped for a confirmation, resumed with the person's answer, handed over to an agent that answers in a shape:
    the same bytes with Redline as without."""
    from google.adk.agents import LlmAgent, RunConfig
    from google.adk.agents.run_config import StreamingMode
    from google.adk.apps import App
    from google.adk.runners import InMemoryRunner
    from google.adk.tools import FunctionTool
    from google.genai import types
    from pydantic import BaseModel

    from redline.adapters.google_adk import RedlinePlugin

    class Total(BaseModel):
        total: int

    def app_of(plugins):
        chief = LlmAgent(name="chief", model="gemini-3-pro", description="Decides.", output_schema=Total, output_key="total")
        tools = [FunctionTool(bash, require_confirmation=True), read_file]
        return App(
            name="shop",
            root_agent=LlmAgent(name="clerk", model="gemini-3-pro", tools=tools, sub_agents=[chief]),
            plugins=list(plugins),
        )

    async def run(runner, part):
        config = RunConfig(streaming_mode=StreamingMode.SSE if streams else StreamingMode.NONE)
        said = types.Content(role="user", parts=[part])
        found = runner.run_async(user_id="u1", session_id="s1", new_message=said, run_config=config)
        return [event async for event in found]

    async def work(plugins):
        runner = InMemoryRunner(app=app_of(plugins))
        await runner.session_service.create_session(app_name="shop", user_id="u1", session_id="s1")
        events = await run(runner, types.Part(text="Clean up."))
        asked = [call for event in events for call in event.get_function_calls() if call.name == "adk_request_confirmation"]
        granted = types.FunctionResponse(id=asked[0].id, name=asked[0].name, response={"confirmed": True})
        await run(runner, types.Part(function_response=granted))
        session = await runner.session_service.get_session(app_name="shop", user_id="u1", session_id="s1")
        await runner.close()
        return session.state["total"]

    bodies = []
    for plugins in ((), (RedlinePlugin(policy=POLICY),)):
        with fake_provider(CONFIRMED) as provider:
            monkeypatch.setenv("GOOGLE_API_KEY", "none")
            monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", provider.url)
            assert asyncio.run(work(plugins)) == {"total": 3}
        assert provider.statuses == [200] * len(CONFIRMED)
        bodies.append([exchange.body for exchange in provider.exchanges])
    assert bodies[0] == bodies[1]


CONFIRMED = [
    calls(("c1", "read_file", "a.py"), ("c2", "bash", "rm a.py"), ("c3", "read_file", "b.py")),
    ("assistant", (ToolCall("c4", "transfer_to_agent", {"agent_name": "chief"}),)),
    says("assistant", '{"total": 3}'),
]
