import pytest

from redline import FORMATS, ValidationError
from redline.cli.export import next_messages, request_body
from redline.conversation.lists import Conversion
from redline.sessions.catalog.session_files import find_sessions
from tests.cli.sample import write_session


def test_a_conversation_is_chosen_by_its_number(tmp_path):
    """A number that the file does not have is an error that says how many there are."""
    (session,) = find_sessions([str(write_session(tmp_path / "s.jsonl"))])
    assert next_messages(session, 0).format == "anthropic"
    for number in (-1, 1):
        with pytest.raises(ValidationError, match=r"s\.jsonl holds 1 conversations"):
            next_messages(session, number)


@pytest.mark.parametrize(
    ("target", "body"),
    [
        ("anthropic", {"system": "be brief", "messages": []}),
        ("openai_chat", {"messages": []}),
        ("gemini", {"systemInstruction": FORMATS["gemini"].write_system("be brief"), "contents": []}),
    ],
)
def test_the_system_prompt_stands_where_the_format_holds_it(target, body):
    """Formats that have it among the messages have no field for it."""
    assert request_body(Conversion([], "be brief", ()), target) == body
