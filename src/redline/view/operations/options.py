"""The options of an operation as a configuration has them: keys in two spellings, values checked one by one."""

from collections.abc import Mapping, Sequence
from typing import Any

from redline.errors import ValidationError

__all__ = ["check_count", "read_options", "required_option"]


def read_options(where: str, section: object, known: Sequence[str]) -> dict[str, Any]:
    """The options that are set, by their names in snake_case, lists as tuples. A null is an option that is not set."""
    if section is None:
        return {}
    if not isinstance(section, Mapping):
        raise ValidationError(f"{where} must be an object with {_listed(known)}, not {type(section).__name__}")
    names = {spelling: name for name in known for spelling in (name, _camel_case(name))}
    options: dict[str, Any] = {}
    for key, value in section.items():
        name = names.get(key)
        if name is None:
            raise ValidationError(f"{where} has no option {key!r}. Known are: {_listed(known)}.")
        if name in options and value is not None:
            raise ValidationError(f"{where}.{name} is given in two spellings. Keep one of them.")
        if value is not None:
            options[name] = tuple(value) if isinstance(value, list) else value
    return options


def required_option(options: Mapping[str, Any], name: str, where: str) -> Any:
    """The value of an option that must be set."""
    if name not in options:
        raise ValidationError(f"{where}.{name} is missing. Set it in the configuration.")
    return options[name]


def check_count(value: object, where: str, *, lowest: int = 0) -> None:
    """Raise a ValidationError unless the value is a whole number that is not too low."""
    if not isinstance(value, int) or isinstance(value, bool) or value < lowest:
        raise ValidationError(f"{where} must be a whole number, {lowest} or more, not {value!r}")


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
