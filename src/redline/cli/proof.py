"""`redline proof`: sessions that were edited beside sessions that were held out, and good ones beside bad ones."""

from collections.abc import Iterator, Sequence

import click
import msgspec

from redline.cli.arguments import SESSION, expanded
from redline.cli.loaded_session import EXIT_OK, for_each_session
from redline.cli.output import counted, say, say_json, say_wrapped, show_figures, show_title
from redline.cli.setting_options import found_setting
from redline.policy.settings import SETTINGS
from redline.sessions.catalog.session_files import SessionInput, find_sessions
from redline.sessions.proof.behaviour import SessionBehaviour, behaviour_of, by_name
from redline.sessions.proof.compared import LEAST, SOUGHT, Compared, compare_groups
from redline.sessions.read_session import read_session

_WIDEST = 100


@click.command("proof")
@click.argument("stores", nargs=-1, type=SESSION, metavar="[STORE]...")
@click.option("--json", "as_json", is_flag=True, help="One JSON object for programs, with everything.")
def command(stores: tuple[str, ...], as_json: bool) -> int:
    """Compare sessions that Redline edited with those that `--holdout` sent as they came: bill, turns, what was done again.

    STORE is a folder of Redline's logs or an address; without one, ~/.redline. Only sessions that began under a holdout are
    compared, each with its sub-agents. Differences have 95 % intervals, drawn anew from the sessions (bootstrap); one is called
    seen if chance alone would show as much in fewer than 5 % of the cases, over all measures together. The last column is how
    many more sessions it takes until a difference of 5 % would be seen. Sessions that you called good or bad, with `redline
    outcome`, are compared, too. Nothing leaves this machine.

    Exit code 0, or 2 if a session could not be read; the others are still compared.

    \b
    Examples:
      redline run --holdout 10% -- claude
      redline proof
      redline proof sqlite:///chats.db --json
    """
    found = list[SessionBehaviour]()

    def read(source: SessionInput) -> int:
        found.append(behaviour_of(read_session(source)))
        return EXIT_OK

    here = (expanded(str(found_setting(click.get_current_context(), SETTINGS["proxy.store"]).value)),)
    inputs = [one for one in find_sessions(stores or here) if one.problem or one.is_log or not one.is_found]
    code = for_each_session(inputs, read, has_bar=not as_json)
    sessions = by_name(one for one in found if one.turns)
    arms, outcomes = _groups(sessions, "arm", ("edited", "holdout")), _groups(sessions, "outcome", ("good", "bad"))
    if as_json:
        say_json({"arms": _as_json(arms), "outcomes": _as_json(outcomes)})
        return code
    if any(map(len, arms)):
        _show("Edited beside held out", arms, ("edited", "held out"))
    if any(map(len, outcomes)):
        _show("Ended well beside ended badly", outcomes, ("good", "bad"))
    for line in _what_to_do(sessions, arms):
        say()
        say_wrapped(line, _WIDEST)
    return code


_Groups = tuple[list[SessionBehaviour], list[SessionBehaviour]]


def _groups(sessions: Sequence[SessionBehaviour], field: str, names: tuple[str, str]) -> _Groups:
    first, second = ([one for one in sessions if getattr(one, field) == name] for name in names)
    return first, second


def _as_json(groups: _Groups) -> dict[str, object]:
    """How many sessions are in each group, what strikes saved there, and each measure."""
    compared = compare_groups(*groups)
    return {
        "sessions": [len(group) for group in groups],
        "turns": [sum(one.turns for one in group) for group in groups],
        "saved_usd": [sum(one.saved_usd for one in group) for group in groups],
        "asked_again": [sum(one.asked_again for one in group) for group in groups],
        "measures": [{**msgspec.to_builtins(one), "missing": one.missing} for one in compared],
    }


def _show(title: str, groups: _Groups, names: tuple[str, str]) -> None:
    """A row for each measure."""
    counts = " and ".join(f"{counted(len(group), 'session')} {name}" for group, name in zip(groups, names, strict=True))
    show_title(f"{title}: {counts}")
    headings = ("", *names, "difference", "95 % interval", "seen", "missing")
    show_figures(headings, [_row(one) for one in compare_groups(*groups)])


def _row(one: Compared) -> tuple[str, ...]:
    if one.means is None or one.difference is None or one.low is None or one.high is None:
        return (one.says, *(f"({count})" for count in one.sessions), "", "", "", "")

    def told(value: float) -> str:
        return f"{value:+.1%}" if one.is_ratio else f"{value:+.2f}"

    means = (f"{mean:,.0f}" if mean >= 1_000 else f"{mean:.3g}" for mean in one.means)
    missing = f"{one.missing:,}" if one.missing is not None else ""
    interval = f"{told(one.low)} to {told(one.high)}"
    return (one.says, *means, told(one.difference), interval, "yes" if one.is_seen else "no", missing)


def _what_to_do(sessions: Sequence[SessionBehaviour], arms: _Groups) -> Iterator[str]:
    """How to get more sessions, and how to read the table."""
    edited, held = map(len, arms)
    if not edited and not held:
        yield (
            f"No session here, of {len(sessions):,}, began under a holdout. `redline run --holdout 10% -- AGENT` or "
            "`redline proxy --holdout 10%` sends one session in ten as it came."
        )
    elif min(edited, held) < LEAST:
        yield f"Nothing is compared before there are {LEAST} sessions in both groups."
    else:
        yield (
            "Ratios are of typical sessions (geometric means), the means are arithmetic. Missing: sessions until a difference "
            f"of {SOUGHT:.0%} would be seen in four cases of five, with as large a share held out."
        )
    if again := sum(one.asked_again for one in arms[0]):
        yield f"{counted(again, 'result')} of edited sessions were asked for again after a strike, and kept from then on."
