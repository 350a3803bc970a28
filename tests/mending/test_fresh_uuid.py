from redline.mending.fresh_uuid import fresh_uuid


def test_the_same_seeds_give_the_same_id_until_it_is_taken():
    """A repair done twice gives the same bytes; two records never share an id."""
    first = fresh_uuid(("session", None), lambda _: False)
    assert fresh_uuid(("session", None), lambda _: False) == first
    assert fresh_uuid(("session", None), {first}.__contains__) != first


def test_half_an_emoji_is_a_seed_too():
    """Whatever a session calls its calls (R61)."""
    assert fresh_uuid(("\ud83d",), lambda _: False) != fresh_uuid(("\ud83e",), lambda _: False)
