import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.tokens import picture_size, picture_tokens
from redline.values.messages import Media


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", width, height) + b"\x08\x02\x00\x00\x00"


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\x00\x00"


def jpeg(width: int, height: int) -> bytes:
    preview = b"\xff\xe1" + struct.pack(">H", 40_000) + b"\x00" * 39_998
    size = b"\xff\xc2" + struct.pack(">HBHHB", 17, 8, height, width, 3) + b"\x00" * 9
    return b"\xff\xd8" + preview + size + b"\xff\xda"


def webp(kind: bytes, body: bytes) -> bytes:
    return b"RIFF\x00\x00\x00\x00WEBP" + kind + b"\x00\x00\x00\x00" + body + b"\x00" * 16


def webp_lossy(width: int, height: int) -> bytes:
    return webp(b"VP8 ", b"\x00\x00\x00\x9d\x01\x2a" + struct.pack("<HH", width, height))


def webp_lossless(width: int, height: int) -> bytes:
    return webp(b"VP8L", b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14))


def webp_extended(width: int, height: int) -> bytes:
    return webp(b"VP8X", b"\x00" * 4 + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little"))


MAKERS = [png, gif, jpeg, webp_lossy, webp_lossless, webp_extended]


def in_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize("make", MAKERS)
def test_sizes(make) -> None:
    """The size is read from the first bytes of each kind of picture, also after a data URL's head."""
    assert picture_size(in_base64(make(800, 600))) == (800, 600)
    assert picture_size("data:image/x;base64," + in_base64(make(320, 1))) == (320, 1)


@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    [(200, 200, 54), (1000, 1000, 1334), (1092, 1092, 1590), (4000, 3000, 1600), (3136, 100, 105), (1, 1, 1)],
)
def test_tokens(width: int, height: int, tokens: int) -> None:
    """Width times height by 750, scaled down to 1568 pixels, and no more than 1600."""
    assert picture_tokens(Media("image/png", in_base64(png(width, height)))) == tokens


@pytest.mark.parametrize(
    "media",
    [
        Media("image/png", "https://example.com/a.png", "url"),
        Media("image/png", "file_123", "file"),
        Media("application/pdf", in_base64(b"%PDF-1.7")),
        Media("image/png", "not base64 at all!"),
        Media("image/png", ""),
        Media("image/webp", in_base64(webp(b"VP9X", b"\x00" * 10))),
    ],
)
def test_unknown_sizes_cost_the_most(media: Media) -> None:
    """What cannot be measured counts as the largest picture."""
    assert picture_tokens(media) == 1600


@given(
    st.binary(max_size=100),
    st.sampled_from(MAKERS),
    st.integers(0, 60),
)
def test_broken_pictures_break_nothing(noise: bytes, make, cut: int) -> None:
    """Torn headers and noise give a size or none."""
    for data in (noise, make(10, 10)[:cut], make(10, 10)[:cut] + noise):
        assert 0 <= picture_tokens(Media("image/png", in_base64(data))) <= 1600


@given(st.text())
def test_any_text_as_a_picture(text: str) -> None:
    """Text that is no base64 is no picture, and no error."""
    assert 0 <= picture_tokens(Media("image/png", text)) <= 1600
