# SPDX-License-Identifier: Apache-2.0
"""Random queries over the tables of the soak; their rows do not depend on the order of files."""

from __future__ import annotations

import random
from collections.abc import Callable

from soak import lake

#: `{t}` is the table, `{a}` a random id near those of the table, `{d}` a device.
SHAPES = (
    "SELECT id, ts, device, value FROM {t} WHERE id BETWEEN {a} AND {a} + 100",
    "SELECT id, value FROM {t} WHERE id = {a}",
    "SELECT id, device FROM {t} WHERE id IN ({a}, {a} + 7, {a} + 300, -1)",
    "SELECT id, ts FROM {t} WHERE ts >= timestamp_seconds(1767225600 + {a} * 20) AND device = {d} ORDER BY id LIMIT 20",
    "SELECT id, value FROM {t} WHERE device <> {d} ORDER BY id DESC LIMIT 10",
    "SELECT id FROM {t} WHERE id > {a} ORDER BY ts LIMIT 5",
    "SELECT count(*), min(id), max(ts), max(value) FROM {t} WHERE id >= {a}",
    "SELECT count(*), min(id), max(id) FROM {t}",
    "SELECT device, count(*) FROM {t} WHERE date_trunc('HOUR', ts) = date_trunc('HOUR', timestamp_seconds(1767225600 + {a} * 20)) GROUP BY device",
    "SELECT t.id, t.value FROM {t} t JOIN (SELECT * FROM VALUES ({a}), ({a} + 11), ({a} + 900) AS k(id)) k ON t.id = k.id",
    "SELECT t.id FROM {t} t WHERE t.id IN (SELECT r.id FROM {t} r WHERE r.value = 17 AND r.id < {a})",
    "SELECT count(*) FROM {t} WHERE value IS NULL OR id < {a}",
)


def draw(chooser: random.Random, newest: int) -> Callable[[str], str]:
    """Returns a function from the table, with or without a snapshot, to the text of a query."""
    shape, a, d = chooser.choice(SHAPES), chooser.randrange(max(1, newest + 50)), chooser.randrange(7)
    return lambda table: shape.format(t=table, a=a, d=d)


def at(name: str, snapshot: int) -> str:
    return f"{name} VERSION AS OF {snapshot}"


def name(chooser: random.Random) -> str:
    return chooser.choice(lake.TABLES)
