"""The agent of the story in the OpenAI Agents SDK, with its session in SQLite, or in a Redline log."""

import asyncio
from typing import Any

from agents import Agent, ModelSettings, RunConfig, Runner, SQLiteSession, function_tool, set_tracing_disabled
from agents.models.openai_provider import OpenAIProvider

from redline.adapters.openai_agents import RedlineFilter, RedlineSession
from tests.adapters.story import Scene, bash, play, read_file


async def answer(agent: Agent, question: str, settings: dict[str, Any]) -> None:
    run = Runner.run_streamed(agent, question, **settings)
    assert [event async for event in run.stream_events()]


def converse(scene: Scene) -> dict[str, str]:
    set_tracing_disabled(True)
    redline = RedlineFilter(scene.editor())
    is_responses = scene.format == "openai_responses"
    provider = OpenAIProvider(api_key="none", base_url=f"{scene.url}/v1", use_responses=is_responses)
    shell = function_tool(bash, failure_error_function=lambda _, problem: str(problem))
    tools = [shell, function_tool(read_file), *([redline.recall_tool] if scene.offloads else [])]
    kept = ModelSettings(store=False, include_usage=True)
    agent = Agent("clerk", instructions="Be brief.", model="gpt-5", tools=tools, model_settings=kept)
    kind, _, mode = scene.mode.rpartition("-")
    own = RedlineSession("s1", f"{scene.folder}/redline")
    session = own if kind == "session" else SQLiteSession("s1", f"{scene.folder}/agents.db")
    run_config = RunConfig(model_provider=provider, call_model_input_filter=redline)
    settings: dict[str, Any] = {"session": session, "hooks": redline, "run_config": run_config, "max_turns": 40}
    for question in scene.questions:
        if mode == "sync":
            Runner.run_sync(agent, question, **settings)
        elif mode == "async":
            asyncio.run(Runner.run(agent, question, **settings))
        else:
            asyncio.run(answer(agent, question, settings))
    items: list[Any] = asyncio.run(session.get_items())
    return {item["call_id"]: item["output"] for item in items if item.get("type") == "function_call_output"}


if __name__ == "__main__":
    play(converse)
