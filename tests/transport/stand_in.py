"""A stand-in for `redline.Editor`: strikes one word wherever it is, and keeps what it was told."""

from dataclasses import dataclass, field

STALE, STRUCK = b"STALE", b"struck"


@dataclass(frozen=True)
class StandInRequest:
    said: list[bytes]
    positions: range
    is_changed: bool
    untouched: str = ""
    log: str = ""
    learned_limits: dict[str, int] = field(default_factory=dict)


@dataclass
class StandInEditor:
    """What the transports and the proxy ask of an Editor, and nothing else."""

    fails: tuple[str, ...] = ()
    """The methods that raise."""
    asked: list[dict] = field(default_factory=list)
    reported: list[tuple[StandInRequest, object]] = field(default_factory=list)
    left_alone: list[str] = field(default_factory=list)
    is_closed: bool = False

    def edit(self, messages, **asked):
        self._check("edit")
        self.asked.append(asked)
        return self._request(messages)

    def recorded(self, messages, **asked):
        self._check("recorded")
        return self._request(messages)

    def report(self, request, usage):
        self._check("report")
        self.reported.append((request, usage))

    def stop_editing(self, request, why):
        self._check("stop_editing")
        self.left_alone.append(why)

    def close(self):
        self.is_closed = True

    def _request(self, messages):
        written = [payload.replace(STALE, STRUCK) if STALE in payload else payload for payload in messages]
        is_changed = not self.left_alone and any(STALE in payload for payload in messages)
        return StandInRequest(written, range(len(written)), is_changed, "left alone" if self.left_alone else "")

    def _check(self, method):
        if method in self.fails:
            raise RuntimeError(f"{method} failed")
