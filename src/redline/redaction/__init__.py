"""Secrets in JSON and in texts, replaced by a word that says what was there."""

from redline.redaction.json_strings import redact
from redline.redaction.kinds import Secret
from redline.redaction.texts import SECRETS, redact_text

__all__ = ["SECRETS", "Secret", "redact", "redact_text"]
