"""What becomes of an exchange in which a call got no result, by the name of the strategy."""

from collections.abc import Callable

from redline.errors import ValidationError
from redline.formats.base import Format
from redline.repair.answer import answer
from redline.repair.drop import drop
from redline.repair.exchange import Exchange
from redline.repair.hosted import has_results_from_before
from redline.repair.strip import strip
from redline.repair.values import Draft, Strategy

__all__ = ["STRATEGIES", "check_strategy", "mend"]

STRATEGIES: dict[Strategy, Callable[[Exchange, Format], Draft]] = {"drop": drop, "answer": answer, "strip": strip}


def check_strategy(strategy: str) -> None:
    """Refuse a strategy that there is not."""
    if strategy not in STRATEGIES:
        raise ValidationError(f"There is no strategy named {strategy!r}. Known are: {', '.join(STRATEGIES)}.")


def mend(exchange: Exchange, format: Format, strategy: Strategy) -> Draft:
    """The exchange with every call answered; as it is if that holds already."""
    if exchange.is_answered:
        return Draft(exchange.said, exchange.heard, exchange.changes)
    if strategy == "drop" and any(has_results_from_before(item.message) for item in exchange.said):
        strategy = "strip"
    draft = STRATEGIES[strategy](exchange, format)
    return draft._replace(changes=[*exchange.changes, *draft.changes])
