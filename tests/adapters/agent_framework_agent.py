"""The agent of the story in Microsoft Agent Framework: its history is in a file that is written at each call of the model."""

import asyncio
import json
from pathlib import Path
from typing import Any

from agent_framework import Agent, ChatMiddleware, InMemoryHistoryProvider, Message, tool
from agent_framework.anthropic import AnthropicClient
from agent_framework.openai import OpenAIChatClient, OpenAIChatCompletionClient
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from redline.adapters.agent_framework import RedlineChatMiddleware
from tests.adapters.story import Scene, bash, play, read_file


class Journal(ChatMiddleware):
    """Writes down what the agent knows before each call, and what it is answered: a process may die within a tool."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[Message]:
        return [Message.from_dict(one) for one in json.loads(self.path.read_text())] if self.path.exists() else []

    def write(self, messages: Any) -> None:
        self.path.write_text(json.dumps([message.to_dict() for message in messages]))

    async def process(self, context: Any, call_next: Any) -> None:
        messages = list(context.messages)
        await call_next()
        if not context.stream:
            self.write([*messages, *context.result.messages])


def client_of(scene: Scene) -> Any:
    told: Any = {"function_invocation_configuration": {"include_detailed_errors": True}}
    if scene.format == "anthropic":
        name = "claude-opus-5-5" if scene.mode == "thinking" else "claude-sonnet-4-6"
        claude = AsyncAnthropic(api_key="none", base_url=scene.url, max_retries=0)
        return AnthropicClient(model=name, anthropic_client=claude, **told)
    made_by = OpenAIChatCompletionClient if scene.format == "openai_chat" else OpenAIChatClient
    service = AsyncOpenAI(api_key="none", base_url=f"{scene.url}/v1", max_retries=0)
    return made_by(model="gpt-5", async_client=service, **told)


async def converse_async(scene: Scene) -> dict[str, str]:
    redline, journal = RedlineChatMiddleware(scene.editor(), name="clerk"), Journal(Path(scene.folder, "journal.json"))
    functions = [bash, read_file]
    options: dict[str, Any] = {"max_tokens": 4000} if scene.format == "anthropic" else {"store": False}
    if scene.mode == "thinking":
        options["thinking"] = {"type": "adaptive"}
    agent = Agent(
        client=client_of(scene),
        instructions="Be brief.",
        tools=[
            *(tool(function, approval_mode="never_require") for function in functions),
            *([redline.recall_tool] if scene.offloads else []),
        ],
        default_options=options,
        context_providers=[InMemoryHistoryProvider("story")],
        middleware=[journal, redline],
    )
    session = agent.create_session(session_id="s1")
    session.state["story"] = {"messages": journal.read()}
    for question in scene.questions:
        if scene.mode == "stream":
            assert [update async for update in agent.run(question, session=session, stream=True)]
        else:
            await agent.run(question, session=session)
        journal.write(session.state["story"]["messages"])
    contents = [content for message in session.state["story"]["messages"] for content in message.contents]
    answers = [content for content in contents if content.type == "function_result"]
    return {answer.call_id: f"{answer.result} {answer.exception}" for answer in answers}


def converse(scene: Scene) -> dict[str, str]:
    return asyncio.run(converse_async(scene))


if __name__ == "__main__":
    play(converse)
