# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import signal
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.table import Table
from pyiceberg.table.update import SetLocationUpdate, SetSnapshotRefUpdate
from pyiceberg.transforms import IdentityTransform

from ingest.support import NAME, bodies, body_of, commit, data_of, local, record_paths, rows, spool_of
from zonemap.common.errors import InvalidArgumentError, ZonemapError
from zonemap.ingest import EnqueueUnknownError, WaitTimeoutError, Writer, state, wire
from zonemap.ingest.spool import Spool, Stored


def chain(table: Table) -> list[tuple[int, int]]:
    return [(body["seq"], body["prev-seq"]) for body in bodies(table)]


def test_numbers_go_on_after_a_restart_and_leave_one_out(catalog: SqlCatalog, events: Table) -> None:
    for start in (1, 4):
        with Writer(NAME, catalog=catalog, lane="a") as writer:
            assert [writer.write(rows(start)).seq, writer.write(rows(start + 1)).seq] == [start, start + 1]
    assert chain(events) == [(1, -1), (2, 1), (4, 2), (5, 4)]


def test_numbers_go_on_after_committed_records(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        writer.write(rows(1))
        writer.write(rows(2))
    commit(events, {"a": 2})
    assert record_paths(events) == []
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        assert writer.write(rows(3)).seq == 4
    assert chain(events) == [(4, 2)]


def test_numbers_go_on_after_a_quarantined_record(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        writer.write(rows(1))
        receipt = writer.write(rows(2))
    refused = {"lane": "a", "seq": 2, "nonce": receipt.nonce, "code": "missing-file", "message": ""}
    commit(events, {"a": 2}, quarantined=[refused], settle=False)
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        assert writer.write(rows(3)).seq == 4


def put(table: Table, **changes: Any) -> Path:
    """Adds a copy of the newest record with other fields to the spool, as another process would."""
    body = {**bodies(table)[-1], "nonce": "00000000000000ff", **changes}
    text = json.dumps(body).encode()
    path = spool_of(table) / "pending" / body["lane"] / f"{body['seq']:020d}-{body['nonce']}.rec"
    path.write_bytes(f"zonemap-ingest 1 {zlib.crc32(text):08x} {len(text)}\n".encode() + text)
    return path


@pytest.mark.parametrize(
    ("record", "following"),
    [
        ({"seq": 9, "prev-seq": 1}, 4),  # a fork, which the committer refuses without passing it
        ({"seq": 9, "prev-seq": 2}, 11),  # the chain
        ({"seq": 9, "prev-seq": 7}, 11),  # behind a gap, which may be filled
    ],
)
def test_only_records_of_the_chain_count(
    catalog: SqlCatalog, events: Table, record: dict[str, int], following: int
) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        writer.write(rows(1))
        writer.write(rows(2))
    put(events, **record)
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        assert writer.write(rows(3)).seq == following


def torn(record: str | Path) -> Path:
    """Cuts a record, as an object store may that keeps what it has received."""
    path = local(str(record))
    path.write_bytes(path.read_bytes()[:-5])
    return path


def test_a_record_that_cannot_be_read_counts(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        writer.write(rows(1))
        torn(writer.write(rows(2)).record)
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        following = writer.write(rows(3))
    assert (following.seq, body_of(local(following.record))["prev-seq"]) == (4, 2)


@pytest.mark.parametrize("reopen", [False, True])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_number_is_written_again_while_its_record_cannot_be_read(
    catalog: SqlCatalog, events: Table, at: int, reopen: bool
) -> None:
    writer = Writer(NAME, catalog=catalog, lane="a")
    receipts = [writer.write(rows(n), seq=10 * n) for n in range(3)]
    damaged = torn(receipts[at].record)
    if reopen:
        writer.close()
        writer = Writer(NAME, catalog=catalog, lane="a")
    with writer:
        again = writer.write(rows(at), seq=10 * at)
        assert (again.duplicate, again.seq, again.rows) == (False, 10 * at, 1)
        assert again.nonce != receipts[at].nonce
        repeated = writer.write(rows(at), seq=10 * at)
        assert (repeated.duplicate, repeated.nonce) == (True, again.nonce)
        assert writer.write(rows(3), seq=30).duplicate is False
    damaged.unlink()
    assert chain(events) == [(0, -1), (10, 0), (20, 10), (30, 20)]
    assert data_of(*bodies(events)).column("id").to_pylist() == [0, 1, 2, 3]


def test_a_record_with_the_body_of_another_cannot_be_read(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        writer.write(rows(1), seq=0)
        path = put(events, seq=5, **{"prev-seq": 0})
        path.rename(path.with_name(f"{6:020d}-{path.name.partition('-')[2]}"))
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        assert writer.write(rows(2), seq=6).duplicate is False


def test_a_hole_is_filled_once(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        receipts = [writer.write(rows(n), seq=n) for n in range(5)]
        # The committer could not read the records 0 and 3, and passed them.
        commit(events, {"a": 4}, holes={"a": [0, 3], "b": [1]})
        filled = [writer.write(rows(n), seq=n) for n in (3, 0)]
        assert [(found.seq, found.duplicate, found.outcome()) for found in filled] == [
            (3, False, None),
            (0, False, None),
        ]
        again = writer.write(rows(3), seq=3)
        assert (again.duplicate, again.nonce) == (True, filled[0].nonce)
        assert writer.write(rows(1), seq=1).duplicate
        assert receipts[1].outcome() is not None
        following = writer.write(rows(5), seq=5)
    assert chain(events) == [(0, -1), (3, 2), (5, 4)]
    assert data_of(*bodies(events)).column("id").to_pylist() == [0, 3, 5]
    commit(events, {"a": 5})
    assert filled[0].wait(5).visible
    assert following.wait(5).visible


@pytest.mark.parametrize("after", ["listing", "state"])
def test_a_record_that_is_committed_while_the_lane_is_read_counts(
    catalog: SqlCatalog, events: Table, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        writer.write(rows(1), seq=0)
    owner, name = (Spool, "lane") if after == "listing" else (state, "load")
    original = getattr(owner, name)

    def then_commit(*arguments: Any) -> Any:
        found = original(*arguments)
        commit(events, {"a": 0})
        return found

    monkeypatch.setattr(owner, name, then_commit)
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        writer.write(rows(2), seq=1)
    assert chain(events) == [(1, 0)]


@pytest.mark.parametrize("lands", [True, False])
def test_an_interrupted_append_does_not_give_its_number_to_other_rows(
    catalog: SqlCatalog, events: Table, monkeypatch: pytest.MonkeyPatch, lands: bool
) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        assert writer.write(rows(1)).seq == 1
        append = Spool.append

        def interrupted(spool: Spool, record: Any) -> Stored:
            if lands:
                append(spool, record)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(Spool, "append", interrupted)
            writer.write(rows(2))
        following = writer.write(rows(3))
    assert following.seq == (4 if lands else 3)
    assert chain(events) == ([(1, -1), (2, 1), (4, 2)] if lands else [(1, -1), (3, 1)])


def test_an_interrupt_after_the_append_does_not_give_its_number_to_other_rows(
    catalog: SqlCatalog, events: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Writer(NAME, catalog=catalog) as writer:
        append = Writer._append

        def interrupted(of: Writer, record: Any) -> Any:
            append(of, record)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(Writer, "_append", interrupted)
            writer.write(rows(1))
        writer.write(rows(2))
    assert chain(events) == [(0, -1), (2, 0)]


def test_rows_that_write_through_the_same_writer(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog) as writer:

        def batches() -> Iterator[pa.RecordBatch]:
            yield rows(1).to_batches()[0]
            writer.write(rows(2))
            yield rows(3).to_batches()[0]

        assert writer.write(batches()).seq == 1
        with pytest.raises(ZonemapError, match=r"Use a number above 5\."):
            writer.write((writer.write(rows(n), seq=n) and rows(4).to_batches()[0] for n in (3, 5)), seq=4)
    assert chain(events) == [(0, -1), (1, 0), (3, 1), (5, 3)]


def test_unknown_outcomes_use_up_their_numbers(
    catalog: SqlCatalog, events: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An append that failed may still land, also the first one after the lane was opened."""
    monkeypatch.setattr("zonemap.ingest.writer._FIRST_PAUSE", 0.001)
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        inner = writer._spool._storage
        tried = []
        for n in range(2):
            writer._spool._storage = _FailingStorage(inner, 3, stores=False)
            with pytest.raises(EnqueueUnknownError) as caught:
                writer.write(rows(n))
            tried.append(caught.value.seq)
        assert tried == [1, 2]
        assert writer.write(rows(5)).seq == 3
    assert chain(events) == [(3, -1)]


def test_a_forked_process_cannot_use_the_writer(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:  # pragma: no cover
            try:
                writer.write(rows(1))
                os.write(writing, b"written")
            except BaseException as error:
                os.write(writing, f"{type(error).__name__}: {error}".encode())
            finally:
                os._exit(0)
        os.close(writing)
        os.waitpid(pid, 0)
        with os.fdopen(reading) as pipe:
            message = pipe.read()
        assert message == (
            f"ZonemapError: Cannot write to '{NAME}': process {os.getpid()} made this writer, and this is process "
            f"{pid}. Open a writer in each process, after the fork, with a lane of its own."
        )
        assert writer.write(rows(2)).seq == 1
    assert chain(events) == [(1, -1)]


@pytest.mark.parametrize("ends", ["closed", "killed"])
def test_a_forked_process_does_not_hold_the_lane_of_a_writer_that_has_ended(
    catalog: SqlCatalog, events: Table, ends: str
) -> None:
    reading, writing = os.pipe()
    parent = os.fork()
    if parent == 0:  # pragma: no cover
        writer = Writer(NAME, catalog=catalog, lane="a")
        child = os.fork()
        if child > 0 and ends == "closed":
            writer.close()
        os.write(writing, f"{os.getpid()}\n".encode())
        time.sleep(60)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        child = next(pid for pid in (int(pipe.readline()), int(pipe.readline())) if pid != parent)
    try:
        if ends == "killed":
            with pytest.raises(ZonemapError, match=rf"the lane 'a': process {parent} writes to it"):
                Writer(NAME, catalog=catalog, lane="a")
            os.kill(parent, signal.SIGKILL)
            os.waitpid(parent, 0)
        Writer(NAME, catalog=catalog, lane="a").close()
    finally:
        os.kill(child, signal.SIGKILL)
        if ends == "closed":
            os.kill(parent, signal.SIGKILL)
            os.waitpid(parent, 0)


@pytest.mark.parametrize("last", [2**63 - 2, 2**63 - 1])
def test_a_lane_has_an_end(catalog: SqlCatalog, events: Table, last: int) -> None:
    def count() -> int:
        return len(list(local(events.location()).glob("data/*.parquet")))

    with Writer(NAME, catalog=catalog, lane="a") as writer:
        assert writer.write(rows(1), seq=last).seq == last
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        before = count()
        with pytest.raises(
            ZonemapError, match=rf"the lane 'a' has the record {last}, and no number.*Use another lane\.$"
        ):
            writer.write(rows(2))
        assert count() == before
        assert writer.write(rows(3), seq=2**63 - 1).duplicate is (last == 2**63 - 1)


@pytest.mark.parametrize("lane", [None, "a"])
def test_another_root_than_the_committers(catalog: SqlCatalog, events: Table, tmp_path: Path, lane: str | None) -> None:
    with Writer(NAME, catalog=catalog) as writer:
        writer.write(rows(1))
    elsewhere = tmp_path / "elsewhere"
    early = Writer(NAME, catalog=catalog, lane=lane, root=elsewhere, refresh_seconds=1e-9)
    early.write(rows(2))  # nobody has committed yet
    commit(events, {})
    message = (
        r"the table is committed from the queue .*, and the folder has {}\. Give the root= that the committer uses"
    )
    with early, pytest.raises(ZonemapError, match=message.format("the queue .*")):
        early.write(rows(3))
    with pytest.raises(ZonemapError, match=message.format("the queue .*")):
        Writer(NAME, catalog=catalog, lane=lane, root=elsewhere)
    with pytest.raises(ZonemapError, match=message.format("no queue")):
        Writer(NAME, catalog=catalog, lane=lane, root=tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()
    Writer(NAME, catalog=catalog, lane=lane).close()


@pytest.mark.parametrize("committed", [False, True])
def test_a_table_that_is_moved_does_not_get_a_second_spool(
    catalog: SqlCatalog, events: Table, tmp_path: Path, committed: bool
) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        writer.write(rows(1))
    if committed:
        commit(events, {"a": 1})
    former = spool_of(events).parent
    with catalog.load_table(events.name()).transaction() as change:
        change._apply((SetLocationUpdate(location=f"file://{tmp_path}/elsewhere/events"),))
    with pytest.raises(ZonemapError, match=f"the table was moved.*of the table to 'file://{former}'"):
        Writer(NAME, catalog=catalog, lane="a")
    assert not (tmp_path / "elsewhere" / "_zonemap_ingest").exists()
    with Writer(NAME, catalog=catalog, lane="a", root=former) as writer:
        assert writer.write(rows(2)).seq == 3
    assert len(list(former.glob("*/pending/a/*.rec"))) == (1 if committed else 2)


def test_watermarks_of_other_branches_count(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        writer.write(rows(1))
    commit(events, {"a": 40})
    pointer = events.refresh().metadata.properties["zonemap.ingest.pointer.main"]
    with events.transaction() as change:
        change.set_properties({"zonemap.ingest.pointer.audit": pointer})
    changed_state(events, branch="audit")
    commit(events, {"a": 0})
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        assert writer.write(rows(2)).seq == 42


def test_pointer_of_a_summary_counts_if_the_property_is_gone(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        writer.write(rows(1))
    commit(events, {"a": 6})
    events.refresh()
    pointer = events.metadata.properties["zonemap.ingest.pointer.main"]
    with events.transaction() as change:
        change.remove_properties("zonemap.ingest.pointer.main")
    data = rows(1).cast(events.schema().as_arrow())
    events.append(data, snapshot_properties={"zonemap.ingest.pointer": pointer, "zonemap.ingest.branch": "main"})
    events.append(data)
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        assert writer.write(rows(2)).seq == 8


@pytest.mark.parametrize("damage", ["missing", "torn", "format", "queue", "table", "lost"])
def test_unreadable_state_fails_closed(catalog: SqlCatalog, events: Table, damage: str) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        writer.write(rows(1))
    commit(events, {"a": 0})
    commit(events, {"a": 1})
    state = max((spool_of(events) / "state").iterdir())
    key = "zonemap.ingest.pointer.main"
    pointer = events.refresh().metadata.properties[key].split("|")
    if damage == "missing":
        state.unlink()
    elif damage == "torn":
        state.write_bytes(state.read_bytes()[:-1])
    elif damage == "lost":
        with events.transaction() as change:
            change.remove_properties(key)
    else:
        place = {"format": 0, "queue": 3, "table": 4}[damage]
        with events.transaction() as change:
            change.set_properties({key: "|".join([*pointer[:place], "x", *pointer[place + 1 :]])})
    with pytest.raises(ZonemapError, match=r"choose the watermarks with ingest_reset\.$"):
        Writer(NAME, catalog=catalog, lane="a")
    if damage == "format":
        with pytest.raises(ZonemapError, match="its format is unknown"):
            Writer(NAME, catalog=catalog)
    elif damage != "queue":
        with Writer(NAME, catalog=catalog) as writer:  # a new lane has no watermark
            assert writer.write(rows(1)).seq == 0


def changed_state(table: Table, **values: object) -> None:
    """Changes fields of the newest state file, which stays a file without damage."""
    path = max((spool_of(table) / "state").iterdir())
    body = json.loads(path.read_bytes().partition(b"\n")[2]) | values
    path.write_bytes(wire.frame(body))


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"no": 7}, r"is that of another state\. Restore"),
        ({"nonce": "0" * 16}, r"is that of another state\. Restore"),
        ({"branch": "other"}, r"is that of another state\. Restore"),
        ({"format": 3}, r"its format 3 is unknown to this version\. Update zonemap\.$"),
    ],
)
def test_a_state_that_is_another_one_or_newer_is_refused(
    catalog: SqlCatalog, events: Table, values: dict[str, object], why: str
) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        writer.write(rows(1))
    commit(events, {"a": 0})
    changed_state(events, **values)
    with pytest.raises(ZonemapError, match=why):
        Writer(NAME, catalog=catalog, lane="a")


def test_a_state_that_is_longer_than_a_record_is_read(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        writer.write(rows(1))
    commit(events, {"a": 0})
    changed_state(events, stats={"text": "x" * (wire.GREATEST_BYTES + 1)})
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        assert writer.write(rows(1)).seq == 2


def test_given_numbers_may_leave_gaps_and_repeat(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        first = writer.write(rows(1), seq=10)
        assert writer.write(rows(2), seq=20).seq == 20
        again = writer.write(rows(1), seq=10)
        assert (again.duplicate, again.nonce, again.rows, again.files, again.record) == (
            True,
            first.nonce,
            first.rows,
            first.files,
            first.record,
        )
        assert writer.write(rows(3)).seq == 22  # the lane was read again
        assert writer.write(rows(4)).seq == 23
        with pytest.raises(ZonemapError, match=r"Use a number above 23\.$"):
            writer.write(rows(9), seq=15)
    assert chain(events) == [(10, -1), (20, 10), (22, 20), (23, 22)]
    assert data_of(*bodies(events)).column("id").to_pylist() == [1, 2, 3, 4]


def test_repeated_number_after_a_restart_and_a_commit(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        writer.write(rows(1), seq=5)
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        assert writer.write(rows(1), seq=5).record == str(writer.write(rows(1), seq=5).record)
    commit(events, {"a": 5})
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        again = writer.write(rows(1), seq=5)
        assert (again.duplicate, again.seq, again.nonce, again.record, again.files) == (True, 5, "", "", ())
        assert again.wait(1).visible
        assert writer.write(rows(2), seq=6).duplicate is False
    assert chain(events) == [(6, 5)]
    assert len(list(local(events.location()).glob("data/*.parquet"))) == 2


def test_one_writer_for_each_lane(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog, lane="a"):
        with pytest.raises(ZonemapError, match=rf"the lane 'a': process {os.getpid()} writes to it"):
            Writer(NAME, catalog=catalog, lane="a")
        Writer(NAME, catalog=catalog, lane="b").close()
    Writer(NAME, catalog=catalog, lane="a").close()


def test_a_receipt_does_not_wait_for_the_write_of_another_thread(catalog: SqlCatalog, events: Table) -> None:
    answered, writing = threading.Event(), threading.Event()

    def batches() -> Iterator[pa.RecordBatch]:
        yield from rows(2).to_batches()
        writing.set()
        assert answered.wait(30)
        yield from rows(3).to_batches()

    with Writer(NAME, catalog=catalog, lane="a") as writer:
        first = writer.write(rows(1))
        thread = threading.Thread(target=writer.write, args=(batches(),))
        thread.start()
        assert writing.wait(30)
        commit(events, {"a": first.seq})
        assert first.wait(20).visible
        answered.set()
        thread.join()
    assert chain(events) == [(2, 1)]


def test_threads_take_turns(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        threads = [threading.Thread(target=writer.write, args=(rows(n),)) for n in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert chain(events) == [(1, -1), *((n, n - 1) for n in range(2, 13))]
    assert sorted(data_of(*bodies(events)).column("id").to_pylist()) == list(range(12))


def test_a_kafka_queue_is_refused(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog) as writer:
        writer.write(rows(1))
    text = json.dumps({"format": 2, "queue-id": "x", "kafka-topic": "t-1", "created-ms": 1})
    (spool_of(events) / "queue-id.json").write_text(text)
    with pytest.raises(ZonemapError, match="it is the Kafka topic 't-1', and the Python writer appends to spools only"):
        Writer(NAME, catalog=catalog)
    with events.transaction() as change:
        change.set_properties({"zonemap.ingest.queue": "kafka"})
    with pytest.raises(ZonemapError, match=r"its property 'zonemap\.ingest\.queue' is 'kafka'"):
        Writer(NAME, catalog=catalog)


def test_queue_id_is_kept_and_checked(catalog: SqlCatalog, events: Table) -> None:
    for _ in range(2):
        with Writer(NAME, catalog=catalog) as writer:
            writer.write(rows(1))
    assert len({body["queue-id"] for body in bodies(events)}) == 1
    path = spool_of(events) / "queue-id.json"
    for text in ("", "{", json.dumps({"format": 3, "queue-id": "x"}), json.dumps({"format": 1})):
        path.write_text(text)
        with pytest.raises(ZonemapError, match="Cannot read the queue id"):
            Writer(NAME, catalog=catalog)


def test_wait_until_visible(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        first, second = writer.write(rows(1)), writer.write(rows(2))
        assert first.outcome() is None
        with pytest.raises(WaitTimeoutError, match=r"record 1 of lane 'a'.*after 0\.1 seconds"):
            first.wait(0.1)
        commit(events, {"a": 1})
        assert first.wait(5).visible
        assert second.outcome() is None
        timer = threading.Timer(0.3, commit, (events, {"a": 2}))
        timer.start()
        assert second.wait(10).status == "visible"
        timer.join()
        with pytest.raises(InvalidArgumentError, match="timeout"):
            first.wait(0)


def test_wait_for_a_quarantined_record(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        receipts = [writer.write(rows(n)) for n in range(3)]
    # The state names the record until its reason is in the quarantine.
    refused = {"lane": "a", "seq": 1, "nonce": receipts[0].nonce, "code": "missing-file", "message": "it is gone"}
    commit(events, {"a": 1}, quarantined=[refused])
    outcome = receipts[0].wait(5)
    assert (outcome.visible, outcome.code, outcome.message) == (False, "missing-file", "it is gone")
    quarantine = spool_of(events) / "quarantine" / "a"
    quarantine.mkdir(parents=True)
    name = f"{2:020d}-{receipts[1].nonce}"
    (quarantine / f"{name}.why").write_text(json.dumps({"code": "fork", "message": "two writers", "when-ms": 1}))
    assert receipts[1].wait(5).code == "fork"
    commit(events, {"a": 3})
    assert (receipts[1].wait(5).code, receipts[2].wait(5).visible) == ("fork", True)


def test_a_number_that_the_lane_has_left_out_is_neither_a_repeat_nor_visible(
    catalog: SqlCatalog, events: Table
) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        first = writer.write(rows(0), seq=3)
        second = writer.write(rows(1), seq=7)
        # Another writer of the lane has appended 5 and 20, and the committer has passed both without these records.
        commit(events, {"a": 20}, marks={"a": {"gaps": [-1, 5, 5, 20]}}, settle=False)
        assert (first.outcome(), second.outcome()) == (None, None)
        for path in record_paths(events):
            path.unlink()
        with pytest.raises(ZonemapError, match="the lane has the record 20, and none of this number"):
            writer.write(rows(0), seq=7)
        assert writer.write(rows(0), seq=5).duplicate


def test_a_record_of_a_forgotten_gap_is_visible_once_it_has_left_the_spool(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        receipt = writer.write(rows(0), seq=3)
        commit(events, {"a": 20}, marks={"a": {"forgotten": 9}}, settle=False)
        assert receipt.outcome() is None
        record_paths(events)[0].unlink()
        assert receipt.outcome() is not None


def test_a_number_below_forgotten_gaps_is_not_taken_for_a_repeat(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        writer.write(rows(0), seq=3)
        writer.write(rows(1), seq=12)
        commit(events, {"a": 20}, marks={"a": {"forgotten": 9}})
        with pytest.raises(ZonemapError, match="no longer knows which numbers up to 9 had a record"):
            writer.write(rows(1), seq=7)
        assert writer.write(rows(1), seq=12).duplicate


class _FailingStorage:
    """Stores records of a writer, and fails before or after it has stored them."""

    def __init__(self, inner: Any, failures: int, *, stores: bool, part: int | None = None) -> None:
        self._inner, self._failures, self._stores, self._part = inner, failures, stores, part

    def create(self, location: str, data: bytes) -> bool:
        if self._failures and location.endswith(".rec"):
            self._failures -= 1
            if self._stores:
                self._inner.create(location, data[: self._part])
            raise OSError("the connection was reset")
        return bool(self._inner.create(location, data))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@pytest.mark.parametrize("stores", [True, False])
def test_a_storage_that_fails_now_and_then(
    catalog: SqlCatalog, events: Table, monkeypatch: pytest.MonkeyPatch, stores: bool
) -> None:
    monkeypatch.setattr("zonemap.ingest.writer._FIRST_PAUSE", 0.001)
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        inner = writer._spool._storage
        writer._spool._storage = _FailingStorage(inner, 2, stores=stores)
        receipt = writer.write(rows(1))
        assert len({body["nonce"] for body in bodies(events)}) == len(bodies(events)) == (3 if stores else 1)
        assert local(receipt.record).exists()
        writer._spool._storage = _FailingStorage(inner, 3, stores=stores)
        with pytest.raises(EnqueueUnknownError, match=r"Repeat the write with seq=2") as caught:
            writer.write(rows(2))
        assert (caught.value.lane, caught.value.seq) == ("a", 2)
        assert len(record_paths(events)) == (6 if stores else 1)
        assert writer.write(rows(2), seq=2).duplicate is stores
        # The lane was read again and has got no record since, or it has.
        last = writer.write(rows(3)).seq
        assert last == (4 if stores else 3)
    assert sorted(set(chain(events))) == [(1, -1), (2, 1), (last, 2)]
    first = {body["seq"]: body for body in bodies(events)}
    assert data_of(*(first[seq] for seq in (1, 2, last))).column("id").to_pylist() == [1, 2, 3]
    assert all(body["files"] == first[body["seq"]]["files"] for body in bodies(events))


def test_a_part_of_a_record_does_not_count_as_the_record(
    catalog: SqlCatalog, events: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An object store may keep what it has received of a file when the connection breaks."""
    monkeypatch.setattr("zonemap.ingest.writer._FIRST_PAUSE", 0.001)
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        inner = writer._spool._storage
        writer._spool._storage = _FailingStorage(inner, 1, stores=True, part=100)
        receipt = writer.write(rows(1))
    torn, whole = sorted(record_paths(events), key=lambda path: path.stat().st_size)
    assert torn.stat().st_size == 100
    assert whole == local(receipt.record)
    assert data_of(body_of(whole)).column("id").to_pylist() == [1]


def test_two_lives_of_a_lane_in_an_object_store_leave_out_different_numbers(
    catalog: SqlCatalog, events: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first life may have an append under way, and the second one reads the lane before it lands."""
    monkeypatch.setattr("zonemap.ingest.writer.is_local", lambda _: False)
    numbers = set()
    for _ in range(3):
        with Writer(NAME, catalog=catalog, lane="a") as writer:
            numbers.add(writer.write(rows(1)).seq)
        for path in record_paths(events):
            path.unlink()
    assert len(numbers) == 3
    assert min(numbers) >= 1


def test_the_queue_id_is_read_again_where_the_last_creation_counts(
    catalog: SqlCatalog, events: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zonemap.ingest import spool
    from zonemap.ingest.storage import LocalStorage

    path = spool_of(events) / "queue-id.json"

    def other(_: float) -> None:
        """Another writer, which found no queue id either, stores its own."""
        path.write_text(json.dumps({"format": 1, "queue-id": "other", "created-ms": 1}))

    monkeypatch.setattr(LocalStorage, "creates_atomically", False)
    monkeypatch.setattr(spool.time, "sleep", other)
    with Writer(NAME, catalog=catalog) as writer:
        assert writer._target.queue_id == "other"


def test_local_storage_needs_hard_links(catalog: SqlCatalog, events: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    with Writer(NAME, catalog=catalog) as writer:
        monkeypatch.setattr(os, "link", refuse)
        with pytest.raises(ZonemapError, match="the file system has no hard links"):
            writer.write(rows(1))
    assert list(spool_of(events).glob("pending/*/.*")) == []


def test_record_of_the_same_name_is_never_replaced(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        receipt = writer.write(rows(1))
        before = local(receipt.record).read_bytes()
        assert writer._spool._storage.create(receipt.record, b"other") is False
    assert local(receipt.record).read_bytes() == before


@pytest.mark.parametrize("implementation", ["pyarrow.PyArrowFileIO", "fsspec.FsspecFileIO"])
def test_spool_through_a_file_io(
    catalog: SqlCatalog, events: Table, monkeypatch: pytest.MonkeyPatch, implementation: str
) -> None:
    """The storage of object stores, on PyIceberg's FileIO."""
    from zonemap.ingest import target
    from zonemap.ingest.storage import FileIoStorage

    monkeypatch.setattr(target, "storage_for", lambda _, use: FileIoStorage(use))
    monkeypatch.setitem(catalog.properties, "py-io-impl", f"pyiceberg.io.{implementation}")
    for folder in (".", "pending/a%2Fb"):  # an object store has no folders
        (spool_of(events) / folder).mkdir(parents=True)
    for start in (0, 1):
        with Writer(NAME, catalog=catalog, lane="a/b") as writer:
            assert type(writer._target.table.io).__name__ == implementation.partition(".")[2]
            receipt = writer.write(rows(start), seq=start)
            assert writer._spool.backlog().records == start + 1
            assert writer.write(rows(start), seq=start).duplicate
    assert chain(events) == [(0, -1), (1, 0)]
    commit(events, {"a/b": 1}, settle=False)
    assert receipt.wait(5).visible
    assert body_of(local(receipt.record))["lane"] == "a/b"


def test_files_are_durable_before_the_record_and_the_record_before_the_return(
    catalog: SqlCatalog, make: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "id"))
    table = make(spec=spec)
    events: list[str] = []
    sync, link = os.fsync, os.link

    def fsync(descriptor: int) -> None:
        sync(descriptor)
        events.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))

    def linked(source: Any, target: Any) -> None:
        link(source, target)
        events.append(f"link {target}")

    with Writer(NAME, catalog=catalog, lane="a") as writer:
        monkeypatch.setattr(os, "fsync", fsync)
        monkeypatch.setattr(os, "link", linked)
        receipt = writer.write(rows(7, 8))
    record = local(receipt.record)
    done = events.index(f"link {record}")
    for name in receipt.files:
        path = local(name)
        for needed in (path, path.parent, path.parent.parent, local(table.location())):
            assert str(needed) in events[:done], needed
    temporary = next(name for name in events[:done] if name.endswith(".tmp"))
    assert Path(temporary).parent == record.parent
    assert {str(record.parent.parent), str(spool_of(table))} <= set(events[:done])
    assert str(record.parent) in events[done:]


def test_a_receipt_says_that_its_snapshot_was_rolled_back(catalog: SqlCatalog, events: Table) -> None:
    key = "zonemap.ingest.pointer"
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        receipts = []
        for number in range(2):
            receipts.append(writer.write(rows(number)))
            commit(events, {"a": receipts[-1].seq})
            table = catalog.load_table(events.name())
            summary = {key: table.properties[f"{key}.main"], f"{key.rpartition('.')[0]}.branch": "main"}
            table.append(rows(number).cast(table.schema().as_arrow()), snapshot_properties=summary)
        assert [receipt.wait(5).status for receipt in receipts] == ["visible", "visible"]
        table = catalog.load_table(events.name())
        first = table.snapshots()[0].snapshot_id
        with table.transaction() as change:
            change._apply(
                (SetSnapshotRefUpdate(ref_name="main", type="branch", snapshot_id=first),),
            )
        assert [receipt.wait(5).status for receipt in receipts] == ["visible", "rolled-back"]
        assert not receipts[1].wait(5).visible


def test_a_hole_on_which_another_branch_has_decided_is_closed() -> None:
    def holes(**mark: object) -> frozenset[int]:
        marks = {"main": {"seq": 9, "holes": [3]}, "audit": {"seq": 7} | mark}
        bodies = [{"branch": branch, "lanes": {"a": of}, "quarantined": []} for branch, of in marks.items()]
        return state._of(bodies).holes_of("a")

    assert holes(since=2) == holes(filled=[3]) == frozenset()
    undecided: list[dict[str, object]] = [{}, {"since": 3}]
    undecided += [{"since": 2} | more for more in ({"holes": [3]}, {"gaps": [2, 4]}, {"forgotten": 3})]
    assert [holes(**mark) for mark in undecided] == [frozenset({3})] * 5
