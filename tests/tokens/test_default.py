import subprocess
import sys

from redline.tokens import default_counter

# None in sys.modules is how Python itself says that a module cannot be imported.
WITHOUT_EXTRA = """
import sys
sys.modules["splintr"] = None
from redline.errors import MissingExtraError
from redline.tokens import Exact, default_counter
print(default_counter().name)
try:
    Exact()
except MissingExtraError as missing:
    print(missing)
"""


def test_exact_where_the_extra_is_installed() -> None:
    """The choice depends on nothing but what is installed, and is made once."""
    assert default_counter().name == "o200k_base"
    assert default_counter() is default_counter()


def test_the_estimate_where_it_is_not() -> None:
    """Without the extra everything still counts, and asking for exact counts names the extra."""
    name, message = _printed(WITHOUT_EXTRA)
    assert name == "estimate"
    assert "pip install 'redline[tokens]'" in message


def test_the_extra_is_loaded_only_when_asked_for() -> None:
    """Importing the package does not import the tokenizer."""
    assert _printed("import sys, redline.tokens; print('splintr' in sys.modules)") == ["False"]


def _printed(code: str) -> list[str]:
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.splitlines()
