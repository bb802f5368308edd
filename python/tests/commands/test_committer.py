# SPDX-License-Identifier: Apache-2.0
"""The command that starts the committer: what spark-submit gets, and what is refused before."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from zonemap.commands import cli, committer
from zonemap.common.errors import InvalidArgumentError, UnsupportedSparkError, ZonemapError
from zonemap.session import conf_sources, spark_installation


def command(*settings: str, iceberg: str | None = None, **environment: str) -> committer.Command:
    return committer.command(
        ["lake.db.t", "lake.db.u"],
        every_seconds=2.5,
        settings=settings,
        iceberg=iceberg,
        output="json",
        environment=environment,
    )


def confs_of(found: committer.Command) -> dict[str, str]:
    """Returns the confs as spark-submit reads them: the last one of a key counts."""
    return conf_sources.submitted_confs(" ".join(f"'{word}'" for word in found.words))


def test_spark_submit_gets_the_class_the_jars_the_confs_and_the_tables(jar: Path, tmp_path: Path) -> None:
    runtime = tmp_path / "iceberg-spark-runtime-4.1_2.13-1.11.0.jar"
    runtime.touch()
    found = command("spark.sql.catalog.lake.uri=jdbc:a=b", "spark.jars=driver.jar", iceberg=str(runtime))
    home = spark_installation.home()
    assert home is not None and found.words[0] == str(home / "bin" / "spark-submit") and Path(found.words[0]).is_file()
    assert found.words[-6:] == [committer.PROGRAM.main_class, "spark-internal", "2.5", "json", "lake.db.t", "lake.db.u"]
    confs = confs_of(found)
    ingest = jar.with_name(jar.name.replace("zonemap-spark", "zonemap-ingest-spark"))
    assert confs["spark.jars"] == f"driver.jar,{jar},{ingest},{runtime}"
    assert confs["spark.sql.catalog.lake.uri"] == "jdbc:a=b"
    assert confs["spark.driver.memory"] == "400m"


def test_a_version_of_iceberg_is_a_package_that_spark_submit_resolves() -> None:
    confs = confs_of(command("spark.jars.packages=org.xerial:sqlite-jdbc:3", iceberg="1.11.0"))
    assert confs["spark.jars.packages"].split(",") == [
        "org.xerial:sqlite-jdbc:3",
        "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0",
    ]


def test_the_users_memory_counts_also_from_the_submit_arguments() -> None:
    assert confs_of(command("spark.driver.memory=1g"))["spark.driver.memory"] == "1g"
    found = command(PYSPARK_SUBMIT_ARGS="--conf spark.driver.memory=2g --verbose pyspark-shell")
    assert confs_of(found)["spark.driver.memory"] == "2g"
    assert "--verbose" in found.words and "pyspark-shell" not in found.words


def test_no_variable_or_conf_sends_the_committer_elsewhere() -> None:
    found = command("spark.master=yarn", SPARK_REMOTE="local", KEPT="1")
    assert found.words[found.words.index("--master") + 1] == "local"
    assert "SPARK_REMOTE" not in found.environment and found.environment["KEPT"] == "1"


@pytest.mark.parametrize(
    ("settings", "iceberg", "error", "why"),
    [
        (("spark.remote=sc://host",), None, ZonemapError, "on a Spark Connect server: it runs on this machine"),
        (("spark.jars",), None, InvalidArgumentError, "it has no '='"),
        ((), "newest", InvalidArgumentError, "neither a version nor a jar"),
    ],
)
def test_mistakes_are_refused(settings: tuple[str, ...], iceberg: str | None, error: Any, why: str) -> None:
    with pytest.raises(error, match=why):
        command(*settings, iceberg=iceberg)


def test_another_spark_is_refused(spark_version: Any) -> None:
    spark_version("3.4.1")
    with pytest.raises(UnsupportedSparkError):
        command()


def test_without_pyspark_the_sentence_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_installation, "home", lambda: None)
    with pytest.raises(ZonemapError, match=r"PySpark is not installed\. Install it: pip install"):
        command()


def test_the_command_replaces_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Any] = []
    monkeypatch.setattr(os, "execve", lambda *arguments: ran.append(arguments))
    result = CliRunner().invoke(cli.cli, ["commit-loop", "lake.db.t", "--every", "60", "--output", "json"])
    assert result.exit_code == 0, result.output
    [(program, words, _)] = ran
    assert program == words[0] and words[-3:] == ["60.0", "json", "lake.db.t"]


def test_the_command_has_no_option_of_a_server() -> None:
    result = CliRunner().invoke(cli.cli, ["commit-loop", "lake.db.t", "--remote", "sc://host"])
    assert result.exit_code == 2 and "No such option" in result.output
