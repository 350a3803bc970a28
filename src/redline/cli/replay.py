"""`redline replay`: what each policy would have made of recorded sessions, in cost and in risk, before any is switched on."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from redline.cli.curves import draw_curves, show_curves
from redline.cli.replay_advice import show_advice
from redline.cli.replay_tables import Arrivals, show_comparison
from redline.cli.session_files import session_files
from redline.errors import RedlineError, ValidationError
from redline.prices import PRICE_RULES, Price, PriceRule, find_price, parse_rule
from redline.replay.advice import advise
from redline.replay.comparison import BASELINE, Comparison, SessionOutcome, compare, is_refused
from redline.replay.policies import POLICIES
from redline.replay.session import sessions_in
from redline.transcripts import read_transcript

__all__ = ["command"]

_UNREADABLE = 2
_HOUR = ":1h"
_CLEAR_LINE = "\r\x1b[2K"

_Job = Callable[[Path], list[SessionOutcome] | str]
_Result = tuple[Path, list[SessionOutcome] | str]


@click.command("replay")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--policy", "policies", multiple=True, help="Only this policy (may be repeated); all without it.")
@click.option(
    "--prices",
    "names",
    multiple=True,
    help="A price rule as read/write/lifetime (0.1/1.25/5m), or a model, with :1h for its cache of an hour. "
    "May be repeated; without it the session's own model, and with --details six usual rules.",
)
@click.option("--details", is_flag=True, help="After the advice, tables: every policy at every price, and each file.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object for programs, with everything.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the longest session into this PNG (extra `plot`).")
@click.option("--jobs", type=click.IntRange(min=1), help="How many processes; as many as there are cores without it.")
def command(
    files: tuple[Path, ...],
    policies: tuple[str, ...],
    names: tuple[str, ...],
    details: bool,
    as_json: bool,
    plot: Path | None,
    jobs: int | None,
) -> None:
    """Replay recorded sessions: what they cost, what a policy would have cost, and what it would have risked.

    FILES are session files, or folders of them. First comes what to do about it, at the prices of the model that was used.
    Costs are those of input, net of what is written to the cache anew, measured against sending everything (`none`).
    With --details, `bound` is what a mark set would cost if applying it lost no cache.
    """
    prices = _Prices(
        rules={name: _rule(name) for name in names} or (dict(PRICE_RULES) if details or as_json or plot else {}),
        models={name: price for name in names if (price := _price(name)) is not None},
        named=names[0] if names else None,
    )
    chosen = _known(policies) or tuple(POLICIES)
    paths = list(session_files(files))
    job = partial(_replayed, prices=prices, policies=chosen, with_requests=plot is not None or len(paths) == 1)
    found, failed = _run(paths, job, jobs=jobs, is_watched=not as_json)
    outcomes = [outcome for path in paths for outcome in found.get(path, ())]
    comparison = Comparison(prices.models)
    for outcome in outcomes:
        comparison.add(outcome)
    if as_json:
        advice = advise(outcomes).as_json() if outcomes else None
        click.echo(json.dumps({"advice": advice, **comparison.as_json()}))
    elif not outcomes:
        click.echo("no request to a model is recorded there")
    else:
        show_advice(advise(outcomes))
        if details:
            _show_details(found, comparison, chosen, prices)
        else:
            click.echo("\n`--details` shows every policy at other prices, `--json` all of it.")
    if plot is not None and outcomes:
        draw_curves(_longest(outcomes), chosen, plot)
    sys.exit(_UNREADABLE if failed else 0)


@dataclass(frozen=True)
class _Prices:
    """What the sessions are reckoned at."""

    rules: dict[str, PriceRule]
    models: dict[str, Price]
    """Of the rules, those that are a model's."""
    named: str | None
    """The first that was asked for; without one a session is reckoned at the prices of its own model."""

    def own(self, model: str | None) -> tuple[PriceRule, Price | None]:
        """What a session costs that went to a model."""
        if self.named is not None:
            return self.rules[self.named], self.models.get(self.named)
        price = find_price(model) if model is not None else None
        return (price.rule(), price) if price is not None else (next(iter(PRICE_RULES.values())), None)


def _show_details(
    found: Mapping[Path, list[SessionOutcome]], comparison: Comparison, policies: Sequence[str], prices: _Prices
) -> None:
    first = next(iter(prices.rules))
    if len(found) > 1:
        arrivals = Arrivals(policies, first, prices.models)
        for path, outcomes in found.items():
            arrivals.show(path, outcomes)
    show_comparison(comparison, policies, {name: price.input for name, price in prices.models.items()})
    longest = _longest([outcome for outcomes in found.values() for outcome in outcomes])
    allowed = [policy for policy in policies if not is_refused(policy, prices.models.get(first))]
    if longest.outcomes[first][BASELINE].sizes and allowed:
        show_curves(longest, allowed, first)


def _rule(name: str) -> PriceRule:
    """By its numbers, or by a model's name."""
    if _is_rule(name):
        return parse_rule(name)
    price = _price(name)
    if price is None:
        raise ValidationError(f"no price is known for {name!r}; give a rule such as 0.1/1.25/5m, or install the extra 'prices'")
    return price.rule(is_long=name.endswith(_HOUR))


def _price(name: str) -> Price | None:
    return None if _is_rule(name) else find_price(name.removesuffix(_HOUR))


def _is_rule(name: str) -> bool:
    return "/" in name and name[0].isdigit()


def _known(policies: tuple[str, ...]) -> tuple[str, ...]:
    for name in policies:
        if name not in POLICIES:
            raise ValidationError(f"There is no policy named {name!r}. Known are: {', '.join(POLICIES)}.")
    return policies


def _replayed(path: Path, *, prices: _Prices, policies: tuple[str, ...], with_requests: bool) -> list[SessionOutcome] | str:
    """What became of the sessions of one file; a text if it cannot be read."""
    try:
        sessions = list(sessions_in(read_transcript(path)))
    except RedlineError as problem:
        return str(problem)
    outcomes = []
    for session in sessions:
        own, price = prices.own(session.model)
        outcomes.append(compare(session, prices.rules, policies, own=own, price=price, with_requests=with_requests))
    return outcomes


def _run(
    paths: Sequence[Path], job: _Job, *, jobs: int | None, is_watched: bool
) -> tuple[dict[Path, list[SessionOutcome]], bool]:
    """All files, on all cores. What cannot be replayed is told on standard error, and why."""
    found: dict[Path, list[SessionOutcome]] = {}
    results = _results(paths, job, min(jobs or os.cpu_count() or 1, len(paths)))
    for path, result in _watched(results, len(paths), is_shown=is_watched):
        if isinstance(result, str):
            click.echo(f"redline: {result}", err=True)
            continue
        found[path] = result
        if not result:
            click.echo(f"redline: {path}: no request to a model is recorded there", err=True)
    # in the order of the files, so that the sums do not depend on which core was faster
    return {path: found[path] for path in paths if path in found}, len(found) < len(set(paths))


def _results(paths: Sequence[Path], job: _Job, jobs: int) -> Iterator[_Result]:
    if jobs <= 1:
        yield from ((path, job(path)) for path in paths)
        return
    with ProcessPoolExecutor(jobs) as pool:
        waiting = {pool.submit(job, path): path for path in paths}
        for done in as_completed(waiting):
            yield waiting[done], done.result()


def _watched(results: Iterator[_Result], length: int, *, is_shown: bool) -> Iterator[_Result]:
    """The results, with a bar on standard error where somebody looks at it. It makes room for what is told in between."""
    if not is_shown or not sys.stderr.isatty():
        yield from results
        return
    with click.progressbar(results, length=length, label="replaying", file=sys.stderr) as bar:
        for result in bar:
            click.echo(_CLEAR_LINE, nl=False, err=True)
            yield result


def _longest(found: Sequence[SessionOutcome]) -> SessionOutcome:
    return max(found, key=lambda outcome: outcome.requests)
