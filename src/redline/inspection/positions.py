"""A recording as replay takes it: windows of messages one after the other, and which index each position in them is."""

from dataclasses import dataclass
from itertools import chain, takewhile

from redline.inspection.recording import Recording
from redline.replay.course import ReplayStrike
from redline.replay.session import RecordedRequest, Session, make_session
from redline.tokens import Counter

__all__ = ["PlacedSession", "StrikeSpan", "place"]


@dataclass(frozen=True, slots=True)
class StrikeSpan:
    """By how many tokens a message is smaller, from one request up to another."""

    index: int
    saving: float
    first: int
    end: int | None


@dataclass(frozen=True)
class PlacedSession:
    """A session, and where in it each message is. After a change of the view the visible messages are placed again."""

    session: Session
    order: tuple[int, ...]
    """The index of each position."""
    windows: tuple[tuple[int, dict[int, int]], ...]
    """For each window the number of its first request, and the position of each index in it."""

    def strikes(self, spans: list[StrikeSpan]) -> list[ReplayStrike]:
        """Strikes by index as strikes by position: once in each window, and taken back where they end within one."""
        found: list[ReplayStrike] = []
        starts = [first for first, _ in self.windows]
        ends = [*starts[1:], len(self.session.requests)]
        for span in spans:
            for (start, position_of), end in zip(self.windows, ends, strict=True):
                position = position_of.get(span.index)
                if position is None or span.first >= end or (span.end is not None and span.end <= start):
                    continue
                found.append(ReplayStrike(max(span.first, start), position, span.saving))
                if span.end is not None and span.end < end:
                    found.append(ReplayStrike(span.end, position, -span.saving))
        return found


def place(recording: Recording, counter: Counter) -> PlacedSession:
    """The windows of a recording: a request that does not simply go on from the one before it begins another."""
    order: list[int] = []
    requests: list[RecordedRequest] = []
    windows: list[tuple[int, dict[int, int]]] = []
    start = said = 0
    for made in recording.requests:
        if made.is_new_view:
            order += _answers(recording, said) if requests else ()
            start, new = len(order), list(chain.from_iterable(range(*run) for run in made.visible))
            windows.append((made.number, {}))
        else:
            new = list(range(said, made.end))
        windows[-1][1].update(zip(new, range(len(order), len(order) + len(new)), strict=True))
        order += new
        said = made.end
        requests.append(RecordedRequest(start, len(order), made.time_ms, made.model, made.usage))
    order += range(said, recording.count)
    messages = [recording.load(index) for index in order]
    session = make_session(
        recording.id,
        recording.agent,
        messages,
        tuple(requests),
        counter,
        system=recording.system,
        project_root=recording.project,
    )
    return PlacedSession(session, tuple(order), tuple(windows))


def _answers(recording: Recording, start: int) -> list[int]:
    """What the assistant said from an index on: the answer to the last request of a window."""
    return list(takewhile(lambda index: recording.load(index).role == "assistant", range(start, recording.count)))
