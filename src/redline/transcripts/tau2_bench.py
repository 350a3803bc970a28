"""tau2-bench result files: simulations in which an assistant, and sometimes the simulated user too, calls tools."""

from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec
from msgspec import Raw

from redline.formats.openai_chat import OpenAIChat
from redline.transcripts.base import Entry, Position, RecordedConversation, Transcript, parse_time_ms
from redline.transcripts.chat import ChatTokens, chat_answer, chat_call, chat_usage
from redline.transcripts.document import open_document
from redline.transcripts.heads import head_decoder, is_object
from redline.transcripts.reader import Sample
from redline.transcripts.shapes import objects_in
from redline.transcripts.source import Source

__all__ = ["Tau2Bench"]

_FORMAT = OpenAIChat()


class Tau2Bench:
    """Reads the JSON files in `data/simulations/` of tau2-bench.

    What the simulated user does with its own tools is not shown to the assistant: those calls and results are the
    conversation of a sub-agent, and the assistant's own stays as its model saw it.
    """

    name: ClassVar[str] = "tau2-bench"

    def recognizes(self, sample: Sample) -> bool:
        """An object with tasks and their simulations."""
        return isinstance(sample.document, dict) and {"info", "tasks", "simulations"} <= sample.document.keys()

    def read(self, source: Source) -> Transcript:
        """A conversation for each simulation."""
        document = open_document(source)
        told = document.fields.get("info", Raw(b"{}"))
        setup = _decode_setup(told) if is_object(told) else _Setup()
        conversations = []
        for position, simulation in document.positions_of(document.fields.get("simulations")):
            if is_object(simulation):
                run = _decode_run(simulation)
                messages = document.positions_of(run.messages, position)
                said = [_Said(at, _decode_head(message)) for at, message in messages if is_object(message)]
                conversations.append(_conversation(source, setup, run, said))
        return Transcript(source.path, self.name, tuple(conversations))


# --- heads: who ran with which model, and of each message who called and what it cost


class _Speaker(msgspec.Struct):
    llm: str | None = None


class _Environment(msgspec.Struct):
    policy: str | None = None


class _Setup(msgspec.Struct):
    agent_info: _Speaker | None = None
    user_info: _Speaker | None = None
    environment_info: _Environment | None = None


class _Rewarded(msgspec.Struct):
    reward: float | None = None


class _Run(msgspec.Struct):
    id: str | int | None = None
    task_id: str | int | None = None
    trial: int | None = None
    termination_reason: str | None = None
    reward_info: _Rewarded | None = None
    messages: Raw = Raw(b"[]")


class _Call(msgspec.Struct):
    id: str | None = None


class _Head(msgspec.Struct):
    role: str | None = None
    timestamp: str | None = None
    usage: ChatTokens | None = None
    requestor: str | None = None
    """Of a result: whose call it answers."""
    tool_calls: list[_Call] | None = None

    @property
    def is_users_own(self) -> bool:
        """A call by the simulated user, or the answer to one."""
        return (self.role == "user" and bool(self.tool_calls)) or (self.role == "tool" and self.requestor == "user")


class _Said(msgspec.Struct):
    position: Position
    head: _Head


_decode_setup = head_decoder(_Setup)
_decode_run = head_decoder(_Run)
_decode_head = head_decoder(_Head)


# --- the two conversations of a simulation


def _conversation(source: Source, setup: _Setup, run: _Run, said: list[_Said]) -> RecordedConversation:
    run_id = str(run.id if run.id is not None else f"{run.task_id}:{run.trial}")
    speaker = setup.agent_info or _Speaker()
    return RecordedConversation(
        id=run_id,
        format=_FORMAT.name,
        entries=_entries(source, speaker, (item for item in said if not item.head.is_users_own)),
        subagents=_simulated_user(source, setup, run_id, [item for item in said if item.head.is_users_own]),
        # The agent wraps the policy in a frame of its own, which the file does not hold.
        system=setup.environment_info.policy if setup.environment_info else None,
        metadata=_metadata(run),
    )


def _simulated_user(source: Source, setup: _Setup, run_id: str, own: list[_Said]) -> tuple[RecordedConversation, ...]:
    if not own:
        return ()
    speaker = setup.user_info or _Speaker()
    return (RecordedConversation(f"{run_id}:user", _FORMAT.name, _entries(source, speaker, own)),)


def _metadata(run: _Run) -> dict[str, Any]:
    reward = run.reward_info.reward if run.reward_info else None
    told = {"task_id": run.task_id, "trial": run.trial, "termination_reason": run.termination_reason, "reward": reward}
    return {name: value for name, value in told.items() if value is not None}


def _entries(source: Source, speaker: _Speaker, said: Iterable[_Said]) -> tuple[Entry, ...]:
    return tuple(_entry(source, speaker, item.position, item.head) for item in said)


def _entry(source: Source, speaker: _Speaker, position: Position, head: _Head) -> Entry:
    # A plain user message was paid for by the simulator, whose requests this conversation does not show.
    is_own = head.role == "assistant" or head.is_users_own
    return Entry(
        load=lambda: _FORMAT.read(_payload(source.decode(position))),
        positions=(position,),
        timestamp_ms=parse_time_ms(head.timestamp),
        model=speaker.llm if is_own and head.role != "tool" else None,
        usage=chat_usage(head.usage) if is_own else None,
    )


def _payload(said: dict[str, Any]) -> dict[str, Any]:
    if said.get("role") == "tool":
        return chat_answer(said.get("id"), said.get("content"), failed=bool(said.get("error")))
    calls = [
        chat_call(call.get("id"), str(call.get("name", "")), call.get("arguments") or {})
        for call in objects_in(said.get("tool_calls"))
    ]
    if not calls:
        return {"role": said.get("role"), "content": said.get("content")}
    return {"role": "assistant", "content": said.get("content"), "tool_calls": calls}
