"""The agent of the story as a plain loop over LiteLLM, which keeps its list of messages in a file."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm

from redline.adapters.litellm import RedlineHandler
from tests.adapters.story import CommandError, Scene, bash, play, read_file, reported_usage

Message = dict[str, Any]
Told = tuple[list[Message], list[tuple[str, str, dict[str, Any]]]]
"""What to add to the list, and the calls in it: id, tool, arguments."""


def described(name: str, argument: str) -> dict[str, Any]:
    return {"name": name, "description": name, "parameters": {"type": "object", "properties": {argument: {"type": "string"}}}}


FUNCTIONS = [described("bash", "command"), described("read_file", "path")]


async def ask_chat(scene: Scene, redline: RedlineHandler, messages: list[Message], mode: str) -> Told:
    settings: dict[str, Any] = {
        "model": "openai/gpt-5",
        "messages": messages,
        "tools": [{"type": "function", "function": one} for one in FUNCTIONS],
        "api_base": f"{scene.url}/v1",
        "api_key": "none",
        "litellm_session_id": "s1",
    }
    if mode == "sync":
        answer = litellm.completion(**redline.edit_kwargs(**settings))
    elif mode == "async":
        answer = await litellm.acompletion(**settings)
    else:
        stream = await litellm.acompletion(**settings, stream=True, stream_options={"include_usage": True})
        answer = litellm.stream_chunk_builder([chunk async for chunk in stream])
    said = answer.choices[0].message
    calls = [(call.id, call.function.name, json.loads(call.function.arguments)) for call in said.tool_calls or ()]
    return [said.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True)], calls


async def ask_responses(scene: Scene, redline: RedlineHandler, messages: list[Message], mode: str) -> Told:
    settings: dict[str, Any] = {
        "model": "openai/gpt-5",
        "input": messages,
        "tools": [{"type": "function", **one} for one in FUNCTIONS],
        "store": False,
        "api_base": f"{scene.url}/v1",
        "api_key": "none",
    }
    if mode == "sync":
        answer = litellm.responses(**redline.edit_kwargs(**settings))
    elif mode == "async":
        answer = await litellm.aresponses(**settings)
    else:
        events = [event async for event in await litellm.aresponses(**settings, stream=True)]
        answer = next(event.response for event in events if event.type == "response.completed")
    output = [item if isinstance(item, dict) else item.model_dump(exclude_none=True) for item in answer.output]
    asked = [item for item in output if item["type"] == "function_call"]
    return output, [(item["call_id"], item["name"], json.loads(item["arguments"])) for item in asked]


async def ask_messages(scene: Scene, redline: RedlineHandler, messages: list[Message], mode: str) -> Told:
    settings: dict[str, Any] = {
        "model": "anthropic/claude-sonnet-4-6",
        "messages": messages,
        "max_tokens": 1000,
        "tools": [{"name": one["name"], "input_schema": one["parameters"]} for one in FUNCTIONS],
        "api_base": scene.url,
        "api_key": "none",
    }
    if mode == "stream":
        chunks = [chunk async for chunk in await litellm.anthropic_messages(**settings, stream=True)]
        content = blocks_of(b"".join(chunks).decode())
    else:
        content = (await litellm.anthropic_messages(**settings))["content"]
    calls = [(block["id"], block["name"], block["input"]) for block in content if block["type"] == "tool_use"]
    return [{"role": "assistant", "content": content}], calls


def blocks_of(stream: str) -> list[Message]:
    """The blocks that a stream of Messages is about."""
    blocks: list[Message] = []
    for event in (json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: ")):
        match event:
            case {"type": "content_block_start", "content_block": block}:
                blocks.append({**block, **({"input": ""} if block["type"] == "tool_use" else {})})
            case {"type": "content_block_delta", "delta": {"text": text}}:
                blocks[-1]["text"] += text
            case {"type": "content_block_delta", "delta": {"partial_json": text}}:
                blocks[-1]["input"] += text
    return [{**block, "input": json.loads(block["input"] or "{}")} if "input" in block else block for block in blocks]


def result(format: str, id: str, text: str, is_error: bool) -> Message:
    if format == "openai_chat":
        return {"role": "tool", "tool_call_id": id, "content": text}
    if format == "openai_responses":
        return {"type": "function_call_output", "call_id": id, "output": text}
    return {"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error}


def carry_out(tools: dict[str, Callable[..., str]], name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    try:
        return tools[name](**arguments), False
    except CommandError as problem:
        return str(problem), True


async def usage_of(scene: Scene, before: int) -> None:
    """LiteLLM tells it some time after the answer, in any order; a loop has no need to wait for it, but the story has one."""
    for _ in range(200):
        if len(list(reported_usage(Path(scene.folder, "redline")))) > before:
            return
        await asyncio.sleep(0.05)


async def answer(scene: Scene, redline: RedlineHandler, messages: list[Message], save: Callable[[], object]) -> None:
    ask = {"openai_chat": ask_chat, "openai_responses": ask_responses, "anthropic": ask_messages}[scene.format]
    tools: dict[str, Callable[..., str]] = {"bash": bash, "read_file": read_file, "recall": redline.editor.recall}
    while True:
        before = len(list(reported_usage(Path(scene.folder, "redline"))))
        told, calls = await ask(scene, redline, messages, scene.mode)
        messages += told
        await usage_of(scene, before)
        save()
        if not calls:
            return
        results = [result(scene.format, id, *carry_out(tools, name, arguments)) for id, name, arguments in calls]
        messages += [{"role": "user", "content": results}] if scene.format == "anthropic" else results


def converse(scene: Scene) -> dict[str, str]:
    redline = RedlineHandler(scene.editor())
    litellm.callbacks = [redline]
    litellm.telemetry = False
    path = Path(scene.folder, "messages.json")
    messages: list[Message] = json.loads(path.read_text()) if path.exists() else []

    async def talk() -> None:
        for question in scene.questions:
            messages.append({"role": "user", "content": question})
            await answer(scene, redline, messages, lambda: path.write_text(json.dumps(messages)))

    asyncio.run(talk())
    blocks = [block for one in messages for block in (one["content"] if isinstance(one.get("content"), list) else [one])]
    ids, texts = ("tool_call_id", "call_id", "tool_use_id"), ("content", "output")
    kinds = ("tool_result", "function_call_output")
    kept = [block for block in blocks if block.get("type") in kinds or block.get("role") == "tool"]
    return {
        next(block[name] for name in ids if name in block): next(block[name] for name in texts if name in block)
        for block in kept
    }


if __name__ == "__main__":
    play(converse)
