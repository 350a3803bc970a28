import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.log.addresses import masked, without_password


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://user:secret@host/db#chat", "postgresql://user:***@host/db#chat"),
        ("postgresql://user:p@ss word/#1@host/db", "postgresql://user:***@host/db"),
        ("POSTGRES://user:%73ecret@host", "POSTGRES://user:***@host"),
        ("postgresql://host/db?user=u&password=secret&x=1#chat", "postgresql://host/db?user=u&password=***&x=1#chat"),
        ("postgresql://user@host:5432/db", "postgresql://user@host:5432/db"),
        ("sqlite:///chats.db#a@b", "sqlite:///chats.db#a@b"),
        ("folder/chat.jsonl", "folder/chat.jsonl"),
    ],
)
def test_a_password_is_never_shown(address, shown):
    """Wherever an address can hold one; all else stays as it is (R25)."""
    assert masked(address) == shown


@given(st.text(min_size=1), st.text())
def test_whatever_the_password_is(password, rest):
    """No part of it is left, whatever characters it has (R25)."""
    marked = f"<{password}>"
    assert marked not in masked(f"postgresql://user:{marked}@host/db{rest}")


def test_an_error_of_a_driver_does_not_give_it_away():
    """Neither as it was written nor as it was meant (R64)."""
    address = "postgresql://user:se%20cret@host/db?sslpassword=other"
    told = without_password('bad address "se%20cret", "se cret" or other', address)
    assert told == 'bad address "***", "***" or ***'
