"""tau-bench result files: a list of runs, each with its messages as they were sent."""

from functools import partial
from typing import ClassVar

import msgspec
from msgspec import Raw

from redline.formats.openai_chat import OpenAIChat
from redline.transcripts.base import Entry, Position, RecordedConversation, Transcript
from redline.transcripts.document import open_document
from redline.transcripts.heads import fields_of, head_decoder, is_object
from redline.transcripts.reader import Sample
from redline.transcripts.source import Source
from redline.values.messages import Message

__all__ = ["TauBench"]

_FORMAT = OpenAIChat()


class TauBench:
    """Reads the JSON files in `results/` or `historical_trajectories/` of tau-bench."""

    name: ClassVar[str] = "tau-bench"

    def recognizes(self, sample: Sample) -> bool:
        """A list of runs with a task and a `traj`."""
        runs = sample.document if isinstance(sample.document, list) else []
        return bool(runs) and {"task_id", "traj"} <= fields_of(runs[0]).keys()

    def read(self, source: Source) -> Transcript:
        """A conversation for each run."""
        document = open_document(source)
        conversations = []
        for position, raw in document.positions_of(document.whole):
            if not is_object(raw):
                continue
            run = _decode_run(raw)
            messages = document.positions_of(run.traj, position)
            known = {"task_id": run.task_id, "trial": run.trial, "reward": run.reward}
            conversation = RecordedConversation(
                id=f"{run.task_id}:{run.trial}",
                format=_FORMAT.name,
                entries=tuple(Entry(partial(_load, source, at), (at,)) for at, said in messages if is_object(said)),
                metadata={name: value for name, value in known.items() if value is not None},
            )
            conversations.append(conversation)
        return Transcript(source.path, self.name, tuple(conversations))


class _TauBenchRun(msgspec.Struct):
    task_id: int | str | None = None
    trial: int | str | None = None
    reward: float | None = None
    traj: Raw = Raw(b"[]")


_decode_run = head_decoder(_TauBenchRun)


def _load(source: Source, position: Position) -> Message:
    return _FORMAT.read(source.decode(position))
