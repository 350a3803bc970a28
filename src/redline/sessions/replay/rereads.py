"""The third measure of risk: results that the agent asked for again after a strike, and those of them that were struck again.

A file counts whether it was changed meanwhile or not: the agent comes back to it. A call counts if it gave the same words.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import msgspec

from redline.rules.facts import Seen
from redline.rules.results import call_fingerprint, read_paths
from redline.sessions.replay.history import PastStrike, SessionHistory, grouped
from redline.values.payloads import Path


class Rereads(msgspec.Struct, frozen=True):
    """How many results were asked for again while an earlier one about it was struck, and how many of these were struck too
    before a later one took their place: a loop."""

    asked_again: int = 0
    struck_again: int = 0

    def __add__(self, other: "Rereads") -> "Rereads":
        return Rereads(self.asked_again + other.asked_again, self.struck_again + other.struck_again)


@dataclass(frozen=True, slots=True)
class AskedResult:
    """A result of a call that reads a file, or of any other call."""

    index: int
    at: Path
    asked_in: int
    """The request whose answer asked for it."""
    sent_in: int
    """The first request that sends it."""
    words: str
    reads_file: bool


def asked_results(history: SessionHistory, seen: Sequence[Sequence[Seen]]) -> list[list[AskedResult]]:
    """The results about each file, or of each call that is made again word for word, in order. A new view begins anew."""
    found, window = list[tuple[tuple[int, str], AskedResult]](), 0
    for request in history.requests:
        window += request.is_new_view
        for one in (one for index in history.new_in(request) for one in seen[index]):
            if one.result is None or one.call is None or one.asked is None or one.is_error:
                continue
            asked_in = history.request_of(one.asked.index, "assistant")
            files = sorted(read_paths(one, history.project_root, shell_reads=True))
            subjects = files or [(call_fingerprint(one.call) or b"").hex()]
            result = AskedResult(one.index, one.part.at, asked_in or 0, request.number, one.result.text, reads_file=bool(files))
            found += [((window, subject), result) for subject in subjects if asked_in is not None and subject]
    return list(grouped(found).values())


def rereads_of(chains: Iterable[Sequence[AskedResult]], by_part: Mapping[tuple[int, Path], Sequence[PastStrike]]) -> Rereads:
    """What became of these results with the strikes on each part. A fold takes nothing away that must be asked for again."""
    asked, again = set[tuple[int, Path]](), set[tuple[int, Path]]()

    def strikes_on(result: AskedResult) -> list[PastStrike]:
        places = ((result.index, result.at), (result.index, ()))
        return [one for place in places for one in by_part.get(place, ()) if not one.is_fold]

    for chain in chains if by_part else ():
        for place, (before, result) in enumerate(pairwise(chain)):
            is_same = result.reads_file or result.words == before.words
            if not is_same or not any(one.is_in_force(result.asked_in) for one in strikes_on(before)):
                continue
            asked.add((result.index, result.at))
            replaced_in = chain[place + 2].sent_in if place + 2 < len(chain) else None
            if any(replaced_in is None or one.first < replaced_in for one in strikes_on(result)):
                again.add((result.index, result.at))
    return Rereads(len(asked), len(again))
