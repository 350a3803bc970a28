"""Any JSON comes back as it was written, and objects with the same keys say these once."""

import json

from hypothesis import given
from hypothesis import strategies as st

from redline.folds import Output
from redline.folds.json_tables import JsonTables
from tests.effort import tries

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=6,
)
KEYS = st.lists(st.text(min_size=1, max_size=12), min_size=2, max_size=5, unique=True)
LAYOUTS = [{"separators": (",", ":")}, {}, {"indent": 2}, {"indent": 4}, {"indent": "\t"}, {"indent": 2, "ensure_ascii": False}]


def folded(text: str) -> str | None:
    """The text after the fold, whose inverse gives back the very text."""
    found = JsonTables().fold(Output(text))
    assert found is None or JsonTables().unfold(found) == text
    return found


@tries(200)
@given(st.data(), KEYS, st.sampled_from(LAYOUTS), st.booleans())
def test_any_table_comes_back_as_it_was_written(data, keys, layout, is_list):
    """A list, or objects one after the other, in each layout."""
    rows = data.draw(st.lists(st.fixed_dictionaries(dict.fromkeys(keys, VALUES)), min_size=3, max_size=6))
    folded(
        json.dumps({"items": rows, "total": 3}, **layout) if is_list else "\n".join(json.dumps(row, **layout) for row in rows)
    )


@tries(100)
@given(KEYS, st.sampled_from(LAYOUTS), st.integers(8, 30))
def test_keys_are_said_once(keys, layout, count):
    """In each layout, of objects whose values are plain."""
    keys = [f"key {key}" for key in keys]
    found = folded(json.dumps([dict.fromkeys(keys, number) for number in range(count)], **layout))
    assert found is not None
    assert found.count(f"{json.dumps(keys[0], ensure_ascii=layout.get('ensure_ascii', True))}:") == 1


@tries(100)
@given(
    st.lists(
        st.sampled_from(['{"a_long_key":1}', '{"a_long_key": 1}', ",", "\n", " ", "[", "]", "…", '{"a_long_key":[']),
        max_size=60,
    )
)
def test_broken_json_comes_back(parts):
    """Whatever stands between the objects."""
    folded("".join(parts))
    JsonTables().unfold('[3 objects {"a_long_key":…}, their values:]\n' + "".join(parts))
