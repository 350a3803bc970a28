"""One session that somebody looks at: read again when it has grown, played back for each policy."""

import dataclasses
import threading
import time
from collections import Counter as Tally
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from redline.inspector.policy_answers import policy_named
from redline.policy.policy import as_replayed
from redline.sessions.catalog.catalog_row import FoundSession
from redline.sessions.catalog.session_files import SessionInput, is_object_address
from redline.sessions.playback import Playback, Player
from redline.sessions.read_session import SENT, ReadSession, problems_in, read_session, resolved_policy
from redline.sessions.replay.history import SessionHistory
from redline.sessions.replay.paid import PaidSession
from redline.sessions.to_json import part_text
from redline.store.proxy_files import struck_sessions
from redline.values.messages import Part, ToolCall, ToolResult

PENDING: dict[str, Any] = {
    "tokens": {"sent": None, "struck": None, "folded": None, "by_kind": {}},
    **dict.fromkeys(("cost_usd", "reported_input_usd", "input_cost_usd", "cost_usd_without", "saved_usd", "missing_tokens")),
    "is_would": True,
    "problems": [],
    "tools": [],
}
"""Said until the numbers are known."""

_MOST_PROBLEMS = 100
_MOST_PLAYBACKS = 6
_MOMENT_S = 0.2
_MANY_MESSAGES = 3_000
"""In a conversation of so many, nobody waits even a moment for its numbers."""
_FIRST_PAINT_S = 0.7
"""So long the first messages of a large one have the processor to themselves."""
_WORKERS = ThreadPoolExecutor(2, thread_name_prefix="redline-playback")
_PATIENCE = 3.0
"""A session that grows is not read again before so many times as long have passed as reading it took."""


def numbers_of(playback: Playback, whole: PaidSession | None = None) -> dict[str, Any]:
    """Sizes, money, problems and tools, worked out once for a policy. `whole`: what a log has cost with all its branches."""
    last = playback.sizes[-1] if playback.sizes else None
    player, paid = playback.player, whole or playback.paid
    saved = paid.saved_usd if paid is not None and not playback.is_hypothetical else playback.saved_usd
    return {
        "tokens": {
            "sent": round(last.sent) if last is not None else 0,
            "struck": last.saved.struck if last is not None else 0,
            "folded": last.saved.folded if last is not None else 0,
            "by_kind": {kind: round(tokens) for kind, tokens in last.by_kind.items()} if last is not None else {},
        },
        "cost_usd": paid.usd if paid is not None else None,
        "reported_input_usd": paid.input_usd if paid is not None else None,
        "input_cost_usd": player.usd(sum(charge.cost for charge in playback.charges)),
        "cost_usd_without": player.usd(player.all_sent.cost),
        "saved_usd": saved,
        "is_would": playback.is_would,
        "missing_tokens": round(player.sizes.missing),
        "problems": [dataclasses.asdict(problem) for problem in problems_in(playback.history)[:_MOST_PROBLEMS]],
        "tools": _tools_in(player),
    }


def _tools_in(player: Player) -> list[dict[str, Any]]:
    """How often each tool was called and failed, and the tokens of its calls and results; the heaviest first."""
    calls, errors, tokens = Tally[str](), Tally[str](), Tally[str]()
    for index, sizes in enumerate(player.parts.every):
        sized = {part.at: part.tokens for part in sizes}
        for part in player.history.load(index).parts:
            if (name := player.parts.tool_of(index, part)) is not None:
                calls[name] += isinstance(part, ToolCall)
                errors[name] += isinstance(part, ToolResult) and part.is_error
                tokens[name] += sized.get(part.at, 0)
    heaviest_first = sorted(tokens, key=lambda name: -tokens[name])
    return [{"name": one, "calls": calls[one], "errors": errors[one], "tokens": tokens[one]} for one in heaviest_first]


Way = tuple[int, int | None]
"""The number of a conversation, and the branch of a log that is looked at; None for the present one."""


class TextSearch:
    """Finds text in what was said, whatever its case. All of it is kept in lower case from the first search on."""

    def __init__(self, history: SessionHistory) -> None:
        self._history = history

    @cached_property
    def _texts(self) -> list[list[str]]:
        messages = (self._history.load(index) for index in range(self._history.count))
        return [[part_text(part).lower() for part in message.parts] for message in messages]

    def find(self, text: str) -> Iterator[tuple[int, Part, int]]:
        """Every part with the text: its message, the part, and the place of the first letter in its text."""
        wanted = text.lower()
        for index, parts in enumerate(self._texts):
            for number, words in enumerate(parts):
                if (place := words.find(wanted)) >= 0:
                    yield index, self._history.load(index).parts[number], place


@dataclass(slots=True)
class PlaybackResult:
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
        self.read = ReadSession(source.name)
        """Its records, or the conversations that an agent recorded."""
        self._version = ""
        self._read_at = self._reading_took = 0.0
        self._players: dict[Way, Player] = {}
        self._searches: dict[Way, TextSearch] = {}
        self._playbacks: OrderedDict[tuple[Way, str], Future[PlaybackResult]] = OrderedDict()
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

    def refresh(self, *, is_forced: bool = False) -> bool:
        """Read the session if it has changed; whether it had."""
        with self.lock:
            is_early = time.monotonic() < self._read_at + _PATIENCE * self._reading_took
            found = version_of(self.source)
            if found == self._version or (is_early and self._version and not is_forced):
                return False
            started = time.monotonic()
            self.read = read_session(self.source)
            self._version, self._read_at = found, time.monotonic()
            self._reading_took = self._read_at - started
            self._players.clear()
            self._playbacks.clear()
            self._searches.clear()
            return True

    def player(self, way: Way) -> Player:
        """A conversation, ready to be played."""
        with self.lock:
            if way not in self._players:
                number, branch = way
                self._players[way] = Player(self.read.history(number, branch=branch))
            return self._players[way]

    def search(self, way: Way) -> TextSearch:
        """The search for text in a conversation."""
        with self.lock:
            return self._searches.setdefault(way, TextSearch(self.player(way).history))

    def played(self, way: Way, policy: str) -> PlaybackResult:
        """A conversation as it was sent, or as a policy would have sent it."""
        return self._playing(way, policy).result()

    def played_so_far(self, way: Way, policy: str) -> PlaybackResult:
        """A conversation with its strikes and numbers if they are worked out in a moment; else without them."""
        playing, player = self._playing(way, policy), self.player(way)
        try:
            return playing.result(0 if player.history.count > _MANY_MESSAGES else _MOMENT_S)
        except TimeoutError:
            return PlaybackResult(Playback(player, player.all_sent))

    def _playing(self, way: Way, policy: str) -> "Future[PlaybackResult]":
        name = self.resolved(policy)
        with self.lock:
            if (way, name) not in self._playbacks:
                self._playbacks[way, name] = _WORKERS.submit(self._play, self.player(way), name)
                while len(self._playbacks) > _MOST_PLAYBACKS:
                    self._playbacks.popitem(last=False)
            self._playbacks.move_to_end((way, name))
            return self._playbacks[way, name]

    def _play(self, player: Player, name: str) -> PlaybackResult:
        """Worked out beside the requests; whoever was told without it is told that there is more now."""
        started = time.monotonic()
        if player.history.count > _MANY_MESSAGES:
            time.sleep(_FIRST_PAINT_S)
        made = player.play() if name == SENT else player.play_with(as_replayed(policy_named(name)), name)
        made.work_out()
        numbers = numbers_of(made, self.read.paid() if self.is_log else None)
        if not self.is_log:
            struck = struck_sessions().get(player.history.id, 0)
            numbers["missing_tokens"] = max(numbers["missing_tokens"], struck)
        if time.monotonic() > started + _MOMENT_S:
            self._worked_out += 1
        return PlaybackResult(made, numbers)

    def resolved(self, policy: str) -> str:
        """The name of the policy that is meant."""
        return resolved_policy(policy, is_log=self.is_log)


def version_of(source: SessionInput) -> str:
    """Sizes and times of the session's files; of a server's database nothing is known but the time. An object is read once: it
    would have to be downloaded to see more of it."""
    stamp = FoundSession.of(source).stamp
    if stamp or "://" not in source.place:
        return ".".join(f"{number:x}" for number in stamp) or "-"
    return "stored" if is_object_address(source.place) else str(int(time.time() / _PATIENCE))
