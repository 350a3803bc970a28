"""What the providers' SDKs hand over, as plain JSON values: recognised by what it can do, so that no SDK is needed here."""

import base64
import dataclasses
from collections.abc import Mapping
from datetime import date
from enum import Enum
from typing import Any

from redline.errors import ValidationError

_DEEPEST = 6
"""Objects of an SDK are looked for so deep in a message: its content, a result's content, and what is in their blocks."""


def plain_value(value: object) -> Any:
    """Dictionaries, lists and JSON's own values in place of models, however deep they are; bytes become base64 text.

    Models are what has `model_dump` (pydantic, and so all four SDKs) or `to_dict`, and dataclasses. Their fields come under the
    names of the API, without those that were never set.
    """
    try:
        return _plain(value)
    except RecursionError as problem:
        raise ValidationError(f"{type(value).__name__} is nested too deep to be read") from problem


def plain_message(message: Any) -> Any:
    """A message that is an object of an SDK, or holds some (`content=response.content`), as plain values; else itself."""
    return plain_value(message) if _holds_models(message, _DEEPEST) else message


def _holds_models(value: object, depth: int) -> bool:
    if isinstance(value, str | int | float | bytes | None) or depth == 0:
        return False
    if isinstance(value, dict):
        return any(_holds_models(held, depth - 1) for held in value.values())
    if isinstance(value, list | tuple):
        return any(_holds_models(held, depth - 1) for held in value)
    return callable(getattr(value, "model_dump", None)) or callable(getattr(value, "to_dict", None))


def _plain(value: object) -> Any:
    match value:
        case Enum():
            return _plain(value.value)
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(key): _plain(held) for key, held in value.items()}
        case list() | tuple():
            return [_plain(held) for held in value]
        case bytes():
            return base64.b64encode(value).decode()
        case date():
            return value.isoformat()
        case type():
            raise ValidationError(f"The class {value.__name__} was given; an object of it is needed")
    return _plain(_fields(value))


def _fields(model: Any) -> Mapping[str, object]:
    """The fields of a model. Nothing but a mapping is taken from code that is not ours, so that this comes to an end."""
    if callable(getattr(model, "model_dump", None)):
        try:
            fields = model.model_dump(by_alias=True, exclude_unset=True, warnings=False)
        except TypeError:  # not pydantic's own method, but one of the same name
            fields = model.model_dump()
    elif callable(getattr(model, "to_dict", None)):
        fields = model.to_dict()
    elif dataclasses.is_dataclass(model):
        fields = {field.name: getattr(model, field.name) for field in dataclasses.fields(model)}
    else:
        raise ValidationError(f"{type(model).__name__} is neither JSON nor an object of an SDK (with model_dump or to_dict)")
    if not isinstance(fields, Mapping):
        raise ValidationError(f"{type(model).__name__} gives {type(fields).__name__} in place of its fields")
    return fields
