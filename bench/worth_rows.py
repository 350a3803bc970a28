"""Each tool result of the recorded sessions at each age at which it is judged: what was known then, and whether it was used."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bench.corpus import CORPUS, manifest_rows, recorded_files
from redline import read_transcript
from redline.rules.worth import ResultFollower, features_of
from redline.sessions.replay.history import SessionHistory, histories_in
from redline.sessions.replay.risk import Holder, seen_in, strict_uses_in

__all__ = ["JudgedResult", "judged_in", "projects", "recorded_results"]


@dataclass(frozen=True)
class JudgedResult:
    """A result when it came to be judged."""

    project: str
    features: tuple[float, ...]
    is_used: bool
    """Then or later the agent used a distinctive word that this result was the latest to hold (the strict measure)."""


def projects() -> dict[Path, str]:
    """By session file, the project that it is about; copies of a repository are one project."""
    return {CORPUS / row["path"]: str(row["source_repo"]).rsplit("/", 1)[-1] for row in manifest_rows()}


def recorded_results() -> list[JudgedResult]:
    """Of all recorded sessions."""
    known = projects()
    files = list(recorded_files())
    with ProcessPoolExecutor() as pool:
        found = pool.map(_results_of_file, files, [known[path] for path in files])
        return [one for many in found for one in many]


def judged_in(history: SessionHistory, project: str) -> Iterator[JudgedResult]:
    """The results of a session, as the rule judges them."""
    seen, last_use, follower = seen_in(history), _last_uses(history), ResultFollower()
    for request in history.requests:
        if request.is_new_view:
            follower = ResultFollower(history.project_root)
        for one in (one for index in history.new_in(request) for one in seen[index]):
            for judged in follower.judged_by(one, may_go=not one.is_error):
                is_used = last_use.get((judged.index, judged.at), -1) >= request.number
                yield JudgedResult(project, features_of(judged, follower.memory), is_used)


def _last_uses(history: SessionHistory) -> dict[Holder, int]:
    """By part, the last request that used what it was the latest to hold; an earlier copy is not needed."""
    uses = dict[Holder, int]()
    for use in strict_uses_in(history):
        uses[max(use.holders)] = use.request
    return uses


def _results_of_file(path: Path, project: str) -> list[JudgedResult]:
    return [one for history in histories_in(read_transcript(path)) for one in judged_in(history, project)]
