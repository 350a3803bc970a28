"""The agent of the story in LangChain: `create_agent` with a checkpointer on disk."""

import asyncio
from typing import Any

import aiosqlite
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import ToolMessage
from langchain_core.tools import StructuredTool, ToolException
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from redline.adapters.langchain import RedlineMiddleware
from tests.adapters.story import CommandError, Scene, bash, play, read_file

CONFIG: Any = {"configurable": {"thread_id": "t1"}, "recursion_limit": 100}


def shell(command: str) -> str:
    """Run a command in the shell."""
    try:
        return bash(command)
    except CommandError as problem:
        raise ToolException(str(problem)) from problem


TOOLS = [StructuredTool.from_function(shell, name="bash", handle_tool_error=True), StructuredTool.from_function(read_file)]


def model_of(scene: Scene) -> BaseChatModel:
    if scene.format == "anthropic":
        thinking = {"type": "adaptive"} if scene.mode == "thinking" else None
        name = "claude-opus-5-5" if scene.mode == "thinking" else "claude-sonnet-4-6"
        return ChatAnthropic(model=name, base_url=scene.url, api_key="none", max_tokens=4000, thinking=thinking, max_retries=0)
    is_responses = scene.format == "openai_responses"
    return ChatOpenAI(
        model="gpt-5",
        base_url=f"{scene.url}/v1",
        api_key="none",
        use_responses_api=is_responses,
        stream_usage=True,
        max_retries=0,
        **({"store": False, "include": ["reasoning.encrypted_content"]} if is_responses else {}),
    )


def agent_of(scene: Scene, saver: Any) -> Any:
    middleware = [RedlineMiddleware(scene.editor())]
    return create_agent(model_of(scene), TOOLS, system_prompt="Be brief.", middleware=middleware, checkpointer=saver)


def rewound(agent: Any) -> Any:
    """Where the agent had heard the results of its first three calls."""
    states = agent.get_state_history(CONFIG)
    return next(one.config for one in states if len(one.values["messages"]) == 7) | {"recursion_limit": 100}


def kept(state: Any) -> dict[str, str]:
    return {one.tool_call_id: str(one.text) for one in state.values["messages"] if isinstance(one, ToolMessage)}


def converse(scene: Scene) -> dict[str, str]:
    if scene.mode in ("async", "stream"):
        return asyncio.run(converse_async(scene))
    with SqliteSaver.from_conn_string(f"{scene.folder}/langgraph.db") as saver:
        agent = agent_of(scene, saver)
        for number, question in enumerate(scene.questions):
            start = rewound(agent) if scene.mode == "rewind" and number else CONFIG
            agent.invoke({"messages": [{"role": "user", "content": question}]}, start, durability="sync")
        return kept(agent.get_state(CONFIG))


async def converse_async(scene: Scene) -> dict[str, str]:
    async with aiosqlite.connect(f"{scene.folder}/langgraph.db") as connection:
        agent = agent_of(scene, AsyncSqliteSaver(connection))
        for question in scene.questions:
            asked = {"messages": [{"role": "user", "content": question}]}
            if scene.mode == "async":
                await agent.ainvoke(asked, CONFIG)
            else:
                assert [piece async for piece in agent.astream(asked, CONFIG, stream_mode="messages")]
        return kept(await agent.aget_state(CONFIG))


if __name__ == "__main__":
    play(converse)
