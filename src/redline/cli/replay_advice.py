"""What `redline replay` says first: one paragraph, and the line that switches the advised policy on."""

from redline.cli.output import columns_of_terminal, counted, say
from redline.cli.printable import printable, wrapped
from redline.prices import find_price
from redline.replay.advice import Advice
from redline.replay.policies import BY_PROVIDER

__all__ = ["advice_text", "show_advice"]

_WIDEST = 100


def show_advice(advice: Advice) -> None:
    """On as many lines as the terminal needs; the line of code is not broken, so that it can be copied."""
    _say_filled(advice_text(advice))
    if advice.switch_on is not None:
        say()
        for line in advice.switch_on.splitlines():
            say(f"    {line}" if line else "")
    for assumption in advice.assumed:
        say()
        _say_filled(f"Assumed: {assumption}.")


def _say_filled(text: str) -> None:
    for line in wrapped(printable(text), min(columns_of_terminal(), _WIDEST)):
        say(line)


_WHAT = {
    "spec_when_free": "outdated command output and old reads of files go, when that costs less than it saves",
    "superseded_when_free": "outdated command output and reads of files changed since go, when that costs less than it saves",
    "masking_when_free": "all but the last 10 results of tools go, when that costs less than it saves",
    "clear_tool_uses": "the provider clears old results of tools above 100,000 tokens",
    "clear_tool_uses_min_gain": "the provider clears old results of tools above 100,000 tokens, 20,000 at a time",
}


def advice_text(advice: Advice) -> str:
    """The paragraph: what the sessions cost, what can be struck, what that would have cost, and what it risks."""
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
    said = [f"{what} cost {_money(advice, advice.cost)} of input{prices}; output is left out."]
    is_bound = advice.sessions_bound == advice.sessions
    if advice.sessions_bound:
        model = f"{advice.priced_as[0]} refuses" if is_bound else f"The models of {advice.sessions_bound:,} of them refuse"
        said.append(f"{model} a request in which anything before its reasoning was changed, so nothing can be struck there.")
    if advice.policy is None:
        what = "Nor would the provider's own clearing" if is_bound else "None of the policies that can be switched on would"
        said.append(f"{what} have saved as much as 1 % at little risk: there is nothing to switch on.")
        return " ".join(said)
    cost = _money(advice, advice.cost_with_policy)
    said.append(
        f"With `{advice.policy}` it would have cost {cost}, {_percent(advice.saved_share)} less: {_WHAT[advice.policy]}."
    )
    if advice.strikes_used_later:
        used = f"{advice.strikes_used_later:,} ({_percent(advice.strikes_used_later / advice.strikes)})"
        at_worst = f"{_money(advice, advice.cost_with_rereads)}, {_percent(advice.saved_share_with_rereads)} less"
        said.append(f"Risk: of {advice.strikes:,} parts struck, {used} were quoted or read again later;")
        said.append(f"had the agent asked for each once more, it would have cost {at_worst}.")
    else:
        said.append(f"Risk: none seen; nothing of the {advice.strikes:,} parts struck was quoted or read again later.")
    said.append("The provider does it if the request says:" if advice.policy in BY_PROVIDER else "To switch it on:")
    return " ".join(said)


def _money(advice: Advice, cost: float) -> str:
    if advice.unit == "tokens":
        return f"as much as {cost:,.0f} uncached tokens"
    return f"${cost:,.2f}" if cost >= 1 else f"${cost:.4f}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
