"""What a kind of secret is."""

from redline.redaction.secret import MARK, Secret, secret_kind


def test_a_kind_says_what_is_written_in_its_place():
    """Between brackets, and it begins with a word that no secret holds."""
    kind = secret_kind("ticket", r"T-(?P<secret>[0-9]+)", "t-")
    assert kind == Secret("ticket", r"T-(?P<secret>[0-9]+)", ("t-",))
    assert kind.marker == f"{MARK}ticket]" == "[redacted ticket]"


def test_the_pattern_is_compiled_once():
    """Not at import, because nearly no run needs them all."""
    kind = secret_kind("ticket", r"T-(?P<secret>[0-9]+)", "t-")
    assert kind.pattern is secret_kind("other", r"T-(?P<secret>[0-9]+)").pattern
    assert kind.pattern.search("see T-12")["secret"] == "12"
