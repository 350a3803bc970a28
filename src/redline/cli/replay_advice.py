"""What `redline replay` says first: one paragraph, the presets side by side, and what switches the advised one on."""

from collections.abc import Iterator

from redline.cli.output import columns_of_terminal, counted, say, show_figures
from redline.cli.printable import printable, wrapped
from redline.prices import find_price
from redline.replay.advice import Advice, PolicyFigures
from redline.replay.clearing import BY_PROVIDER

__all__ = ["advice_text", "show_advice"]

_WIDEST = 100
_LEAST_WHOLE = 0.095
"""Smaller shares are told to a tenth of a percent: of risks that matters."""


def show_advice(advice: Advice) -> None:
    """On as many lines as the terminal needs; what switches it on is not broken, so that it can be copied."""
    _say_filled(advice_text(advice))
    if advice.weighed:
        say()
        show_figures(("weighed", *_COLUMNS), [_row(one, advice) for one in advice.weighed])
        say()
        _say_filled(f"Why: {advice.why}.")
    if advice.switch_on is not None:
        say()
        for line in _ways_to_switch_on(advice, advice.switch_on):
            say(line)
    for assumption in advice.assumed:
        say()
        _say_filled(f"Assumed: {assumption}.")


def _ways_to_switch_on(advice: Advice, code: str) -> Iterator[str]:
    if advice.policy in BY_PROVIDER:
        yield "The provider does it if the request says:"
    else:
        is_run = (advice.switch_on_command or "").startswith("redline run")
        yield "To switch it on:" if is_run else "To switch it on, for an agent in any language:"
        yield from ("", f"    {advice.switch_on_command}", "", "in Python:")
    yield ""
    yield from (f"    {line}" if line else "" for line in code.splitlines())
    if advice.switch_on_toml is not None:
        yield from ("", "or in a redline.toml:", "")
        yield from (f"    {line}" for line in advice.switch_on_toml.splitlines())


_COLUMNS = ("cost", "bill", "with\nrereads", "strikes", "quoted", "of\nrequests", "strict", "of\nrequests")


def _row(one: PolicyFigures, advice: Advice) -> tuple[str, ...]:
    name = f"{one.policy} *" if one.policy == advice.policy else one.policy
    cost = f"${one.cost:,.2f}" if advice.unit == "dollars" else f"{one.cost:,.0f}"
    shares = (f"{100 * share:.1f}%" for share in (one.risk, one.risk_requests, one.strict, one.strict_requests))
    return name, cost, f"{one.ratio:.3f}", f"{one.ratio_with_rereads:.3f}", f"{one.strikes:,}", *shares


def _say_filled(text: str) -> None:
    for line in wrapped(printable(text), min(columns_of_terminal(), _WIDEST)):
        say(line)


_WHAT = {
    "careful": "results that will hardly be used again go, when that costs less than it saves; a miss counts for much",
    "balanced": "results that will hardly be used again go, when that costs less than it saves; a miss counts",
    "bold": "results that will hardly be used again go, when that costs less than it saves; a miss counts for little",
    "clear_tool_uses": "the provider clears old results of tools above 100,000 tokens",
    "clear_tool_uses_min_gain": "the provider clears old results of tools above 100,000 tokens, 20,000 at a time",
}


def advice_text(advice: Advice) -> str:
    """The paragraph: what the sessions cost, what can be struck, what that would have cost, and what it risks."""
    return " ".join([_what_it_cost(advice), *_what_was_done(advice), *_what_is_advised(advice)])


def _what_it_cost(advice: Advice) -> str:
    """What was reported and what is modelled, each by its name."""
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
        return f"{what}: no usage was reported; our model of the bill says {modelled}{prices}."
    reported = f"the provider reported {_dollars(paid.input_usd)} of input, {_dollars(paid.usd)} with output"
    some = "" if paid.sessions == advice.sessions else f" in {paid.sessions:,} of them"
    return f"{what}: {reported}{some}{prices}; our model of the bill says {modelled}."


def _what_was_done(advice: Advice) -> Iterator[str]:
    """What strikes saved already, or would have saved."""
    paid, done = advice.paid, advice.sessions_edited
    if done and paid is not None:
        verb, amount = ("saved", paid.saved_usd) if paid.saved_usd >= 0 else ("cost", -paid.saved_usd)
        where = "" if done == advice.sessions else f" in {done:,} of them"
        yield f"Redline's strikes{where} {verb} {_dollars(amount)} of it, net, by what was reported."
    if paid is not None and paid.would_save_usd:
        yield f"In a dry run strikes would have saved {_dollars(paid.would_save_usd)}, net, by what was reported."
    if thinned := advice.sessions_thinned:
        which = "It" if advice.sessions == 1 else f"{thinned:,} of them"
        yield (
            f"{which} ran behind Redline, or another program that leaves things out: the provider reported far fewer tokens "
            "than the file holds. Redline's own log has what was saved; it is not counted here again."
        )


def _what_is_advised(advice: Advice) -> Iterator[str]:
    """The policy that would have paid, what it would have cost, and what it risks."""
    is_bound = advice.sessions_bound == advice.sessions
    if advice.sessions_bound:
        model = f"{advice.priced_as[0]} refuses" if is_bound else f"The models of {advice.sessions_bound:,} of them refuse"
        yield f"{model} a request in which anything before its reasoning was changed, so little can be struck there."
    chosen = advice.figures
    if chosen is None:
        yield "Nothing is advised: there is nothing to switch on."
        return
    cost = _money(advice, chosen.cost)
    yield f"With `{chosen.policy}` it would have cost {cost}, {_percent(1 - chosen.ratio)} less: {_WHAT[chosen.policy]}."
    used = f"{chosen.strikes_used_later:,} ({_percent(chosen.risk)})" if chosen.strikes_used_later else "none"
    strict, requests = _percent(chosen.strict), _percent(chosen.strict_requests)
    yield f"Risk: of {counted(chosen.strikes, 'part')} struck, {used} were quoted or read again later;"
    yield f"by the strict measure, {strict} held words that were used later, in {requests} of the requests."
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
