"""tau2-bench result files: simulations in which an assistant, and sometimes the simulated user too, calls tools."""

from functools import partial
from typing import ClassVar

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
from redline.values.messages import Message

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
        info = document.fields.get("info", Raw(b"{}"))
        setup = _decode_setup(info) if is_object(info) else _Tau2Setup()
        conversations = []
        for position, simulation in document.positions_of(document.fields.get("simulations")):
            if not is_object(simulation):
                continue
            run = _decode_run(simulation)
            run_id = str(run.id if run.id is not None else f"{run.task_id}:{run.trial}")
            messages = document.positions_of(run.messages, position)
            said = [(at, _decode_message(message)) for at, message in messages if is_object(message)]
            shown = [(at, message) for at, message in said if not message.is_users_own]
            users_own = [(at, message) for at, message in said if message.is_users_own]
            simulated_user = RecordedConversation(f"{run_id}:user", _FORMAT.name, _entries(source, setup.user_info, users_own))
            known = {
                "task_id": run.task_id,
                "trial": run.trial,
                "termination_reason": run.termination_reason,
                "reward": run.reward_info.reward if run.reward_info else None,
            }
            conversation = RecordedConversation(
                id=run_id,
                format=_FORMAT.name,
                entries=_entries(source, setup.agent_info, shown),
                subagents=(simulated_user,) if users_own else (),
                # The agent wraps the policy in a frame of its own, which the file does not hold.
                system=setup.environment_info.policy if setup.environment_info else None,
                metadata={name: value for name, value in known.items() if value is not None},
            )
            conversations.append(conversation)
        return Transcript(source.path, self.name, tuple(conversations))


# --- heads: who ran with which model, and of each message who called and what it cost


class _Tau2Speaker(msgspec.Struct):
    llm: str | None = None


class _Tau2Environment(msgspec.Struct):
    policy: str | None = None


class _Tau2Setup(msgspec.Struct):
    agent_info: _Tau2Speaker | None = None
    user_info: _Tau2Speaker | None = None
    environment_info: _Tau2Environment | None = None


class _Tau2Reward(msgspec.Struct):
    reward: float | None = None


class _Tau2Run(msgspec.Struct):
    id: str | int | None = None
    task_id: str | int | None = None
    trial: int | None = None
    termination_reason: str | None = None
    reward_info: _Tau2Reward | None = None
    messages: Raw = Raw(b"[]")


class _Tau2Call(msgspec.Struct):
    id: str | None = None


class _Tau2Message(msgspec.Struct):
    role: str | None = None
    timestamp: str | None = None
    usage: ChatTokens | None = None
    requestor: str | None = None
    """Of a result: whose call it answers."""
    tool_calls: list[_Tau2Call] | None = None

    @property
    def is_users_own(self) -> bool:
        """A call by the simulated user, or the answer to one."""
        return (self.role == "user" and bool(self.tool_calls)) or (self.role == "tool" and self.requestor == "user")


_decode_setup = head_decoder(_Tau2Setup)
_decode_run = head_decoder(_Tau2Run)
_decode_message = head_decoder(_Tau2Message)


# --- the messages of a conversation


def _entries(source: Source, speaker: _Tau2Speaker | None, said: list[tuple[Position, _Tau2Message]]) -> tuple[Entry, ...]:
    entries = []
    for position, message in said:
        # A plain user message was paid for by the simulator, whose requests this conversation does not show.
        is_own = message.role == "assistant" or message.is_users_own
        entry = Entry(
            load=partial(_load, source, position),
            positions=(position,),
            timestamp_ms=parse_time_ms(message.timestamp),
            model=speaker.llm if speaker and is_own and message.role != "tool" else None,
            usage=chat_usage(message.usage) if is_own else None,
        )
        entries.append(entry)
    return tuple(entries)


def _load(source: Source, position: Position) -> Message:
    said = source.decode(position)
    if said.get("role") == "tool":
        return _FORMAT.read(chat_answer(said.get("id"), said.get("content"), failed=bool(said.get("error"))))
    calls = [
        chat_call(call.get("id"), str(call.get("name", "")), call.get("arguments") or {})
        for call in objects_in(said.get("tool_calls"))
    ]
    if not calls:
        return _FORMAT.read({"role": said.get("role"), "content": said.get("content")})
    return _FORMAT.read({"role": "assistant", "content": said.get("content"), "tool_calls": calls})
