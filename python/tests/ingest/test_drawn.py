# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from ingest.support import NAME, bodies, commit, record_paths, rows, spool_of
from zonemap.common.errors import InvalidArgumentError, ZonemapError
from zonemap.ingest import EnqueueUnknownError, WaitTimeoutError, Writer, drawn, lanes
from zonemap.ingest.spool import Spool


class Clock:
    """Both clocks of the module under test; one of them may stand still."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monotonic = self.wall = 1000.0
        monkeypatch.setattr(drawn, "clocks", lambda: (self.monotonic, self.wall))

    def forward(self, minutes: float) -> None:
        self.monotonic += minutes * 60
        self.wall += minutes * 60


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def retire(table: Table, upto: int) -> None:
    """Commits a state without lanes that has retired all drawn lanes up to a number."""
    commit(table, {}, settle=False)
    path = sorted((spool_of(table) / "state").iterdir())[-1]
    body = json.loads(path.read_bytes().partition(b"\n")[2])
    text = json.dumps(body | {"format": 2, "retired": upto}).encode()
    path.write_bytes(f"zonemap-ingest 1 {zlib.crc32(text):08x} {len(text)}\n".encode() + text)


def test_the_name_has_the_number_of_the_pointer(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog) as writer:
        assert lanes.drawn_at(writer.write(rows(1)).lane) == 0
    for _ in range(3):
        commit(events, {"other": 0})
    with Writer(NAME, catalog=catalog) as writer:
        assert lanes.drawn_at(writer.lane) == 3
        assert lanes.drawn_at(writer.lane.replace("-3-", "-03-")) is None


def test_a_drawn_lane_has_no_lock_and_no_other_writer(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog) as one, Writer(NAME, catalog=catalog) as other:
        assert one.write(rows(1)).lane != other.write(rows(2)).lane
        with pytest.raises(InvalidArgumentError, match="a writer draws a name of this form"):
            Writer(NAME, catalog=catalog, lane=one.lane)
    assert not (spool_of(events) / "locks").exists()
    assert {(body["seq"], body["prev-seq"]) for body in bodies(events)} == {(0, -1)}


def test_a_writer_that_is_killed_leaves_no_lock(events: Table, tmp_path: Path) -> None:
    del events
    code = (
        "import os, sys; from zonemap.ingest import Writer; from ingest.support import NAME, rows\n"
        "from pyiceberg.catalog.sql import SqlCatalog\n"
        f"writer = Writer(NAME, catalog=SqlCatalog('lake', uri='sqlite:///{tmp_path}/catalog.db', "
        f"warehouse='file://{tmp_path}/lake'))\n"
        "writer.write(rows(1)); os.kill(os.getpid(), 9)"
    )
    path = os.pathsep.join(sys.path)
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, check=False)
    assert done.returncode == -signal.SIGKILL
    assert list(tmp_path.rglob("*.rec")) and not list(tmp_path.rglob("*.lock"))


@pytest.mark.parametrize("still", ["monotonic", "wall"])
def test_a_writer_draws_another_lane_every_20_minutes(
    catalog: SqlCatalog, events: Table, clock: Clock, still: str
) -> None:
    with Writer(NAME, catalog=catalog, refresh_seconds=100000) as writer:
        found = [writer.write(rows(1))]
        clock.forward(19)
        found.append(writer.write(rows(2)))
        commit(events, {"other": 0})
        at = getattr(clock, still)
        clock.forward(1)
        setattr(clock, still, at)
        found.append(writer.write(rows(3)))
        assert writer.lane == found[2].lane
    assert found[0].lane == found[1].lane != found[2].lane and lanes.drawn_at(found[2].lane) == 1
    assert [(body["seq"], body["prev-seq"]) for body in bodies(events)] == [(0, -1), (1, 0), (2, -1)]


def test_a_lane_that_grows_old_while_rows_are_made_is_replaced(
    catalog: SqlCatalog, events: Table, clock: Clock
) -> None:
    with Writer(NAME, catalog=catalog) as writer:
        first = writer.lane

        def batches() -> Any:
            clock.forward(40)
            yield from rows(1).to_batches()

        assert writer.write(batches()).lane != first
    assert len(record_paths(events)) == 1


def test_a_number_of_an_earlier_lane_is_refused(catalog: SqlCatalog, events: Table, clock: Clock) -> None:
    with Writer(NAME, catalog=catalog) as writer:
        writer.write(rows(1), seq=4)
        assert writer.write(rows(1), seq=4).duplicate
        clock.forward(29)
        assert writer.write(rows(1), seq=4).duplicate
        clock.forward(1)
        for _ in range(2):
            with pytest.raises(ZonemapError, match=r"record 4 .* can be repeated for 10 minutes only"):
                writer.write(rows(1), seq=4)
            writer.write(rows(2))
        with pytest.raises(ZonemapError, match="has no lane of its own"):
            writer.write(rows(1), seq=3)
        assert writer.write(rows(3), seq=9).seq == 9
    assert sorted(body["seq"] for body in bodies(events)) == [4, 6, 7, 9]


def test_an_append_in_doubt_is_repeated_in_its_lane_or_refused(
    catalog: SqlCatalog, events: Table, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any) -> Any:
        raise OSError("simulated")

    with Writer(NAME, catalog=catalog) as writer:
        for minutes in (5, 31):
            with monkeypatch.context() as patch:
                patch.setattr(Spool, "append", failing)
                patch.setattr("zonemap.ingest.writer._FIRST_PAUSE", 0.0)
                with pytest.raises(EnqueueUnknownError) as caught:
                    writer.write(rows(1))
            clock.forward(minutes)
            if minutes < 30:
                assert writer.write(rows(1), seq=caught.value.seq).lane == caught.value.lane
            else:
                with pytest.raises(ZonemapError, match="can be repeated for 10 minutes only"):
                    writer.write(rows(1), seq=caught.value.seq)
                assert writer.write(rows(2)).lane != caught.value.lane
    assert len(bodies(events)) == 2


def test_an_append_that_hangs_is_the_last_one_in_its_lane(
    catalog: SqlCatalog, events: Table, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = Spool.append

    def hanging(spool: Spool, record: Any) -> Any:
        clock.forward(180)
        return append(spool, record)

    with Writer(NAME, catalog=catalog) as writer:
        with monkeypatch.context() as patch:
            patch.setattr(Spool, "append", hanging)
            late = writer.write(rows(1)).lane
        assert len({late} | {writer.write(rows(2)).lane for _ in range(3)}) == 2
    del events


def test_the_name_has_the_branch(catalog: SqlCatalog, events: Table) -> None:
    del events
    with Writer(NAME, catalog=catalog) as writer:
        lane = writer.lane
    assert lane.startswith("drawn-0-0d6e4079") and len(lane) == 40
    assert (lanes.drawn_at(lane), lanes.drawn_at(lane, "main"), lanes.drawn_at(lane, "audit")) == (0, 0, None)


def test_a_receipt_follows_a_record_that_a_person_appends_again(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog) as writer:
        receipt = writer.write(rows(1))
        retire(events, 0)
        (path,) = record_paths(events)
        quarantine = spool_of(events) / "quarantine" / path.parent.name
        quarantine.mkdir(parents=True)
        why = {
            "code": "late",
            "message": "retired",
            "when-ms": 1,
            "requeued-lane": "requeue-0",
            "requeued-nonce": "0" * 16,
        }
        (quarantine / f"{path.stem}.why").write_text(json.dumps(why))
        path.unlink()
        assert receipt.outcome() is None
        commit(events, {"requeue-0": 0}, settle=False)
        found = receipt.outcome()
        assert found is not None and found.visible
        again = spool_of(events) / "quarantine" / "requeue-0"
        again.mkdir()
        (again / f"{0:020d}-{'0' * 16}.why").write_text(
            json.dumps({"code": "missing-file", "message": "", "when-ms": 1})
        )
        found = receipt.outcome()
        assert found is not None and found.code == "missing-file"


def test_a_receipt_outlives_its_lane(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog) as writer:
        receipt = writer.write(rows(1))
        retire(events, 0)
        assert receipt.outcome() is None
        with pytest.raises(WaitTimeoutError):
            receipt.wait(0.1)
        (path,) = record_paths(events)
        quarantine = spool_of(events) / "quarantine" / path.parent.name
        quarantine.mkdir(parents=True)
        why = quarantine / f"{path.stem}.why"
        why.write_text(json.dumps({"code": "late", "message": "retired", "when-ms": 1}))
        path.rename(quarantine / path.name)
        found = receipt.outcome()
        assert found is not None and found.code == "late"
        why.unlink()
        (quarantine / path.name).unlink()
        found = receipt.outcome()
        assert found is not None and found.visible


def test_a_receipt_of_a_repeat_outlives_its_lane(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog) as writer:
        first = writer.write(rows(1), seq=0)
        commit(events, {first.lane: 0})
        again = writer.write(rows(1), seq=0)
        assert again.duplicate and not again.nonce and again.lane == first.lane
        found = again.outcome()
        assert found is not None and found.visible
        retire(events, 0)
        found = again.outcome()
        assert found is not None and found.visible


def test_a_receipt_of_a_repeat_follows_the_record_of_its_number(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog, lane="gateway") as writer:
        first = writer.write(rows(1), seq=0)
        commit(events, {"gateway": 0})
        again = writer.write(rows(1), seq=0)
    quarantine = spool_of(events) / "quarantine" / "gateway"
    quarantine.mkdir(parents=True)

    def refuse(nonce: str, code: str) -> None:
        why = quarantine / f"{0:020d}-{nonce}.why"
        why.write_text(json.dumps({"code": code, "message": "", "when-ms": 1}))

    refuse("0" * 16, "damaged")
    found = again.outcome()
    assert not again.nonce and found is not None and found.visible, "the torn record that it has replaced"
    refuse(first.nonce, "missing-file")
    found = again.outcome()
    assert found is not None and (found.status, found.code) == ("quarantined", "missing-file")
