# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import json
import socket
import sys
import time
import tomllib
import warnings
from collections.abc import Callable, Iterator
from importlib import util
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import ROOT
from rich.console import Console
from show.test_tables import STATUS, scans

import zonemap
from zonemap.commands import cli, doctor, sessions
from zonemap.commands.output_format import TableOutput
from zonemap.common import optional_packages
from zonemap.common.errors import (
    UnsupportedSparkError,
    ZonemapError,
    ZonemapWarning,
)
from zonemap.index.index import Index
from zonemap.index.namespace import Namespace
from zonemap.results import (
    BuildResult,
    BuildResults,
    BuiltFact,
    CompactedLevel,
    CompactResult,
    DropResult,
    GarbageFile,
    GarbageResult,
    PrewarmResult,
    StatusResults,
)
from zonemap.session import remote

RUNNER = CliRunner()
SMALL = ("spark.ui.enabled=false", "spark.log.level=ERROR")
BUILT = BuildResult("t", 7, 1, 0, 1, 9, 0.5)


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "start", lambda *arguments: arguments)


def test_the_group_has_the_commands_of_all_modules_and_no_module_is_long() -> None:
    assert set(cli.cli.commands) == {
        *(
            "jar-path",
            "doctor",
            "build-index",
            "refresh-index",
            "index-status",
            "prewarm-index",
            "compact-index",
            "collect-garbage",
            "drop-index",
        ),
        *("why-not", "clustering", "advise", "planned-scans", "verify", "report"),
        *("follow", "commit-loop", "serve"),
        *("ingest-status", "ingest-commit", "ingest-pause", "ingest-resume", "ingest-wait", "ingest-quarantined"),
        *("ingest-requeue", "ingest-discard", "ingest-reset", "ingest-collect-garbage"),
    }
    sources = (ROOT / "python" / "zonemap").rglob("*.py")
    assert [s.name for s in sources if len(s.read_text(encoding="utf-8").splitlines()) > 400] == []


def test_refresh_and_prewarm_of_an_index(monkeypatch: pytest.MonkeyPatch, no_spark: None) -> None:
    monkeypatch.setattr(Index, "refresh", lambda index: BuildResult(index.table, 7, 1, 0, 1, 9, 0.5))
    monkeypatch.setattr(Index, "prewarm", lambda index: PrewarmResult(index.table, 7, 1, 9, 0.5))
    for command in ("refresh-index", "prewarm-index"):
        output = RUNNER.invoke(cli.cli, [command, "t", "--remote", "sc://h:1", "--output", "json"]).output
        assert json.loads(output)["snapshot_id"] == 7
    refused = RUNNER.invoke(cli.cli, ["prewarm-index", "t"])
    assert isinstance(refused.exception, ZonemapError) and "--remote" in str(refused.exception)


@pytest.mark.parametrize("old", sorted(cli.RENAMED))
def test_a_name_of_before_is_refused_with_the_name_of_today(old: str) -> None:
    refused = RUNNER.invoke(cli.cli, [old, "t"])
    assert refused.exit_code == 2 and f"No such command '{old}': its name is '{cli.RENAMED[old]}'." in refused.output
    assert cli.RENAMED[old] in cli.cli.commands


def test_a_missing_jar_is_one_line_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], jar: Path
) -> None:
    jar.unlink()
    monkeypatch.setattr(sys, "argv", ["zonemap", "jar-path"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    refusal = capsys.readouterr().err
    assert refusal.startswith(f"zonemap: Cannot find jar '{jar}': ") and refusal.count("\n") == 1


def test_an_error_of_spark_is_one_line_and_a_defect_keeps_its_stack(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], no_spark: None
) -> None:
    class SparkError(Exception):
        def getCondition(self) -> str:  # noqa: N802 - PySpark's name
            return "X"

    def failing(error: Exception) -> Any:
        def status(index: Index) -> None:
            raise error

        return status

    monkeypatch.setattr(sys, "argv", ["zonemap", "index-status", "t"])
    monkeypatch.setattr(Index, "status", failing(SparkError("Cannot find 't'.\n\nJVM stacktrace:\nx")))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == "zonemap: Cannot find 't'.\n"
    monkeypatch.setattr(Index, "status", failing(KeyError("defect")))
    with pytest.raises(KeyError, match="defect"):
        cli.main()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [(["t", "--namespace", "lake.db"], "a command shows one of them"), ([], "it knows none. Give TABLE")],
)
def test_status_of_nothing_or_of_two_things_is_refused(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    no_spark: None,
    arguments: list[str],
    why: str,
) -> None:
    monkeypatch.setattr(sys, "argv", ["zonemap", "index-status", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert why in capsys.readouterr().err


def test_status_of_a_namespace_prints_a_list(monkeypatch: pytest.MonkeyPatch, no_spark: None) -> None:
    class Found:
        def as_dict(self) -> dict[str, Any]:
            return {"table": "lake.db.t", "verdict": "fresh"}

    received = []

    def status(namespace: Namespace) -> tuple[Found, ...]:
        received.append(repr(namespace))
        return (Found(),)

    monkeypatch.setattr(Namespace, "status", status)
    result = RUNNER.invoke(cli.cli, ["index-status", "--namespace", "lake.db", "--output", "json"])
    assert json.loads(result.output) == [{"table": "lake.db.t", "verdict": "fresh"}]
    assert received == ["Namespace('lake.db')"]


@pytest.mark.parametrize("several", [False, True])
def test_status_prints_what_print_shows_and_json_has_every_column(
    monkeypatch: pytest.MonkeyPatch, no_spark: None, several: bool
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    found = StatusResults((STATUS, STATUS)) if several else STATUS
    monkeypatch.setattr(Namespace if several else Index, "status", lambda of: found)
    command = ["index-status", *(["--namespace", "lake.db"] if several else ["lake.db.events"])]
    assert RUNNER.invoke(cli.cli, command).output == f"{found}\n"
    document = json.loads(RUNNER.invoke(cli.cli, [*command, "--output", "json"]).output)
    assert document == ([STATUS.as_dict()] * 2 if several else STATUS.as_dict())


def test_planned_scans_prints_every_scan_that_was_asked_for(monkeypatch: pytest.MonkeyPatch, no_spark: None) -> None:
    monkeypatch.setattr(Index, "planned_scans", lambda index, *, max_scans: scans(max_scans))
    command = ["planned-scans", "t", "--remote", "sc://h:1", "--max-scans", "150"]
    lines = RUNNER.invoke(cli.cli, command, env={"COLUMNS": "100"}).output.splitlines()
    assert len([line for line in lines if "2026-01-31 23:59:59" in line]) == 150 and max(map(len, lines)) == 100
    document = json.loads(RUNNER.invoke(cli.cli, [*command, "--output", "json"]).output)
    assert len(document) == 150 and {"snapshot_id", "bytes_kept", "steps"} <= set(document[0])


def test_doctor_json_lists_every_check() -> None:
    checks = json.loads(RUNNER.invoke(cli.cli, ["doctor", "--output", "json"]).output)
    assert [check["name"] for check in checks] == ["Python", "Java", "PySpark", "jar", "confs outside the code"]
    assert {check["state"] for check in checks} <= {"ok", "warning", "failed"}
    assert all(check["advice"] for check in checks if check["state"] != "ok")


def test_doctor_table_names_every_check() -> None:
    output = RUNNER.invoke(cli.cli, ["doctor"]).output
    assert "zonemap doctor" in output
    assert all(name in output for name in ("Python", "Java", "PySpark", "jar"))


def test_doctor_fails_with_the_first_thing_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    result = RUNNER.invoke(cli.cli, ["doctor", "--output", "json"])
    java = next(check for check in json.loads(result.output) if check["name"] == "Java")
    assert result.exit_code == 1
    assert java["state"] == "failed"
    assert "Java 17" in java["advice"]


def test_doctor_waits_for_java_for_some_time_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(doctor, "JAVA_SECONDS", 0.05)
    check = next(check for check in doctor.installation_checks() if check.name == "Java")
    assert check.state == "failed" and "timed out" in check.found


@pytest.mark.parametrize(
    ("version", "state"),
    [
        ("4.1.3", "ok"),
        ("4.1.0", "ok"),
        ("4.0.1", "ok"),
        ("3.5.9", "ok"),
        ("3.4.4", "failed"),
        ("4.10.0", "failed"),
        ("x", "failed"),
    ],
)
def test_doctor_compares_versions_as_numbers(spark_version: Any, version: str, state: str) -> None:
    spark_version(version)
    assert next(check.state for check in doctor.installation_checks() if check.name == "PySpark") == state


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Hides installed packages."""

    def hide(*names: str) -> None:
        found = util.find_spec

        def find_spec(name: str, package: str | None = None) -> Any:
            return None if name.partition(".")[0] in names else found(name, package)

        monkeypatch.setattr(util, "find_spec", find_spec)
        for name in names:
            monkeypatch.setitem(sys.modules, name, None)

    return hide


def test_doctor_without_pyspark_prints_the_extra_to_install(without: Callable[..., None]) -> None:
    without("pyspark")
    result = RUNNER.invoke(cli.cli, ["doctor", "--session"], env={"COLUMNS": "300"})
    assert result.exit_code == 1
    assert optional_packages.command("spark") in result.output


def test_tables_print_brackets_as_they_are() -> None:
    console = Console(file=io.StringIO(), width=200)
    for rows in ([{"advice": "pip install 'zonemap[spark]'"}], [{"path": "/a[b]/[bold]c"}, {"path": "[/x]"}]):
        TableOutput(console).rows("t[1]", rows)
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert all(text in printed for text in ("t[1]", "'zonemap[spark]'", "/a[b]/[bold]c", "[/x]"))


def test_tables_print_no_minus_one_for_a_number_that_is_not_known() -> None:
    console = Console(file=io.StringIO(), width=200)
    for rows in ([{"lag_seconds": -1, "files": 7}], [{"files": -1, "share": -1.0}, {"files": 8, "share": 0.5}]):
        TableOutput(console).rows("status", rows)
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert "-1" not in printed
    assert [line.split()[3] for line in printed.splitlines() if "lag_seconds" in line] == ["-"]
    assert all(text in printed for text in ("7", "8", "0.500"))


def test_commands_name_an_unsupported_spark(spark_version: Any) -> None:
    spark_version("3.4.4")
    result = RUNNER.invoke(cli.cli, ["index-status", "t"])
    assert isinstance(result.exception, UnsupportedSparkError)
    assert "Spark '3.4.4': zonemap" in str(result.exception)


@pytest.mark.parametrize(
    ("arguments", "versions"),
    [
        ([], "4.1_2.13"),
        (["--spark", "4.0"], "4.0_2.13"),
        (["--spark", "3.5"], "3.5_2.12"),
        (["--ingest"], "4.1_2.13"),
    ],
)
def test_jar_path_prints_the_jar_for_a_spark(spark_version: Any, arguments: list[str], versions: str) -> None:
    spark_version("4.1.3")
    result = RUNNER.invoke(cli.cli, ["jar-path", *arguments])
    assert f"-spark-{versions}-" in result.output and result.output.strip().endswith(".jar")
    refused = RUNNER.invoke(cli.cli, ["jar-path", "--spark", "3.4"])
    assert refused.exit_code == 2 and "'4.1', '4.0', '3.5'" in refused.output


@pytest.mark.parametrize("arguments", [["--conf", "spark.x=y"], ["--remote", "sc://h:1"], ["--session"]])
def test_doctor_passes_its_options_to_the_session(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    asked: list[Any] = []

    def start(settings: tuple[str, ...], remote: str | None, iceberg: str | None) -> Any:
        asked.append((settings, remote, iceberg))
        raise ZonemapError("Cannot connect to 'sc://h:1': gone. Start it.")

    monkeypatch.setattr(sessions, "start", start)
    for name in ("installation_checks", "client_checks"):
        monkeypatch.setattr(doctor, name, lambda name=name: [doctor.Check(name, "ok", "x")])
    result = RUNNER.invoke(cli.cli, ["doctor", "--output", "json", "--iceberg", "1.11.0", *arguments])
    checks = json.loads(result.output)
    local = () if "--remote" in arguments else ("spark.master=local[1]", *SMALL)
    settings = (*local, "spark.x=y") if "--conf" in arguments else local
    assert asked == [(settings, "sc://h:1" if "--remote" in arguments else None, "1.11.0")]
    assert checks[0]["name"] == ("client_checks" if "--remote" in arguments else "installation_checks")
    assert checks[1] == {
        "name": "session",
        "state": "failed",
        "found": "Cannot connect to 'sc://h:1': gone",
        "advice": "Start it.",
    }
    assert result.exit_code == 1


@pytest.fixture
def dead_server() -> Iterator[str]:
    """The URL of a server that accepts connections and never answers."""
    pytest.importorskip("grpc")
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"sc://127.0.0.1:{server.getsockname()[1]}"


def test_a_dead_server_is_named_within_15_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], dead_server: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["zonemap", "index-status", "t", "--remote", f"{dead_server}/;token=secret"])
    started = time.monotonic()
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert time.monotonic() - started < 15
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        f"zonemap: Cannot connect to '{dead_server}': no Spark Connect server answered within 8 s. "
        "Check the host and the port, and that the server runs.\n"
    )


@pytest.mark.parametrize("source", ["--remote", "--conf", "SPARK_REMOTE"])
@pytest.mark.parametrize(
    "command",
    [
        ["index-status"],
        ["index-status", "t"],
        ["index-status", "--namespace", "lake.db"],
        ["build-index", "t"],
        ["compact-index", "t"],
        ["collect-garbage", "t"],
        ["drop-index", "t"],
        ["advise", "t"],
        ["planned-scans", "t"],
        ["follow", "t"],
        ["doctor"],
        ["doctor", "--session"],
    ],
    ids=" ".join,
)
def test_every_way_to_name_a_dead_server_has_the_limit_of_time(
    monkeypatch: pytest.MonkeyPatch, dead_server: str, source: str, command: list[str]
) -> None:
    from pyspark.sql import SparkSession

    monkeypatch.setattr(remote, "PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", lambda builder: pytest.fail("Spark's client retries"))
    url = f"{dead_server}/;token=secret"
    given = {"--remote": ["--remote", url], "--conf": ["--conf", f"spark.remote={url}"]}.get(source, [])
    if not given:
        monkeypatch.setenv(source, url)
    result = RUNNER.invoke(cli.cli, [*command, *given, *(["--output", "json"] if command[0] == "doctor" else [])])
    told = result.output if command[0] == "doctor" else str(result.exception)
    assert f"Cannot connect to '{dead_server}': no Spark Connect server answered within 0.05 s" in told
    assert "secret" not in told
    assert result.exit_code == 1
    if command[0] == "doctor":
        assert [check["name"] for check in json.loads(told)] == ["Python", "Spark Connect client", "session"]


@pytest.mark.parametrize(
    "command", [["compact-index", "t"], ["doctor", "--session"], ["follow", "t"], ["why-not", "SELECT 1"]]
)
def test_the_time_for_the_first_answer_can_be_set(dead_server: str, command: list[str]) -> None:
    result = RUNNER.invoke(cli.cli, [*command, "--remote", dead_server, "--connect-timeout", "0.05"])
    told = " ".join((result.output if command[0] == "doctor" else str(result.exception)).split())
    assert "0.05 s" in told
    assert RUNNER.invoke(cli.cli, [*command, "--connect-timeout", "0"]).exit_code == 2


def test_the_option_beats_the_conf_and_the_conf_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def require_server(url: str, **_: object) -> None:
        asked.append(url)
        raise ZonemapError("Cannot connect.")

    monkeypatch.setattr(sessions, "require_server", require_server)
    monkeypatch.setenv("SPARK_REMOTE", "sc://environment")
    conf = ["--conf", "spark.remote=sc://conf"]
    for options in ([], conf, ["--remote", "sc://option", *conf]):
        RUNNER.invoke(cli.cli, ["index-status", *options])
    assert asked == ["sc://environment", "sc://conf", "sc://option"]


def test_a_session_of_this_machine_waits_for_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import SparkSession

    started: list[dict[str, Any]] = []
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", lambda builder: started.append(dict(builder._options)))
    monkeypatch.setattr(sessions, "require_server", pytest.fail)
    monkeypatch.setattr(Index, "status", lambda index: pytest.fail("no session") if index.spark else BUILT)
    for options in ([], ["--conf", "spark.remote=local[2]"], ["--remote", "local[2]"]):
        assert RUNNER.invoke(cli.cli, ["index-status", "t", *options]).exit_code == 0
    assert [options.get("spark.remote") for options in started] == [None, "local[2]", "local[2]"]


def test_a_session_of_doctor_has_a_master_unless_an_address_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    def start(settings: tuple[str, ...], remote: str | None, iceberg: str | None) -> Any:
        asked.append(settings)
        raise ZonemapError("Cannot start.")

    monkeypatch.setattr(sessions, "start", start)
    monkeypatch.setattr(doctor, "installation_checks", list)
    RUNNER.invoke(cli.cli, ["doctor", "--session"])
    RUNNER.invoke(cli.cli, ["doctor", "--remote", "local[2]"])
    monkeypatch.setenv("SPARK_REMOTE", "local[2]")
    RUNNER.invoke(cli.cli, ["doctor", "--session"])
    assert asked == [("spark.master=local[1]", *SMALL), SMALL, SMALL]


def test_a_warning_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], no_spark: None
) -> None:
    def status(index: Index) -> None:
        warnings.warn("Cannot set x. Set y.", ZonemapWarning, stacklevel=1)
        raise ZonemapError("Cannot go on.")

    monkeypatch.setattr(Index, "status", status)
    monkeypatch.setattr(sys, "argv", ["zonemap", "index-status", "t"])
    with pytest.raises(SystemExit):
        cli.main()
    assert capsys.readouterr().err == "zonemap: Cannot set x. Set y.\nzonemap: Cannot go on.\n"


def test_build_as_json(monkeypatch: pytest.MonkeyPatch, no_spark: None) -> None:
    monkeypatch.setattr(Index, "build", lambda index, **_: BuildResult(index.table, 7, 1, 0, 1, 9, 0.5))
    output = RUNNER.invoke(cli.cli, ["build-index", "lake.db.t", "--output", "json"]).output
    assert json.loads(output) == {
        "table": "lake.db.t",
        "snapshot_id": 7,
        "data_files": 1,
        "delete_files": 0,
        "segments": 1,
        "bytes": 9,
        "seconds": 0.5,
        "footers_left": 0,
        "footers_left_seconds": 0.0,
    }


def test_build_of_facts_is_a_table_of_its_own(monkeypatch: pytest.MonkeyPatch, no_spark: None) -> None:
    received: list[object] = []

    def build(
        index: Index,
        *,
        facts: tuple[str, ...],
        columns: tuple[str, ...] | None,
        estimate: bool,
        max_fact_share: float | None,
        progress: bool,
    ) -> BuildResult:
        received.extend((facts, columns, estimate, max_fact_share))
        assert not progress, "no terminal"
        return BuildResult(
            index.table, 7, 1, 0, 1, 9, 0.5, (BuiltFact("values(tags['type'])", 1, 1, 90, 64, 70, 0, 1.5),)
        )

    monkeypatch.setattr(Index, "build", build)
    options = ["--facts", "values(tags['type'])", "--facts", "bloom(b)", "--columns", "ts"]
    output = RUNNER.invoke(cli.cli, ["build-index", "lake.db.t", *options]).output
    assert received == [("values(tags['type'])", "bloom(b)"), ("ts",), False, None]
    RUNNER.invoke(cli.cli, ["build-index", "lake.db.t", "--facts", "bloom(b)", "--estimate", "--max-fact-share", "0.5"])
    assert received[4:] == [("bloom(b)",), None, True, 0.5]
    assert "built" in output and "values(tags['type'])" in output and "wrong_bounds" in output


def test_build_of_a_namespace_shows_each_table_and_fails_at_the_end(
    monkeypatch: pytest.MonkeyPatch, no_spark: None
) -> None:
    problem = "Cannot build the index of 'lake.db.b': it is encrypted"
    found = BuildResults(
        (BuildResult("lake.db.a", 7, 1, 0, 1, 9, 0.5), BuildResult("lake.db.b", -1, 0, 0, 0, 0, 0.0, (), problem))
    )
    received: list[str] = []

    def build(namespace: Namespace, **_: Any) -> BuildResults:
        received.append(repr(namespace))
        return found

    monkeypatch.setattr(Namespace, "build", build)
    failed = RUNNER.invoke(cli.cli, ["build-index", "--namespace", "lake.db", "--output", "json"])
    assert (failed.exit_code, received[0]) == (1, "Namespace('lake.db')")
    first, second = json.loads(failed.stdout)
    assert (first["table"], first.get("problem"), second["problem"]) == ("lake.db.a", None, problem)
    shown = RUNNER.invoke(cli.cli, ["build-index", "--namespace", "lake.db"], env={"COLUMNS": "240"}).output
    assert "lake.db.a" in shown and problem in shown
    found = BuildResults(found[:1])
    document = RUNNER.invoke(cli.cli, ["build-index", "--namespace", "lake.db", "--output", "json"])
    assert (document.exit_code, len(json.loads(document.stdout))) == (0, 1)
    for wrong in ([], ["lake.db.a", "--namespace", "lake.db"]):
        refused = RUNNER.invoke(cli.cli, ["build-index", *wrong])
        assert refused.exit_code != 0 and "TABLE or --namespace, and not both" in str(refused.exception)


@pytest.mark.parametrize(("flags", "word"), [([], "would delete"), (["--delete"], "deleted")])
def test_drop_says_what_it_did(monkeypatch: pytest.MonkeyPatch, no_spark: None, flags: list[str], word: str) -> None:
    def dropped(index: Index, *, dry_run: bool) -> DropResult:
        return DropResult(index.table, dry_run, ("/a", "/b"))

    monkeypatch.setattr(Index, "drop", dropped)
    assert f"{word} 2 files" in RUNNER.invoke(cli.cli, ["drop-index", "t", *flags]).output


def test_compact_shows_levels(monkeypatch: pytest.MonkeyPatch, no_spark: None) -> None:
    merged = CompactResult("t", (CompactedLevel("micro", 9, 1, 900, 100), CompactedLevel("hour", 0, 1, 0, 700)))
    monkeypatch.setattr(Index, "compact", lambda index: merged)
    assert "micro" in RUNNER.invoke(cli.cli, ["compact-index", "t"]).output
    document = json.loads(RUNNER.invoke(cli.cli, ["compact-index", "t", "--output", "json"]).output)
    assert [level["segments_after"] for level in document["levels"]] == [1, 1]


@pytest.mark.parametrize(
    ("flags", "word"), [([], "would delete"), (["--delete", "--older-than-hours", "0"], "deleted")]
)
def test_collect_garbage_deletes_only_when_told(
    monkeypatch: pytest.MonkeyPatch, no_spark: None, flags: list[str], word: str
) -> None:
    received: list[tuple[bool, int]] = []

    def collected(index: Index, *, dry_run: bool, older_than_hours: int) -> GarbageResult:
        received.append((dry_run, older_than_hours))
        return GarbageResult(index.table, dry_run, (GarbageFile("/a", 5, "no retained snapshot names it"),))

    monkeypatch.setattr(Index, "collect_garbage", collected)
    assert f"{word} 1 files, 5 bytes" in RUNNER.invoke(cli.cli, ["collect-garbage", "t", *flags]).output
    assert received == [(False, 0) if flags else (True, 24)]


def test_a_conf_without_a_value_is_refused() -> None:
    result = RUNNER.invoke(cli.cli, ["build-index", "t", "--conf", "spark.x"])
    assert isinstance(result.exception, ZonemapError)
    assert "Cannot read --conf 'spark.x'" in str(result.exception)


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["version"] == zonemap.__version__
    assert f'ThisBuild / version := "{zonemap.__version__}"' in (ROOT / "build.sbt").read_text()


def test_importing_the_package_imports_neither_pyspark_nor_py4j() -> None:
    import subprocess

    code = "import sys, zonemap, zonemap.commands.cli; print(sorted({'pyspark', 'py4j', 'pyarrow'} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_only_one_module_names_py4j() -> None:
    package = Path(zonemap.__file__).parent
    naming = {
        path.name for path in package.rglob("*.py") if "from py4j" in path.read_text() or "._jdf" in path.read_text()
    }
    assert naming == {"driver_jvm.py"}
