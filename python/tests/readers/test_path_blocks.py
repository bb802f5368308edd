# SPDX-License-Identifier: Apache-2.0
"""Blocks of paths are decompressed together and read in strides where the lengths are alike."""

from __future__ import annotations

import io
import random

import numpy as np
import pyarrow as pa
import pytest
from google_crc32c import value as crc32c

from zonemap.pyiceberg.container import Blocks
from zonemap.pyiceberg.damage import DamagedError
from zonemap.pyiceberg.store import File
from zonemap.pyiceberg.wire import decompressed_all, items_at, texts

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
        wanted = ["".join(draw.choice("a\x05Lü") for _ in range(count)) for count in lengths]
        data = b"".join(map(stored, wanted))
        places = sorted(draw.sample(range(len(wanted)), draw.randrange(1, len(wanted) + 1)))
        # Bytes of other blocks are in front of a run and behind it.
        before, behind = (b"".join(map(stored, draw.choices(wanted, k=count))) for count in (3, 30))
        start, end = len(before), len(before) + len(data)
        assert texts(items_at(before + data + behind, start, end, places)) == [wanted[place] for place in places]
        for beyond in ([*range(len(wanted) + 1)], [len(wanted)], [len(wanted) + 5]):
            with pytest.raises(DamagedError):
                items_at(before + data + behind, start, end, beyond)
            with pytest.raises(DamagedError):
                items_at(data, 0, len(data), beyond)


def test_frames_are_decompressed_together() -> None:
    raws = [bytes([place]) * place * 7 for place in range(1, 40)]
    frames = [ZSTD.compress(raw, asbytes=True) for raw in raws]
    assert decompressed_all(frames, list(map(len, raws))) == b"".join(raws)
    assert decompressed_all([], []) == b""


class Counted(File):
    """A file in memory that counts its requests."""

    def __init__(self, data: bytes) -> None:
        super().__init__(lambda: io.BytesIO(data), "counted", len(data))
        self.requests: list[int] = []

    def read(self, offset: int, length: int) -> bytes:
        self.requests.append(length)
        return super().read(offset, length)


def blocks_of(raws: list[bytes], order: list[int], gap: int) -> tuple[Counted, Blocks]:
    """Blocks that are stored in an order of their own, with bytes of nobody before each."""
    rows, data = [(0, 0, 0, 0)] * len(raws), b"before the section"
    start = len(data)
    for place in order:
        data += bytes(gap)
        frame = ZSTD.compress(raws[place], asbytes=True)
        rows[place] = (len(data) - start, len(frame), len(raws[place]), crc32c(frame))
        data += frame
    file = Counted(data)
    form = [("offset", "<u4"), ("length", "<u4"), ("raw", "<u4"), ("crc", "<u4")]
    return file, Blocks(file, np.array(rows, dtype=form), start, len(data) - start)


@pytest.mark.parametrize("gap", [0, 100, 40_000])
@pytest.mark.parametrize("size", [100, 100_000])
def test_neighbouring_blocks_share_a_request(size: int, gap: int) -> None:
    draw = random.Random(size + gap)
    raws = [draw.randbytes(size) for _ in range(20)]
    in_order = list(range(20))
    for order in (in_order, in_order[::-1], draw.sample(in_order, 20)):
        file, blocks = blocks_of(raws, order, gap)
        for wanted in (in_order, [3], [], [0, 1, 7, 8, 19]):
            file.requests.clear()
            found = {
                ordinal: batch.data[start:end]
                for batch in blocks.read(wanted)
                for ordinal, start, end in batch.blocks()
            }
            assert found == {ordinal: raws[ordinal] for ordinal in wanted}
            assert len(file.requests) <= len(wanted)
            if order == in_order and len(wanted) == 20 and gap < 40_000:
                assert len(file.requests) == 1


def test_a_batch_is_small_unless_a_block_is_large() -> None:
    raws = [bytes(size) for size in (10, 1 << 20, 200_000, 100_000, 100, 0, 1 << 20)]
    _, blocks = blocks_of(raws, list(range(len(raws))), 0)
    assert [list(batch.ordinals) for batch in blocks.read(range(len(raws)))] == [[0], [1], [2], [3, 4, 5], [6]]


def test_a_damaged_frame_among_others_is_found() -> None:
    raws = [b"a" * 100, b"b" * 50, b"c" * 100]
    frames = [ZSTD.compress(raw, asbytes=True) for raw in raws]
    with pytest.raises(DamagedError):
        decompressed_all(frames, [100, 100, 50])
    with pytest.raises(DamagedError):
        decompressed_all([frames[0] + frames[1], frames[2]], [100, 100])
    with pytest.raises(DamagedError):
        decompressed_all([frames[0], frames[1][:-1], frames[2]], [100, 50, 100])
