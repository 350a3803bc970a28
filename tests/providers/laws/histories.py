"""Cases of the table of providers' rules, and a law asked about messages."""

import json
from pathlib import Path

from redline.providers import read_history
from redline.providers.laws.law import History

CASES = [json.loads(line) for line in (Path(__file__).parent / "provider_rules.jsonl").read_text().splitlines()]


def cases_of(law):
    """Those that break a law."""
    return [case for case in CASES if case["broken"] == law]


def broken_by(law, messages, format):
    """The places where messages break a law: position of the message, of the part."""
    chosen, history = read_history(messages, format)
    return [(broken.index, broken.part) for broken in law.broken(History.of(history, chosen))]
