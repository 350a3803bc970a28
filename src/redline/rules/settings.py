"""Settings of rules are checked when the rule is made, so that a wrong one is not found in mid-conversation."""

from redline.errors import ValidationError

__all__ = ["check_at_least"]


def check_at_least(least: float, rule: str, **settings: float) -> None:
    """Refuse settings that are no numbers, or less than this."""
    for name, value in settings.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not value >= least:
            raise ValidationError(f"{rule}: {name} must be a number of at least {least}, not {value!r}")
