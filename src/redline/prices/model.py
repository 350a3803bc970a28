"""A model as a caller names it: by its name, or by a price of one's own where the table does not know it."""

from functools import lru_cache

from redline.errors import ValidationError
from redline.prices.find import find_price
from redline.prices.price import Price

__all__ = ["Model", "check_model", "model_name", "price_of"]

Model = str | Price
"""A model by its name, or by a price of one's own where the table does not know it."""


def check_model(model: object) -> Model | None:
    """Refuse what names no model; None is none."""
    if model is None or isinstance(model, Price) or (isinstance(model, str) and model):
        return model
    raise ValidationError(f"model must be the name of a model or a redline.prices.Price, not {type(model).__name__}")


def model_name(model: Model | None) -> str:
    """The name of a model; empty where nobody said it."""
    return model.model if isinstance(model, Price) else model or ""


def price_of(model: Model | None) -> Price | None:
    """What is known of a model; None for one that nobody knows, and for none."""
    return _found(model) if isinstance(model, str) else model


_found = lru_cache(maxsize=64)(find_price)
