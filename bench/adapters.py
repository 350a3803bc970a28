"""What the adapters add to a model call: the same agent with and without Redline, the model within the process.

python -m bench.adapters langchain [--messages 1000]      in the environment of that framework: make bench-adapters

Measured is the processor time from one call of the model to the next, through the framework and one tool, in runs that take
turns; the first call of each run, which reads the whole history, apart. Where the framework itself takes long, the difference
says little: what Redline's own functions take, in their threads, is measured besides.
"""

import argparse
import asyncio
import gc
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import product
from typing import Any
from unittest.mock import patch

__all__ = ["FRAMEWORKS", "main"]

_RUNS = 5
_CALLS = 30
"""Calls of the model in one run."""
_WORDS = ("def", "return", "self", "import", "error", "value", "0x1f", "order", "total", "passed", "\n")


class Stopwatch:
    """Asked by the model of a run what to do next; notes when."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def next_call(self) -> tuple[str, str] | None:
        """An id and the path of a file to read; None when it is enough."""
        self.times.append(time.process_time())
        number = len(self.times)
        return (f"call_next_{number}", f"src/file_{number}.py") if number <= _CALLS else None


def past(count: int) -> list[tuple[str, str, str]]:
    """The calls of a history of so many messages: id, path of the file that is read, what it says."""
    chance = random.Random(7)
    return [
        (f"call_{number}", f"src/file_{number % 40}.py", " ".join(chance.choices(_WORDS, k=60))) for number in range(count // 2)
    ]


def read_file(path: str) -> str:
    """Read a file."""
    return f"# {path}\n" + "x = 1\n" * 60


def langchain(watch: Stopwatch, count: int, store: str | None) -> Callable[[], object]:
    """`create_agent` with and without the middleware."""
    from langchain.agents import create_agent
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import tool

    from redline.adapters.langchain import RedlineMiddleware

    class Model(BaseChatModel):
        model_name: str = "claude-sonnet-4-5"

        @property
        def _llm_type(self) -> str:
            return "bench"

        def bind_tools(self, *_: Any, **__: Any) -> Any:
            return self

        def _generate(self, *_: Any, **__: Any) -> ChatResult:
            asked = watch.next_call()
            calls = [{"id": asked[0], "name": "read_file", "args": {"path": asked[1]}, "type": "tool_call"}] if asked else []
            usage = {"input_tokens": 1000, "output_tokens": 10, "total_tokens": 1010}
            return ChatResult(
                generations=[
                    ChatGeneration(message=AIMessage("" if calls else "Done.", tool_calls=calls, usage_metadata=usage))
                ]
            )

    history: list[BaseMessage] = [HumanMessage("Look around.")]
    for id, path, text in past(count):
        history.append(AIMessage("", tool_calls=[{"id": id, "name": "read_file", "args": {"path": path}, "type": "tool_call"}]))
        history.append(ToolMessage(text, tool_call_id=id, name="read_file"))
    agent = create_agent(Model(), [tool(read_file)], middleware=[RedlineMiddleware(store)] if store else [])
    return lambda: agent.invoke({"messages": history}, {"recursion_limit": 10_000})


def pydantic_ai(watch: Stopwatch, count: int, store: str | None) -> Callable[[], object]:
    """An Agent with and without the capability."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import (
        ModelMessage,
        ModelRequest,
        ModelResponse,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.usage import RequestUsage, UsageLimits

    from redline.adapters.pydantic_ai import Redline

    def answer(*_: Any) -> ModelResponse:
        asked = watch.next_call()
        parts: list[Any] = [ToolCallPart("read_file", {"path": asked[1]}, asked[0])] if asked else [TextPart("Done.")]
        return ModelResponse(parts, usage=RequestUsage(input_tokens=1000, output_tokens=10))

    history: list[ModelMessage] = [ModelRequest([UserPromptPart("Look around.")])]
    for id, path, text in past(count):
        history.append(ModelResponse([ToolCallPart("read_file", {"path": path}, id)]))
        history.append(ModelRequest([ToolReturnPart("read_file", text, id)]))
    model = FunctionModel(answer, model_name="claude-sonnet-4-5")
    agent = Agent(model, tools=[read_file], capabilities=[Redline(store)] if store else [])
    return lambda: agent.run_sync(None, message_history=history, usage_limits=UsageLimits(request_limit=None))


def openai_agents(watch: Stopwatch, count: int, store: str | None) -> Callable[[], object]:
    """A Runner with and without the filter."""
    from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool, set_tracing_disabled
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    from redline.adapters.openai_agents import RedlineFilter

    set_tracing_disabled(True)

    class Scripted(Model):
        model = "gpt-5"

        async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
            asked = watch.next_call()
            said = ResponseOutputText(type="output_text", text="Done.", annotations=[])
            output: Any = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[said])
            if asked:
                arguments = f'{{"path":"{asked[1]}"}}'
                output = ResponseFunctionToolCall(type="function_call", call_id=asked[0], name="read_file", arguments=arguments)
            return ModelResponse([output], Usage(requests=1, input_tokens=1000, output_tokens=10, total_tokens=1010), None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    history: list[Any] = [{"role": "user", "content": "Look around."}]
    for id, path, text in past(count):
        history.append({"type": "function_call", "call_id": id, "name": "read_file", "arguments": f'{{"path":"{path}"}}'})
        history.append({"type": "function_call_output", "call_id": id, "output": text})
    agent = Agent("bench", model=Scripted(), tools=[function_tool(read_file)])
    redline = RedlineFilter(store) if store else None
    config = RunConfig(call_model_input_filter=redline)
    return lambda: asyncio.run(Runner.run(agent, history, max_turns=10_000, hooks=redline, run_config=config))


def litellm(watch: Stopwatch, count: int, store: str | None) -> Callable[[], object]:
    """A plain loop over `acompletion` with and without the callback."""
    import litellm

    from redline.adapters.litellm import RedlineHandler

    litellm.callbacks = [RedlineHandler(store)] if store else []
    history: list[Any] = [{"role": "user", "content": "Look around."}]

    def add(id: str, path: str, text: str) -> None:
        function = {"name": "read_file", "arguments": f'{{"path":"{path}"}}'}
        history.append({"role": "assistant", "tool_calls": [{"id": id, "type": "function", "function": function}]})
        history.append({"role": "tool", "tool_call_id": id, "content": text})

    async def loop() -> None:
        while asked := watch.next_call():
            await litellm.acompletion(model="openai/gpt-5", messages=history, mock_response="Done.")
            add(*asked, read_file(asked[1]))

    for one in past(count):
        add(*one)
    return lambda: asyncio.run(loop())


def google_adk(watch: Stopwatch, count: int, store: str | None) -> Callable[[], object]:
    """An app with and without the plugin; its session is in memory."""
    from google.adk.agents import LlmAgent, RunConfig
    from google.adk.apps import App
    from google.adk.events import Event
    from google.adk.models import BaseLlm, LlmResponse
    from google.adk.runners import Runner
    from google.adk.sessions import InMemorySessionService
    from google.genai import types

    from redline.adapters.google_adk import RedlinePlugin

    def call_of(id: str, path: str) -> types.Content:
        call = types.FunctionCall(id=id, name="read_file", args={"path": path})
        return types.Content(role="model", parts=[types.Part(function_call=call)])

    def answer_of(id: str, text: str) -> types.Content:
        answer = types.FunctionResponse(id=id, name="read_file", response={"result": text})
        return types.Content(role="user", parts=[types.Part(function_response=answer)])

    class Scripted(BaseLlm):
        async def generate_content_async(self, *_: Any, **__: Any) -> Any:
            asked = watch.next_call()
            done = types.Content(role="model", parts=[types.Part(text="Done.")])
            usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=1000, candidates_token_count=10)
            yield LlmResponse(content=call_of(*asked) if asked else done, usage_metadata=usage)

    said = types.Content(role="user", parts=[types.Part(text="Look around.")])
    sessions = InMemorySessionService()
    agent = LlmAgent(name="bench", model=Scripted(model="gemini-3-pro"), tools=[read_file])
    runner = Runner(
        app=App(name="bench", root_agent=agent, plugins=[RedlinePlugin(store)] if store else []), session_service=sessions
    )

    async def fill() -> None:
        session = await sessions.create_session(app_name="bench", user_id="u", session_id="s")
        await sessions.append_event(session, Event(author="user", content=said))
        for id, path, text in past(count):
            for content in (call_of(id, path), answer_of(id, text)):
                await sessions.append_event(session, Event(author="bench", content=content))

    async def loop() -> None:
        config = RunConfig(max_llm_calls=10_000)
        async for _ in runner.run_async(user_id="u", session_id="s", new_message=said, run_config=config):
            pass

    asyncio.run(fill())
    return lambda: asyncio.run(loop())


def strands(watch: Stopwatch, count: int, store: str | None) -> Callable[[], object]:
    """An Agent with and without the plugin."""
    from strands import Agent, tool
    from strands.agent.conversation_manager import NullConversationManager
    from strands.models.model import Model

    from redline.adapters.strands import RedlineAgentPlugin

    class Scripted(Model):
        def update_config(self, **_: Any) -> None: ...

        def get_config(self) -> dict[str, str]:
            return {"model_id": "claude-sonnet-4-5"}

        def structured_output(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

        async def stream(self, *_: Any, **__: Any) -> Any:
            asked = watch.next_call()
            yield {"messageStart": {"role": "assistant"}}
            start = {"toolUse": {"toolUseId": asked[0], "name": "read_file"}} if asked else {}
            yield {"contentBlockStart": {"start": start}}
            words = {"toolUse": {"input": f'{{"path":"{asked[1]}"}}'}} if asked else {"text": "Done."}
            yield {"contentBlockDelta": {"delta": words}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "tool_use" if asked else "end_turn"}}
            yield {
                "metadata": {
                    "usage": {"inputTokens": 1000, "outputTokens": 10, "totalTokens": 1010},
                    "metrics": {"latencyMs": 1},
                }
            }

    history: list[Any] = [{"role": "user", "content": [{"text": "Look around."}]}]
    for id, path, text in past(count):
        history.append(
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": id, "name": "read_file", "input": {"path": path}}}]}
        )
        result = {"toolUseId": id, "status": "success", "content": [{"text": text}]}
        history.append({"role": "user", "content": [{"toolResult": result}]})
    agent = Agent(
        model=Scripted(),
        messages=history,
        tools=[tool(read_file)],
        plugins=[RedlineAgentPlugin(store)] if store else [],
        conversation_manager=NullConversationManager(),
        callback_handler=None,
    )
    return lambda: agent("Go on.")


def agent_framework(watch: Stopwatch, count: int, store: str | None) -> Callable[[], object]:
    """An Agent with and without the middleware."""
    from agent_framework import (
        Agent,
        BaseChatClient,
        ChatMiddlewareLayer,
        ChatResponse,
        Content,
        FunctionInvocationLayer,
        Message,
        tool,
    )

    from redline.adapters.agent_framework import RedlineChatMiddleware

    def call_of(id: str, path: str) -> Message:
        return Message("assistant", [Content.from_function_call(id, "read_file", arguments={"path": path})])

    class Scripted(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
        async def _answer(self) -> ChatResponse:
            asked = watch.next_call()
            usage: Any = {"input_token_count": 1000, "output_token_count": 10}
            return ChatResponse(messages=[call_of(*asked) if asked else Message("assistant", ["Done."])], usage_details=usage)

        def _inner_get_response(self, **_: Any) -> Any:
            return self._answer()

    history = [Message("user", ["Look around."])]
    for id, path, text in past(count):
        history += [call_of(id, path), Message("tool", [Content.from_function_result(id, result=text)])]
    client = Scripted(function_invocation_configuration={"max_iterations": 10_000})
    middleware = [RedlineChatMiddleware(store)] if store else []
    agent = Agent(client=client, tools=[tool(read_file, approval_mode="never_require")], middleware=middleware)
    return lambda: asyncio.run(agent.run(history))


FRAMEWORKS: dict[str, Callable[[Stopwatch, int, str | None], Callable[[], object]]] = {
    "langchain": langchain,
    "pydantic_ai": pydantic_ai,
    "openai_agents": openai_agents,
    "litellm": litellm,
    "google_adk": google_adk,
    "strands": strands,
    "agent_framework": agent_framework,
}


@contextmanager
def timed_functions() -> Iterator[dict[str, list[float]]]:
    """By name, how many milliseconds each call of Redline's functions takes that a framework calls."""
    from redline.adapters.framework_editor import FrameworkEditor
    from redline.transport.editing import WireEditor

    times: dict[str, list[float]] = {"edit": [], "answered": []}

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            start = time.thread_time()
            found = function(*arguments)
            times[name].append(1000 * (time.thread_time() - start))
            return found

        return call

    with ExitStack() as stack:
        for owner, name in product((FrameworkEditor, WireEditor), times):
            stack.enter_context(patch.object(owner, name, timed(name, getattr(owner, name))))
        yield times


def measure(framework: str, count: int, store: str | None) -> tuple[float, list[float]]:
    """Milliseconds until the first call, and between calls."""
    watch = Stopwatch()
    run = FRAMEWORKS[framework](watch, count, store)
    gc.collect()
    start = time.process_time()
    run()
    steps = [1000 * (after - before) for before, after in zip(watch.times, watch.times[1:], strict=False)]
    return 1000 * (watch.times[0] - start), steps


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row for each framework and length."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("frameworks", nargs="+", choices=list(FRAMEWORKS))
    parser.add_argument("--messages", type=int, nargs="+", default=[100, 1000])
    asked = parser.parse_args(arguments)
    print(
        "| framework | messages | ms a call without | with Redline | added (quartiles) | its functions | added to the first |"
    )
    print("|---|---|---|---|---|---|---|")
    for framework in asked.frameworks:
        for count in asked.messages:
            print(row(framework, count), flush=True)


def row(framework: str, count: int) -> str:
    """With and without Redline in turn; the medians of runs are compared one pair at a time."""
    pairs, firsts, bare, edited, own = [], [], [], [], []
    for _ in range(_RUNS):
        first, steps = measure(framework, count, None)
        with tempfile.TemporaryDirectory() as folder, timed_functions() as times:
            first_edited, steps_edited = measure(framework, count, f"{folder}/chats")
        own.append(sum(statistics.median(spent[1:]) for spent in times.values() if len(spent) > 1))
        bare.append(statistics.median(steps))
        edited.append(statistics.median(steps_edited))
        pairs.append(edited[-1] - bare[-1])
        firsts.append(first_edited - first)
    low, middle, high = statistics.quantiles(pairs, n=4)
    return (
        f"| {framework} | {count:,} | {statistics.median(bare):.1f} | {statistics.median(edited):.1f} | "
        f"{middle:.1f} ({low:.1f} to {high:.1f}) | {statistics.median(own):.1f} | {statistics.median(firsts):.0f} |"
    )


if __name__ == "__main__":
    main()
