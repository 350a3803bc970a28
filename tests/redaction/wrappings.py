"""Secrets as programs write them: coloured, as keys, escaped, encoded; a table of secrets and one of wrappings."""

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote

from tests.redaction.examples import EXAMPLES, RANDOM

SEED = "legal winner thank year wave sausage worth useful legal winner thank yellow"

SECRETS = [
    *(secret for kind, secrets in EXAMPLES.items() if kind != "private key" for secret in secrets),
    f"glsa_{RANDOM}",
    f"lin_api_{RANDOM}",
    f"figd_{RANDOM}",
    f"sntrys_{RANDOM}",
    f"dckr_pat_{RANDOM}",
    f"tskey-auth-{RANDOM}",
    f"shpat_{'0a' * 16}",
    f"AGE-SECRET-KEY-1{'QPZRY9X8' * 7}",
    f"sbp_{RANDOM}",
    f"ntn_{RANDOM}",
]

WRAPPINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "after a colour": lambda secret: f"\x1b[31m{secret}\x1b[0m",
    "after a bold colour of 256": lambda secret: f"key=\x1b[1;38;5;208m{secret}\x1b[m",
    "after a word and a colour": lambda secret: f"token\x1b[0m{secret}\x1b[K",
    "with a colour inside": lambda secret: f"{secret[:9]}\x1b[01;31m\x1b[K{secret[9:]}\x1b[m",
    "a link of the terminal": lambda secret: f"\x1b]8;;https://x.dev\x07{secret}\x1b]8;;\x07",
    "a colour as it is escaped": lambda secret: f"\\u001b[31m{secret}\\u001b[0m",
    "a colour in octal": lambda secret: f"\\033[31m{secret}\\033[0m",
    "a colour as cat -v shows it": lambda secret: f"^[[31m{secret}^[[0m",
    "percent signs": lambda secret: quote(f"q={secret}&b", safe=""),
    "every character as a percent sign": lambda secret: "".join(f"%{ord(one):02X}" for one in secret),
    "escapes of JSON": lambda secret: "".join(f"\\u{ord(one):04x}" for one in secret),
    "the dashes escaped": lambda secret: secret.replace("-", "\\u002d").replace("_", "\\u005F"),
    "escapes of C": lambda secret: "".join(f"\\x{ord(one):02x}" for one in secret),
    "entities": lambda secret: "".join(f"&#{ord(one)};" for one in secret),
    "entities in hexadecimal": lambda secret: "".join(f"&#x{ord(one):x};" for one in secret),
    "signs that nobody sees": lambda secret: "\u200b".join(secret),
    "base64": lambda secret: base64.b64encode(secret.encode()).decode(),
    "base64 of a file of settings": lambda secret: base64.b64encode(f"A=1\nAPI_KEY={secret}\n".encode()).decode(),
    "base64 for addresses": lambda secret: base64.urlsafe_b64encode(f"~~?{secret}".encode()).decode().rstrip("="),
    "base64 in lines": lambda secret: base64.encodebytes(f"{'A setting of no interest. ' * 5}{secret}".encode()).decode(),
    "base64 twice": lambda secret: base64.b64encode(base64.b64encode(secret.encode())).decode(),
    "base64 of Windows": lambda secret: base64.b64encode(f"$k = '{secret}'".encode("utf-16-le")).decode(),
    "hexadecimal": lambda secret: secret.encode().hex(),
    "hexadecimal in capitals": lambda secret: f"0x{secret.encode().hex().upper()}",
    "hexadecimal with spaces": lambda secret: secret.encode().hex(" "),
    "hexadecimal with colons": lambda secret: secret.encode().hex(":"),
    "JSON in a string": lambda secret: json.dumps({"note": secret}),
    "JSON in a string of a string": lambda secret: json.dumps({"note": json.dumps({"x": secret})}),
    "a key in a string": lambda secret: json.dumps({secret: 1}),
    "HTML": lambda secret: f"<code>{html.escape(secret)}</code>",
}

HARMLESS = [
    "d41d8cd98f00b204e9800998ecf8427e",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "550e8400-e29b-41d4-a716-446655440000",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg==",
    base64.b64encode(b"Just a note that says nothing of interest to anybody.").decode(),
    b"A line of words without a secret in it.".hex(),
    "\x1b[32mPASS\x1b[0m tests/test_a.py \x1b[2m(12 ms)\x1b[0m",
    "https://x.dev/search?q=hello%20world%2C%20again&page=2",
    'print("\\u00e9\\u00e8", "\\x41", "&amp;", "&#39;")',
    "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
    "the seed of the random generator is 42, and the words that follow are only words about some other thing",
    "seed phrase: ask the user, do not print it, and never write it to a file of the log",
    "set a random seed before you split data into train and test sets, then fit, score and plot it",
    "from redline.sessions.catalog.catalog_row import CatalogCache as TheCatalogCacheOfSessions",
    "00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 11 12 13",
    "de:ad:be:ef:00:01:02:03:04:05:06:07:08:09:0a:0b:0c:0d:0e:0f",
]
