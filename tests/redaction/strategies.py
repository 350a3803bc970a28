"""Texts made of secrets, of what looks like them, and of anything else."""

from hypothesis import strategies as st

from tests.redaction.examples import EXAMPLES, HARMLESS, NAMED
from tests.redaction.realistic import CASES

__all__ = ["glued", "texts"]

texts = st.text(st.characters(codec=None), max_size=15)
_secrets = st.sampled_from([secret for examples in EXAMPLES.values() for secret in examples] + list(NAMED))
_realistic = st.sampled_from([case.text for case in CASES])
_signs = st.sampled_from(["[redacted ", "]", "://", '"', "\\", "=", "{", "[", ": ", "password", "token", "--", "\n", ","])
glued = st.lists(texts | _secrets | _realistic | st.sampled_from(HARMLESS) | _signs).map("".join)
