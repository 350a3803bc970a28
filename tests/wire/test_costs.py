"""Why a request was dear."""

import pytest

from redline.formats.usage import Usage
from redline.wire.costs import why_dear


@pytest.mark.parametrize(
    ("usage", "before", "facts", "why"),
    [
        (Usage(100), None, {}, "first"),
        (Usage(0, 0, 100_000, 1000), Usage(0, 0, 99_000, 1000), {}, ""),
        (Usage(0, 0, 0, 101_000), Usage(0, 0, 99_000, 1000), {}, "miss"),
        (Usage(0, 0, 0, 101_000), Usage(0, 0, 99_000, 1000), {"is_expired": True}, "miss, expired"),
        (Usage(0, 0, 9_000, 80_000), Usage(0, 0, 99_000, 1000), {"is_rewritten": True}, "miss, strikes"),
        (Usage(0, 0, 0, 20_000), Usage(0, 0, 99_000, 1000), {}, "compaction"),
        (Usage(900), Usage(0, 0, 99_000, 1000), {}, "first"),
        (Usage(0, 0, 100_000, 40_000), Usage(0, 0, 99_000, 1000), {}, "growth"),
        (Usage(0, 0, 100_000, 0), Usage(0, 0, 99_000, 1000), {"is_repeated": True}, "retry"),
        (Usage(1100), Usage(1000), {}, ""),
    ],
)
def test_why_a_request_was_dear(usage, before, facts, why):
    """Told from its usage and that of the request before."""
    assert why_dear(usage, before, **facts) == why
