import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.tokens import Estimate, Exact
from redline.tokens.estimate import FEATURES, WEIGHTS, count_features

ESTIMATE = Estimate()
TEXTS = st.text() | st.text(alphabet="abcXYZ 0123.,(){}\n\t_\"'é中文の😀\ud800")

PROSE = """The cache keeps what was sent before, so a change in the middle of a long history makes all that follows it
expensive again. It is often better to wait until the cache has expired anyway, and to make all pending changes at once.
Whoever edits early pays for it on each of the next requests, and seldom notices why the bill has grown."""
CODE = '''def merge_ranges(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join ranges that touch or overlap."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged
'''
OUTPUT = """total 48
-rw-r--r-- 1 dev dev  1204 Mar  3 09:14 README.md
-rw-r--r-- 1 dev dev   871 Mar  3 09:12 pyproject.toml
drwxr-xr-x 4 dev dev  4096 Mar  3 09:20 src
FAILED tests/test_ranges.py::test_touching - assert [(1, 3), (4, 6)] == [(1, 6)]
2 failed, 118 passed in 3.42s
"""
JSON = '{"file_path":"/home/dev/project/src/ranges.py","old_string":"start <= end","new_string":"start < end + 1"}'
CHINESE = "完整的会话记录始终保存在磁盘上，不会被改写；每次请求之前，系统都会重新计算哪些消息应当发送给模型。"


@pytest.mark.parametrize(
    ("text", "tolerance"),
    [(PROSE, 0.15), (CODE, 0.15), (OUTPUT, 0.2), (JSON, 0.2), (CHINESE, 0.2)],
    ids=["prose", "code", "output", "json", "chinese"],
)
def test_it_is_near_the_exact_count(text: str, tolerance: float) -> None:
    """On invented text of each kind the estimate is within the error that the documentation states for it."""
    exact = Exact().count(text)
    assert abs(ESTIMATE.count(text) - exact) <= tolerance * exact


def test_weights() -> None:
    """Each feature has a weight and none is negative, or more text could count less."""
    assert set(WEIGHTS) == set(FEATURES)
    assert all(weight >= 0 for weight in WEIGHTS.values())
    assert WEIGHTS["characters"] > 0


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Two words", {"characters": 9, "words": 2, "groups of capitals": 1}),
        (
            "x = 42;",
            {"characters": 7, "words": 1, "signs": 2, "groups of signs": 2, "numbers": 1, "numbers after a space": 1},
        ),
        ("a\n\n\tb", {"characters": 5, "words": 2, "line breaks": 1}),
        ("中文，好", {"characters": 4, "Chinese characters": 3, "full width": 1}),
        (
            "\x1b[0m",
            {"characters": 4, "control characters": 1, "signs": 1, "groups of signs": 1, "numbers": 1, "words": 1},
        ),
        ("😀 Привет", {"characters": 8, "emoji": 1, "Cyrillic": 6}),
    ],
)
def test_features_are_counted(text: str, found: dict[str, int]) -> None:
    """Runs of one kind of character are counted once, characters of other scripts one by one."""
    assert {name: count for name, count in zip(FEATURES, count_features(text), strict=True) if count} == found


@given(TEXTS, TEXTS)
def test_more_text_never_counts_less(text: str, more: str) -> None:
    """The estimate grows with the text, from 0 for none."""
    assert 0 <= ESTIMATE.count(text) <= ESTIMATE.count(text + more)
    assert (ESTIMATE.count(text) == 0) == (text == "")


@given(TEXTS, TEXTS)
def test_the_whole_is_the_sum_of_its_parts(one: str, other: str) -> None:
    """Counting two halves gives the count of the whole, but for the seam and the rounding."""
    assert abs(ESTIMATE.count(one + other) - ESTIMATE.count(one) - ESTIMATE.count(other)) <= 3
