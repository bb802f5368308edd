# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import threading
from dataclasses import dataclass, field

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from ingest.support import NAME, local, record_paths, rows
from zonemap.common.errors import InvalidArgumentError
from zonemap.ingest import BackPressure, BackPressureError, Writer
from zonemap.ingest.pressure import Gate
from zonemap.ingest.spool import Backlog


@dataclass
class _Spool:
    """A spool that counts its listings; each listing may find a smaller backlog."""

    backlogs: list[Backlog]
    location: str = "/spool"
    listings: int = 0

    def backlog(self) -> Backlog:
        self.listings += 1
        return self.backlogs[min(self.listings, len(self.backlogs)) - 1]


@dataclass
class _Clock:
    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


LIMITS = BackPressure(
    soft_records=100, hard_records=200, soft_bytes=1000, hard_bytes=2000, soft_wait=3, listing_interval=5
)


def gate(*backlogs: Backlog) -> tuple[Gate, _Spool, _Clock]:
    spool, clock = _Spool(list(backlogs)), _Clock()
    found = Gate(spool, LIMITS, lane="a", clock=clock.time, sleep=clock.sleep)  # type: ignore[arg-type]
    return found, spool, clock


def test_few_records_need_one_listing_for_each_interval() -> None:
    found, spool, clock = gate(Backlog(2, 20))
    for _ in range(10):
        found.admit()
        found.added(10)
    assert (spool.listings, clock.slept) == (1, [])
    clock.now = 5.0
    found.admit()
    assert spool.listings == 2


@pytest.mark.parametrize(
    ("backlog", "size", "writes"),
    [(Backlog(0, 0), 1, 13), (Backlog(0, 0), 100, 2), (Backlog(92, 0), 1, 1), (Backlog(0, 900), 1, 2)],
)
def test_own_records_cause_a_listing_before_the_limit(backlog: Backlog, size: int, writes: int) -> None:
    found, spool, _ = gate(backlog)
    found.admit()
    count = 0
    while spool.listings == 1:
        found.added(size)
        count += 1
        found.admit()
    assert count == writes


@pytest.mark.parametrize("over", [Backlog(100, 0), Backlog(0, 1000)])
def test_soft_limit_waits_until_the_committer_catches_up(over: Backlog) -> None:
    found, spool, clock = gate(over, over, over, Backlog(99, 999))
    found.admit()
    assert spool.listings == 4
    assert 0 < sum(clock.slept) < 3


def test_soft_limit_waits_no_longer_than_it_may() -> None:
    found, _, clock = gate(Backlog(150, 0))
    found.admit()
    assert sum(clock.slept) == pytest.approx(3)


@pytest.mark.parametrize(
    ("over", "message"),
    [
        (Backlog(200, 0), "200 records wait for the committer, and the limit is 200.*raise hard_records"),
        (Backlog(0, 2000), "2,000 bytes wait for the committer, and the limit is 2,000.*raise hard_bytes"),
    ],
)
def test_hard_limit_fails_at_once_and_while_waiting(over: Backlog, message: str) -> None:
    for backlogs in ([over], [Backlog(100, 0), over]):
        found, _, _ = gate(*backlogs)
        with pytest.raises(BackPressureError, match=message):
            found.admit()


@pytest.mark.parametrize(
    ("stuck", "own", "fails"),
    [
        (["b"], 0, False),  # one lane that is stuck stops no other one
        (["b"], 150, True),
        (["b", "c", "d"], 49, False),
        (["b", "c", "d", "e"], 0, True),
        ([], 200, True),
    ],
)
def test_a_lane_counts_for_others_up_to_its_share(stuck: list[str], own: int, fails: bool) -> None:
    lanes = {"a": (own, own)} | dict.fromkeys(stuck, (1000, 1000))
    found, _, _ = gate(Backlog(own + 1000 * len(stuck), own, lanes))
    if fails:
        with pytest.raises(BackPressureError):
            found.admit()
    else:
        found.admit()


@pytest.mark.parametrize(
    "arguments",
    [{"soft_records": 0}, {"soft_wait": -1}, {"hard_bytes": "many"}, {"soft_records": 11, "hard_records": 10}],
)
def test_malformed_limits(arguments: dict[str, int]) -> None:
    with pytest.raises(InvalidArgumentError):
        BackPressure(**arguments)


def test_writer_fails_at_the_hard_limit_and_goes_on_below_it(catalog: SqlCatalog, events: Table) -> None:
    limits = BackPressure(soft_records=3, hard_records=3, soft_wait=0.1)
    with Writer(NAME, catalog=catalog, lane="a", back_pressure=limits) as writer:
        for n in range(3):
            writer.write(rows(n))
        with pytest.raises(BackPressureError, match="3 records wait"):
            writer.write(rows(3))
        assert len(list(local(events.location()).glob("data/*"))) == 3
        record_paths(events)[0].unlink()
        assert writer.write(rows(3)).seq == 4


def test_writer_waits_at_the_soft_limit(catalog: SqlCatalog, events: Table) -> None:
    limits = BackPressure(soft_records=2, hard_records=10, soft_wait=30)
    with Writer(NAME, catalog=catalog, back_pressure=limits) as writer:
        for n in range(2):
            writer.write(rows(n))
        timer = threading.Timer(0.3, record_paths(events)[0].unlink)
        timer.start()
        writer.write(rows(2))
        assert not timer.is_alive()
