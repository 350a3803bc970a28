import pytest

from redline.laws.hosted_results import HostedResults
from tests.laws.histories import broken_by, cases_of


@pytest.mark.parametrize("case", cases_of("hosted_results"), ids=lambda case: case["id"])
def test_law_finds_its_cases(case):
    """What the table of providers' rules says to break this law is found by it, and by its rule."""
    assert broken_by(HostedResults(), case["messages"], case["format"])
    assert case["format"] in HostedResults.rules


USE = {"type": "server_tool_use", "id": "s1", "name": "code_execution", "input": {}}
GIVEN = {"type": "code_execution_tool_result", "tool_use_id": "s1", "content": {}}


def said(*blocks, role="assistant"):
    return {"role": role, "content": list(blocks)}


def test_result_may_come_in_the_next_message():
    """After a pause, or after the client's own results; not after words of the user, nor after another message."""
    law, words = HostedResults(), {"type": "text", "text": "x"}
    call, answer = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}, {"type": "tool_result", "tool_use_id": "t1"}
    assert broken_by(law, [said(words, role="user"), said(USE), said(GIVEN)], "anthropic") == []
    asked = [said(words, role="user"), said(USE, call), said(answer, role="user")]
    assert broken_by(law, asked, "anthropic") == []
    assert broken_by(law, [*asked, said(GIVEN)], "anthropic") == []
    assert broken_by(law, [said(USE), said(words, role="user"), said(GIVEN)], "anthropic") == [(0, 0), (2, 0)]
    assert broken_by(law, [said(USE), said(words), said(GIVEN)], "anthropic") == [(0, 0), (2, 0)]
