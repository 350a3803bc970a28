"""R165: a store is listed and searched in pages, and only what is on a page is read."""

import pytest

from redline import Store, ValidationError
from redline.record.opening import LogStore
from tests.store.places import KINDS, new_store, talk

NOW_MS = 1_700_000_000_000.0


def filled(kind, tmp_path, request, count: int = 25) -> Store:
    store = new_store(kind, tmp_path, request)
    for number in range(count):
        place = (number * 7) % count  # the order of their times is none of their names
        talk(store, f"c{number:02}", f"say {number}", "needle" if number % 5 == 0 else "hay", at_ms=NOW_MS + place * 60_000)
    return store


@pytest.mark.parametrize("kind", KINDS)
def test_pages_follow_each_other(kind, tmp_path, request):
    """R165: page after page gives every conversation once, in the order of the whole list."""
    store = filled(kind, tmp_path, request)
    found, after = [], None
    while page := store.list(limit=7, after=after):
        assert len(page) <= 7
        found += page
        after = page[-1].name
    assert found == list(store.list())
    assert store.list(limit=3) == store.list()[:3]
    assert store.list(after=store.list()[-1].name) == ()


@pytest.mark.parametrize("kind", KINDS)
def test_only_a_page_is_read(kind, tmp_path, request, monkeypatch):
    """R165: of the other conversations no more than the end is looked at."""
    store, read = filled(kind, tmp_path, request), []
    whole = LogStore.read
    monkeypatch.setattr(LogStore, "read", lambda self, name: read.append(name) or whole(self, name))
    page = store.list(limit=4)
    assert sorted(read) == sorted(one.name for one in page)
    read.clear()
    assert len(list(store.search("needle", limit=2))) == 2
    assert len(read) <= 6


@pytest.mark.parametrize("kind", KINDS)
def test_a_search_goes_on_after_a_page(kind, tmp_path, request):
    """R165: the results of all pages are those of one search."""
    store = filled(kind, tmp_path, request)
    found, after = [], None
    while page := list(store.search("needle", limit=2, after=after)):
        found += page
        after = page[-1].conversation.name
    assert found == list(store.search("needle"))
    assert len(found) == 5


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"limit": "5"}, {"limit": True}, {"after": 5}, {"after": "nobody"}])
def test_wrong_pages_are_refused(wrong, tmp_path, request):
    """R165: an error says what is wrong."""
    store = filled("folder", tmp_path, request, 3)
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        store.list(**wrong)
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        list(store.search("x", **wrong))
