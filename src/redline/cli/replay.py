"""`redline replay`: what each policy would have made of recorded sessions, in cost and in risk, before any is switched on."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path

import click
import msgspec

from redline.cli.arguments import SESSION
from redline.cli.loaded_session import EXIT_OK, for_each_session
from redline.cli.output import complain, say, say_json
from redline.cli.replay_report import added_up, draw_curves, show_advice, show_comparison, show_curves, show_files, show_places
from redline.cli.setting_options import with_settings
from redline.errors import ValidationError
from redline.prices import PRICE_RULES, Price, PriceRule, find_price, parse_rule
from redline.sessions.catalog.session_files import SessionInput, find_sessions
from redline.sessions.read_session import read_session
from redline.sessions.replay.advice import Advice, advise
from redline.sessions.replay.comparison import (
    ADVISED,
    BASELINE,
    POLICIES,
    Comparison,
    SessionOutcome,
    check_policies,
    compare,
)
from redline.sessions.replay.engines import ShippedSession, in_processes, on_ray
from redline.sessions.replay.paid import own_prices
from redline.sessions.replay.risk import PolicyPlaces
from redline.store.proxy_files import struck_sessions

_HOUR = ":1h"
_REQUESTS = attrgetter("requests")

_Job = Callable[[SessionInput], list[SessionOutcome]]
_Prices = dict[str, tuple[PriceRule, Price | None]]
"""What sessions are reckoned at: rules by name, with the model's price where the name is that of a model."""


@click.command("replay")
@click.argument("sessions", nargs=-1, required=True, type=SESSION, metavar="SESSION...")
@click.option(
    "--policy",
    "policies",
    multiple=True,
    help="Only this policy (may be repeated); without it all but those of other programs.",
)
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
    check_policies(policies)
    chosen = policies or tuple(POLICIES)
    priced = find_prices(prices, PRICE_RULES if details or as_json or plot is not None else None)
    inputs = find_sessions(sessions)
    if places and (len(inputs) > 1 or len(policies) > 1):
        raise ValidationError("--places is for one session under one policy. Name one session, and one --policy or none.")
    with_places = (policies or ADVISED) if places else ()
    with_requests = plot is not None or len(inputs) == 1
    rules = {name: rule for name, (rule, _) in priced.items()}
    compared = partial(compare, rules=rules, policies=chosen, with_requests=with_requests, with_places=with_places)
    job = partial(_replay, compared=compared, named=next(iter(priced.values())) if prices else None)
    code, found = _outcomes_of(inputs, job, engine, address=address, jobs=jobs, has_bar=not as_json)
    outcomes = [outcome for of_session in found.values() for outcome in of_session]
    comparison = added_up(outcomes)
    advice = advise(outcomes) if outcomes else None
    used = _places(outcomes, advice, policies) if places and advice is not None else None
    if as_json:
        told = {"places": msgspec.to_builtins(used)} if places else {}
        say_json({"advice": advice.as_json() if advice is not None else None, **comparison.as_json(), **told})
    elif advice is not None:
        show_advice(advice)
        if used is not None:
            show_places(used)
        elif places:
            say()
            say("No policy is advised, so there are no places to show; name one with --policy.")
        _show_details(found, comparison, chosen, priced, is_asked=details)
    if plot is not None and outcomes:
        draw_curves(max(outcomes, key=_REQUESTS), chosen, plot)
    return code


def find_prices(names: Sequence[str], usual: Mapping[str, PriceRule] | None = None) -> _Prices:
    """The named prices, else the usual. A name that is no rule in numbers, and no model whose price is known, is refused."""
    found: _Prices = {} if names or usual is None else {name: (rule, None) for name, rule in usual.items()}
    for name in names:
        if "/" in name and name[0].isdigit():
            found[name] = parse_rule(name), None
            continue
        price = find_price(name.removesuffix(_HOUR))
        if price is None:
            how = "give a rule such as 0.1/1.25/5m, or install the extra 'prices'"
            raise ValidationError(f"no price is known for {name!r}; {how}")
        found[name] = price.rule(is_long=name.endswith(_HOUR)), price
    return found


def _replay(
    session: SessionInput, *, compared: Callable[..., SessionOutcome], named: tuple[PriceRule, Price | None] | None
) -> list[SessionOutcome]:
    """What became of the conversations of a session, at the named prices, or those of its model and of the cache it used."""
    outcomes = []
    read = read_session(session)
    proxied = struck_sessions() if read.log is None else {}
    for history in read.histories():
        if history.requests:
            own, price = named or own_prices(history)
            outcome = compared(history, own=own, price=price)
            if read.log is not None:  # what a log has cost is told with the branches that were left
                outcomes.append(msgspec.structs.replace(outcome, paid=read.paid()))
                continue
            struck = float(proxied.get(history.id, 0))  # behind Redline: as its proxy says, or as its usage shows
            outcomes.append(msgspec.structs.replace(outcome, missing_tokens=max(outcome.missing_tokens, struck)))
    return outcomes


def _places(outcomes: Sequence[SessionOutcome], advice: Advice, policies: Sequence[str]) -> PolicyPlaces | None:
    """Where what the named policy struck was used, or else the advised one; None if there is neither."""
    if len(outcomes) > 1:
        count = f"{len(outcomes):,} are recorded there, sub-agents among them"
        raise ValidationError(f"--places is for one conversation, and {count}. Give a session that holds one.")
    [outcome], policy = outcomes, next(iter(policies), advice.policy)
    return outcome.places.get(policy) if policy is not None else None


def _replay_unpacked(parcel: ShippedSession, *, job: _Job) -> list[SessionOutcome]:
    """What became of a session that was sent here from another machine."""
    with parcel.unpacked() as session:
        return job(session)


def _outcomes_of(
    inputs: Sequence[SessionInput], job: _Job, engine: str, *, address: str | None, jobs: int | None, has_bar: bool
) -> tuple[int, dict[str, list[SessionOutcome]]]:
    """Do the job on every session, here or on a cluster: the exit code, and the outcomes of each that could be read."""
    if engine != "ray" and address is not None:
        raise ValidationError("--address is that of a Ray cluster. Write --engine ray too.")

    def take(session: SessionInput) -> int:
        found[session.name] = results.result_of(session)
        if not found[session.name]:
            complain(f"{session.name}: no request to a model is recorded there")
        return EXIT_OK

    found: dict[str, list[SessionOutcome]] = {}
    running = (
        on_ray(inputs, partial(_replay_unpacked, job=job), pack=ShippedSession.of, address=address, jobs=jobs)
        if engine == "ray"
        else in_processes(inputs, job, jobs or os.cpu_count() or 1)
    )
    with running as results:
        code = for_each_session(results, take, has_bar=has_bar)
    return code, {session.name: found[session.name] for session in inputs if session.name in found}  # sums depend on the order


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
    first = next(iter(prices))
    if len(found) > 1:
        show_files(found, policies, first)
    show_comparison(comparison, policies, {name: price.input for name, (_, price) in prices.items() if price is not None})
    longest = max((outcome for outcomes in found.values() for outcome in outcomes), key=_REQUESTS)
    if longest.outcomes[first][BASELINE].sizes:
        show_curves(longest, policies, first)
