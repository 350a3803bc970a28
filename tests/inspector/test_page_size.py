"""What the page weighs: as it is written, and as it is sent."""

import gzip

from tests.cli.run import SOURCE

PAGE = SOURCE / "redline" / "inspector" / "page"
MOST_WRITTEN = 135_000
MOST_SENT = 60_000


def test_the_page_stays_small(running):
    """All of its code, styles and icon; the server compresses them."""
    files = sorted(path for path in PAGE.iterdir() if path.name != "index.html")
    assert sum(path.stat().st_size for path in files) < MOST_WRITTEN
    sent = 0
    for path in files:
        status, headers, body = running.ask("GET", f"/page/{path.name}", headers={"Accept-Encoding": "gzip"})
        assert (status, headers["content-encoding"]) == (200, "gzip")
        assert gzip.decompress(body) == path.read_bytes()
        sent += len(body)
    assert sent < MOST_SENT


def test_who_takes_no_compression_is_sent_none(running):
    """The file as it is."""
    status, headers, body = running.ask("GET", "/page/dom.js")
    assert (status, headers.get("content-encoding")) == (200, None)
    assert body == (PAGE / "dom.js").read_bytes()
