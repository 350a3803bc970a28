"""What gives way: enough, as little as possible, the oldest first, and nothing that must stay."""

from hypothesis import given
from hypothesis import strategies as st

from redline.providers.limits.choice import NEWEST, parts_to_leave_out, problems_with, refused_alone
from redline.providers.limits.table import RequestLimits
from redline.providers.limits.weights import HeavyPart

pictures = st.builds(
    HeavyPart,
    index=st.just(0),
    at=st.just(()),
    kind=st.just("picture"),
    chars=st.integers(1_000, 900_000),
    tokens=st.just(1_000),
    width=st.integers(0, 4_000),
    height=st.integers(0, 4_000),
    pages=st.just(1),
    may_go=st.booleans(),
)
results = st.builds(
    HeavyPart,
    index=st.just(0),
    at=st.just(()),
    kind=st.just("result"),
    chars=st.integers(1_000, 900_000),
    tokens=st.just(1_000),
    may_go=st.booleans(),
)
limits = st.builds(
    RequestLimits,
    request_bytes=st.sampled_from([0, 1_000_000, 10_000_000]),
    media=st.sampled_from([0, 3, 20]),
    picture_chars=st.sampled_from([0, 500_000]),
    pixels=st.sampled_from([0, 3_000]),
    many_media=st.sampled_from([0, 10]),
    many_pixels=st.just(2_000),
)
WORDS = 10_000


def size_of(parts, gone=()):
    return WORDS + sum(150 if number in gone else part.chars for number, part in enumerate(parts))


@given(st.lists(pictures | results, max_size=40), limits)
def test_enough_gives_way_and_only_what_may(parts, limits):
    """What is left is taken, unless what must stay is too much by itself; what must stay does."""
    gone = parts_to_leave_out(parts, size_of(parts), limits)
    assert all(parts[number].may_go for number in gone)
    left = [part for number, part in enumerate(parts) if number not in gone]
    assert not any(part.may_go and refused_alone(part, limits) for part in left)
    if sum(part.pages for part in left) > limits.media > 0:  # then every picture that is left must stay
        assert not any(part.may_go and part.pages for part in left)
    if size_of(parts, gone) > limits.request_bytes > 0:
        assert not any(part.may_go for part in left)


@given(st.lists(pictures | results, max_size=40).map(lambda parts: [replaced(part) for part in parts]), limits)
def test_what_may_all_go_always_fits(parts, limits):
    """Where nothing must stay, nothing is wrong with what is left."""
    gone = parts_to_leave_out(parts, size_of(parts), limits)
    left = [part for number, part in enumerate(parts) if number not in gone]
    if size_of(parts, set(range(len(parts)))) <= limits.request_bytes * 0.88 or not limits.request_bytes:
        assert problems_with(left, size_of(parts, gone), limits) == []


@given(st.lists(pictures | results, max_size=40), limits)
def test_nothing_goes_without_need(parts, limits):
    """What is taken as it is stays as it is, but for the last two hundredths of the bytes."""
    is_near = 0 < limits.request_bytes * 0.98 < size_of(parts)
    if not problems_with(parts, size_of(parts), limits) and not is_near:
        assert parts_to_leave_out(parts, size_of(parts), limits) == {}


@given(st.integers(21, 60), st.integers(4, 20))
def test_the_newest_pictures_stay(count, most):
    """Of small pictures the oldest go, until a tenth of the limit is free."""
    parts = [HeavyPart(0, (), "picture", 1_000, 10, width=10, height=10, pages=1) for _ in range(count)]
    gone = parts_to_leave_out(parts, size_of(parts), RequestLimits(media=most))
    assert list(gone) == list(range(count - int(most * 0.9)))
    assert count - len(gone) >= NEWEST


def replaced(part):
    from msgspec.structs import replace

    return replace(part, may_go=True)
