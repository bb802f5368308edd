"""Blocks of paths are decompressed together and read in strides where the lengths are alike."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from zonemap.pyiceberg.damage import DamagedError
from zonemap.pyiceberg.segment import _texts
from zonemap.pyiceberg.wire import decompressed_all

ZSTD = pa.Codec("zstd")


def stored(text: str) -> bytes:
    """A text with its length in front, as section 1 of the format states it."""
    data, header = text.encode(), b""
    length = len(data)
    while length >= 0x80:
        header += bytes([length & 0x7F | 0x80])
        length >>= 7
    return header + bytes([length]) + data


@pytest.mark.parametrize("length", [0, 1, 5, 76, 127, 128, 200, 300])
def test_texts_of_like_and_other_lengths(length: int) -> None:
    draw = random.Random(length)
    for _ in range(200):
        others = 0 if draw.random() < 0.3 else 0.2
        lengths = [draw.randrange(400) if draw.random() < others else length for _ in range(draw.randrange(1, 20))]
        # The bytes 5 and 76 are also lengths, which a stride of a wrong width would take for a header.
        texts = ["".join(draw.choice("a\x05Lü") for _ in range(count)) for count in lengths]
        data = b"".join(map(stored, texts))
        places = sorted(draw.sample(range(len(texts)), draw.randrange(1, len(texts) + 1)))
        assert _texts(data, places) == [texts[place] for place in places]
        with pytest.raises(DamagedError):
            _texts(data[:-1] if texts[-1] else data, [*range(len(texts)), len(texts)])


def test_frames_are_decompressed_together() -> None:
    raws = [bytes([place]) * place * 7 for place in range(1, 40)]
    frames = [ZSTD.compress(raw, asbytes=True) for raw in raws]
    lengths = list(map(len, raws))
    assert decompressed_all(frames, lengths) == raws
    assert decompressed_all([], []) == []


def test_large_frames_are_decompressed_one_by_one() -> None:
    raws = [random.Random(place).randbytes(3 << 20) for place in range(2)]
    assert decompressed_all([ZSTD.compress(raw, asbytes=True) for raw in raws], list(map(len, raws))) == raws


def test_a_damaged_frame_among_others_is_found() -> None:
    raws = [b"a" * 100, b"b" * 50, b"c" * 100]
    frames = [ZSTD.compress(raw, asbytes=True) for raw in raws]
    with pytest.raises(DamagedError):
        decompressed_all(frames, [100, 100, 50])
    with pytest.raises(DamagedError):
        decompressed_all([frames[0] + frames[1], frames[2]], [100, 100])
    with pytest.raises(DamagedError):
        decompressed_all([frames[0], frames[1][:-1], frames[2]], [100, 50, 100])
