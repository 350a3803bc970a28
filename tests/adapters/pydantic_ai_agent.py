"""The agent of the story in pydantic-ai: its history is in a file that is written after each turn, and before each command."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, ModelMessagesTypeAdapter, RunContext, ToolFailed
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ToolReturnPart, repair_messages
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from redline.adapters.pydantic_ai import Redline
from tests.adapters.story import CommandError, Scene, bash, play, read_file


class StoryTimes(AbstractCapability[Any]):
    """The times of the story instead of the present ones, three minutes for each request."""

    async def prepare_model_request(self, ctx: Any, request_context: Any) -> Any:
        minutes = [3 * ((position + 1) // 2) for position in range(len(request_context.messages))]
        times = [datetime.fromtimestamp(60 * minute, UTC) for minute in minutes]
        messages = [replace(one, timestamp=time) for one, time in zip(request_context.messages, times, strict=True)]
        return replace(request_context, messages=messages)


def model_of(scene: Scene) -> Any:
    if scene.format == "anthropic":
        name = "claude-opus-5-5" if scene.mode == "thinking" else "claude-sonnet-4-6"
        return AnthropicModel(name, provider=AnthropicProvider(api_key="none", base_url=scene.url))
    provider = OpenAIProvider(api_key="none", base_url=f"{scene.url}/v1")
    return (
        OpenAIChatModel("gpt-5", provider=provider)
        if scene.format == "openai_chat"
        else OpenAIResponsesModel("gpt-5", provider=provider)
    )


def agent_of(scene: Scene, path: Path) -> Agent:
    agent = Agent(model_of(scene), instructions="Be brief.", capabilities=[StoryTimes(), Redline(scene.editor())])

    @agent.tool(name="bash")
    def shell(ctx: RunContext[Any], command: str) -> str:
        """Run a command in the shell."""
        path.write_bytes(ModelMessagesTypeAdapter.dump_json(ctx.messages))
        try:
            return bash(command)
        except CommandError as problem:
            raise ToolFailed(str(problem)) from problem

    agent.tool_plain(read_file)
    return agent


async def answer(agent: Agent, question: str, history: Any, mode: str) -> Any:
    settings: Any = {"max_tokens": 4000}
    if mode != "stream":
        return (await agent.run(question, message_history=history, model_settings=settings)).all_messages()
    async with agent.run_stream(question, message_history=history, model_settings=settings) as run:
        assert [text async for text in run.stream_text()]
    return run.all_messages()


def converse(scene: Scene) -> dict[str, str]:
    path = Path(scene.folder, "history.json")
    history = repair_messages(ModelMessagesTypeAdapter.validate_json(path.read_bytes())) if path.exists() else []
    agent = agent_of(scene, path)
    for question in scene.questions:
        if scene.mode == "sync":
            history = agent.run_sync(question, message_history=history).all_messages()
        else:
            history = asyncio.run(answer(agent, question, history, scene.mode))
        path.write_bytes(ModelMessagesTypeAdapter.dump_json(history))
    parts = [part for message in history for part in message.parts]
    return {part.tool_call_id: part.model_response_str() for part in parts if isinstance(part, ToolReturnPart)}


if __name__ == "__main__":
    play(converse)
