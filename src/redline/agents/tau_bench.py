"""Result files of tau-bench and of tau2-bench, in whose simulations the simulated user calls tools, too."""

from functools import partial
from typing import ClassVar

import msgspec
from msgspec import Raw

from redline.agents.transcripts import Entry, Position, RecordedConversation, Transcript
from redline.agents.transcripts.chat import ChatTokens, chat_answer, chat_call, chat_usage
from redline.agents.transcripts.detect import Reader, Sample
from redline.agents.transcripts.document import fields_of, head_decoder, open_document
from redline.agents.transcripts.heads import ItemHead, fields_in, known_fields, objects_in, parse_time_ms, text_in
from redline.agents.transcripts.source import Source
from redline.providers.openai_chat.messages import OpenAIChat
from redline.values import payloads
from redline.values.messages import Message

_FORMAT = OpenAIChat()


class TauBench(Reader):
    """Reads the JSON files in `results/` or `historical_trajectories/` of tau-bench."""

    name: ClassVar[str] = "tau-bench"

    def recognizes(self, sample: Sample) -> bool:
        """A list of runs with a task and a `traj`."""
        runs = sample.document if isinstance(sample.document, list) else []
        return bool(runs) and {"task_id", "traj"} <= fields_of(runs[0]).keys()

    def read(self, source: Source) -> Transcript:
        """A conversation for each run."""
        document = open_document(source)

        def load(position: Position) -> Message:
            return _FORMAT.read(source.decode(position))

        conversations, decode = [], head_decoder(_TauBenchRun)
        for position, raw in document.objects_of(document.whole):
            run = decode(raw)
            entries = tuple(Entry(partial(load, at), (at,)) for at, _ in document.objects_of(run.traj, position))
            known = known_fields(task_id=run.task_id, trial=run.trial, reward=run.reward)
            name = f"{run.task_id}:{run.trial}"
            conversations.append(RecordedConversation(name, _FORMAT.name, entries, metadata=known))
        return Transcript(source.path, self.name, tuple(conversations))


class _TauBenchRun(msgspec.Struct):
    task_id: int | str | None = None
    trial: int | str | None = None
    reward: float | None = None
    traj: Raw = Raw(b"[]")


class Tau2Bench(Reader):
    """Reads the JSON files in `data/simulations/` of tau2-bench.

    What the simulated user does with its own tools is not shown to the assistant: those calls and results are the
    conversation of a sub-agent, and the assistant's own stays as its model saw it.
    """

    name: ClassVar[str] = "tau2-bench"

    def recognizes(self, sample: Sample) -> bool:
        """An object with tasks and their simulations."""
        return {"info", "tasks", "simulations"} <= sample.fields.keys()

    def read(self, source: Source) -> Transcript:
        """A conversation for each simulation."""
        document = open_document(source)
        setup = fields_in(payloads.decode(bytes(document.fields.get("info", b"{}"))))
        agent, user = (text_in(fields_in(setup.get(name)).get("llm")) or None for name in ("agent_info", "user_info"))
        decode_run, decode_message = head_decoder(_Tau2Run), head_decoder(_Tau2Message)
        conversations = []
        for position, simulation in document.objects_of(document.fields.get("simulations")):
            run = decode_run(simulation)
            run_id = str(run.id if run.id is not None else f"{run.task_id}:{run.trial}")
            said = [(at, decode_message(message)) for at, message in document.objects_of(run.messages, position)]
            shown = [(at, message) for at, message in said if not message.is_users_own]
            users_own = [(at, message) for at, message in said if message.is_users_own]
            simulated_user = RecordedConversation(f"{run_id}:user", _FORMAT.name, _entries(source, user, users_own))
            reward = run.reward_info.reward if run.reward_info else None
            reason = run.termination_reason
            conversation = RecordedConversation(
                id=run_id,
                format=_FORMAT.name,
                entries=_entries(source, agent, shown),
                subagents=(simulated_user,) if users_own else (),
                # The agent wraps the policy in a frame of its own, which the file does not hold.
                system=text_in(fields_in(setup.get("environment_info")).get("policy")) or None,
                metadata=known_fields(task_id=run.task_id, trial=run.trial, termination_reason=reason, reward=reward),
            )
            conversations.append(conversation)
        return Transcript(source.path, self.name, tuple(conversations))


class _Tau2Reward(msgspec.Struct):
    reward: float | None = None


class _Tau2Run(msgspec.Struct):
    id: str | int | None = None
    task_id: str | int | None = None
    trial: int | None = None
    termination_reason: str | None = None
    reward_info: _Tau2Reward | None = None
    messages: Raw = Raw(b"[]")


class _Tau2Message(msgspec.Struct):
    role: str | None = None
    timestamp: str | None = None
    usage: ChatTokens | None = None
    requestor: str | None = None
    """Of a result: whose call it answers."""
    tool_calls: list[ItemHead] | None = None

    @property
    def is_users_own(self) -> bool:
        """A call by the simulated user, or the answer to one."""
        return (self.role == "user" and bool(self.tool_calls)) or (self.role == "tool" and self.requestor == "user")


def _entries(source: Source, model: str | None, said: list[tuple[Position, _Tau2Message]]) -> tuple[Entry, ...]:
    entries = []
    for position, message in said:
        # A plain user message was paid for by the simulator, whose requests this conversation does not show.
        is_own = message.role == "assistant" or message.is_users_own
        made_by = model if is_own and message.role != "tool" else None
        usage, time_ms = chat_usage(message.usage) if is_own else None, parse_time_ms(message.timestamp)
        entries.append(Entry(partial(_load, source, position), (position,), time_ms, None, made_by, usage))
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
