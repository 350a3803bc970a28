"""`redline replay`: what each policy would have made of recorded sessions, in cost and in risk, before any is switched on."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click
import msgspec

from redline.cli.on_each import FINE, on_each
from redline.cli.output import complain, say, say_json
from redline.cli.replay_advice import show_advice
from redline.cli.replay_curves import draw_curves, show_curves
from redline.cli.replay_places import show_places
from redline.cli.replay_tables import show_comparison, show_files
from redline.cli.session_argument import SESSION
from redline.cli.setting_options import with_settings
from redline.errors import ValidationError
from redline.inspection.read_session import read_session
from redline.inspection.session_files import SessionInput, find_sessions
from redline.inspection.session_parcel import SessionParcel
from redline.prices import PRICE_RULES, Price, PriceRule, find_price, parse_rule
from redline.replay.advice import Advice, advise
from redline.replay.comparison import ADVISED, BASELINE, POLICIES, Comparison, SessionOutcome, compare
from redline.replay.engines import Results, in_processes
from redline.replay.history import SessionHistory
from redline.replay.own_prices import own_prices
from redline.replay.places import PolicyPlaces
from redline.replay.ray_engine import on_ray
from redline.store.proxy_accounts import struck_sessions

__all__ = ["check_prices", "command"]

_HOUR = ":1h"

_Job = Callable[[SessionInput], list[SessionOutcome]]


@click.command("replay")
@click.argument("sessions", nargs=-1, required=True, type=SESSION, metavar="SESSION...")
@click.option("--policy", "policies", multiple=True, help="Only this policy (may be repeated); all without it.")
@click.option("--details", is_flag=True, help="After the advice, tables: every policy at every price, and each file.")
@click.option(
    "--places",
    is_flag=True,
    help="Of one session: each part that was struck and then used, by which request and in which words, under the policy "
    "named by --policy or else the advised one.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object for programs, with everything.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the longest session into this PNG (extra `plot`).")
@with_settings("replay.prices", "replay.jobs", "replay.engine", "replay.address")
def command(
    sessions: tuple[str, ...],
    policies: tuple[str, ...],
    prices: tuple[str, ...],
    details: bool,
    places: bool,
    as_json: bool,
    plot: Path | None,
    jobs: int | None,
    engine: str,
    address: str | None,
) -> int:
    """Replay recorded sessions: what they cost, what a policy would have cost, and what it would have risked.

    SESSION is a session file, a Redline log, an address (sqlite:///chats.db#name, s3://bucket/prefix), a folder, or - for
    standard input. First comes what to do about it, at the prices of the model that was used. Costs are those of input, net of
    what is written to the cache anew, measured against sending everything (`none`). The policies are decided by the engine
    that runs them, request by request.

    Exit code 0, or 2 if a session could not be read; the others are still replayed.

    \b
    Examples:
      redline replay session.jsonl
      redline replay ~/.claude/projects/my-project --details
      redline replay session.jsonl --places --policy bold
      redline replay session.jsonl --prices claude-opus-5-5 --json
      redline replay s3://bucket/sessions --engine ray --address auto
    """
    for name in policies:
        if name not in POLICIES:
            raise ValidationError(f"There is no policy named {name!r}. Known are: {', '.join(POLICIES)}.")
    chosen = policies or tuple(POLICIES)
    priced = _Prices.of(prices, with_usual=details or as_json or plot is not None)
    inputs = find_sessions(sessions)
    with_places = _with_places(inputs, policies) if places else ()
    with_requests = plot is not None or len(inputs) == 1
    job = partial(_replay, prices=priced, policies=chosen, with_requests=with_requests, with_places=with_places)
    found: dict[str, list[SessionOutcome]] = {}

    def take(session: SessionInput) -> int:
        found[session.name] = results.result_of(session)
        if not found[session.name]:
            complain(f"{session.name}: no request to a model is recorded there")
        return FINE

    with _chosen_engine(engine, inputs, job, address=address, jobs=jobs) as results:
        code = on_each(results, take, has_bar=not as_json)
    found = {session.name: found[session.name] for session in inputs if session.name in found}  # sums depend on the order
    outcomes = [outcome for of_session in found.values() for outcome in of_session]
    comparison = Comparison()
    for outcome in outcomes:
        comparison.add(outcome)
    advice = advise(outcomes) if outcomes else None
    used = _places(outcomes, advice, policies) if places and advice is not None else None
    if as_json:
        told = {"places": msgspec.to_builtins(used)} if places else {}
        say_json({"advice": advice.as_json() if advice is not None else None, **comparison.as_json(), **told})
    elif advice is not None:
        show_advice(advice)
        _show_places(used, is_asked=places)
        _show_details(found, comparison, chosen, priced, is_asked=details)
    if plot is not None and outcomes:
        draw_curves(max(outcomes, key=_requests), chosen, plot)
    return code


@dataclass(frozen=True)
class _Prices:
    """What the sessions are reckoned at."""

    rules: dict[str, PriceRule]
    models: dict[str, Price]
    """Of the rules, those that are a model's."""
    named: str | None
    """The first that was asked for; without one a session is reckoned at the prices of its own model."""

    @classmethod
    def of(cls, names: Sequence[str], *, with_usual: bool) -> "_Prices":
        """Each by its numbers or by a model's name; where none is named, the usual ones if they are wanted."""
        rules: dict[str, PriceRule] = {}
        models: dict[str, Price] = {}
        for name in names:
            if "/" in name and name[0].isdigit():
                rules[name] = parse_rule(name)
                continue
            price = find_price(name.removesuffix(_HOUR))
            if price is None:
                how = "give a rule such as 0.1/1.25/5m, or install the extra 'prices'"
                raise ValidationError(f"no price is known for {name!r}; {how}")
            rules[name], models[name] = price.rule(is_long=name.endswith(_HOUR)), price
        if not names and with_usual:
            rules = dict(PRICE_RULES)
        return cls(rules, models, names[0] if names else None)

    def of_session(self, history: SessionHistory) -> tuple[PriceRule, Price | None]:
        """What a session costs: at the prices that were named, or those of its model and of the cache that it used."""
        if self.named is not None:
            return self.rules[self.named], self.models.get(self.named)
        return own_prices(history)


def check_prices(names: Sequence[str]) -> None:
    """Refuse what is neither a rule nor a model whose price is known."""
    _Prices.of(names, with_usual=False)


def _replay(
    session: SessionInput, *, prices: _Prices, policies: tuple[str, ...], with_requests: bool, with_places: tuple[str, ...]
) -> list[SessionOutcome]:
    """What became of the conversations of one session file or log."""
    compared = partial(compare, rules=prices.rules, policies=policies, with_requests=with_requests, with_places=with_places)
    outcomes = []
    read = read_session(session)
    proxied = struck_sessions() if read.log is None else {}
    for history in read.histories():
        if history.requests:
            own, price = prices.of_session(history)
            outcome = compared(history, own=own, price=price)
            # What a log has cost is told with the branches that were left.
            told = {"paid": read.paid()} if read.log is not None else {"missing_tokens": _missing(history, outcome, proxied)}
            outcomes.append(msgspec.structs.replace(outcome, **told))
    return outcomes


def _missing(history: SessionHistory, outcome: SessionOutcome, proxied: Mapping[str, int]) -> float:
    """What was struck from a session of an agent that ran behind Redline: as its proxy says, or as its usage shows."""
    return max(outcome.missing_tokens, float(proxied.get(history.id, 0)))


def _with_places(inputs: Sequence[SessionInput], policies: tuple[str, ...]) -> tuple[str, ...]:
    """The policies of which places may be asked for: the one that is named, or those that may be advised."""
    if len(inputs) > 1 or len(policies) > 1:
        raise ValidationError("--places is for one session under one policy. Name one session, and one --policy or none.")
    return policies or ADVISED


def _places(outcomes: Sequence[SessionOutcome], advice: Advice, policies: Sequence[str]) -> PolicyPlaces | None:
    """Where what the named policy struck was used, or else the advised one; None if there is neither."""
    if len(outcomes) > 1:
        count = f"{len(outcomes):,} are recorded there, sub-agents among them"
        raise ValidationError(f"--places is for one conversation, and {count}. Give a session that holds one.")
    [outcome], policy = outcomes, next(iter(policies), advice.policy)
    return outcome.places.get(policy) if policy is not None else None


def _replay_unpacked(parcel: SessionParcel, *, job: _Job) -> list[SessionOutcome]:
    """What became of a session that was sent here from another machine."""
    with parcel.unpacked() as session:
        return job(session)


def _chosen_engine(
    name: str, sessions: Sequence[SessionInput], job: _Job, *, address: str | None, jobs: int | None
) -> AbstractContextManager[Results[SessionInput, list[SessionOutcome]]]:
    """The job on every session, here or on a cluster."""
    if name == "ray":
        remote = partial(_replay_unpacked, job=job)
        return on_ray(sessions, remote, pack=SessionParcel.of, address=address, jobs=jobs)
    if address is not None:
        raise ValidationError("--address is that of a Ray cluster. Write --engine ray too.")
    return in_processes(sessions, job, jobs or os.cpu_count() or 1)


def _show_places(used: PolicyPlaces | None, *, is_asked: bool) -> None:
    """What was struck and then used, if that is asked for."""
    if used is not None:
        show_places(used)
    elif is_asked:
        say()
        say("No policy is advised, so there are no places to show; name one with --policy.")


def _show_details(
    found: Mapping[str, list[SessionOutcome]],
    comparison: Comparison,
    policies: Sequence[str],
    prices: _Prices,
    *,
    is_asked: bool,
) -> None:
    """The tables, and the longest session request by request; if they are not asked for, how to see them."""
    if not is_asked:
        say()
        say("`--details` shows every policy at other prices, `--json` all of it.")
        return
    first = next(iter(prices.rules))
    if len(found) > 1:
        show_files(found, policies, first)
    show_comparison(comparison, policies, {name: price.input for name, price in prices.models.items()})
    longest = max((outcome for outcomes in found.values() for outcome in outcomes), key=_requests)
    if longest.outcomes[first][BASELINE].sizes:
        show_curves(longest, policies, first)


def _requests(outcome: SessionOutcome) -> int:
    return outcome.requests
