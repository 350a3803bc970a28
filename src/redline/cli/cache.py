"""`redline cache`: which words broke the provider's cache, how often, what that cost, and what to set."""

from dataclasses import dataclass, field

import click

from redline.cache_breaks.report import BreakRow, BreakSums
from redline.cli.arguments import SESSION, expanded, open_store
from redline.cli.formatting import dollars, share, wrapped
from redline.cli.loaded_session import for_each_session
from redline.cli.output import columns_of_terminal, counted, say, say_json
from redline.cli.setting_options import found_setting
from redline.policy.settings import SETTINGS
from redline.sessions.catalog.session_files import SessionInput, find_sessions
from redline.sessions.lost_caches import breaks_in_log, lost_caches
from redline.sessions.read_session import read_session

_WHO = {"client": "the client", "redline": "Redline", "provider": "the provider", "time": "the pause"}
_MOST_SHOWN = 10
_INDENT = 10


@click.command("cache")
@click.argument("sessions", nargs=-1, type=SESSION, metavar="[SESSION...]")
@click.option("--all", "is_all", is_flag=True, help=f"Every place, not only the {_MOST_SHOWN} most expensive.")
@click.option("--json", "as_json", is_flag=True, help="One object a line for each place, with the words before and after.")
def command(sessions: tuple[str, ...], is_all: bool, as_json: bool) -> int:
    """Name the places that broke the provider's prompt cache, with author, count, cost, and the setting that helps.

    SESSION is a session file, a Redline log, an address, a folder, or a short name of `redline sessions`. Without one, the
    store of `redline run` and `redline proxy`. These two, and the transport, see requests whole: they name the system block,
    the tool or the message that changed, with the words there. Session files of agents hold messages alone: of them it says
    what the reported usage tells. Tokens are those that could have been read and were not; dollars are list prices.

    Exit code 0, or 2 if a session could not be read; the others are still added up.

    \b
    Examples:
      redline cache
      redline cache 1
      redline cache ~/.claude/projects/my-project --json
    """
    found, added = _found(sessions), _Added()
    code = for_each_session(found, added.take, has_bar=not as_json)
    rows = added.sums.rows
    if as_json:
        for row in rows:
            say_json(row.to_json())
        return code
    for line in wrapped(added.words(), columns_of_terminal()):
        say(line, "bold" if rows else "")
    for row in rows if is_all else rows[:_MOST_SHOWN]:
        _say_row(row)
    if len(rows) > _MOST_SHOWN and not is_all:
        say(f"… and {len(rows) - _MOST_SHOWN:,} more: --all shows them")
    return code


def _found(sessions: tuple[str, ...]) -> list[SessionInput]:
    """The sessions that are named, else all in the store of the proxy."""
    if sessions:
        return find_sessions(sessions)
    open_store(None)  # which says how to begin one, if none is there
    return find_sessions([expanded(str(found_setting(click.get_current_context(), SETTINGS["proxy.store"]).value))])


@dataclass(slots=True)
class _Added:
    """What several sessions add up to."""

    sums: BreakSums = field(default_factory=BreakSums)
    sessions: int = 0
    requests: int = 0
    """Those whose usage was reported."""
    paid_usd: float = 0.0

    def take(self, source: SessionInput) -> int:
        """Add a session up; of a log all branches, of an agent's file all conversations."""
        session = read_session(source)
        recorded = breaks_in_log(session.log) if session.log is not None else {}
        for history in session.histories():
            self.requests += sum(request.usage is not None for request in history.requests)
            for broke in recorded.values() if recorded else (broke for _, broke in lost_caches(history)):
                self.sums.add(broke)
        paid = session.paid()
        self.sessions += 1
        self.paid_usd += paid.usd if paid is not None else 0.0
        return 0

    def words(self) -> str:
        """How often the cache was lost, and the share of that in what was paid."""
        where = f"{counted(self.requests, 'request')} of {counted(self.sessions, 'session')}"
        if not self.requests:
            return f"No usage is recorded in {counted(self.sessions, 'session')}: nothing is known of the provider's cache."
        rows = self.sums.rows
        if not rows:
            return f"The cache was read as far as it could be in {where}."
        count, tokens, usd = (sum(getattr(row, name) for row in rows) for name in ("count", "lost_tokens", "lost_usd"))
        money = f", {dollars(usd)}" if usd else ""
        money += f" ({share(usd / self.paid_usd)} of what was paid)" if usd and self.paid_usd else ""
        times = "once" if count == 1 else f"{count:,} times"
        return f"Much of the cache was lost {times} in {where}: {tokens:,} tokens{money}"


def _say_row(row: BreakRow) -> None:
    """A place with its cause, cost, words before and after, and advice."""
    say()
    who = f" ({_WHO[row.by]})" if row.by in _WHO else ""
    cost = f"{row.lost_tokens:,} tokens" + (f", {dollars(row.lost_usd)}" if row.lost_usd else "")
    lines = wrapped(f"{row.says}{who}: {cost}", columns_of_terminal() - _INDENT)
    for place, line in enumerate(lines):
        say(f"{f'{row.count:,} ×' if not place else '':>{_INDENT - 2}}  {line}")
    for name, text in (("before", row.latest.before), ("after", row.latest.after), ("set", row.advice)):
        for place, line in enumerate(wrapped(text, columns_of_terminal() - _INDENT - 8) if text else ()):
            say(f"{'':{_INDENT}}{name if not place else '':8}{line}", "" if name == "set" else "dim")
