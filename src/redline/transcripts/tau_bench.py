"""tau-bench result files: a list of runs, each with its messages as they were sent."""

from typing import Any, ClassVar

import msgspec
from msgspec import Raw

from redline.formats.openai_chat import OpenAIChat
from redline.transcripts.base import Entry, Position, RecordedConversation, Transcript
from redline.transcripts.document import Document, open_document
from redline.transcripts.heads import fields_of, head_decoder, is_object
from redline.transcripts.reader import Sample
from redline.transcripts.source import Source

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
        runs = document.positions_of(document.whole)
        conversations = (_conversation(source, document, at, _decode_run(run)) for at, run in runs if is_object(run))
        return Transcript(source.path, self.name, tuple(conversations))


class _Run(msgspec.Struct):
    task_id: int | str | None = None
    trial: int | str | None = None
    reward: float | None = None
    traj: Raw = Raw(b"[]")


_decode_run = head_decoder(_Run)


def _conversation(source: Source, document: Document, position: Position, run: _Run) -> RecordedConversation:
    told: dict[str, Any] = {"task_id": run.task_id, "trial": run.trial, "reward": run.reward}
    return RecordedConversation(
        id=f"{run.task_id}:{run.trial}",
        format=_FORMAT.name,
        entries=tuple(_entry(source, at) for at, said in document.positions_of(run.traj, position) if is_object(said)),
        metadata={name: value for name, value in told.items() if value is not None},
    )


def _entry(source: Source, position: Position) -> Entry:
    return Entry(load=lambda: _FORMAT.read(source.decode(position)), positions=(position,))
