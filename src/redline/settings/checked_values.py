"""The value of a setting, from the text of a variable or the value in a file, checked against its declaration."""

from redline.errors import ValidationError
from redline.settings.declared import Setting, SettingData

__all__ = ["check_setting", "parse_setting"]

_SWITCHES = {
    **dict.fromkeys(("1", "true", "on", "yes"), True),
    **dict.fromkeys(("0", "false", "off", "no"), False),
}
_LONGEST_SHOWN = 80


def parse_setting(setting: Setting, text: str) -> SettingData:
    """The value that the text of a variable means; several are apart by blanks."""
    value: SettingData = text
    try:
        match setting.kind:
            case "integer":
                value = int(text)
            case "number":
                value = float(text)
            case "switch":
                value = _SWITCHES.get(text.strip().lower(), text)
            case "list":
                value = tuple(text.split())
    except ValueError:
        raise _wrong(setting, text) from None
    return check_setting(setting, value)


def check_setting(setting: Setting, value: object) -> SettingData:
    """The value as commands take it; a ValidationError says what it must be."""
    match setting.kind, value:
        case "switch", bool():
            return value
        case (_, bool()):
            raise _wrong(setting, value)
        case "integer", int() if _is_between(setting, value):
            return value
        case "number", int() | float() if abs(value) < float("inf") and (setting.above is None or value > setting.above):
            return float(value)
        case "list", list() | tuple() if all(isinstance(one, str) and _is_text(one) for one in value):
            return tuple(value)
        case (("text" | "address" | "policy"), str()) if _is_text(value) and (not setting.choices or value in setting.choices):
            return value
    raise _wrong(setting, value)


def _is_between(setting: Setting, value: int) -> bool:
    return (setting.least is None or value >= setting.least) and (setting.most is None or value <= setting.most)


def _is_text(value: str) -> bool:
    """No control characters, which no name or address has."""
    return all(letter >= " " for letter in value)


def _wrong(setting: Setting, value: object) -> ValidationError:
    wanted = {
        "integer": f"a whole number{_range(setting)}",
        "number": "a number" if setting.above is None else f"a number above {setting.above:g}",
        "switch": "true or false",
        "list": "a list of texts",
    }.get(setting.kind, "a text without control characters")
    if setting.choices:
        wanted = f"one of {', '.join(setting.choices)}"
    shown = repr(value)
    is_hidden = setting.is_secret or setting.kind == "address"  # which may hold a password
    told = "" if is_hidden else f", not {shown[:_LONGEST_SHOWN]}{'…' if len(shown) > _LONGEST_SHOWN else ''}"
    return ValidationError(f"must be {wanted}{told}")


def _range(setting: Setting) -> str:
    if setting.most is None:
        return "" if setting.least is None else f" of {setting.least} or more"
    return f" from {setting.least} to {setting.most}"
