"""`redline replay`: what each policy would have made of recorded sessions, in cost and in risk, before any is switched on."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path

import click

from redline.cli.curves import draw_curves, show_curves
from redline.cli.replay_tables import Arrivals, show_comparison
from redline.cli.session_files import session_files
from redline.errors import RedlineError, ValidationError
from redline.prices import PRICE_RULES, Price, PriceRule, find_price, parse_rule
from redline.replay.comparison import BASELINE, Comparison, SessionOutcome, compare
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
    "May be repeated; the six usual rules without it.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object for programs.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the longest session into this PNG (extra `plot`).")
@click.option("--jobs", type=click.IntRange(min=1), help="How many processes; as many as there are cores without it.")
def command(
    files: tuple[Path, ...],
    policies: tuple[str, ...],
    names: tuple[str, ...],
    as_json: bool,
    plot: Path | None,
    jobs: int | None,
) -> None:
    """Replay recorded sessions under policies and prices: cost, cache, risk.

    FILES are session files, or folders of them. Costs are those of input, net of what is written to the cache anew, and are
    measured against sending everything (the policy `none`). `bound` is what a mark set would cost if applying it lost no cache.
    """
    rules = {name: _rule(name) for name in names} or dict(PRICE_RULES)
    models = {name: price for name in names if (price := _price(name)) is not None}
    chosen = _known(policies) or tuple(POLICIES)
    paths = list(session_files(files))
    job = partial(_replayed, rules=rules, policies=chosen, with_requests=plot is not None or len(paths) == 1)
    arrivals = Arrivals(chosen, next(iter(rules))) if len(paths) > 1 and not as_json else None
    found, failed = _run(paths, job, jobs=jobs, arrivals=arrivals)
    comparison = Comparison()
    for outcome in found:
        comparison.add(outcome)
    if as_json:
        click.echo(json.dumps(comparison.as_json()))
    elif not comparison.requests:
        click.echo("no request to a model is recorded there")
    else:
        show_comparison(comparison, chosen, {name: price.input for name, price in models.items()})
        _show_longest(found, chosen, next(iter(rules)))
        _show_bound(models)
    if plot is not None and found:
        draw_curves(_longest(found), chosen, plot)
    sys.exit(_UNREADABLE if failed else 0)


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


def _replayed(
    path: Path, *, rules: dict[str, PriceRule], policies: tuple[str, ...], with_requests: bool
) -> list[SessionOutcome] | str:
    """What became of the sessions of one file; a text if it cannot be read."""
    try:
        sessions = list(sessions_in(read_transcript(path)))
    except RedlineError as problem:
        return str(problem)
    return [compare(session, rules, policies, with_requests=with_requests) for session in sessions]


def _run(paths: Sequence[Path], job: _Job, *, jobs: int | None, arrivals: Arrivals | None) -> tuple[list[SessionOutcome], bool]:
    """All files, on all cores; each is taken in, and told about, as it is done."""
    found: dict[Path, list[SessionOutcome]] = {}
    results = _results(paths, job, min(jobs or os.cpu_count() or 1, len(paths)))
    for path, result in _watched(results, len(paths), is_shown=arrivals is not None):
        if isinstance(result, str):
            click.echo(f"redline: {result}", err=True)
            continue
        found[path] = result
        if arrivals is not None:
            arrivals.show(path, result)
    # in the order of the files, so that the sums do not depend on which core was faster
    return [outcome for path in paths for outcome in found.get(path, ())], len(found) < len(set(paths))


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


def _show_longest(found: Sequence[SessionOutcome], policies: Sequence[str], rule: str) -> None:
    longest = _longest(found)
    if longest.outcomes[rule][BASELINE].sizes:
        show_curves(longest, policies, rule)


def _show_bound(models: Mapping[str, Price]) -> None:
    """What costs nothing may still not be possible."""
    bound = ", ".join(name for name, price in models.items() if price.binds_reasoning)
    if bound:
        click.echo(
            f"\n{bound}: refuses a request in which anything before its reasoning changed.\n"
            "What remains is to let the provider clear (clear_tool_uses)."
        )
