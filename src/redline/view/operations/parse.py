"""From a configuration to the operation it describes, or to an error that says what is wrong with it."""

from collections.abc import Callable, Mapping

from redline.errors import ValidationError
from redline.view.operations.clear import Clear
from redline.view.operations.filter import Filter
from redline.view.operations.insert import Insert
from redline.view.operations.operation import Operation
from redline.view.operations.replace import Replace
from redline.view.operations.truncate import Truncate

__all__ = ["parse_operation"]

_PARSERS: dict[str, Callable[[object], Operation]] = {
    "truncate": Truncate.parse,
    "insert": Insert.parse,
    "replace": Replace.parse,
    "clear": Clear.parse,
    "filter": Filter.parse,
}


def parse_operation(config: Mapping[str, object]) -> Operation:
    """The operation named by `operation`, with the options under its name. All of it is checked here."""
    known = ", ".join(_PARSERS)
    if not isinstance(config, Mapping):
        raise ValidationError(f"An operation must be an object with the key 'operation', not {type(config).__name__}")
    name = config.get("operation")
    if name is None:
        raise ValidationError(f"The configuration names no operation. Set 'operation' to one of {known}.")
    parser = _PARSERS.get(name) if isinstance(name, str) else None
    if parser is None:
        raise ValidationError(f"There is no operation {name!r}. Known are: {known}.")
    return parser(config.get(str(name)))
