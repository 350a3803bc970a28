"""A picture from long ago gives way to a line that says what it was."""

from hypothesis import given
from hypothesis import strategies as st

from redline.rules.old_images import OldImages
from redline.testing import Turn
from redline.values.messages import Media, Message, Text
from redline.values.words import EN
from tests.rules.folding import PIXEL, applied, check_laws, histories, marks_of, native, read, step

PICTURE = Media("image/png", PIXEL)
SHOWN: Turn = ("user", (Text("see"), PICTURE))
SAID: Turn = ("assistant", (Text("ok"),))


def images_in(messages: list[Message]) -> list[int]:
    return [index for index, message in enumerate(messages) for part in message.walk() if isinstance(part, Media)]


def test_images_of_the_latest_messages_stay():
    """Messages are counted, the one with the image too."""
    messages = read(native([SHOWN, SAID, SHOWN, SAID]))
    assert images_in(applied(messages, marks_of(OldImages(keep_messages=1), messages))) == []
    assert images_in(applied(messages, marks_of(OldImages(keep_messages=2), messages))) == [2]


def test_the_stub_says_type_and_may_say_the_size():
    """The size is that of the picture, not of its base64."""
    (mark, *_) = marks_of(OldImages(keep_messages=0, placeholder=EN.old_image), read(native([SHOWN])))
    assert mark.replacement == "[Image left out: user, image/png]"
    shown = native(step(0, "Read", {"file_path": "a.png"}, (PICTURE,)))
    (mark,) = marks_of(OldImages(keep_messages=0, words=EN), read(shown))
    assert mark.replacement == "[Image left out: Read a.png, image/png; if it exists, read it again]"
    large: Turn = ("user", (Media("image/png", "A" * 400_000),))
    (mark,) = marks_of(OldImages(keep_messages=0, placeholder="{size}"), read(native([large])))
    assert mark.replacement == "300.0 kB"


def test_a_linked_image_is_named_by_its_address():
    """Its size is not known, where it lies is."""
    linked: Turn = ("user", (Media("image/png", "https://example.com/a.png", "url"),))
    (mark,) = marks_of(OldImages(keep_messages=0, placeholder="{size}"), read(native([linked])))
    assert mark.replacement == "https://example.com/a.png"


def test_images_in_results_go_and_the_words_stay():
    """Also where the format stores pictures beside the result and has no place for words there."""
    results = step(0, "Read", {"file_path": "a.png"}, (Text("a picture"), PICTURE))
    beside = [
        {
            "role": "tool",
            "tool_call_id": "c",
            "content": "a picture",
            "images": [{"data": PIXEL, "mimeType": "image/png"}],
        }
    ]
    for messages in (read(native(results)), read(beside, "openai_chat")):
        after = applied(messages, marks_of(OldImages(keep_messages=0), messages))
        assert images_in(after) == []
        assert "a picture" in after[-1].results[0].text


def test_images_in_failed_results_stay():
    """Errors are kept as they are."""
    messages = read(native(step(0, "Read", {"file_path": "a"}, (Text("bad"), PICTURE), is_error=True)))
    assert marks_of(OldImages(keep_messages=0), messages) == []


@given(histories(), st.integers(0, 5))
def test_laws(messages: list[Message], keep_messages: int):
    """Only images are marked, the latest stay, and twice is once."""
    for mark in check_laws(OldImages(keep_messages), messages):
        assert any(isinstance(part, Media) and part.at == mark.at for part in messages[mark.index].walk())
        assert mark.index <= len(messages) - keep_messages
