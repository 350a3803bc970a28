"""Where a request goes: the model, what is known of it, and a digest of what is sent ahead of the messages."""

import hashlib

from redline.errors import ValidationError
from redline.log.records import Destination
from redline.prices.model import Model, check_model, model_name, price_of
from redline.tokens import Counter
from redline.values import payloads

__all__ = ["DestinationFinder"]


class DestinationFinder:
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
            price = price_of(check_model(model))
            name, binds = model_name(model), price is not None and price.binds_reasoning
        if preamble is None:
            return Destination(name, known.preamble, known.preamble_tokens, binds)
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
        return Destination(name, self._digest, self._tokens, binds)
