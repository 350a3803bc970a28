"""The agent's list of tasks: as it last wrote the list, or as tasks were made and changed one by one."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from redline.outlines.earlier import LineItem
from redline.rules.facts import Seen
from redline.tools import Notes
from redline.values.messages import ToolCall

_TEXTS = ("content", "step", "subject", "title", "description", "text", "task", "activeForm", "name")
_STATES = ("status", "state", "done", "completed")
_IDS = ("taskId", "task_id", "id")
_DONE = frozenset(("completed", "complete", "done", "finished", "cancelled", "deleted", "true"))
_STARTED = frozenset(("in_progress", "in-progress", "active", "doing", "running"))
_NUMBER = re.compile(r"#?(\d{1,6})\b")
_CHECKBOX = re.compile(r"^\s*(?:[-*]|\d+[.)])\s*\[(?P<state>.)\]\s*(?P<text>.+)$", re.MULTILINE)
_MOST_CHARS = 300


class Plan:
    """Follows the calls by which an agent keeps its plan."""

    def __init__(self) -> None:
        self._tasks: dict[str, tuple[str, str, str, int]] = {}
        """By id or place: the text, its state, its reference, its order."""
        self._made: dict[int, str] = {}
        """By the order of the call, a task whose id its result tells."""

    @property
    def is_made(self) -> bool:
        """Whether there is a plan."""
        return bool(self._tasks)

    def see_call(self, seen: Seen, reference: str) -> None:
        """A call: a whole list takes the place of the one before it, one task is added or changed."""
        call = seen.part
        if not isinstance(call, ToolCall) or not any(isinstance(action, Notes) for action in seen.actions):
            return
        arguments = call.arguments
        if listed := _listed(arguments):
            self._tasks = {str(place): (text, state, reference, seen.order) for place, (text, state) in enumerate(listed)}
            return
        text, state = _first(arguments, _TEXTS), _first(arguments, _STATES).lower()
        if (task := _first(arguments, _IDS)) in self._tasks:
            known = self._tasks[task]
            self._tasks[task] = (text or known[0], state or known[1], reference, seen.order)
        elif text and call.name == "TaskCreate":
            self._made[seen.order] = text
            self._tasks[f"call {seen.order}"] = (text, state, reference, seen.order)

    def see_result(self, seen: Seen) -> None:
        """The result of a call that made a task says its id."""
        if seen.asked is None or seen.asked.order not in self._made:
            return
        del self._made[seen.asked.order]
        task = self._tasks.pop(f"call {seen.asked.order}", None)
        if task is not None and not seen.is_error:
            number = _NUMBER.search(seen.text)
            self._tasks[number[1] if number else f"call {seen.asked.order}"] = task

    def items(self) -> Iterator[LineItem]:
        """What is still to do, the part that was begun marked as such; what is done is left out."""
        for number, (text, state, reference, order) in enumerate(self._tasks.values()):
            if state not in _DONE:
                sign = "~" if state in _STARTED else " "
                yield LineItem("plan", reference, f"[{sign}] {text}", order * 10_000 + number, worth=1.0)


def _listed(arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The tasks of a list, each with its state."""
    for value in arguments.values():
        if isinstance(value, list):
            tasks = [(_first(one, _TEXTS), _first(one, _STATES).lower()) for one in value if isinstance(one, Mapping)]
            if tasks and all(text for text, _ in tasks) and any(state for _, state in tasks):
                return tasks
        elif isinstance(value, str) and (boxes := list(_CHECKBOX.finditer(value[:20_000]))):
            states = {"x": "done", "X": "done", "~": "in_progress", "-": "in_progress", "/": "in_progress"}
            return [(" ".join(box["text"].split())[:_MOST_CHARS], states.get(box["state"], "")) for box in boxes]
    return []


def _first(arguments: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """The first argument of these names, as one line."""
    for name in names:
        value = arguments.get(name)
        if isinstance(value, str | int | bool) and str(value).strip():
            return " ".join(str(value)[:_MOST_CHARS].split())
    return ""
