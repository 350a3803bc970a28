"""One session that is being looked at: read when it is first asked for and when it has grown, played back per policy."""

import json
import threading
import time
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redline.errors import ValidationError
from redline.inspection.playback import Playback, Player
from redline.inspection.read_session import AUTO, SENT, ReadSession, read_session, resolved_policy
from redline.inspection.session_facts import TextSearch
from redline.inspection.session_files import SessionInput
from redline.inspection.stored_objects import is_object_address
from redline.inspector.numbers import numbers_of
from redline.log.addresses import parse_address
from redline.log.reading import StoredLog
from redline.policy import Policy
from redline.presets import DEFAULT_PRESET, PRESETS
from redline.store.proxy_accounts import struck_sessions
from redline.transcripts import RecordedConversation, Transcript

__all__ = ["OpenedSession", "Played", "custom_policy", "policy_named", "version_of"]

_MOST_PLAYBACKS = 6
_MOMENT_S = 0.2
_MANY_MESSAGES = 3_000
"""In a conversation of so many, nobody waits even a moment for its numbers."""
_FIRST_PAINT_S = 0.7
"""So long the first messages of a large one have the processor to themselves."""
_WORKERS = ThreadPoolExecutor(2, thread_name_prefix="redline-playback")
_PATIENCE = 3.0
"""A session that grows is not read again before so many times as long have passed as reading it took."""


@dataclass(slots=True)
class Played:
    """A conversation under a policy."""

    playback: Playback
    numbers: dict[str, Any] | None = None
    """None while they are worked out."""
    strikes: bytes | None = None
    """The answer that lists them, once it was given: it is long, and asked for again and again."""


class OpenedSession:
    """A session by its source. All methods may be called from any thread; they take turns."""

    def __init__(self, id: str, source: SessionInput) -> None:
        self.id, self.source = id, source
        self.lock = threading.RLock()
        self.asked_at = time.monotonic()
        """When somebody last wanted something of it."""
        self._version = ""
        self._read_at = self._reading_took = 0.0
        self._session = ReadSession(source.name)
        self._players: dict[tuple[int, int | None], Player] = {}
        self._searches: dict[tuple[int, int | None], TextSearch] = {}
        self._playbacks: OrderedDict[tuple[int, int | None, str], Future[Played]] = OrderedDict()
        self._worked_out = 0
        """How many playbacks were ready only after somebody was told without them."""

    @property
    def is_log(self) -> bool:
        """Whether it is a log of Redline's own, on which one can act."""
        return self.source.is_log

    @property
    def version(self) -> str:
        """Changes when the session does."""
        return f"{self._version}.{self._worked_out}"

    @property
    def log(self) -> StoredLog | None:
        """Its records, where it is a log."""
        return self._session.log

    @property
    def transcript(self) -> Transcript | None:
        """What the agent recorded, where it is no log."""
        return self._session.transcript

    def refresh(self, *, is_forced: bool = False) -> bool:
        """Read the session if it has changed; whether it had."""
        with self.lock:
            is_early = time.monotonic() < self._read_at + _PATIENCE * self._reading_took
            found = version_of(self.source)
            if found == self._version or (is_early and self._version and not is_forced):
                return False
            started = time.monotonic()
            self._session = read_session(self.source)
            self._version, self._read_at = found, time.monotonic()
            self._reading_took = self._read_at - started
            self._players.clear()
            self._playbacks.clear()
            self._searches.clear()
            return True

    def conversations(self) -> tuple[tuple[RecordedConversation, bool], ...]:
        """What the agent recorded, each with whether it is a sub-agent's; a log is one conversation and has none here."""
        return self._session.conversations

    def player(self, conversation: int = 0, branch: int | None = None) -> Player:
        """A conversation, ready to be played."""
        with self.lock:
            key = conversation, branch
            if key not in self._players:
                self._players[key] = Player(self._session.history(conversation, branch=branch))
            return self._players[key]

    def search(self, conversation: int = 0, branch: int | None = None) -> TextSearch:
        """What finds text in a conversation."""
        with self.lock:
            key = conversation, branch
            if key not in self._searches:
                self._searches[key] = TextSearch(self.player(conversation, branch).history)
            return self._searches[key]

    def played(self, conversation: int = 0, policy: str = AUTO, branch: int | None = None) -> Played:
        """A conversation as it was sent, or as a policy would have sent it."""
        return self._playing(conversation, policy, branch).result()

    def played_so_far(self, conversation: int = 0, policy: str = AUTO, branch: int | None = None) -> Played:
        """A conversation with its strikes and numbers if they are worked out in a moment; else without them."""
        playing = self._playing(conversation, policy, branch)
        is_large = self.player(conversation, branch).history.count > _MANY_MESSAGES
        try:
            return playing.result(0 if is_large else _MOMENT_S)
        except TimeoutError:
            player = self.player(conversation, branch)
            return Played(Playback(player, player.unstruck))

    def _playing(self, conversation: int, policy: str, branch: int | None) -> "Future[Played]":
        name = self.resolved(policy)
        key = conversation, branch, name
        with self.lock:
            if key not in self._playbacks:
                player = self.player(conversation, branch)
                self._playbacks[key] = _WORKERS.submit(self._play, player, name)
                while len(self._playbacks) > _MOST_PLAYBACKS:
                    self._playbacks.popitem(last=False)
            self._playbacks.move_to_end(key)
            return self._playbacks[key]

    def _play(self, player: Player, name: str) -> Played:
        """Worked out beside the requests; whoever was told without it is told that there is more now."""
        started = time.monotonic()
        if player.history.count > _MANY_MESSAGES:
            time.sleep(_FIRST_PAINT_S)
        made = player.play() if name == SENT else player.play_with(policy_named(name), name)
        made.work_out()
        numbers = numbers_of(made, self._session.paid() if self.is_log else None)
        if not self.is_log:
            struck = struck_sessions().get(player.history.id, 0)
            numbers["missing_tokens"] = max(numbers["missing_tokens"], struck)
        played = Played(made, numbers)
        if time.monotonic() > started + _MOMENT_S:
            self._worked_out += 1
        return played

    def resolved(self, policy: str) -> str:
        """The policy that is meant."""
        return resolved_policy(policy, is_log=self.is_log)


def version_of(source: SessionInput) -> str:
    """What changes with a session: size and time of its file; of a server's database nothing is known but the time.

    An object is read once: it would have to be downloaded to see more of it.
    """
    if "://" not in source.place:
        return _stamp(source.file) + (_stamp(Path(f"{source.file}-wal")) if source.conversation else "")
    if is_object_address(source.place):
        return "stored"
    kind, place, _ = parse_address(source.place)
    if kind == "sqlite":
        return _stamp(Path(place)) + _stamp(Path(f"{place}-wal"))
    return str(int(time.time() / _PATIENCE))


def _stamp(path: Path) -> str:
    try:
        found = path.stat()
    except OSError:
        return "-"
    return f"{found.st_size:x}.{found.st_mtime_ns:x}"


def policy_named(name: str) -> Policy:
    """A preset, or the policy that settings in JSON make."""
    name = DEFAULT_PRESET if name == "default" else name
    if name in PRESETS:
        return PRESETS[name].make()
    try:
        custom = json.loads(name)
    except ValueError:
        custom = None
    if not isinstance(custom, dict):
        raise ValidationError(
            f"There is no policy {name[:80]!r}. There are: {SENT}, {', '.join(PRESETS)}, or settings in JSON."
        )
    return custom_policy(custom)


def custom_policy(custom: dict[str, Any]) -> Policy:
    """The policy of `{"rules": [{"name", "settings"}], "schedule": {"name", "settings"}}`; a preset's where it names one."""
    if custom.get("rules") is None and isinstance(custom.get("preset"), str):
        return policy_named(custom["preset"])
    table: dict[str, Any] = {
        "words": "en",
        "strategy": "answer",
        "rules": [_named(rule) for rule in _listed(custom.get("rules"))],
    }
    if custom.get("schedule") is not None:
        table["schedule"] = _named(custom["schedule"])
    return Policy.of_table(table)


def _listed(rules: object) -> list[object]:
    if not isinstance(rules, list):
        raise ValidationError("rules must be a list of objects with a name and settings")
    return rules


def _named(unit: object) -> dict[str, Any]:
    if not isinstance(unit, dict) or not isinstance(unit.get("settings", {}), dict):
        raise ValidationError("A rule or schedule is an object with a name and settings.")
    return {**unit.get("settings", {}), "name": unit.get("name")}
