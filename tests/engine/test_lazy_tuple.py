from redline.engine.lazy_tuple import LazyTuple


def test_it_is_made_once_and_when_someone_looks():
    """Its length is known before; asking twice makes it once."""
    made = []

    def make():
        made.append(1)
        return iter("abc")

    lazy = LazyTuple(3, make)
    assert (len(lazy), bool(lazy), made) == (3, True, [])
    assert (list(lazy), lazy[0], lazy[1:], lazy[-1]) == (["a", "b", "c"], "a", ("b", "c"), "c")
    assert made == [1]


def test_it_equals_what_holds_the_same():
    """Lists, tuples and others of its kind; text is none of them."""
    lazy = LazyTuple(2, lambda: (1, 2))
    assert lazy == (1, 2)
    assert lazy == [1, 2]
    assert lazy == LazyTuple(2, lambda: [1, 2])
    assert lazy != (1, 3)
    assert lazy != (1,)
    assert LazyTuple(0, tuple) == ()
    assert LazyTuple(1, lambda: "a") != "a"
    assert repr(lazy) == "(1, 2)"
