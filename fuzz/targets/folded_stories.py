"""Histories by grammar under rules that fold: in every request, each reference leads to the words of the record."""

import contextlib
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import count
from random import Random
from typing import Any

import redline
from fuzz.sandbox import Sandbox
from fuzz.seeds import dumped
from fuzz.sent_references import check_sent, said_results
from fuzz.targets.message_lists import decoded_case
from fuzz.targets.target import Target, Trial
from redline.errors import RedlineError, ValidationError
from redline.providers import FORMATS, find_format
from redline.record.blobs import MemoryBlobs
from redline.rules import Faded, FailedInputs, Folded, LongResults, MaskedResults, OffloadResults, Rule
from redline.schedules import ScheduleName
from redline.testing import asks, conversation, says
from redline.tokens import Estimate
from redline.values.messages import ToolResult

__all__ = ["FOLDED_STORIES"]

_MOST_STEPS = 60
_FORMATS = tuple(sorted(FORMATS))
_MODELS = (None, "claude-opus-4-6", "claude-sonnet-4-5", "gpt-5.5")
_SCHEDULES: tuple[ScheduleName | None, ...] = ("eager", "when_free", "budget", None)
_RULES: tuple[str | tuple[Rule | str, ...], ...] = (
    *("folded", "careful", "balanced", "bold"),
    (Folded(), MaskedResults(keep_recent=2)),
    (MaskedResults(keep_recent=3), Folded(recall_tool="recall"), FailedInputs(after_steps=1)),
    (Folded(), Faded(min_age=1, inputs=True, penalty_tokens=1), "old_reasoning"),
    (Folded(spared_folds=["repeated_lines", "json_tables"]), "historical_reads", "stale_terminal", "repeated_calls"),
    (OffloadResults(min_chars=700), LongResults(max_chars=900), Folded(), "superseded_reads"),
)
_BLOCKS = [
    "\n".join(f"{name} line {number} says something that is long enough to be found again" for number in range(9))
    for name in ("ab", "cd", "ef", "é🙂")
]
_BLOCKS += [
    "\n".join(f"src/redline/module_{number % 2}.py:{number + 1}:    return value_{number}" for number in range(10)),
    "\n".join(f"2026-07-02T10:{number:02d}:00Z INFO waiting for the leader of the cluster" for number in range(12)),
    "\n".join(["the same line several times in a row, which is folded"] * 9),
    "\n".join(f'{{"name": "part {number}", "size": {number}, "description": "something"}}' for number in range(8)),
    "\n".join(f"   Compiling part-{number} v0.{number}.0 (/srv/app/part-{number})" for number in range(14)),
    "[lines 1–9: as in the output of `Bash make` above]\n"
    + "\n".join(f"quoted by the tool {number} and so on" for number in range(9)),
]
_FILES = ["\n".join(f"{name} code {number} = something long enough to be found" for number in range(12)) for name in ("x", "y")]
_LONG = "cd /a/very/long/path/that/goes/on/and/on/for/ever && make "
_COMMANDS = ("make", "make a", _LONG + "a", _LONG + "b", "git  log\n-p", "cat a `date`", "rg -n return")
_STUBS = (
    "File unchanged since last read. The content from the earlier Read tool_result is still current.",
    "Done",
    "Error: no",
)
_OPERATIONS = (
    *(
        "run",
        "run",
        "run",
        "run",
        "read",
        "read",
        "write",
        "patch",
        "diff",
        "several",
        "request",
        "request",
        "request",
        "request",
    ),
    *("undo", "undo_more", "pin", "unpin", "rewind", "truncate", "hide", "insert", "replace", "batch", "rollback", "compact"),
    *(
        "compact_in_place",
        "fork",
        "reopen",
        "other_rules",
        "preview",
        "two_calls",
        "switch",
        "usage",
        "stub",
        "usage",
        "edited",
    ),
)
_WAITS = (0, 1000, 240_000, 400_000, 4_000_000)
_names = count()


def _marked(text: str, mark: str) -> str:
    return "\n".join(mark + line for line in text.split("\n"))


def _numbered(text: str, first: int) -> str:
    return "\n".join(f"{number:>6}→{line}" for number, line in enumerate(text.split("\n"), first))


@cache
def _seeds() -> Sequence[bytes]:
    found = []
    for number in range(600):
        random = Random(number)
        steps = [
            [random.choice(_OPERATIONS), random.randrange(24), random.randrange(12)]
            for _ in range(random.randrange(12, _MOST_STEPS))
        ]
        choices = {name: random.randrange(60) for name in ("format", "rules", "model", "schedule", "store")}
        found.append(dumped({**choices, "steps": [*steps, ["request", 2, 1]]}))
    return found


@contextlib.contextmanager
def _opened(sandbox: Sandbox) -> Iterator[Trial]:
    yield partial(_try, sandbox)


def _try(sandbox: Sandbox, case: bytes) -> None:
    given = decoded_case(case)
    steps = given.get("steps")
    chosen = {name: given.get(name) for name in ("format", "rules", "model", "schedule", "store")}
    if not isinstance(steps, list):
        raise ValidationError("no program")
    story = _Story(sandbox, **{name: abs(one) if isinstance(one, int) else 0 for name, one in chosen.items()})
    try:
        for step in steps[:_MOST_STEPS]:
            match step:
                case [str(name), int(one), int(other)] if name in _OPERATIONS:
                    with contextlib.suppress(RedlineError):
                        getattr(story, f"_{name}")(abs(one) % 1000, abs(other) % 1000)
        story.check(story.talk.request(now=story.now))
    finally:
        story.close()


class _Story:
    """A conversation, and Editors of one store that are given what it was told."""

    def __init__(self, sandbox: Sandbox, *, format: int, rules: int, model: int, schedule: int, store: int) -> None:
        self.format, self.model = _FORMATS[format % len(_FORMATS)], _MODELS[model % len(_MODELS)]
        self.now, self.number, self.out = 1_700_000_000_000.0, 0, sandbox.out
        chosen = _RULES[rules % len(_RULES)]
        if isinstance(chosen, str):
            self.policy = getattr(redline.Policy, chosen)()
        else:
            self.policy = redline.Policy(
                rules=chosen, schedule=_SCHEDULES[schedule % len(_SCHEDULES)], words=redline.EN, strategy="answer"
            )
        self.policy = self.policy.with_whole_in(sandbox.out / "whole") if store % 2 else self.policy
        self.settings: dict[str, Any] = {"counter": Estimate(), "blobs": MemoryBlobs(), "policy": self.policy}
        self.place = str(sandbox.out / ("chat.jsonl" if store % 3 else "chat.db"))
        self.place = self.place if self.place.endswith("l") else f"sqlite:///{self.place}#chat"
        self.talk = self._open_talk()
        edited = None if store % 5 else sandbox.out / "lists"
        self.editors = [redline.Editor(edited, **self.settings) for _ in range(2 if edited else 1)]
        self.list: list[Any] = []
        self.said: list[Any] = []
        self._add([says("user", "Begin.")])

    def close(self) -> None:
        self.talk.close()
        for editor in self.editors:
            editor.close()

    def check(self, request: redline.Request) -> None:
        """By the bytes alone."""
        said = said_results([*self.said, *self.talk.all_messages], self.format)
        check_sent(request.body, said, self.format)

    def _open_talk(self) -> redline.Conversation:
        return redline.open(
            self.place, **self.settings, model=self.model, format=self.format, clock=lambda: self.now, durability="os"
        )

    def _add(self, turns: Sequence[Any], messages: Sequence[Any] = ()) -> None:
        given = [*messages] or conversation(self.format, turns)
        self.said += given
        self.list += given
        for payload in given:
            self.talk.add(payload, timestamp_ms=self.now)

    def _ask(self, name: str, arguments: dict[str, Any], answer: str) -> None:
        self.number += 1
        self.now += 20_000
        self._add(asks(name, arguments, answer, id=f"call_{self.number}"))

    def _output(self, one: int, other: int) -> str:
        random = Random(one * 13 + other)
        own = [f"a line of its own {self.number}", f"{self.number} is another one\n", ""]
        return "\n".join(random.choice(_BLOCKS + own) for _ in range(random.randrange(1, 5)))

    # --- what is said

    def _run(self, one: int, other: int) -> None:
        self._ask("Bash", {"command": _COMMANDS[one % len(_COMMANDS)]}, self._output(one, other))

    def _read(self, one: int, other: int) -> None:
        self._ask("Read", {"file_path": f"f{one % 2}.py"}, _numbered(_FILES[one % 2], other % 3 + 1))

    def _write(self, one: int, _: int) -> None:
        self._ask("Write", {"file_path": f"f{one % 2}.py", "content": _FILES[one % 2]}, "done")

    def _patch(self, one: int, _: int) -> None:
        patch = f"*** Begin Patch\n*** Add File: f{one % 2}.py\n{_marked(_FILES[one % 2], '+')}\n*** End Patch"
        self._ask("apply_patch", {"input": patch}, "done")

    def _diff(self, one: int, other: int) -> None:
        body = "\n".join(("+- "[(place // 7 + other) % 3]) + line for place, line in enumerate(_FILES[one % 2].split("\n") * 2))
        self._ask("Bash", {"command": f"git diff f{one % 2}.py"}, f"diff --git a/f b/f\n@@ -1,8 +1,8 @@\n{body}")

    def _stub(self, one: int, other: int) -> None:
        self._ask("Read", {"file_path": f"f{other % 2}.py"}, _STUBS[one % len(_STUBS)])

    def _two_calls(self, one: int, other: int) -> None:
        self.number += 2
        first, second = (
            asks(
                "Bash",
                {"command": _COMMANDS[(one + place) % len(_COMMANDS)]},
                self._output(one, other + place),
                id=f"call_{self.number + place}_",
            )
            for place in range(2)
        )
        self._add([("assistant", (*first[0][1], *second[0][1])), ("tool", (*first[1][1], *second[1][1]))])

    def _several(self, one: int, other: int) -> None:
        """A result in several blocks of text."""
        self.number += 1
        texts = [self._output(one, other), self._output(other, one)]
        turns = asks("Bash", {"command": _COMMANDS[one % len(_COMMANDS)]}, "\n".join(texts), id=f"call_{self.number}")
        messages = conversation(self.format, turns)
        last = messages[-1]
        match self.format:
            case "anthropic":
                last["content"][0]["content"] = [{"type": "text", "text": text} for text in texts]
            case "openai_chat":
                last["content"] = [{"type": "text", "text": text} for text in texts]
            case "openai_responses":
                last["output"] = [{"type": "input_text", "text": text} for text in texts]
            case "ai_sdk":
                value = [{"type": "text", "text": text} for text in texts]
                last["content"][0]["output"] = {"type": "content", "value": value}
        self._add([], messages)

    # --- what is sent

    def _request(self, one: int, _: int) -> None:
        self.now += _WAITS[one % len(_WAITS)]
        self.check(self.talk.request(now=self.now))

    def _preview(self, one: int, _: int) -> None:
        self.check(self.talk.preview(now=self.now + _WAITS[one % len(_WAITS)]))

    def _other_rules(self, one: int, _: int) -> None:
        others: tuple[tuple[Rule | str, ...], ...] = (
            (MaskedResults(keep_recent=1),),
            (),
            (Folded(),),
            ("historical_reads", Folded(references=False)),
        )
        rules = others[one % 4]
        self.check(self.talk.request(now=self.now, rules=rules))

    def _edited(self, one: int, other: int) -> None:
        """The list is sent again through an Editor: all of it, its beginning, or without a message."""
        self.now += _WAITS[one % len(_WAITS)]
        messages = self.list[: -1 - other % 3] if one % 4 == 1 else self.list
        messages = [message for place, message in enumerate(messages) if one % 5 or place != other + 1]
        editor = self.editors[other % len(self.editors)]
        request = editor.edit(messages, format=self.format, model=self.model, now=self.now)
        check_sent(request.body, said_results(self.said, self.format), self.format)
        again = editor.recorded(messages, format=self.format)
        if not (again.untouched or request.untouched or request.repairs):  # only an edit repairs
            check_sent(again.body, said_results(self.said, self.format), self.format)

    def _usage(self, one: int, other: int) -> None:
        self.talk.record_usage(input_tokens=10_000 * one, cache_read_tokens=9_000 * one, output_tokens=other)

    def _undo(self, one: int, _: int) -> None:
        if strikes := self.talk.preview(now=self.now).strikes:
            self.talk.undo(strikes[one % len(strikes)])

    def _undo_more(self, one: int, other: int) -> None:
        for _ in range(other % 4):
            self._undo(one, other)

    def _pin(self, one: int, _: int) -> None:
        self.talk.pin(one % len(self.talk.all_messages))

    def _unpin(self, one: int, _: int) -> None:
        self.talk.unpin(one % len(self.talk.all_messages))

    # --- what is shown

    def _rewind(self, one: int, _: int) -> None:
        self.talk.rewind(max(1, len(self.talk.all_messages) - one % 9))

    def _switch(self, one: int, _: int) -> None:
        branches = self.talk.branches
        self.talk.switch(branches[one % len(branches)])

    def _truncate(self, one: int, other: int) -> None:
        option = ("keep_first", "keep_last", "remove_first", "remove_last")[one % 4]
        self.talk.process({"operation": "truncate", "truncate": {option: 1 + other}})

    def _hide(self, one: int, _: int) -> None:
        place = one % max(len(self.talk.visible_indices), 1)
        self.talk.process({"operation": "filter", "filter": {"remove_indices": [place]}})

    def _insert(self, one: int, other: int) -> None:
        self.number += 1
        turns = asks("Bash", {"command": _COMMANDS[one % len(_COMMANDS)]}, self._output(one, other), id=f"call_{self.number}")
        messages = conversation(self.format, turns)
        place = other % max(len(self.talk.visible_indices), 1)
        self.talk.process({"operation": "insert", "insert": {"position": place, "messages": messages}})

    def _replace(self, one: int, other: int) -> None:
        index = one % len(self.talk.all_messages)
        payload = self.talk.all_messages[index]
        for part in find_format(self.format).read(payload).parts:
            if isinstance(part, ToolResult):
                said = asks("Bash", {"command": "make"}, self._output(other, one), id=part.call_id or "")
                message = conversation(self.format, said)[-1]
                self.said.append(message)
                self.talk.process({"operation": "replace", "replace": {"index": index, "message": message}})

    def _batch(self, one: int, _: int) -> None:
        self.talk.start_batch(max(0, len(self.talk.visible_indices) - one % 5))

    def _rollback(self, one: int, _: int) -> None:
        batches = self.talk.batches
        self.talk.rollback(batches[one % len(batches)])

    def _compact(self, one: int, _: int) -> None:
        compacted = self.talk.compact(lambda _: "A summary.", keep_last=2 + one % 6)
        self.check(compacted.request(now=self.now))

    def _compact_in_place(self, one: int, _: int) -> None:
        self.talk.compact(lambda _: "A summary.", keep_last=2 + one % 6, in_place=True)

    # --- where it is kept

    def _fork(self, _: int, __: int) -> None:
        place = str(self.out / f"fork-{next(_names)}.jsonl")
        fork = self.talk.fork(place)
        self.talk.close()
        self.talk, self.place = fork, place

    def _reopen(self, _: int, other: int) -> None:
        self.talk.close()
        self.talk = self._open_talk()
        if other % 2 and len(self.editors) > 1:
            self.editors[0].close()
            self.editors[0] = redline.Editor(self.out / "lists", **self.settings)


FOLDED_STORIES = Target("folded_stories", _seeds, _opened)
