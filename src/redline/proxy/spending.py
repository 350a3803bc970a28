"""What sessions and days have cost, and the limits that a user sets for them."""

import logging
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from redline.errors import ValidationError

_log = logging.getLogger("redline.proxy")

_MOST_SESSIONS = 5_000
_MOST_DAYS = 400
_SHORT_NAME = 40


@dataclass(frozen=True, slots=True)
class SpendLimits:
    """US dollars at which a line is said, and beyond which requests are refused; None for no limit."""

    warn_usd: float | None = None
    max_usd: float | None = None
    """Both of a session."""
    warn_usd_day: float | None = None
    max_usd_day: float | None = None
    """Both of a day of the machine's calendar, over all sessions."""

    def __post_init__(self) -> None:
        pairs = (("", self.warn_usd, self.max_usd), ("-day", self.warn_usd_day, self.max_usd_day))
        for end, warn, most in pairs:
            if warn is not None and most is not None and warn > most:
                raise ValidationError(
                    f"--warn-usd{end} is ${warn:g}, above --max-usd{end} of ${most:g}. Give the smaller one first."
                )

    @property
    def stops(self) -> bool:
        """Whether a request may be refused."""
        return self.max_usd is not None or self.max_usd_day is not None

    @property
    def is_any(self) -> bool:
        """Whether something is limited."""
        return self.stops or self.warn_usd is not None or self.warn_usd_day is not None

    @property
    def words(self) -> str:
        """The limits in one line."""
        named = (
            ("warn", self.warn_usd, ""),
            ("stop", self.max_usd, ""),
            ("warn", self.warn_usd_day, " a day"),
            ("stop", self.max_usd_day, " a day"),
        )
        return ", ".join(f"{what} at ${usd:,.2f}{span or ' a session'}" for what, usd, span in named if usd is not None)


class SpendKey(NamedTuple):
    """Whose money a request costs."""

    session: str
    """The client's name for it, sub-agents included; without one its run, its project or its log."""
    project: str = ""

    @classmethod
    def of(cls, session: str, *, run: str, project: str, chain: str) -> "SpendKey":
        """The key of a request: a session that is only the label of a path is none."""
        named = session.partition("/")[0] if session != project else ""
        return cls(named or run or project or chain, project)


class Spending:
    """Sums by session and by day, over all that is in the accounts, whoever wrote it."""

    def __init__(self, limits: SpendLimits) -> None:
        self.limits = limits
        self._sessions: OrderedDict[str, float] = OrderedDict()
        self._days: OrderedDict[str, float] = OrderedDict()
        self._notes: OrderedDict[tuple[str, str], str] = OrderedDict()
        """By project and by what it is of, the last line that was said."""

    def add(self, key: SpendKey, at: float, usd: float, *, is_now: bool) -> None:
        """Count a request; a line is said where a limit is passed by a request of this run (`is_now`)."""
        day = _day(at)
        for sums, name, most in ((self._sessions, key.session, _MOST_SESSIONS), (self._days, day, _MOST_DAYS)):
            if name:
                sums[name] = sums.pop(name, 0.0) + usd
                if len(sums) > most:
                    sums.popitem(last=False)
        if is_now:
            self._note(key, f"session {key.session[:_SHORT_NAME]}", self._sessions.get(key.session, 0.0), "")
            self._note(key, f"this day ({day})", self._days[day], "-day")

    def problem(self, key: SpendKey, model: str, *, is_priced: bool) -> str:
        """Why a request is refused; empty if it is not."""
        limits = self.limits
        if not limits.stops:
            return ""
        if not is_priced:
            return (
                f"no price is known of {model}, so that --max-usd cannot be kept. Give its dollars for a million tokens, "
                f"--prices {model}=INPUT/OUTPUT, or 0/0 where it is free; or leave the limit out."
            )
        session, day = self._sessions.get(key.session, 0.0), self._days.get(_day(time.time()), 0.0)
        if limits.max_usd is not None and session >= limits.max_usd:
            return (
                f"this session has cost ${session:,.2f}, and its limit is ${limits.max_usd:,.2f} (--max-usd). Begin a new "
                "session, or start Redline with a higher limit and go on."
            )
        if limits.max_usd_day is not None and day >= limits.max_usd_day:
            return (
                f"this day has cost ${day:,.2f}, and its limit is ${limits.max_usd_day:,.2f} (--max-usd-day). Go on tomorrow, "
                "or start Redline with a higher limit."
            )
        return ""

    def notes(self, projects: Sequence[str] = ()) -> dict[str, list[str]]:
        """The lines that were said in this run, by project."""
        found: dict[str, list[str]] = {name: [] for name in projects}
        for (project, _), line in self._notes.items():
            found.setdefault(project, []).append(line)
        return found

    def report(self) -> dict[str, object]:
        """The limits and the sums of today, as plain values."""
        named = {name: getattr(self.limits, name) for name in ("warn_usd", "max_usd", "warn_usd_day", "max_usd_day")}
        return {**named, "today_usd": round(self._days.get(_day(time.time()), 0.0), 6), "notes": self.notes()}

    def keep_only(self, sessions: set[str]) -> None:
        """Forget the names of other sessions; the days keep their sums."""
        short = {name.partition("/")[0] for name in sessions}
        self._sessions = OrderedDict((name, usd) for name, usd in self._sessions.items() if name in short)
        self._notes.clear()

    def _note(self, key: SpendKey, whose: str, usd: float, end: str) -> None:
        """A line, logged once for the first limit that is passed and once for the second."""
        warn, most = (getattr(self.limits, f"{name}_usd{end.replace('-', '_')}") for name in ("warn", "max"))
        passed = "max" if most is not None and usd >= most else "warn" if warn is not None and usd >= warn else ""
        if not passed:
            return
        limit = most if passed == "max" else warn
        line = f"{whose} has cost ${usd:,.2f}: more than ${limit:,.2f} (--{passed}-usd{end})"
        if f"--{passed}-usd" not in self._notes.get((key.project, whose), ""):
            _log.warning("%s", line)
        self._notes[key.project, whose] = line
        if len(self._notes) > _MOST_SESSIONS:
            self._notes.popitem(last=False)


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(at))
