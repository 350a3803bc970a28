"""What the page weighs."""

import pytest

from tests.inspector.support import SOURCE

MOST_BYTES = 100_000


@pytest.mark.xfail(strict=True, reason="about 158 kB for now; it is being made smaller")
def test_the_page_stays_small():
    """Its own code, styles and icon together."""
    files = [path for path in (SOURCE / "redline" / "inspector" / "page").rglob("*") if path.is_file()]
    assert files
    assert sum(path.stat().st_size for path in files) < MOST_BYTES
