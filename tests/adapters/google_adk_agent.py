"""The agent of the story in Google ADK: an app with its sessions in SQLite."""

import asyncio
import os
from typing import Any

from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.apps import App
from google.adk.models.anthropic_llm import AnthropicLlm
from google.adk.runners import Runner
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

from redline.adapters.google_adk import RedlinePlugin
from tests.adapters import story
from tests.adapters.story import CommandError, Scene, play, read_file

KEYS: Any = {"app_name": "shop", "user_id": "u1", "session_id": "s1"}
ASKED_BY: Any = {"user_id": "u1", "session_id": "s1"}


def bash(command: str) -> dict[str, str]:
    """Run a command in the shell."""
    try:
        return {"result": story.bash(command)}
    except CommandError as problem:
        return {"error": str(problem)}


class StoryTimes(SqliteSessionService):
    """Keeps events with the times of the story instead of the present ones, three minutes for each request."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(f"{scene.folder}/adk.db")
        self.requests = scene.requests_before

    async def append_event(self, session: Any, event: Any) -> Any:
        is_answer = event.author == "clerk" and not event.partial and not event.get_function_responses()
        event.timestamp = 180.0 * self.requests + (60 if is_answer else 0)
        self.requests += is_answer
        return await super().append_event(session, event)


def agent_of(scene: Scene, redline: RedlinePlugin) -> LlmAgent:
    tools = [bash, read_file, *([redline.recall_tool] if scene.offloads else [])]
    settings: dict[str, Any] = {"name": "clerk", "instruction": "Be brief.", "tools": tools}
    if scene.format == "gemini":
        os.environ |= {"GOOGLE_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": scene.url}
        return LlmAgent(model="gemini-3-pro", **settings)
    os.environ |= {"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": scene.url}
    if scene.mode != "thinking":
        return LlmAgent(model=AnthropicLlm(model="claude-sonnet-4-6", max_tokens=4000), **settings)
    thinking = types.GenerateContentConfig(thinking_config=types.ThinkingConfig(thinking_budget=-1))
    model = AnthropicLlm(model="claude-opus-5-5", max_tokens=4000)
    return LlmAgent(model=model, generate_content_config=thinking, **settings)


def ask(runner: Runner, question: str, mode: str) -> None:
    said = types.Content(role="user", parts=[types.Part(text=question)])
    config = RunConfig(streaming_mode=StreamingMode.SSE if mode == "stream" else StreamingMode.NONE)
    if mode == "sync":
        assert list(runner.run(**ASKED_BY, new_message=said, run_config=config))
        return

    async def listen() -> list[Any]:
        return [event async for event in runner.run_async(**ASKED_BY, new_message=said, run_config=config)]

    assert asyncio.run(listen())


def session_of(sessions: SqliteSessionService) -> Any:
    return asyncio.run(sessions.get_session(**KEYS))


def converse(scene: Scene) -> dict[str, str]:
    sessions, redline = StoryTimes(scene), RedlinePlugin(scene.editor())
    runner = Runner(app=App(name="shop", root_agent=agent_of(scene, redline), plugins=[redline]), session_service=sessions)
    if session_of(sessions) is None:
        asyncio.run(sessions.create_session(**KEYS))
    for number, question in enumerate(scene.questions):
        if scene.mode == "rewind" and number == 2:
            second = [event for event in session_of(sessions).events if event.author == "user"][1]
            asyncio.run(runner.rewind_async(**ASKED_BY, rewind_before_invocation_id=second.invocation_id))
        ask(runner, question, scene.mode)
    answers = [answer for event in session_of(sessions).events for answer in event.get_function_responses()]
    return {answer.id: "".join(str(text) for text in answer.response.values()) for answer in answers}


if __name__ == "__main__":
    play(converse)
