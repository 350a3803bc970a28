"""The table of limits: each number has its source, and the documents and the laws say the same."""

import re
from pathlib import Path

import pytest

from redline import check
from redline.providers.limits.table import NO_LIMITS, RequestLimits, limit_rows, limits_of

PAGE = Path(__file__).resolve().parents[3] / "docs" / "limits.md"


@pytest.mark.parametrize("format", limit_rows())
def test_every_number_has_its_source(format):
    """A page, an issue or an error, beside the number."""
    row = limit_rows()[format]
    numbers = {name for name, value in row.items() if isinstance(value, int)}
    assert numbers <= set(row["sources"])
    assert all(isinstance(source, str) and source for source in row["sources"].values())


@pytest.mark.parametrize(("column", "formats"), [(1, ["anthropic"]), (2, ["openai_chat", "openai_responses"]), (3, ["gemini"])])
def test_the_page_says_the_same(column, formats):
    """Every number of a column of the table is one of the file, and the other way round."""
    rows = [
        line.split("|") for line in PAGE.read_text().split("\n## The limits\n")[1].strip().split("\n\n")[0].splitlines()[2:]
    ]
    said = {int(number.replace(",", "")) for row in rows for number in re.findall(r"\d[\d,]*", row[column + 1])}
    held = {value for format in formats for value in limit_rows()[format].values() if isinstance(value, int)}
    assert said - {200_000} == held


@pytest.mark.parametrize("format", limit_rows())
def test_ids_and_names_are_held_by_their_laws(format):
    """As long as the table says is taken, and one character more is not."""
    row = limit_rows()[format]
    laws = {"id_chars": "well_formed_ids", "name_chars": "tool_names"}
    for name, law in laws.items():
        for extra in (0, 1) if name in row else ():
            length = row[name] + extra
            told = {"id": "c" * length, "tool": "t"} if name == "id_chars" else {"id": "c1", "tool": "t" * length}
            found = {problem.law for problem in check(call(format, **told), format=format)}
            assert (law in found) == bool(extra), (format, name, extra)


def call(format, *, id, tool):
    match format:
        case "anthropic":
            said = [{"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": tool, "input": {}}]}]
            said.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "ok"}]})
        case "openai_chat":
            function = {"name": tool, "arguments": "{}"}
            said = [
                {"role": "assistant", "content": None, "tool_calls": [{"id": id, "type": "function", "function": function}]}
            ]
            said.append({"role": "tool", "tool_call_id": id, "content": "ok"})
        case _:
            said = [{"type": "function_call", "call_id": id, "name": tool, "arguments": "{}"}]
            said.append({"type": "function_call_output", "call_id": id, "output": "ok"})
    return [{"role": "user", "content": "Go."}, *said]


def test_a_model_that_nobody_knows_has_the_smallest():
    """All models take that; the AI SDK's messages have the limits of the provider that the model names."""
    assert limits_of("anthropic", "any").media == 100
    assert limits_of("anthropic", "claude-opus-5").media == 600
    assert limits_of("ai_sdk", "claude-opus-5").media == 600
    assert limits_of("ai_sdk") == NO_LIMITS
    assert limits_of("openai_chat", "qwen-3").tools == 0


def test_what_was_learned_lowers_and_never_raises():
    """Names of later versions say nothing here."""
    known = RequestLimits(media=100, tokens=0)
    assert known.lowered({"media": 50, "tokens": 7, "moons": 3}) == RequestLimits(media=50, tokens=7)
    assert known.lowered({"media": 500}) == known
