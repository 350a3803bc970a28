"""Prices that a user gives on a command line: `MODEL=INPUT/OUTPUT[/READ[/WRITE]]`, in dollars for a million tokens."""

from redline.errors import ValidationError
from redline.prices.price import Price

_SHAPE = (
    "Write MODEL=INPUT/OUTPUT, MODEL=INPUT/OUTPUT/READ or …/READ/WRITE, in dollars for a million tokens: my-model=3/15/0.3."
)
_FEWEST, _MOST = 2, 4


def parse_own_price(text: str) -> Price:
    """The price that a text says. Without READ and WRITE, tokens of the cache cost what input costs."""
    model, _, amounts = text.rpartition("=")
    try:
        numbers = [float(one) for one in amounts.split("/")]
    except ValueError:
        numbers = []
    if not model or not _FEWEST <= len(numbers) <= _MOST:
        raise ValidationError(f"{text!r} is no price. {_SHAPE}")
    paid, output, read, write = [*numbers, *([numbers[0]] * (_MOST - len(numbers)))]
    return Price(model=model, input=paid, output=output, cache_read=read, cache_write=write, source="your own")
