# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numbers
import threading
import traceback
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

import zonemap
from zonemap import DualIndex, InvalidArgumentError, ProcedureError, UnsupportedSparkError, ZonemapError
from zonemap.index.follow import follow
from zonemap.results import (
    BuildResult,
    BuildResults,
    BuiltFact,
    CompactedLevel,
    DropResult,
    GarbageFile,
    PrewarmResult,
    StatusResult,
)

BUILT = {
    "snapshot_id": 7,
    "data_files": 4096,
    "delete_files": 2,
    "segments": 3,
    "bytes": 12345,
    "seconds": 0.25,
    "footers_left": 0,
    "footers_left_seconds": 0.0,
}
STATUS = {
    "snapshot_id": 8123456789012345678,
    "covered": True,
    "lag_snapshots": 0,
    "data_files": 4096,
    "delete_files": 0,
    "segments": 3,
    "bytes": 12345,
    "memory_bytes": 6789,
    "spilled_bytes": 100,
    "cold_memory_bytes": 200,
    "cold_disk_bytes": 300,
    "store": "file:/lake/t/_zonemaps_v2/<uuid>",
    "levels": "micro 2, hour 1",
    "columns": "all",
    "facts": "bloom(user_id)=65536",
    "fact_bytes": 65536,
    "chosen_facts": "",
    "problem": "the store cannot be read: java.io.IOException: denied",
    "bounds": "extremes=8 valid=0 doubtful=0",
    "verdict": "unreadable: java.io.IOException: denied",
    "covered_snapshot_id": 8123456789012345678,
    "files_covered": 4096,
    "files_total": 4096,
    "snapshots_covered": 3,
    "snapshots_total": 10,
    "lag_seconds": 0.0,
    "evidence": "",
}


class _Row:
    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def asDict(self) -> dict[str, Any]:  # noqa: N802 - PySpark's name
        return self._values


class _Session:
    """A session that notes the statement and answers with rows, or fails."""

    def __init__(self, *rows: dict[str, Any], error: Exception | None = None) -> None:
        self.statements: list[str] = []
        self._rows = rows
        self._error = error

    def sql(self, statement: str) -> _Session:
        self.statements.append(statement)
        return self

    def collect(self) -> list[_Row]:
        if self._error is not None:
            raise self._error
        return [_Row(row) for row in self._rows]


class _SparkError(Exception):
    def __init__(self, condition: str | None, message: str) -> None:
        super().__init__(message)
        self._condition = condition

    def getCondition(self) -> str | None:  # noqa: N802 - PySpark's name
        return self._condition


@pytest.mark.parametrize("name", ["build", "refresh"])
def test_build_and_refresh_send_one_call_and_return_its_row(name: str) -> None:
    session = _Session(BUILT)
    result = getattr(zonemap.Index(session, "lake.db.t"), name)()  # type: ignore[arg-type]
    assert session.statements == [f"CALL zonemap.system.{name}_index(table => 'lake.db.t')"]
    assert result == BuildResult("lake.db.t", 7, 4096, 2, 3, 12345, 0.25)


@pytest.mark.parametrize("name", ["build", "refresh"])
def test_a_namespace_is_one_call_with_a_result_for_each_table(name: str) -> None:
    first = {**BUILT, "table": "lake.db.a", "problem": ""}
    second = {**BUILT, "table": "lake.db.b", "data_files": 0, "snapshot_id": -1, "problem": "Cannot <b>"}
    session = _Session(first, second)
    results = getattr(zonemap.Namespace(session, "lake.db"), name)()  # type: ignore[arg-type]
    assert session.statements == [f"CALL zonemap.system.{name}_index(namespace => 'lake.db')"]
    assert isinstance(results, BuildResults)
    assert [(result.table, result.data_files, result.problem) for result in results] == [
        ("lake.db.a", 4096, ""),
        ("lake.db.b", 0, "Cannot <b>"),
    ]
    assert "2 tables" in results._repr_html_() and "Cannot &lt;b&gt;" in results._repr_html_()
    assert [("problem" in result.as_dict()) for result in results] == [False, True]


def test_facts_of_the_tables_of_a_namespace_stay_with_their_tables() -> None:
    counts = {"files_read": 9, "rows_read": 900, "expected_bytes": 70, "wrong_bounds": 0}
    rows = [
        {**BUILT, **counts, "table": table, "part": part, "problem": ""}
        for table in ("lake.db.a", "lake.db.b")
        for part in ("index", f"bloom({table[-1]})")
    ]
    results = zonemap.Namespace(_Session(*rows), "lake.db").build(facts=["bloom(a)"])  # type: ignore[arg-type]
    assert [[fact.part for fact in result.facts] for result in results] == [["bloom(a)"], ["bloom(b)"]]


def test_build_of_facts_sends_a_list_and_returns_a_row_a_fact() -> None:
    fact = {
        "part": "bloom(user_id)",
        "files_read": 9,
        "rows_read": 900,
        "expected_bytes": 70,
        "wrong_bounds": 0,
        "data_files": 9,
        "bytes": 64,
        "seconds": 1.5,
    }
    index = {**BUILT, "part": "index", "files_read": 0, "rows_read": 0, "expected_bytes": 9, "wrong_bounds": 0}
    session = _Session(index, {**BUILT, **fact})
    result = zonemap.Index(session, "t").build(facts=["bloom(user_id)", "values(a)"])  # type: ignore[arg-type]
    assert session.statements == ["CALL zonemap.system.build_index(table => 't', facts => 'bloom(user_id), values(a)')"]
    assert result.data_files == 4096
    assert result.facts == (BuiltFact("bloom(user_id)", 9, 9, 900, 64, 70, 0, 1.5),)
    assert result.as_dict()["facts"][0] == fact
    with pytest.raises(InvalidArgumentError, match="give a list"):
        zonemap.Index(session, "t").build(facts="bloom(x)")  # type: ignore[arg-type]
    dropping = _Session({"path": "/f"})
    zonemap.Index(dropping, "t").drop(dry_run=False, facts=["all"])  # type: ignore[arg-type]
    assert dropping.statements == ["CALL zonemap.system.drop_index(table => 't', dry_run => false, facts => 'all')"]


def test_build_sends_the_limit_of_facts_and_the_wish_for_an_estimate() -> None:
    session = _Session(BUILT)
    zonemap.Index(session, "t").build(facts=["bloom(a)"], estimate=True, max_fact_share=0.25)  # type: ignore[arg-type]
    call = (
        "CALL zonemap.system.build_index(table => 't', facts => 'bloom(a)', estimate => true, max_fact_share => 0.25D)"
    )
    assert session.statements == [call]
    for share in (0, -0.1, float("nan"), float("inf"), "0.1", True):
        with pytest.raises(InvalidArgumentError, match=r"max_fact_share=.*: give a finite number above 0, such"):
            zonemap.Index(session, "t").build(facts=["bloom(a)"], max_fact_share=share)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="estimate"):
        zonemap.Index(session, "t").build(facts=["bloom(a)"], estimate=1)  # type: ignore[arg-type]


def test_the_footers_that_are_left() -> None:
    session = _Session({**BUILT, "footers_left": 40, "footers_left_seconds": None})
    left = zonemap.Index(session, "t").build(footers=0)  # type: ignore[arg-type]
    assert (left.footers_left, left.footers_left_seconds) == (40, None)
    assert left.as_dict()["footers_left"] == 40


def test_the_footers_to_read() -> None:
    session = _Session(BUILT)
    zonemap.Index(session, "t").build(footers=0)  # type: ignore[arg-type]
    zonemap.Index(session, "t").refresh(footers=500, footer_seconds=60)  # type: ignore[arg-type]
    assert session.statements == [
        "CALL zonemap.system.build_index(table => 't', footers => 0)",
        "CALL zonemap.system.refresh_index(table => 't', footers => 500, footer_seconds => 60)",
    ]
    for footers in (-1, 1.5, "all", True):
        with pytest.raises(InvalidArgumentError, match="footers="):
            zonemap.Index(session, "t").build(footers=footers)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="footer_seconds=-1"):
        zonemap.Index(session, "t").refresh(footer_seconds=-1)  # type: ignore[arg-type]


def test_status_returns_its_row() -> None:
    result = zonemap.Index(_Session(STATUS), "lake.db.t").status()  # type: ignore[arg-type]
    assert isinstance(result, StatusResult)
    assert result.as_dict() == {"table": "lake.db.t"} | STATUS


def test_status_of_several_tables_returns_a_row_a_table() -> None:
    session: Any = _Session(STATUS | {"table": "lake.db.a"}, STATUS | {"table": "lake.db.b"})
    for found in (zonemap.index_status(session), zonemap.Namespace(session, "lake.`odd name`").status()):
        assert [result.table for result in found] == ["lake.db.a", "lake.db.b"]
        assert found[1].as_dict() == {"table": "lake.db.b"} | STATUS
    assert session.statements == [
        "CALL zonemap.system.index_status()",
        "CALL zonemap.system.index_status(namespace => 'lake.`odd name`')",
    ]
    assert zonemap.Namespace(_Session(), "lake.db").status() == ()  # type: ignore[arg-type]


@pytest.mark.parametrize(("dry_run", "argument"), [(False, ", dry_run => false"), (True, ", dry_run => true")])
def test_drop_lists_paths(dry_run: bool, argument: str) -> None:
    session = _Session({"path": "/a"}, {"path": "/b"})
    result = zonemap.Index(session, "lake.db.t").drop(dry_run=dry_run)  # type: ignore[arg-type]
    assert session.statements == [f"CALL zonemap.system.drop_index(table => 'lake.db.t'{argument})"]
    assert result == DropResult("lake.db.t", dry_run, ("/a", "/b"))


def test_drop_of_nothing_is_empty() -> None:
    assert zonemap.Index(_Session(), "t").drop(dry_run=False).paths == ()  # type: ignore[arg-type]


MERGED = {"level": "hour", "segments_before": 1, "segments_after": 2, "bytes_before": 10, "bytes_after": 30}


def test_compact_returns_a_row_a_level() -> None:
    session = _Session({**MERGED, "level": "micro"}, MERGED)
    result = zonemap.Index(session, "lake.db.t").compact()  # type: ignore[arg-type]
    assert session.statements == ["CALL zonemap.system.compact_index(table => 'lake.db.t')"]
    assert [level.level for level in result.levels] == ["micro", "hour"]
    assert result.levels[1] == CompactedLevel("hour", 1, 2, 10, 30)
    assert result.as_dict()["levels"][1] == MERGED
    assert '<td class="short">hour</td>' in result._repr_html_()


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({}, "dry_run => true, older_than_hours => 24"),
        ({"dry_run": False, "older_than_hours": 0}, "dry_run => false, older_than_hours => 0"),
    ],
)
def test_collect_garbage_lists_unless_told_to_delete(given: dict[str, Any], sent: str) -> None:
    files = [{"path": "/a<b>", "bytes": 3, "reason": "r"}, {"path": "/c", "bytes": 4, "reason": "r"}]
    session = _Session(*files)
    result = zonemap.Index(session, "lake.db.t").collect_garbage(**given)  # type: ignore[arg-type]
    assert session.statements == [f"CALL zonemap.system.collect_garbage(table => 'lake.db.t', {sent})"]
    assert result.files == (GarbageFile("/a<b>", 3, "r"), GarbageFile("/c", 4, "r"))
    assert result.bytes == 7
    assert result.as_dict() == {"table": "lake.db.t", "dry_run": given.get("dry_run", True), "files": tuple(files)}
    page = result._repr_html_()
    assert "/a&lt;b&gt;" in page
    assert ("Would delete 2 files, 7 bytes" in page) == result.dry_run


WARMED = {"snapshot_id": 7, "segments": 3, "bytes": 12345, "seconds": 0.25}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({}, ""),
        ({"hours": 24}, ", hours => 24"),
        ({"hours": 0, "columns": ["ts", "it's"]}, ", hours => 0, columns => array('ts', concat('it', char(39), 's'))"),
    ],
)
def test_prewarm_returns_its_row(given: dict[str, Any], sent: str) -> None:
    session = _Session(WARMED)
    result = zonemap.Index(session, "lake.db.t").prewarm(**given)  # type: ignore[arg-type]
    assert session.statements == [f"CALL zonemap.system.prewarm_index(table => 'lake.db.t'{sent})"]
    assert result == PrewarmResult("lake.db.t", 7, 3, 12345, 0.25)


@pytest.mark.parametrize(("given", "named"), [({"hours": -1}, "hours=-1"), ({"columns": "ts"}, "columns='ts'")])
def test_prewarm_refuses_before_anything_is_sent(given: dict[str, Any], named: str) -> None:
    session = _Session(WARMED)
    with pytest.raises(InvalidArgumentError, match=named):
        zonemap.Index(session, "t").prewarm(**given)  # type: ignore[arg-type]
    assert session.statements == []


def test_build_sends_the_columns() -> None:
    session = _Session(BUILT)
    zonemap.Index(session, "t").build(columns=["*"])  # type: ignore[arg-type]
    assert session.statements == ["CALL zonemap.system.build_index(table => 't', columns => array('*'))"]


@pytest.mark.parametrize("columns", ["ts", []])
def test_build_refuses_no_list_of_columns(columns: Any) -> None:
    session = _Session(BUILT)
    with pytest.raises(InvalidArgumentError, match="list of column names"):
        zonemap.Index(session, "t").build(columns=columns)  # type: ignore[arg-type]
    assert session.statements == []


class _Index:
    """A number of another library: an Integral that is no int."""

    def __index__(self) -> int:
        return 3


numbers.Integral.register(_Index)

_NO_FLAG = ("false", "false, older_than_hours => 0", 0, 1, None, [], 0.0)
_NO_COUNT = (-1, "24", "24, dry_run => false", 1.5, 1.0, True, float("nan"), [1], 2**31, None)
_NO_TEXTS = ("ts", b"ts", 7, None, [1], ["a", None], [b"a"], True)
_NO_TIME = (0, -1, "1", None, True, float("nan"), float("inf"))
_REFUSED = [
    *(("collect_garbage", "dry_run", value) for value in _NO_FLAG),
    *(("drop", "dry_run", value) for value in _NO_FLAG),
    *(("collect_garbage", "older_than_hours", value) for value in _NO_COUNT),
    *(("prewarm", "hours", value) for value in _NO_COUNT if value is not None),
    *(("prewarm", "columns", value) for value in (*_NO_TEXTS, []) if value is not None),
    *(("build", "columns", value) for value in (*_NO_TEXTS, []) if value is not None),
    *(("build", "facts", value) for value in _NO_TEXTS),
    *(("drop", "facts", value) for value in _NO_TEXTS),
]


@pytest.mark.parametrize(("procedure", "argument", "value"), _REFUSED)
def test_an_argument_of_another_type_is_refused_before_anything_is_sent(
    procedure: str, argument: str, value: Any
) -> None:
    session = _Session(BUILT | WARMED)
    with pytest.raises(InvalidArgumentError) as caught:
        getattr(zonemap.Index(session, "t"), procedure)(**{argument: value})  # type: ignore[arg-type]
    assert str(caught.value).startswith(f"Cannot use {argument}=")
    assert "\n" not in str(caught.value)
    assert session.statements == []


@pytest.mark.parametrize(("argument", "value"), [("every_seconds", v) for v in _NO_TIME] + [("tables", "t")])
def test_follow_refuses_arguments_of_another_type(argument: str, value: Any) -> None:
    given = {"tables": ["t"], "every_seconds": 1.0, "stop": threading.Event(), "report": print} | {argument: value}
    given["stop"].set()
    with pytest.raises(InvalidArgumentError, match=f"Cannot use {argument}="):
        follow(_Session(), **given)  # type: ignore[arg-type]


def test_numbers_of_other_libraries_and_any_sequence_are_taken() -> None:
    session = _Session(WARMED)
    zonemap.Index(session, "t").prewarm(hours=_Index(), columns=("a", "b"))  # type: ignore[arg-type]
    assert session.statements == [
        "CALL zonemap.system.prewarm_index(table => 't', hours => 3, columns => array('a', 'b'))"
    ]


def test_a_malformed_name_is_refused_before_anything_is_sent() -> None:
    session = _Session(BUILT)
    with pytest.raises(InvalidArgumentError):
        zonemap.Index(session, "lake..t").build()  # type: ignore[arg-type]
    assert session.statements == []


def test_columns_of_a_newer_jar_are_ignored() -> None:
    assert zonemap.Index(_Session(BUILT | {"new": 1}), "t").build().bytes == 12345  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", [[], [BUILT, BUILT], [{"snapshot_id": 7}]])
def test_an_answer_of_another_shape_is_an_error(rows: list[dict[str, Any]]) -> None:
    with pytest.raises(ZonemapError, match="Cannot read the result for 't'"):
        zonemap.Index(_Session(*rows), "t").build()  # type: ignore[arg-type]


@pytest.mark.parametrize("condition", ["CATALOG_NOT_FOUND", "FAILED_TO_LOAD_ROUTINE"])
def test_a_session_without_the_extension_is_named(condition: str) -> None:
    error = _SparkError(condition, "The catalog `zonemap` not found")
    with pytest.raises(ProcedureError, match="zonemap is not active in this session") as caught:
        zonemap.Index(_Session(error=error), "t").status()  # type: ignore[arg-type]
    assert caught.value.spark_error is error
    assert caught.value.condition == condition


def test_an_error_of_spark_becomes_its_sentence_with_the_trace_beside_it() -> None:
    error = _SparkError("TABLE_OR_VIEW_NOT_FOUND", "Cannot find zonemap.\n\nJVM stacktrace:\njava.lang.X\n\tat y.Z")
    with pytest.raises(ProcedureError) as caught:
        zonemap.Index(_Session(error=error), "t").status()  # type: ignore[arg-type]
    assert str(caught.value) == "Cannot find zonemap."
    assert caught.value.condition == "TABLE_OR_VIEW_NOT_FOUND"
    assert caught.value.java_trace == "java.lang.X\n\tat y.Z"
    assert caught.value.spark_error is error
    printed = "".join(traceback.format_exception(caught.value))
    assert "java.lang.X" not in printed


def test_an_error_of_python_comes_through_as_it_is() -> None:
    error = RuntimeError("zonemap")
    with pytest.raises(RuntimeError) as caught:
        zonemap.Index(_Session(error=error), "t").status()  # type: ignore[arg-type]
    assert caught.value is error


#: What Spark answers where it does not know the call.
UNKNOWN_CALLS = [
    ("PARSE_SYNTAX_ERROR", "[PARSE_SYNTAX_ERROR] Syntax error at or near 'CALL'.(line 1, pos 0)"),
    ("_LEGACY_ERROR_TEMP_1184", "Catalog spark_catalog does not support procedures."),
    (None, "Catalog 'zonemap' plugin class not found: spark.sql.catalog.zonemap is not defined"),
    (None, "Cannot find catalog plugin class for catalog 'zonemap': zonemap.spark.ZoneMapCatalog."),
    ("CATALOG_NOT_FOUND", "The catalog `zonemap` not found."),
    ("MISSING_CATALOG_ABILITY.PROCEDURES", "Catalog spark_catalog does not support procedures."),
    ("FAILED_TO_LOAD_ROUTINE", "Failed to load routine `zonemap`.`system`.`build_index`."),
]


@pytest.mark.parametrize("version", ["3.4.4", "4.2.0"])
@pytest.mark.parametrize(("condition", "message"), UNKNOWN_CALLS)
def test_another_spark_is_named_where_the_call_is_unknown(condition: str | None, message: str, version: str) -> None:
    error = _SparkError(condition, f"{message}\n\nJVM stacktrace:\njava.lang.X")
    session = _Session(error=error)
    session.version = version  # type: ignore[attr-defined]
    with pytest.raises(UnsupportedSparkError) as caught:
        zonemap.Index(session, "lake.db.t").build()  # type: ignore[arg-type]
    assert str(caught.value).startswith(f"Cannot build the index of 'lake.db.t' with Spark '{version}': zonemap ")
    assert caught.value.__context__ is None
    cause = caught.value.__cause__
    assert isinstance(cause, ProcedureError)
    assert (str(cause), cause.condition, cause.java_trace) == (message, condition, "java.lang.X")
    assert cause.spark_error is error
    assert "java.lang.X" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("version", ["3.4.4", "4.2.0"])
@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("TABLE_OR_VIEW_NOT_FOUND", "Cannot build the index of 'lake.zonemap.t': there is no such table."),
        ("CATALOG_NOT_FOUND", "The catalog `lake` not found."),
        (None, "Cannot build the index of 'a b c': [PARSE_SYNTAX_ERROR] Syntax error at or near 'b'. Write a name."),
        ("PARSE_SYNTAX_ERROR", "[PARSE_SYNTAX_ERROR] Syntax error at or near 'b'."),
    ],
)
def test_the_reason_of_a_known_call_stays_with_any_spark(condition: str | None, message: str, version: str) -> None:
    session = _Session(error=_SparkError(condition, message))
    session.version = version  # type: ignore[attr-defined]
    with pytest.raises(ProcedureError) as caught:
        zonemap.Index(session, "lake.db.t").build()  # type: ignore[arg-type]
    assert (str(caught.value), caught.value.condition) == (message, condition)


@pytest.mark.parametrize(("condition", "message"), UNKNOWN_CALLS)
def test_an_unknown_call_of_the_supported_spark_names_the_extension(condition: str | None, message: str) -> None:
    session = _Session(error=_SparkError(condition, message))
    session.version = "4.1.3"  # type: ignore[attr-defined]
    with pytest.raises(ProcedureError) as caught:
        zonemap.Index(session, "lake.db.t").build()  # type: ignore[arg-type]
    why = condition or message.rstrip(".")
    assert str(caught.value).startswith(
        f"Cannot build the index of 'lake.db.t': zonemap is not active in this session ({why}). Start it with "
    )


@pytest.mark.parametrize("value", [None, "lake.db.t", object(), DualIndex()])
def test_what_is_no_session_is_refused(value: Any) -> None:
    with pytest.raises(
        InvalidArgumentError, match=r"is not a session\. Give the session that getOrCreate\(\) returned"
    ):
        zonemap.Index(value, "t").build()


def test_the_reason_of_an_inactive_extension_is_the_message() -> None:
    trace = (
        "org.apache.spark.SparkException: Failed\n\tat x.Y\nCaused by: java.lang.IllegalArgumentException: Cannot find "
        "procedure 'system.build_index': zonemap is inactive, Iceberg's Spark runtime is not on the class path; add it "
        "to spark.jars. Known procedures: .\n\tat x.Z"
    )
    error = _SparkError("FAILED_TO_LOAD_ROUTINE", f"Failed to load routine `zonemap`.\n\nJVM stacktrace:\n{trace}")
    with pytest.raises(ProcedureError) as caught:
        zonemap.Index(_Session(error=error), "t").build()  # type: ignore[arg-type]
    assert str(caught.value) == (
        "Cannot build the index of 't': zonemap is not active in this session: Iceberg's Spark runtime is not on the "
        "class path; add it to spark.jars."
    )


@pytest.mark.parametrize(
    ("name", "action"),
    [
        ("build", "build the index of 't'"),
        ("refresh", "refresh the index of 't'"),
        ("status", "show the status of 't'"),
        ("collect_garbage", "collect unused index files of 't'"),
        ("drop", "drop the index of 't'"),
        ("advise", "advise on 't'"),
        ("verify", "verify 't'"),
        ("planned_scans", "show the planned scans of 't'"),
        ("clustering", "compute the clustering of 't'"),
        ("report", "show the status of 't'"),
    ],
)
def test_a_message_names_the_action(name: str, action: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"Cannot {action} with None: it is not a session"):
        getattr(zonemap.Index(None, "t"), name)()  # type: ignore[arg-type]
    session = _Session(error=_SparkError("CATALOG_NOT_FOUND", "The catalog `zonemap` not found."))
    with pytest.raises(ProcedureError, match=f"Cannot {action}: zonemap is not active"):
        getattr(zonemap.Index(session, "t"), name)()  # type: ignore[arg-type]


def test_a_query_without_the_catalog_is_not_active() -> None:
    session: Any = _Session(error=_SparkError("CATALOG_NOT_FOUND", "The catalog `zonemap` not found."))
    for call, action in ((zonemap.why_not, "explain"), (zonemap.verify, "verify")):
        with pytest.raises(ProcedureError, match=f"Cannot {action} 'SELECT 1': zonemap is not active .* Start it with"):
            call(session, "SELECT 1")


def test_a_value_in_a_message_is_one_short_line() -> None:
    for refused in (
        lambda: zonemap.Index(DualIndex(), "t").build(),  # type: ignore[arg-type]
        lambda: zonemap.Index(_Session(), DualIndex()).build(),  # type: ignore[arg-type]
        lambda: zonemap.Index(_Session(), "t").build(facts=[DualIndex()]),  # type: ignore[arg-type, list-item]
        lambda: zonemap.Index(_Session(), "t").collect_garbage(older_than_hours=DualIndex()),  # type: ignore[arg-type]
        lambda: zonemap.Namespace(_Session(), DualIndex()).status(),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidArgumentError, match="DualIndex sets spark") as caught:
            refused()
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 400


def test_results_cannot_be_changed() -> None:
    result = zonemap.Index(_Session(BUILT), "t").build()  # type: ignore[arg-type]
    with pytest.raises(FrozenInstanceError):
        result.bytes = 0  # type: ignore[misc]


def test_html_separates_thousands_keeps_ids_and_escapes() -> None:
    page = zonemap.Index(_Session(STATUS), "lake.db.<t>").status()._repr_html_()  # type: ignore[arg-type]
    assert '<td class="short">4,096</td>' in page
    assert '<td class="short">8123456789012345678</td>' in page
    assert '<td class="short">yes</td>' in page
    assert "lake.db.&lt;t&gt;" in page
    assert "&lt;uuid&gt;" in page
