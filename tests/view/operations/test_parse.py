import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.errors import RedlineError, ValidationError
from redline.testing import json_values
from redline.view.operations import Clear, Filter, Insert, Replace, Truncate, parse_operation
from tests.corpus import CORPUS
from tests.view.driver import Driven, clear, insert, keep, replace, truncate

CASES = CORPUS.parent / "conformance" / "processor.jsonl"
OPTIONS = ("keep_first", "keepLast", "range", "position", "messages", "index", "message", "roles", "keepSystemMessage")
NAMES = ("truncate", "insert", "replace", "clear", "filter")


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        (truncate(keep_last=1), Truncate),
        (insert(0, "x"), Insert),
        (replace(0, "x"), Replace),
        (clear(), Clear),
        (keep(roles=["user"]), Filter),
    ],
)
def test_an_operation_is_found_by_its_name(config, kind):
    """The name says which section of the configuration counts; others are left alone."""
    others = {name: {"nonsense": 1} for name in NAMES if name != config["operation"]}
    assert isinstance(parse_operation({**others, **config}), kind)


@pytest.mark.parametrize("name", ["unsupported", "Truncate", "", 5, ["truncate"], {}])
def test_an_unknown_operation_is_refused(name):
    """The error lists the operations there are."""
    with pytest.raises(ValidationError, match="Known are: truncate, insert, replace, clear, filter"):
        parse_operation({"operation": name, "truncate": {"keep_last": 1}})


@pytest.mark.parametrize("config", [{}, {"operation": None}, {"truncate": {"keep_last": 1}}])
def test_an_operation_must_be_named(config):
    """A section alone does not say what to do."""
    with pytest.raises(ValidationError, match="names no operation"):
        parse_operation(config)


@pytest.mark.parametrize("config", [None, "truncate", ["truncate"], 5])
def test_a_configuration_is_an_object(config):
    """Anything else is refused."""
    with pytest.raises(ValidationError, match="must be an object"):
        parse_operation(config)


@given(json_values() | st.dictionaries(st.sampled_from(OPTIONS), json_values() | st.integers(-1, 3), max_size=4))
def test_whatever_stands_in_a_section_is_read_or_refused(section):
    """No configuration leads to another error than a ValidationError."""
    for name, kind in zip(NAMES, (Truncate, Insert, Replace, Clear, Filter), strict=True):
        with contextlib.suppress(ValidationError):
            assert isinstance(parse_operation({"operation": name, name: section}), kind)


def test_the_configuration_is_left_alone():
    """Reading a configuration changes nothing in it."""
    config = truncate(keepLast=2, range={"start": 0, "end": 1})
    before = json.dumps(config)
    parse_operation(config)
    assert json.dumps(config) == before


def cases():
    return [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()] if CASES.exists() else []


@pytest.mark.skipif(not CASES.exists(), reason="the conformance cases are not here (shared/conformance beside the project)")
def test_the_conformance_cases_are_there():
    """The file has cases, so that the test below cannot pass by having none."""
    assert len(cases()) > 50


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["id"])
def test_conformance(case):
    """Views, messages, batches and errors are as the case says; tokens and requests are for the conversation."""
    driven = Driven(case["input"]["messages"], case["input"].get("tools", ()))
    failure = run(driven, case["input"]["ops"])
    expected = case["expected"]
    wanted = expected["error"]
    assert (failure and (failure[0], type(failure[1]).__name__)) == (wanted and (wanted["op_index"], wanted["type"]))
    assert all(word in str(failure[1]) for word in (wanted or {}).get("mentions", ()))
    state = {
        "visible": driven.messages,
        "visible_indices": driven.visible_indices,
        "all_messages": driven.all_messages,
        "all_count": len(driven.all_messages),
        "current_batch": driven.batches.current,
        "batch_boundaries": list(driven.batches.boundaries),
    }
    assert {name: value for name, value in state.items() if name in expected} == {
        name: value for name, value in expected.items() if name in state
    }


def run(driven, operations):
    """Do one operation after the other; the place of the first that fails, and its error."""
    for position, operation in enumerate(operations):
        try:
            match operation:
                case {"op": "add", "message": message}:
                    driven.add(message)
                case {"op": "process", "config": config}:
                    driven.process(config)
                case {"op": "start_batch", "boundary": boundary}:
                    driven.start_batch(boundary)
                case {"op": "rollback", "batch": batch}:
                    driven.rollback(batch)
        except RedlineError as problem:
            return position, problem
    return None
