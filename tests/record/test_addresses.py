import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.record.addresses import masked, without_password


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("chat.jsonl", "chat.jsonl"),
        ("me:you@there.jsonl", "me:you@there.jsonl"),
        ("sqlite:///chats.db#me@example.org", "sqlite:///chats.db#me@example.org"),
        ("sqlite:////home/a:b/c@d.db#x", "sqlite:////home/a:b/c@d.db#x"),
        ("postgresql://me@host/db#name", "postgresql://me@host/db#name"),
        ("postgresql://me:s3cret@host:5432/db#name", "postgresql://me:***@host:5432/db#name"),
        ("postgresql://me:s3cret@host/db#me@example.org", "postgresql://me:***@host/db#me@example.org"),
        ("postgresql://:s3cret@host/db", "postgresql://:***@host/db"),
        ("postgresql://me:my s3cret@host/db#x", "postgresql://me:***@host/db#x"),
        ("postgresql://me:p@s3cret@host/db#x", "postgresql://me:***@host/db#x"),
        ("postgresql://me:p%40s3cret@host/db#x", "postgresql://me:***@host/db#x"),
        ("postgresql://me:p/s3cret@host/db#x", "postgresql://me:***@host/db#x"),
        ("postgresql://me:p?s3cret@host/db#x", "postgresql://me:***@host/db#x"),
        ("postgresql://me:p#s3cret@host/db#x", "postgresql://me:***@host/db#x"),
        ("postgresql://host/db?user=me&password=s3cret#x", "postgresql://host/db?user=me&password=***#x"),
        ("postgresql://host/db?password=s3cret&user=me#x", "postgresql://host/db?password=***&user=me#x"),
        ("postgresql:///db?p%61ssword=s3cret", "postgresql:///db?p%61ssword=***"),
        ("postgresql:///db?sslpassword=s3cret", "postgresql:///db?sslpassword=***"),
        ("postgresql://host:5432/db?user=a@b#x", "postgresql://host:5432/db?user=a@b#x"),
        ("https://me:s3cret@bucket/prefix", "https://me:***@bucket/prefix"),
        ("", ""),
    ],
)
def test_password_is_masked(address, shown):
    """Wherever it is and whatever is in it; the rest stays as it is, conversation included (R64)."""
    assert masked(address) == shown
    assert "s3cret" not in shown
    assert masked(shown) == shown


@given(st.text(min_size=3, max_size=12).filter(lambda text: not text.isdigit()), st.sampled_from(["h", "h:1", "[::1]"]))
def test_no_password_gets_through(password, host):
    """Any text for a password, encoded or not, is gone, and the host and the name stay (R64)."""
    shown = masked(f"postgresql://me:x{password}@{host}/db#name")
    assert shown == f"postgresql://me:***@{host}/db#name"


@given(st.text())
def test_any_text_can_be_masked(text):
    """Nothing raises, and masking again changes nothing."""
    assert masked(masked(text)) == masked(text)


def test_an_error_of_a_driver_does_not_give_it_away():
    """Neither as it was written nor as it was meant (R64)."""
    address = "postgresql://user:se%20cret@host/db?sslpassword=other"
    told = without_password('bad address "se%20cret", "se cret" or other', address)
    assert told == 'bad address "***", "***" or ***'
