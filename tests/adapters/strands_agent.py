"""The agent of the story in Strands, with its session in files."""

import asyncio
from pathlib import Path
from typing import Any

from strands import Agent, tool
from strands.agent.conversation_manager import NullConversationManager
from strands.models.anthropic import AnthropicModel
from strands.models.openai import OpenAIModel
from strands.models.openai_responses import OpenAIResponsesModel
from strands.session import FileSessionManager

from redline.adapters.strands import RedlineAgentPlugin
from tests.adapters.story import Scene, bash, play, read_file


def model_of(scene: Scene) -> Any:
    if scene.format == "anthropic":
        is_thinking = scene.mode == "thinking"
        return AnthropicModel(
            client_args={"api_key": "none", "base_url": scene.url, "max_retries": 0},
            model_id="claude-opus-5-5" if is_thinking else "claude-sonnet-4-6",
            max_tokens=4000,
            params={"thinking": {"type": "adaptive"}} if is_thinking else {},
        )
    made_by = OpenAIModel if scene.format == "openai_chat" else OpenAIResponsesModel
    return made_by(client_args={"api_key": "none", "base_url": f"{scene.url}/v1", "max_retries": 0}, model_id="gpt-5")


def agent_of(scene: Scene, session: FileSessionManager) -> Agent:
    return Agent(
        name="clerk",
        model=model_of(scene),
        system_prompt="Be brief.",
        tools=[tool(bash), tool(read_file)],
        plugins=[RedlineAgentPlugin(scene.editor())],
        session_manager=session,
        conversation_manager=NullConversationManager(),
        callback_handler=None,
    )


def ask(agent: Agent, question: str, mode: str) -> None:
    async def listen() -> list[Any]:
        return [event async for event in agent.stream_async(question)]

    if mode == "async":
        asyncio.run(agent.invoke_async(question))
    elif mode == "stream":
        assert asyncio.run(listen())
    else:
        agent(question)


def converse(scene: Scene) -> dict[str, str]:
    session = FileSessionManager("s1", str(Path(scene.folder, "strands")))
    agent = agent_of(scene, session)
    snapshots: list[Any] = []
    for number, question in enumerate(scene.questions):
        if scene.mode == "rewind" and number == 2:
            agent.load_snapshot(snapshots[1])
        snapshots.append(agent.take_snapshot(preset="session"))
        ask(agent, question, scene.mode)
    stored = session.list_messages("s1", agent.agent_id)
    blocks: list[Any] = [block for one in stored for block in one.to_message()["content"]]
    answers = [block["toolResult"] for block in blocks if "toolResult" in block]
    return {answer["toolUseId"]: answer["content"][0]["text"] for answer in answers}


if __name__ == "__main__":
    play(converse)
