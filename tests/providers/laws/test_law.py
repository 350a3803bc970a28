import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.conversation.lists import check
from redline.errors import ValidationError
from redline.providers import FORMATS, find_format
from redline.providers.laws import LAWS, problems_of
from redline.providers.laws.law import History, Problem
from redline.repair import Change, Item, name_of
from redline.testing import asks, conversation, conversations, says
from redline.values import Text
from redline.values.messages import ToolCall, ToolResult
from tests.effort import tries
from tests.providers.laws.histories import CASES, broken_by


def test_problem_is_one_line_for_people():
    """A problem reads as one line: place, finding, law, rule."""
    assert str(Problem(3, None, "a_law", "the rule", "what is there")) == "message 3: what is there (a_law: the rule)"


def test_checking_read_messages_is_the_same():
    """Messages that are read already need not be read again."""
    history = conversation("openai_chat", [says("user", "hi"), *asks("read", {}, None)])
    chat = find_format("openai_chat")
    assert problems_of(History.of(tuple(chat.read(payload) for payload in history), chat)) == check(history)


def test_every_law_has_a_name_of_its_own():
    """Names are how a problem points to its law."""
    assert len({law.name for law in LAWS}) == len(LAWS)
    assert all(law.rules for law in LAWS)


@pytest.mark.parametrize("case", [case for case in CASES if case["broken"]], ids=lambda case: case["id"])
def test_laws_find_their_cases(case):
    """What the table of providers' rules says to break a law is found by it, and by its rule."""
    law = next(law for law in LAWS if law.name == case["broken"])
    assert broken_by(law, case["messages"], case["format"])
    assert case["format"] in law.rules


def test_problems_come_in_the_order_of_the_messages_and_parts():
    """Whichever law found them; what is wrong with a message as a whole comes first."""
    call = {"type": "tool_use", "id": "a:b", "name": "read", "input": {}}
    blank = {"type": "text", "text": ""}
    history = [{"role": "assistant", "content": [blank, call, call]}, {"role": "user", "content": [call, blank]}]
    places = [(problem.index, -1 if problem.part is None else problem.part) for problem in check(history, format="anthropic")]
    assert places == sorted(places)
    assert {part for index, part in places if index == 0} == {-1, 0, 1, 2}


def test_nothing_is_legal():
    """An empty list breaks no law."""
    assert check([]) == []


@tries(60)
@given(
    data=st.data(), format=st.sampled_from(list(FORMATS)), words=st.sampled_from(["[gone]", " ", "ends in space ", "Error: x"])
)
def test_other_words_break_no_law_of_structure(data, format, words):
    """Where only words have changed, the laws that words can break find all that every law together would."""
    reader, history = FORMATS[format], data.draw(conversations(format, max_steps=4))
    messages = [reader.read(payload) for payload in history]
    texts = [(place, part) for place, message in enumerate(messages) for part in message.walk() if isinstance(part, Text)]
    if not texts:
        return
    place, part = data.draw(st.sampled_from(texts))
    try:
        changed = reader.rewrite(messages[place], part, words)
    except ValidationError:
        return
    after = History.of([*messages[:place], changed, *messages[place + 1 :]], reader)
    before = {(one.law, one.index, one.part) for one in problems_of(History.of(messages, reader))}
    new = [one for one in problems_of(after) if (one.law, one.index, one.part) not in before]
    assert [one for one in problems_of(after, words_only=True) if (one.law, one.index, one.part) not in before] == new


MESSAGE = FORMATS["anthropic"].read({"role": "user", "content": "hi"})


def test_item_speaks_of_its_position():
    """A message of the input has its position for an index, an added one has -1."""
    assert Item(MESSAGE, 3).index == 3
    assert Item(MESSAGE, None).index == -1


def test_change_reads_as_a_sentence():
    """A change says where and what."""
    assert str(Change(4, "dropped: it is empty")) == "message 4: dropped: it is empty"


def test_calls_and_results_are_named():
    """A call is named by id and tool, a result by the id it answers, or its tool where there is none."""
    assert name_of(ToolCall("a", "read")) == "the call 'a' of read"
    assert name_of(ToolResult("a")) == "the result for 'a'"
    assert name_of(ToolResult(None, name="read")) == "the result for 'read'"
    assert name_of(Text("x")) == "a Text"
