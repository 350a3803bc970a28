"""Where a request goes: the model, what is known of it, and a digest of what is sent ahead of the messages."""

import hashlib
from functools import lru_cache

from redline.errors import ValidationError
from redline.formats import format_of_model
from redline.log.records import Destination
from redline.prices import Price, find_price
from redline.tokens import Counter
from redline.values import payloads

__all__ = ["Destinations", "Model", "format_of", "model_name", "price_of"]

Model = str | Price
"""A model by its name, or by a price of one's own where the table does not know it."""


class Destinations:
    """Works out where the requests of a conversation go. The last preamble is kept: it is encoded anew, but rarely counted."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._preamble = b""
        self._digest, self._tokens = "", 0

    def find(self, model: Model | None, preamble: object, before: Destination | None) -> Destination | None:
        """What is not said is as it was before; None if nobody ever said anything."""
        if model is None and preamble is None:
            return before
        known = before or Destination()
        name, binds = known.model, known.binds_reasoning
        if model is not None:
            price = price_of(model)
            name, binds = _name(model), price is not None and price.binds_reasoning
        if preamble is None:
            return Destination(name, known.preamble, known.preamble_tokens, binds)
        self._look_at(preamble)
        return Destination(name, self._digest, self._tokens, binds)

    def _look_at(self, preamble: object) -> None:
        try:
            encoded = payloads.encode(preamble)
        except (TypeError, ValidationError) as problem:
            raise ValidationError(
                f"preamble must be JSON, as it is sent: texts, numbers, lists and dicts with text keys. {problem}"
            ) from problem
        if encoded != self._preamble:
            self._preamble = encoded
            self._digest = hashlib.sha256(encoded).hexdigest()[:16]
            self._tokens = self._counter.count(encoded.decode("utf-8", "replace"))


def format_of(model: Model | None) -> str | None:
    """The format of the messages that a model's own API takes; None where several could be meant."""
    return format_of_model(name) if (name := model_name(model)) else None


def model_name(model: Model | None) -> str:
    """The name of a model; empty where nobody said it."""
    return model.model if isinstance(model, Price) else model if isinstance(model, str) else ""


def price_of(model: Model | None) -> Price | None:
    """What is known of a model; None for one that nobody knows, and for none."""
    return _found(model) if isinstance(model, str) else model


@lru_cache(maxsize=64)
def _found(model: str) -> Price | None:
    return find_price(model)


def _name(model: Model) -> str:
    if isinstance(model, Price):
        return model.model
    if isinstance(model, str) and model:
        return model
    raise ValidationError(f"model must be the name of a model or a redline.prices.Price, not {model!r}")
