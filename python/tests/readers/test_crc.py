from __future__ import annotations

import random

import pytest

from readers.writer import crc
from zonemap.pyiceberg.crc import crc32c, crc32c_of_each

LENGTHS = [0, 1, 3, 4, 5, 63, 64, 255, 256, 511, 512, 513, 2048, 2051, 16_383, 16_384, 16_389, 40_001]


def test_the_value_of_the_definition() -> None:
    assert crc32c(b"123456789") == 0xE3069283


@pytest.mark.parametrize("length", LENGTHS)
def test_every_way_to_fold_gives_the_value_of_the_bytewise_loop(length: int) -> None:
    data = random.Random(length).randbytes(length)
    assert crc32c(data) == crc(data)
    assert crc32c(memoryview(data)) == crc(data)


def test_many_buffers_at_once() -> None:
    seed = random.Random(3)
    buffers = [seed.randbytes(length) for length in (0, 1, 3, 4, 9, 250, 256, 257, 1000, 5000)]
    assert crc32c_of_each(buffers) == [crc(buffer) for buffer in buffers]
    assert crc32c_of_each([]) == []
