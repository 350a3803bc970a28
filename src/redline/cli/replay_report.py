"""What `redline replay` prints or draws: the advice, with `--details` tables and curves, with `--places` what was used then."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redline.cli.formatting import printable, shortened
from redline.cli.output import columns_of_terminal, counted, say, say_wrapped, show_figures, show_title
from redline.errors import ExecutionError, MissingExtraError
from redline.policy.presets import PRESETS
from redline.prices import find_price
from redline.sessions.replay.advice import Advice
from redline.sessions.replay.comparison import ADVISED, BASELINE, Comparison, PolicyOutcome, SessionOutcome
from redline.sessions.replay.risk import PolicyPlaces
from redline.sessions.replay.under_policy import BY_PROVIDER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDEST = 100
_LEAST_WHOLE = 0.095
"""Smaller shares are told to a tenth of a percent: of risks that matters."""
_MOST_NAMED = 3
_CLEARED = {
    "clear_tool_uses": "the provider clears old results of tools above 100,000 tokens",
    "clear_tool_uses_min_gain": "the provider clears old results of tools above 100,000 tokens, 20,000 at a time",
}


def show_advice(advice: Advice) -> None:
    """On as many lines as the terminal needs; what switches it on is not broken, so that it can be copied."""
    say_wrapped(advice_text(advice), _WIDEST)
    if advice.weighed:
        rows = []
        for one in advice.weighed:
            name = f"{one.policy} *" if one.policy == advice.policy else one.policy
            cost = f"${one.cost:,.2f}" if advice.unit == "dollars" else f"{one.cost:,.0f}"
            shares = (f"{100 * share:.1f}%" for share in (one.risk, one.risk_requests, one.strict, one.strict_requests))
            counts = (f"{one.folds:,}", f"{one.strikes:,}")
            rows.append((name, cost, f"{one.ratio:.3f}", f"{one.ratio_with_rereads:.3f}", *counts, *shares))
        say()
        risks = ("quoted", "of\nrequests", "strict", "of\nrequests")
        show_figures(("weighed", "cost", "bill", "with\nrereads", "folds", "strikes", *risks), rows)
        say()
        say_wrapped(f"Why: {advice.why}.", _WIDEST)
    if advice.switch_on is not None:
        say()
        lines = ["The provider does it if the request says:"]
        if advice.policy not in BY_PROVIDER:
            is_run = (advice.switch_on_command or "").startswith("redline run")
            lines = ["To switch it on:" if is_run else "To switch it on, for an agent in any language:"]
            lines += ["", f"    {advice.switch_on_command}", "", "in Python:"]
        lines += ["", *(f"    {line}" if line else "" for line in advice.switch_on.splitlines())]
        if advice.switch_on_toml is not None:
            lines += ["", "or in a redline.toml:", "", *(f"    {line}" for line in advice.switch_on_toml.splitlines())]
        for line in lines:
            say(line)
    for assumption in advice.assumed:
        say()
        say_wrapped(f"Assumed: {assumption}.", _WIDEST)


def advice_text(advice: Advice) -> str:
    """A paragraph: cost of the sessions, what strikes saved already, the advised policy, its cost and its risk."""
    return " ".join([*_what_it_cost(advice), *_what_is_advised(advice)])


def _what_it_cost(advice: Advice) -> Iterator[str]:
    """What was reported and what is modelled, each by its name, and what strikes saved already, or would have saved."""
    models = ", ".join(advice.models[:3]) + (" and others" if len(advice.models) > 3 else "")
    requests = counted(advice.requests, "request") + (f" to {models}" if models else "")
    what = f"These {advice.sessions:,} sessions of {', '.join(advice.agents)} ({requests})"
    if advice.sessions == 1:
        what = f"This session of {advice.agents[0]} ({requests})"
    prices = ""
    if advice.unit != "tokens":
        is_other = len(advice.models) == 1 and find_price(advice.models[0]) != find_price(advice.priced_as[0])
        of = f" of {advice.priced_as[0]}" if is_other else ""
        prices = f" at the list prices{of}" + (f" ({advice.price_date})" if advice.price_date else "")
    caches = " and ".join(advice.caches)
    modelled = f"{_money(advice, advice.cost)} of input for sending everything, with a cache of {caches}"
    paid = advice.paid
    if paid is None:
        yield f"{what}: no usage was reported; our model of the bill says {modelled}{prices}."
    else:
        reported = f"the provider reported {_dollars(paid.input_usd)} of input, {_dollars(paid.usd)} with output"
        some = "" if paid.sessions == advice.sessions else f" in {paid.sessions:,} of them"
        yield f"{what}: {reported}{some}{prices}; our model of the bill says {modelled}."
    if (done := advice.sessions_edited) and paid is not None:
        verb, amount = ("saved", paid.saved_usd) if paid.saved_usd >= 0 else ("cost", -paid.saved_usd)
        where = "" if done == advice.sessions else f" in {done:,} of them"
        yield f"Redline{where} {verb} {_dollars(amount)} of it, net, by what was reported."
    if paid is not None and paid.would_save_usd:
        yield f"In a dry run Redline would have saved {_dollars(paid.would_save_usd)}, net, by what was reported."
    if thinned := advice.sessions_thinned:
        which = "It" if advice.sessions == 1 else f"{thinned:,} of them"
        yield (
            f"{which} ran behind Redline, or another program that leaves things out: the provider reported far fewer tokens "
            "than the file holds. Redline's own log has what was saved; it is not counted here again."
        )


def _what_is_advised(advice: Advice) -> Iterator[str]:
    """The advised policy, its cost and its risk."""
    is_bound = advice.sessions_bound == advice.sessions
    if advice.sessions_bound:
        model = f"{advice.priced_as[0]} refuses" if is_bound else f"The models of {advice.sessions_bound:,} of them refuse"
        yield f"{model} a request in which anything before its reasoning was changed, so little can be struck there."
    chosen = advice.figures
    if chosen is None:
        yield "Nothing is advised: there is nothing to switch on."
        return
    cost = _money(advice, chosen.cost)
    preset = PRESETS.get(chosen.policy)
    told = _CLEARED[chosen.policy] if preset is None else f"{preset.says[0].lower()}{preset.says[1:].rstrip('.')}"
    told = f"it strikes {told}" if preset is not None and chosen.strikes else told
    yield f"With `{chosen.policy}` it would have cost {cost}, {_percent(1 - chosen.ratio)} less: {told}."
    used = f"{chosen.strikes_used_later:,} ({_percent(chosen.risk)})" if chosen.strikes_used_later else "none"
    strict, requests = _percent(chosen.strict), _percent(chosen.strict_requests)
    if chosen.folds:
        yield f"It folds {counted(chosen.folds, 'part')}, {chosen.folded_tokens:,} tokens."
    if not chosen.strikes and not chosen.strikes_used_later:
        return
    yield f"Risk: of {counted(chosen.strikes, 'part')} struck, {used} were quoted or read again later;"
    yield f"by the strict measure, {strict} held words that were used later, in {requests} of the requests."
    if chosen.asked_again:
        again = f"{chosen.struck_again:,} of these were" if chosen.struck_again else "none of these was"
        yield f"{counted(chosen.asked_again, 'result')} would have been asked for again after a strike; {again} struck again."
    if chosen.strikes_used_later:
        at_worst = f"{_money(advice, chosen.cost_with_rereads)}, {_percent(1 - chosen.ratio_with_rereads)} less"
        yield f"Had the agent asked once more for each thing it quoted, it would have cost {at_worst}."


def _money(advice: Advice, cost: float) -> str:
    if advice.unit == "tokens":
        return f"as much as {cost:,.0f} uncached tokens"
    return _dollars(cost)


def _dollars(cost: float) -> str:
    return f"${cost:,.2f}" if abs(cost) >= 1 else f"${cost:.4f}"


def _percent(share: float) -> str:
    return f"{100 * share:.{1 if 0 < share < _LEAST_WHOLE else 0}f} %"


# --- tables


def added_up(outcomes: Iterable[SessionOutcome]) -> Comparison:
    """The outcomes of sessions in one comparison."""
    comparison = Comparison()
    for outcome in outcomes:
        comparison.add(outcome)
    return comparison


def show_files(found: Mapping[str, Sequence[SessionOutcome]], policies: Sequence[str], rule: str) -> None:
    """One line for each file in which a request is recorded."""
    others = [policy for policy in policies if policy != BASELINE]
    presets = [policy for policy in others if policy in ADVISED]
    named = (presets or others)[:_MOST_NAMED]
    files = {name: outcomes for name, outcomes in found.items() if outcomes}
    if files:
        show_title(f"Cost of input beside sending everything, file by file, at {rule}")
        say(" ".join([*named, "requests", "session"]))
    for name, outcomes in files.items():
        sums = added_up(outcomes)
        numbers = sums.as_json()["prices"][rule]["policies"]
        ratios = [f"{numbers[policy]['ratio']:.3f}".rjust(len(policy)) for policy in named]
        say(" ".join([*ratios, f"{sums.requests:8,}", name.rsplit("/", 1)[-1]]))


def show_comparison(comparison: Comparison, policies: Sequence[str], dollars: Mapping[str, float]) -> None:
    """Every policy at every price, then in detail at the first. `dollars`: what a million tokens cost, where that is known."""
    prices = comparison.as_json()["prices"]
    sessions = counted(comparison.sessions, "session")
    show_title(f"Cost of input beside sending everything ({comparison.requests:,} requests, {sessions})")
    rows = [(policy, *(f"{found['policies'][policy]['ratio']:.3f}" for found in prices.values())) for policy in policies]
    folded = [rule if "/" not in rule else "\n/".join(rule.rsplit("/", 1)) for rule in prices]
    show_figures(("policy", *folded), rows)
    rule = next(iter(prices))
    show_title(f"In detail, at {rule}")
    numbers = prices[rule]["policies"]
    shown = {policy: numbers[policy] for policy in policies if policy in numbers}
    _show_columns(shown, _COLUMNS if comparison.sessions == 1 else {**_COLUMNS, **_COLUMNS_OF_MANY})
    show_title(f"What was struck and then used, at {rule}")
    _show_columns(shown, _RISK_COLUMNS)
    kinds = [
        (f"{policy}: {kind}", found["strikes"], *(f"{found[name] / found['strikes']:.1%}" for name in ("quoted", "strict")))
        for policy in _SPLIT
        for kind, found in shown.get(policy, {"kinds": {}})["kinds"].items()
        if found["strikes"]
    ]
    if kinds:
        show_title(f"By kind of tool, at {rule}")
        show_figures(("policy: kind", "strikes", "quoted", "strict"), kinds)
    cost = numbers[BASELINE]["cost"]
    worth = f" (${cost * dollars[rule] / 1e6:,.2f})" if rule in dollars else ""
    say()
    say(f"1.000 is sending everything (`{BASELINE}`): {cost:,.0f} uncached input tokens{worth}.")
    say("Costs include what is written to the cache again after a strike; with rereads,")
    say("also asking again for each thing that was struck and then quoted, at worst.")
    say("Quoted: a line of it was said, or it was read again unchanged. Strict: a name,")
    say("path or number of it was used that nothing else had told the model. Asked again:")
    say("a file was read, or a call made, again while its earlier result was struck;")
    say("struck again: so was the new result, which would be a loop.")


def _show_columns(shown: Mapping[str, Mapping[str, Any]], columns: Mapping[str, tuple[str, str]]) -> None:
    """A row for each policy; a column is a field and its form."""
    rows = [(policy, *(form.format(found[name]) for name, form in columns.values())) for policy, found in shown.items()]
    show_figures(("policy", *columns), rows)


_SPLIT = (*ADVISED, "masking")
"""The policies of which the kinds of tool are told."""

_COLUMNS = {
    "cost": ("ratio", "{:.3f}"),
    "with\nrereads": ("ratio_with_rereads", "{:.3f}"),
    "tokens": ("tokens_ratio", "{:.3f}"),
    "cached": ("read_share", "{:.1%}"),
    "rewrites": ("rewrites", "{:,}"),
}
_COLUMNS_OF_MANY = {"dearer\nsessions": ("sessions_dearer", "{:.1%}"), "worst\nsession": ("worst_session", "{:.3f}")}
"""How often sessions get dearer says nothing about a single one."""
_RISK_COLUMNS = {
    "folds": ("folds", "{:,}"),
    "strikes": ("strikes", "{:,}"),
    "quoted": ("risk", "{:.1%}"),
    "quoted:\nrequests": ("risk_requests", "{:.1%}"),
    "strict": ("strict", "{:.1%}"),
    "strict:\nrequests": ("strict_requests", "{:.1%}"),
    "asked\nagain": ("asked_again", "{:,}"),
    "struck\nagain": ("struck_again", "{:,}"),
}


# --- places


def show_places(places: PolicyPlaces) -> None:
    """Three lines for each use, in the order of the requests; no line is wider than the terminal."""
    show_title(f"Struck by `{places.policy}`, and used later")
    counts = Counter(place.measure for place in places.used)
    quoted, strict = f"{counts['quoted']:,} were quoted or read again", f"{counts['strict']:,} used by the strict measure"
    say_wrapped(f"Of {counted(places.strikes, 'part')} struck, {quoted}, {strict}.")
    for place in places.used:
        tool = f"{place.tool}, " if place.tool else ""
        say()
        for line in (
            f"Request {place.used_in:,} used what was struck in request {place.struck_in:,} ({place.measure}):",
            f"  struck  message {place.message:,}, {tool}{place.kind}: {place.first_words}",
            f"  used    {place.words}",
        ):
            say(shortened(printable(line), columns_of_terminal(), at_end=True))


# --- curves

_LEVELS = "▁▂▃▄▅▆▇█"
_WIDEST_CURVE = 60
_MOST_CURVES = 4
"""Policies that are drawn where none are named: more cannot be told apart."""

_Curve = Callable[[PolicyOutcome], Sequence[float]]
_SIZES: _Curve = attrgetter("sizes")


def _running_cost(outcome: PolicyOutcome) -> Sequence[float]:
    return tuple(accumulate(outcome.costs))


def show_curves(session: SessionOutcome, policies: Sequence[str], rule: str) -> None:
    """The size of the context and the cost so far: a line of bars and its last value for each policy, all to one scale."""
    outcomes = {policy: session.outcomes[rule][policy] for policy in _drawn(policies)}
    show_title(f"{session.agent} {session.id}, {session.requests:,} requests")
    for title, curve in (("Tokens in each request", _SIZES), ("Cost so far, in uncached input tokens", _running_cost)):
        say(f"{title}, at {rule}:")
        curves = {policy: curve(outcome) for policy, outcome in outcomes.items()}
        ends = {policy: f"{values[-1]:,.0f}" if values else "" for policy, values in curves.items()}
        names, numbers = max(map(len, curves)), max(map(len, ends.values()))
        width = max(min(columns_of_terminal() - names - numbers - 2, _WIDEST_CURVE), 1)
        highest = max(max(values, default=0.0) for values in curves.values())
        for policy, values in curves.items():
            say(f"{policy:{names}} {bars(values, highest, width)} {ends[policy]:>{numbers}}")


def draw_curves(session: SessionOutcome, policies: Sequence[str], path: Path) -> None:
    """Size and cost so far at every price rule, as a PNG."""
    try:
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise MissingExtraError("drawing a PNG", "plot") from missing
    rules = list(session.outcomes)
    columns = min(1 + len(rules), 2)
    height = -(-(1 + len(rules)) // columns)
    figure = Figure(figsize=(7.5 * columns, 4.2 * height), layout="constrained", dpi=110)
    figure.suptitle(f"{session.agent} {printable(session.id)}, {session.requests:,} requests", parse_math=False)
    axes = figure.subplots(height, columns, squeeze=False).flatten()
    _draw(axes[0], session.outcomes[rules[0]], policies, _SIZES)
    axes[0].set(title=f"tokens in each request, at {rules[0]}")
    axes[0].legend(loc="lower right")
    for axis, rule in zip(axes[1:], rules, strict=False):
        _draw(axis, session.outcomes[rule], policies, _running_cost, are_sums=True)
        axis.legend(loc="upper left")
        axis.set(title=f"cost so far, in uncached input tokens, at {rule}")
    for axis in axes[1 + len(rules) :]:
        axis.set_visible(False)
    try:
        figure.savefig(path, format="png")
    except OSError as problem:
        raise ExecutionError(f"{path} cannot be written: {problem.strerror}. Check the path and its permissions.") from problem


def bars(values: Sequence[float], highest: float, width: int = _WIDEST_CURVE) -> str:
    """The values as bars, at most so many that they fit on a line."""
    step = max(-(-len(values) // width), 1)
    shown = [max(values[start : start + step]) for start in range(0, len(values), step)]
    top = len(_LEVELS) - 1
    return "".join(_LEVELS[round(value / highest * top) if highest else 0] for value in shown)


def _draw(
    axis: "Axes", outcomes: Mapping[str, PolicyOutcome], policies: Sequence[str], curve: _Curve, *, are_sums: bool = False
) -> None:
    """One line for each policy; that of a sum is named with its share of the whole."""
    whole = sum(curve(outcomes[BASELINE])[-1:]) if are_sums else 0.0
    for number, policy in enumerate(_drawn(policies)):
        values = curve(outcomes[policy])
        share = f" {values[-1] / whole:.3f}" if whole else ""
        style = "0.45" if policy == BASELINE else "-"  # what is measured against is grey
        axis.plot(values, style, label=policy + share, linewidth=1.8, zorder=2 + number)
    axis.set_ylim(bottom=0)
    axis.set_xlabel("request")
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axis.grid(alpha=0.25)


def _drawn(policies: Sequence[str]) -> list[str]:
    """The baseline and the named policies; of many, advised policies first."""
    named = sorted((policy for policy in policies if policy != BASELINE), key=lambda policy: policy not in ADVISED)
    return [BASELINE, *named][:_MOST_CURVES]
