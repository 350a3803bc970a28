"""Histories as crashes, cuts, merges and careless programs leave them, drawn by Hypothesis or by a seeded random."""

import copy
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, TypeVar

from hypothesis import strategies as st

from redline.providers import FORMATS
from redline.testing import conversations, json_values
from redline.values.messages import ToolCall, ToolResult

T = TypeVar("T")
Choose = Callable[[Sequence[T]], T]
Wound = Callable[[list[Any], str, Choose], list[Any]]

ODD_BLOCKS = {
    "anthropic": [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": ""},
        {"type": "text", "text": " \n"},
        {"type": "tool_use", "name": "read", "input": {}},
        {"type": "tool_result", "tool_use_id": "call_0_0", "content": []},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "invented"},
        7,
    ],
    "openai_chat": [{"type": "text", "text": ""}, {"type": "invented"}],
    "openai_responses": [{"type": "input_text", "text": ""}],
    "gemini": [
        {"text": "hm", "thought": True},
        {"text": ""},
        {"functionCall": {"name": "read", "args": {}}},
        {"functionResponse": {"name": "read", "response": {"output": "x"}}},
        {"functionCall": {"id": "", "name": "bash"}},
        {"invented": 1},
    ],
    "ai_sdk": [
        {"type": "reasoning", "text": "hm"},
        {"type": "tool_use", "id": "n1", "name": "read", "input": {}},
        {"type": "tool_result", "id": "n1", "name": "read", "result": {"llmContent": "x"}},
        {"type": "tool-result", "toolCallId": "call_0_0", "toolName": "read", "output": {"type": "text", "value": "x"}},
        {"type": "text", "text": ""},
    ],
}

ODD_MESSAGES = {
    "anthropic": [
        {"role": "user", "content": ""},
        {"role": "assistant", "content": []},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]},
        {"role": "system", "content": "be brief"},
    ],
    "openai_chat": [
        {"role": "assistant", "content": None},
        {"role": "user", "content": []},
        {"role": "assistant", "content": "", "reasoning_content": "hm"},
        {"role": "assistant", "content": None, "function_call": {"name": "read", "arguments": "{}"}},
        {"role": "function", "name": "read", "content": "x"},
        {"role": "tool", "content": "x"},
        {"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": "read", "arguments": "{}"}}]},
        {"role": "system", "content": "be brief"},
    ],
    "openai_responses": [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "message", "role": "user", "content": []},
        {"type": "message", "role": "assistant", "content": []},
        {"type": "custom_tool_call", "call_id": "c1", "name": "patch", "input": "x"},
        {"type": "local_shell_call", "call_id": "l1", "action": {"type": "exec", "command": ["ls"]}},
        {"type": "local_shell_call_output", "id": "l1", "output": "x"},
        {"type": "shell_call", "call_id": "s1", "action": {"commands": ["ls"]}},
        {"type": "apply_patch_call", "call_id": "p1", "operation": {}},
        {"type": "tool_search_call", "call_id": "t1", "execution": "client", "arguments": {}},
        {"type": "computer_call", "call_id": "k1", "action": {"type": "screenshot"}},
        {"type": "computer_call_output", "call_id": "k1", "output": {"type": "computer_screenshot", "image_url": "x"}},
        {"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "query": "x"}},
        {"type": "item_reference", "id": "i1"},
        {"type": "invented"},
        {"type": "function_call", "name": "read", "arguments": "{}"},
    ],
    "gemini": [
        {"role": "user", "parts": []},
        {"role": "model", "parts": []},
        {"role": "model", "parts": [{"text": "hm", "thought": True}]},
        {"parts": [{"functionResponse": {"name": "read", "response": {}}}]},
    ],
    "ai_sdk": [
        {"role": "assistant", "content": []},
        {"role": "tool", "content": []},
        {"role": "assistant", "content": [{"type": "reasoning", "text": "hm"}]},
        {"role": "system", "content": "be brief"},
    ],
}

BAD_IDS = [None, "", "a b", "functions.read:0", "call_0_0", "call_1_0", 5]


def damaged(format: str, *, max_wounds: int = 6) -> "st.SearchStrategy[list[Any]]":
    """A legal conversation to which a few things have happened."""

    @st.composite
    def history(draw: st.DrawFn) -> list[Any]:
        return wounded(
            draw(conversations(format)),
            format,
            draw(st.lists(st.sampled_from(WOUNDS), max_size=max_wounds)),
            lambda options: draw(st.sampled_from(options)),
        )

    return history()


def damaged_at_random(history: list[Any], format: str, rng: Random, count: int, wounds: Sequence[Wound]) -> list[Any]:
    """The history with this many wounds; the same for the same seed."""
    return wounded(history, format, [rng.choice(wounds) for _ in range(count)], rng.choice)


def wounded(history: list[Any], format: str, wounds: Sequence[Wound], choose: Choose) -> list[Any]:
    for wound in wounds:
        if history:
            history = wound(list(history), format, choose)
    return history


# --- whole messages


def lose(history, format, choose):
    del history[choose(range(len(history)))]
    return history


def repeat(history, format, choose):
    history.insert(choose(range(len(history) + 1)), choose(history))
    return history


def displace(history, format, choose):
    """One message comes later than it should, or earlier."""
    message = history.pop(choose(range(len(history))))
    history.insert(choose(range(len(history) + 1)), message)
    return history


def delay(history, format, choose):
    """A message of results comes a few messages late."""
    reader = FORMATS[format]
    late = [place for place, native in enumerate(history) if reader.read(native).role in ("tool", "user")]
    if not late:
        return history
    place = choose(late)
    message = history.pop(place)
    history.insert(min(len(history), place + choose(range(1, 4))), message)
    return history


def cut(history, format, choose):
    return history[choose(range(len(history))) : choose(range(1, len(history) + 1))]


def append_itself(history, format, choose):
    """Two sessions written into one file: every id comes again."""
    return [*history, *history]


def add_odd_message(history, format, choose):
    history.insert(choose(range(len(history) + 1)), choose(ODD_MESSAGES[format]))
    return history


# --- inside a message


def change_role(history, format, choose):
    place, roles = choose(range(len(history))), [native["role"] for native in history if "role" in native]
    if "role" in history[place]:
        history[place] = {**history[place], "role": choose(roles)}
    return history


def lose_part(history, format, choose):
    reader, place = FORMATS[format], choose(range(len(history)))
    message = reader.read(history[place])
    if message.parts:
        rest = reader.remove(message, [choose(message.parts)])
        history[place : place + 1] = [rest.native] if rest is not None else []
    return history


def change_id(history, format, choose):
    """A call or result gets a malformed id, none, or that of another."""
    reader, place = FORMATS[format], choose(range(len(history)))
    message = reader.read(history[place])
    paired = [at for at, part in enumerate(message.parts) if isinstance(part, ToolCall | ToolResult)]
    if paired and not any(part.at == ("function_call",) for part in message.parts):
        history[place] = reader.rename(message, {choose(paired): choose(BAD_IDS)}).native
    return history


def reorder_blocks(history, format, choose):
    return _with_blocks(history, format, choose, lambda blocks: blocks[::-1])


def empty_blocks(history, format, choose):
    return _with_blocks(history, format, choose, lambda _blocks: [])


def repeat_blocks(history, format, choose):
    return _with_blocks(history, format, choose, lambda blocks: blocks + blocks[-1:])


def add_odd_block(history, format, choose):
    odd, is_first = choose(ODD_BLOCKS[format]), choose([True, False])
    return _with_blocks(history, format, choose, lambda blocks: [odd, *blocks] if is_first else [*blocks, odd])


def merge(history, format, choose):
    """Two messages that follow each other become one, under the role of either."""
    place, key = choose(range(len(history))), _blocks_key(format)
    pair = history[place : place + 2]
    if len(pair) == 2 and all(isinstance(native.get(key), list) for native in pair):
        history[place : place + 2] = [{**choose(pair), key: pair[0][key] + pair[1][key]}]
    return history


def _with_blocks(history, format, choose, change):
    place, key = choose(range(len(history))), _blocks_key(format)
    if isinstance(history[place].get(key), list):
        history[place] = {**history[place], key: change(history[place][key])}
    return history


def _blocks_key(format):
    return FORMATS[format].blocks_field or "content"


MOVES = (delay, displace)
WOUNDS = (
    *(lose, repeat, displace, delay, cut, append_itself, add_odd_message),
    *(change_role, lose_part, change_id, reorder_blocks, empty_blocks, repeat_blocks, add_odd_block, merge),
)


# --- messages that no format has thought of


def spoiled(format: str, *, max_spots: int = 4) -> st.SearchStrategy[list[Any]]:
    """A damaged history in which values anywhere inside the messages were exchanged, added or lost."""

    @st.composite
    def native(draw: st.DrawFn) -> list[Any]:
        history = copy.deepcopy(draw(damaged(format, max_wounds=2)))
        for _ in range(draw(st.integers(1, max_spots))):
            holder = draw(st.sampled_from(list(_holders(history)) or [history]))
            if isinstance(holder, list):
                if holder and holder is not history:
                    holder[draw(st.integers(0, len(holder) - 1))] = copy.deepcopy(draw(json_values() | st.just({})))
                continue
            key = draw(st.sampled_from([*holder, *ODD_KEYS]))
            if draw(st.booleans()):
                holder[key] = copy.deepcopy(draw(ODD_VALUES | json_values()))
            else:
                holder.pop(key, None)
        return history

    return native()


def _holders(value: Any) -> Iterator[Any]:
    """Every object and list inside a history."""
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            yield inner
            yield from _holders(inner)


ODD_KEYS = (
    *("role", "content", "parts", "type", "timestamp", "id", "name", "tool_calls", "is_error", "cache_control"),
    *("output_config", "functionCall"),
)
ODD_VALUES = st.sampled_from(
    [None, "", " ", [], {}, "system", "user", "assistant", "model", "tool", True, "x" * 70, {"type": "ephemeral"}]
)
