from redline.transcripts.on_demand import OnDemand


def test_items_are_made_once_when_they_are_looked_at():
    """Not before, and not again."""
    made = []
    items = OnDemand(lambda: made.append(1) or (7, 8, 9))
    assert not made
    assert (len(items), items[0], list(items[1:]), 9 in items) == (3, 7, [8, 9], True)
    assert made == [1]
