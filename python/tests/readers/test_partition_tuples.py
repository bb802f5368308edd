# SPDX-License-Identifier: Apache-2.0
"""Partition tuples are found at once where all have one layout, and one by one elsewhere."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from readers.writer import tuple_of, varint
from zonemap.pyiceberg.damage import DamagedError
from zonemap.pyiceberg.partitions import Partitions, _alike

MAKERS: dict[str, Callable[[random.Random], list[Any]]] = {
    "numbers": lambda seed: [seed.randrange(1 << 40), seed.random()],
    "texts of one length": lambda seed: [f"{seed.randrange(1000):03d}", seed.random() < 0.5],
    "long texts": lambda seed: [f"{seed.randrange(1000):0200d}"],
    "texts of any length": lambda seed: ["x" * seed.randrange(200), 7],
    "nulls": lambda seed: [None if seed.random() < 0.5 else 7, 5],
    "any types": lambda seed: [seed.choice((1, 2.5, "a", b"bc", True, Decimal("-1.25"), UUID(int=5 << 90), None))],
    "no values": lambda seed: [],
}
ALIKE = {"numbers", "texts of one length", "long texts", "no values"}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("count", [0, 1, 2, 300])
def test_tuples_of_each_layout(maker: str, count: int) -> None:
    seed = random.Random(count)
    tuples = [MAKERS[maker](seed) for _ in range(count)]
    stored = b"".join(tuple_of(spec % 3, values) for spec, values in enumerate(tuples))
    data = varint(count) + stored
    found = Partitions(data, 1000)
    assert len(found) == count
    assert [found.spec_id(ordinal) for ordinal in range(count)] == [ordinal % 3 for ordinal in range(count)]
    assert [found.values(ordinal, len(values)) for ordinal, values in enumerate(tuples)] == tuples
    if count == 300:
        assert (_alike(data, len(varint(count)), count) is not None) == (maker in ALIKE)
    for damaged in (data + b"\0", data[:-1] if stored else b"\1", varint(count + 1) + stored):
        with pytest.raises(DamagedError):
            Partitions(damaged, 1000)


def test_layouts_that_only_seem_alike() -> None:
    # Both tuples have the same number of bytes, and end at different places if one is read like the other.
    tuples = [["ab", "c"], ["a", "bc"]]
    found = Partitions(varint(2) + b"".join(tuple_of(0, values) for values in tuples), 10)
    assert [found.values(ordinal, 2) for ordinal in (0, 1)] == tuples
