# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from conftest import BOTH, listed

from zonemap import (
    DualIndex,
    InvalidArgumentError,
    MergePolicy,
    UnsupportedSparkError,
    Upkeep,
    ZonemapWarning,
    __version__,
    configure,
)
from zonemap.common import argument_checks
from zonemap.session import configuration, confs

pyspark_sql = pytest.importorskip("pyspark.sql")


def classic() -> Any:
    return pyspark_sql.SparkSession.Builder()


def connect() -> Any:
    pytest.importorskip("grpc")
    from pyspark.sql.connect.session import SparkSession

    return SparkSession.Builder()


BUILDERS = pytest.mark.parametrize("make", [classic, connect])
OTHER = "io.delta.sql.DeltaSparkSessionExtension"


@BUILDERS
def test_an_empty_builder_gets_everything_and_is_returned(make: Any, jar: Path) -> None:
    builder = make()
    assert configure(builder) is builder
    assert builder._options == {
        confs.EXTENSIONS: ",".join(BOTH),
        confs.JARS: str(jar),
        confs.CATALOG: confs.CATALOG_CLASS,
    }


@BUILDERS
def test_upkeep_and_merge_policy_set_their_confs(make: Any) -> None:
    upkeep, merge = Upkeep(mode="persist", flush_interval="1m"), MergePolicy(policy="deterministic")
    options = configure(make(), upkeep=upkeep, merge=merge)._options
    assert {key: options[key] for key in (*upkeep.confs(), *merge.confs())} == upkeep.confs() | merge.confs()


@BUILDERS
def test_twice_is_the_same_as_once(make: Any) -> None:
    builder = configure(make(), iceberg="1.11.0", dual_index=DualIndex(), upkeep="persist")
    once = dict(builder._options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        configure(builder, iceberg="1.11.0", dual_index=DualIndex(), upkeep="persist")
    assert builder._options == once


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", BOTH),
        (OTHER, [OTHER, *BOTH]),
        (confs.ICEBERG_EXTENSION, BOTH),
        (f"{confs.ICEBERG_EXTENSION},{OTHER}", [confs.ICEBERG_EXTENSION, OTHER, confs.EXTENSION_CLASS]),
        (confs.EXTENSION_CLASS, [confs.EXTENSION_CLASS, confs.ICEBERG_EXTENSION]),
        (f" {OTHER} , {confs.ICEBERG_EXTENSION} ,", [OTHER, *BOTH]),
        (f"{confs.ICEBERG_EXTENSION},{confs.ICEBERG_EXTENSION}", BOTH),
    ],
)
def test_extensions_are_appended_in_place_and_once(before: str, after: list[str]) -> None:
    builder = classic().config(confs.EXTENSIONS, before)
    assert listed(configure(builder)._options, confs.EXTENSIONS) == after


def test_jars_of_the_user_stay_first(jar: Path) -> None:
    options = configure(classic().config(confs.JARS, "/a.jar,/b.jar"))._options
    assert listed(options, confs.JARS) == ["/a.jar", "/b.jar", str(jar)]


@pytest.mark.parametrize("providers", ["", "x.Explain"])
def test_explain_providers_of_the_user_stay_as_they_are(providers: str) -> None:
    """The extension adds its own provider to each session, unless the list is empty."""
    key = "spark.sql.extendedExplainProviders"
    assert configure(classic().config(key, providers))._options[key] == providers
    assert key not in configure(classic())._options


def test_a_zonemap_jar_that_is_listed_already_is_enough() -> None:
    own = "s3://bucket/zonemap-spark-4.1_2.13-0.1.1.jar"
    assert listed(configure(classic().config(confs.JARS, own))._options, confs.JARS) == [own]


def test_append_ingestion_is_a_second_jar_on_request(jar: Path) -> None:
    ingest = jar.with_name(jar.name.replace("zonemap-spark", "zonemap-ingest-spark"))
    options = configure(configure(classic(), ingest=True), ingest=True)._options
    assert listed(options, confs.JARS) == [str(jar), str(ingest)]
    assert listed(configure(classic())._options, confs.JARS) == [str(jar)]
    own = f"{jar},s3://bucket/zonemap-ingest-spark-4.1_2.13-0.1.1.jar"
    assert listed(configure(classic().config(confs.JARS, own), ingest=True)._options, confs.JARS) == own.split(",")


def test_append_ingestion_that_cannot_be_added_is_one_warning(monkeypatch: pytest.MonkeyPatch, jar: Path) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--jars {jar} pyspark-shell")
    with pytest.warns(ZonemapWarning, match=r"without it: PYSPARK_SUBMIT_ARGS .* Add \$\(zonemap jar-path --ingest\)"):
        options = configure(classic(), ingest=True)._options
    assert options[confs.CATALOG] == confs.CATALOG_CLASS
    assert "ingest" not in str(options.get(confs.JARS))


def test_other_options_before_and_after_do_not_matter() -> None:
    first = configure(classic().config("spark.master", "local[1]")).config("spark.x", "y")
    last = configure(classic().config("spark.x", "y").config("spark.master", "local[1]"))
    assert first._options == last._options


@pytest.mark.parametrize(
    ("iceberg", "key", "item"),
    [
        ("1.11.0", confs.PACKAGES, "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0"),
        ("1.13.0-SNAPSHOT", confs.PACKAGES, "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.13.0-SNAPSHOT"),
        ("s3://b/iceberg.jar", confs.JARS, "s3://b/iceberg.jar"),
        ("s3://b/iceberg-*.jar", confs.JARS, "s3://b/iceberg-*.jar"),
        ("local:/x/iceberg.jar", confs.JARS, "local:/x/iceberg.jar"),
    ],
)
def test_iceberg_is_added_on_request(iceberg: Any, key: str, item: str) -> None:
    assert item in listed(configure(classic(), iceberg=iceberg)._options, key)


ARGUMENTS = pytest.mark.parametrize("argument", ["iceberg", "jar"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a blank in its name, and three jars."""
    found = tmp_path / "a b"
    found.mkdir()
    for name in ("x-1.jar", "x-2.jar", "y.jar"):
        (found / name).touch()
    (found / "x-3.jar").mkdir()
    return found


@ARGUMENTS
@pytest.mark.parametrize(
    ("write", "added"),
    [
        (lambda folder: str(folder / "y.jar"), ["{}/y.jar"]),
        (lambda folder: folder / "y.jar", ["{}/y.jar"]),
        (lambda folder: f"file:{folder}/y.jar", ["file:{}/y.jar"]),
        (lambda folder: (folder / "y.jar").as_uri(), ["{uri}/y.jar"]),
        (lambda folder: f"{folder}/y.jar,{folder}/x-1.jar", ["{}/y.jar", "{}/x-1.jar"]),
        (lambda folder: f" {folder}/y.jar , s3://b/z.jar,", ["{}/y.jar", "s3://b/z.jar"]),
        (lambda folder: f"{folder}/x-*.jar", ["{}/x-1.jar", "{}/x-2.jar"]),
        (lambda folder: f"{folder}/?.jar", ["{}/y.jar"]),
        (lambda folder: f"{folder}/x-[1].jar", ["{}/x-1.jar"]),
        (lambda folder: f"{folder}/x-[^1].jar", ["{}/x-2.jar"]),
        (lambda folder: f"{folder.as_uri()}/x-*.jar,{folder}/y.jar", ["{}/x-1.jar", "{}/x-2.jar", "{}/y.jar"]),
    ],
)
def test_jars_are_written_as_in_spark_jars(
    argument: str, write: Any, added: list[str], folder: Path, jar: Path
) -> None:
    options = configure(classic(), **{argument: write(folder)})._options
    expected = [item.format(folder, uri=folder.as_uri()) for item in added]
    assert listed(options, confs.JARS) == ([] if argument == "jar" else [str(jar)]) + expected
    assert confs.PACKAGES not in options


@ARGUMENTS
@pytest.mark.parametrize(
    ("write", "refused", "why"),
    [
        ("{}/nope.jar", "{}/nope.jar", "there is no such file"),
        ("{}/y.jar,{}/nope.jar", "{}/nope.jar", "there is no such file"),
        ("{}/x-3.jar", "{}/x-3.jar", "there is no such file"),
        ("{uri}/nope%20.jar", "{uri}/nope%20.jar", "there is no such file"),
        ("{}/z-*.jar", "{}/z-*.jar", "no file matches this pattern"),
        ("{}/x-3*.jar", "{}/x-3*.jar", "no file matches this pattern"),
        ("{}/y.jar,{uri}/z-*.jar", "{uri}/z-*.jar", "no file matches this pattern"),
    ],
)
def test_a_jar_that_is_missing_is_named_alone(argument: str, write: str, refused: str, why: str, folder: Path) -> None:
    builder = classic()
    with pytest.raises(InvalidArgumentError) as caught:
        configure(builder, **{argument: write.format(folder, folder, uri=folder.as_uri())})
    shown = refused.format(folder, uri=folder.as_uri())
    assert str(caught.value) == f"Cannot use {argument}='{shown}': {why}. Give the path of a jar that exists."
    assert builder._options == {}


def test_a_list_without_a_jar_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"Cannot use jar=' , ': it names no jar\."):
        configure(classic(), jar=" , ")


@ARGUMENTS
@pytest.mark.parametrize("write", [str, Path, lambda path: f"file:{path}"])
def test_a_jar_that_does_not_exist_is_one_clear_line(argument: str, write: Any) -> None:
    builder = classic()
    with pytest.raises(InvalidArgumentError) as caught:
        configure(builder, **{argument: write("/nope.jar")})
    assert str(caught.value) == (
        f"Cannot use {argument}='{write('/nope.jar')}': there is no such file. Give the path of a jar that exists."
    )
    assert builder._options == {}


@ARGUMENTS
def test_a_path_that_the_system_refuses_is_one_short_line(argument: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"a\.\.\.: File name too long\. Give the path") as caught:
        configure(classic(), **{argument: f"/{'a' * 300}.jar"})
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("name", ["iceberg-spark-runtime-4.0_2.13-1.11.0.jar", "iceberg-*.jar"])
def test_a_runtime_of_iceberg_for_another_spark_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "iceberg-spark-runtime-4.0_2.13-1.11.0.jar").touch()
    with pytest.raises(InvalidArgumentError, match=r"this runtime is built for Spark 4\.0\. Give .*-4\.1_2\.13 or"):
        configure(classic(), iceberg=tmp_path / name)


OWN = "zonemap-spark-4.0_2.12-0.1.0.jar"


@pytest.mark.parametrize("listed_by", ["jar", "spark.jars"])
def test_a_jar_of_ones_own_is_for_the_spark_in_its_name(listed_by: str, tmp_path: Path, spark_version: Any) -> None:
    spark_version("4.0.1")
    own = tmp_path / OWN
    own.touch()
    builder = classic() if listed_by == "jar" else classic().config(confs.JARS, str(own))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        options = configure(builder, jar=own if listed_by == "jar" else None, iceberg="1.11.0")._options
    assert listed(options, confs.JARS) == [str(own)]
    assert listed(options, confs.EXTENSIONS) == BOTH
    assert options[confs.PACKAGES] == "org.apache.iceberg:iceberg-spark-runtime-4.0_2.12:1.11.0"


def test_a_jar_of_ones_own_without_a_version_in_its_name_is_for_any_spark(tmp_path: Path, spark_version: Any) -> None:
    spark_version("4.2.0")
    own = tmp_path / "own.jar"
    own.touch()
    options = configure(classic(), jar=own, iceberg="1.12.0")._options
    assert listed(options, confs.JARS) == [str(own)]
    assert options[confs.PACKAGES] == "org.apache.iceberg:iceberg-spark-runtime-4.2_2.13:1.12.0"


def test_a_jar_of_ones_own_for_another_spark_is_refused_and_named(tmp_path: Path, spark_version: Any) -> None:
    spark_version("4.1.3")
    own = tmp_path / OWN
    own.touch()
    builder = classic()
    with pytest.raises(UnsupportedSparkError) as caught:
        configure(builder, jar=own)
    assert str(caught.value) == (
        f"Cannot add zonemap to Spark '4.1.3': the jar '{own}' is built for Spark 4.0. "
        "Install Spark 4.0: pip install 'pyspark==4.0.*'."
    )
    assert builder._options == {}


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        *((flag, value) for flag in ("enabled", "shadow") for value in ("yes", 1, 0, [])),
        *((name, value) for name in ("dual_index", "merge") for value in ("6h", 1, {}, {"k" * 200}, Upkeep())),
        *(("store_location", value) for value in (5, b"/x", "", ["/x"])),
        *(("jar", value) for value in (5, b"/x.jar", True)),
    ],
)
def test_an_argument_of_another_type_is_one_clear_line(argument: str, value: object) -> None:
    builder = classic()
    with pytest.raises(InvalidArgumentError) as caught:
        configure(builder, **{argument: value})
    assert str(caught.value).startswith(f"Cannot use {argument}={argument_checks.shown(value)}: give ")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
    assert builder._options == {}


@pytest.mark.parametrize("argument", ["upkeep", "cover_on_read", "shadow_sample", "iceberg"])
@pytest.mark.parametrize("value", [DualIndex(), [1, "\n"], b"off"])
def test_a_value_of_another_type_is_shown_in_one_short_line(argument: str, value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^Cannot (set|add) ") as caught:
        configure(classic(), **{argument: value})
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("value", [None, "local[1]", {}, pyspark_sql.SparkSession, DualIndex()])
def test_what_is_no_builder_is_refused(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"is not a session builder\. Give SparkSession\.builder") as caught:
        configure(value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("version", ["3.4.4", "4.2.0", "4.10.0", "5.1.0.dev0"])
def test_iceberg_for_another_spark_is_refused_and_nothing_changes(version: str, spark_version: Any) -> None:
    spark_version(version)
    builder = classic().config("spark.x", "y")
    with pytest.raises(UnsupportedSparkError) as caught:
        configure(builder, iceberg="1.11.0", upkeep="persist")
    assert str(caught.value) == (
        f"Cannot add zonemap to Spark '{version}': zonemap {__version__} has jars for Spark 4.1, 4.0 and 3.5. "
        "Install Spark 4.1: pip install 'pyspark==4.1.*'."
    )
    assert builder._options == {"spark.x": "y"}


@pytest.mark.parametrize("version", ["3.4.4", "4.2.0"])
def test_without_iceberg_a_session_of_another_spark_runs_without_zonemap(version: str, spark_version: Any) -> None:
    spark_version(version)
    builder = classic()
    with pytest.warns(ZonemapWarning, match=rf"Spark '{version}': .* runs without zonemap\.") as caught:
        assert configure(builder, upkeep="persist") is builder
    assert builder._options == {}
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("version", "minor"),
    [
        ("4.1.0", "4.1"),
        ("4.1.3", "4.1"),
        ("4.1.0.dev0", "4.1"),
        ("4.0.4", "4.0"),
        ("4.0.1-amzn-0", "4.0"),
        (None, "4.1"),
    ],
)
def test_a_supported_spark_and_an_unknown_one_get_the_jars_for_it(
    version: str | None, minor: str, spark_version: Any
) -> None:
    spark_version(version)
    options = configure(classic(), iceberg="1.11.0", ingest=True)._options
    assert listed(options, confs.EXTENSIONS) == BOTH
    names = [Path(path).name for path in listed(options, confs.JARS)]
    assert names == [f"{name}-{minor}_2.13-{__version__}.jar" for name in ("zonemap-spark", "zonemap-ingest-spark")]
    assert options[confs.PACKAGES] == f"org.apache.iceberg:iceberg-spark-runtime-{minor}_2.13:1.11.0"


@pytest.mark.parametrize("version", ["3.5.9", "3.5.6-amzn-2"])
def test_spark_3_5_gets_the_jar_for_its_scala(version: str, spark_version: Any) -> None:
    spark_version(version)
    options = configure(classic(), iceberg="1.11.0")._options
    assert [Path(path).name for path in listed(options, confs.JARS)] == [f"zonemap-spark-3.5_2.12-{__version__}.jar"]
    assert options[confs.PACKAGES] == "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.11.0"


def test_append_ingestion_has_no_jar_for_spark_3_5(spark_version: Any) -> None:
    spark_version("3.5.9")
    builder = classic().config("spark.x", "y")
    with pytest.raises(InvalidArgumentError) as caught:
        configure(builder, iceberg="1.11.0", ingest=True)
    assert str(caught.value) == "Cannot add append ingestion to Spark 3.5: it has jars for Spark 4.1 and 4.0."
    assert builder._options == {"spark.x": "y"}


@pytest.mark.parametrize(
    ("key", "held"),
    [
        (confs.PACKAGES, "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"),
        (confs.JARS, "/opt/iceberg-spark-runtime-4.1_2.13-1.12.0.jar"),
    ],
)
def test_an_iceberg_that_is_listed_already_stays_alone(key: str, held: str) -> None:
    options = configure(classic().config(key, held), iceberg="1.11.0")._options
    assert "1.11.0" not in str(options)


def test_packages_of_the_user_stay_first() -> None:
    options = configure(classic().config(confs.PACKAGES, "g:a:1"), iceberg="1.11.0")._options
    assert listed(options, confs.PACKAGES)[0] == "g:a:1"
    assert len(listed(options, confs.PACKAGES)) == 2


def test_without_request_no_package_is_named() -> None:
    assert confs.PACKAGES not in configure(classic())._options


@pytest.mark.parametrize("iceberg", ["", "latest", "1.11", "/x/iceberg.zip", "1.11.0,g:a:1"])
def test_an_iceberg_that_is_neither_version_nor_jar_is_refused(iceberg: str) -> None:
    with pytest.raises(InvalidArgumentError, match="Cannot add Iceberg"):
        configure(classic(), iceberg=iceberg)


def test_arguments_become_confs() -> None:
    options = configure(
        classic(),
        enabled=False,
        shadow=True,
        shadow_sample=0.25,
        upkeep="off",
        cover_on_read="wait",
        store_location="s3://b/z",
    )._options
    assert {key: options[key] for key in options if key.startswith(confs.PREFIX)} == {
        "spark.sql.zonemap.enabled": "false",
        "spark.sql.zonemap.shadow.enabled": "true",
        "spark.sql.zonemap.shadow.sample": "0.25",
        "spark.sql.zonemap.upkeep.mode": "off",
        "spark.sql.zonemap.coverOnRead": "wait",
        "spark.sql.zonemap.store.location": "s3://b/z",
    }


@pytest.mark.parametrize("sample", [-0.1, 1.5, float("nan"), True, "half"])
def test_a_sample_that_is_no_share_is_refused(sample: object) -> None:
    with pytest.raises(InvalidArgumentError, match=f"Cannot set {confs.SHADOW_SAMPLE} to .*from 0 to 1"):
        configure(classic(), shadow_sample=sample)


@pytest.mark.parametrize("argument", ["upkeep", "cover_on_read"])
def test_an_unknown_choice_names_key_value_and_choices(argument: str) -> None:
    key = confs.UPKEEP if argument == "upkeep" else confs.COVER_ON_READ
    with pytest.raises(InvalidArgumentError, match=f"Cannot set {key} to 'sometimes': .*(persist|wait)"):
        configure(classic(), **{argument: "sometimes"})


@pytest.mark.parametrize("key", [confs.HOT_WINDOW, confs.CATALOG])
def test_a_value_of_the_user_stays_and_a_warning_names_it(key: str) -> None:
    builder = classic().config(key, "mine")
    with pytest.warns(ZonemapWarning, match=f"{key}.*'mine'") as caught:
        configure(builder, dual_index=DualIndex())
    assert builder._options[key] == "mine"
    assert len(caught) == 1


@pytest.mark.parametrize("flag", ["--conf ", "--conf="])
def test_submit_arguments_are_continued(monkeypatch: pytest.MonkeyPatch, flag: str) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"{flag}{confs.EXTENSIONS}={OTHER} {flag}spark.x=y pyspark-shell")
    assert listed(configure(classic())._options, confs.EXTENSIONS) == [OTHER, *BOTH]


def test_the_defaults_file_is_continued(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    content = f"# site\n{confs.EXTENSIONS}  {OTHER}\nspark.jars.packages=g:a:1\n"
    (tmp_path / "spark-defaults.conf").write_text(content)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    options = configure(classic(), iceberg="1.11.0")._options
    assert listed(options, confs.EXTENSIONS) == [OTHER, *BOTH]
    assert listed(options, confs.PACKAGES)[0] == "g:a:1"


def test_a_defaults_file_that_is_not_utf_8_is_read_as_spark_reads_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "spark-defaults.conf").write_bytes(b"# f\xfcr\n" + f"{confs.EXTENSIONS} {OTHER}\n".encode())
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert listed(configure(classic())._options, confs.EXTENSIONS) == [OTHER, *BOTH]


@pytest.mark.parametrize("unclosed", ["'SECRET", '"SECRET', "SECRET\\"])
def test_submit_arguments_with_an_unclosed_quote_are_refused(monkeypatch: pytest.MonkeyPatch, unclosed: str) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--conf spark.x={unclosed}")
    with pytest.raises(InvalidArgumentError, match=r"Cannot read PYSPARK_SUBMIT_ARGS: .* Close the quote") as caught:
        configure(classic())
    assert "SECRET" not in str(caught.value)


def test_the_builder_beats_submit_arguments_beat_defaults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(f"{confs.EXTENSIONS} defaults.X\n{confs.JARS} /defaults.jar")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--conf {confs.EXTENSIONS}=submitted.X pyspark-shell")
    options = configure(classic())._options
    assert listed(options, confs.EXTENSIONS)[0] == "submitted.X"
    assert listed(options, confs.JARS)[0] == "/defaults.jar"
    assert listed(configure(classic().config(confs.EXTENSIONS, "b.X"))._options, confs.EXTENSIONS)[0] == "b.X"


@pytest.mark.parametrize("arguments", ["--jars /a.jar x", "--jars=/a.jar x", "--conf spark.jars=/a.jar x"])
def test_jars_of_the_submit_arguments_that_hide_ours_are_named(monkeypatch: pytest.MonkeyPatch, arguments: str) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", arguments)
    with pytest.warns(ZonemapWarning, match="PYSPARK_SUBMIT_ARGS"):
        assert configure(classic())._options == {}


def test_jars_of_the_submit_arguments_may_hold_ours(monkeypatch: pytest.MonkeyPatch, jar: Path) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--jars=/a.jar,{jar} pyspark-shell")
    options = configure(classic())._options
    assert confs.JARS not in options
    assert listed(options, confs.EXTENSIONS) == BOTH


def test_packages_of_the_submit_arguments_that_hide_iceberg_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--packages g:a:1 pyspark-shell")
    with pytest.warns(ZonemapWarning, match="Cannot add Iceberg through spark.jars.packages"):
        configure(classic(), iceberg="1.11.0")


def test_a_jvm_that_runs_without_the_jar_leaves_the_builder_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from zonemap.session import driver_jvm

    monkeypatch.setattr(configuration, "_jvm_confs", dict)
    monkeypatch.setattr(driver_jvm, "has_class", lambda name: False)
    with pytest.warns(ZonemapWarning, match="already runs"):
        assert configure(classic())._options == {}


def test_a_jvm_that_runs_with_the_jar_is_continued(monkeypatch: pytest.MonkeyPatch, jar: Path) -> None:
    monkeypatch.setattr(configuration, "_jvm_confs", lambda: {confs.JARS: str(jar), confs.EXTENSIONS: OTHER})
    assert listed(configure(classic())._options, confs.EXTENSIONS) == [OTHER, *BOTH]


@BUILDERS
@pytest.mark.parametrize("version", ["4.1.3", "4.0.1"])
def test_a_remote_server_gets_session_confs_only_whatever_the_client(
    make: Any, version: str, spark_version: Any
) -> None:
    spark_version(version)
    builder = make().remote("sc://host:15002")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        configure(builder, cover_on_read="wait", iceberg="1.11.0")
    assert set(builder._options) == {"spark.remote", confs.CATALOG, confs.COVER_ON_READ}


@BUILDERS
@ARGUMENTS
@pytest.mark.parametrize("value", ["/opt/server/a.jar", "/opt/server/*.jar,file:/opt/server/b.jar"])
def test_paths_of_a_remote_server_need_not_exist_here(make: Any, argument: str, value: str) -> None:
    builder = make().remote("sc://host:15002")
    assert set(configure(builder, **{argument: value})._options) == {"spark.remote", confs.CATALOG}
    with pytest.raises(InvalidArgumentError):
        configure(make().remote("sc://host:15002"), **{argument: 5})


def test_the_server_of_the_environment_gets_session_confs_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://host:15002")
    assert set(configure(classic())._options) == {confs.CATALOG}


class _HiddenError(Exception):
    def getCondition(self) -> str:  # noqa: N802 - PySpark's name
        return "CONFIG_NOT_AVAILABLE"


class _Server:
    """Stands in for a session of a Spark Connect server with these extensions; None: it does not show its confs."""

    def __init__(self, extensions: str | None) -> None:
        self._extensions = extensions
        self.conf = self

    def get(self, key: str, default: str) -> str:
        assert key == confs.EXTENSIONS
        if self._extensions is None:
            raise _HiddenError("hidden")
        return self._extensions or default


@BUILDERS
@pytest.mark.parametrize(("extensions", "count"), [(",".join(BOTH), 0), (OTHER, 1), ("", 1), (None, 0)])
def test_only_a_server_without_the_extension_is_warned_of(
    make: Any, extensions: str | None, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = make().remote("sc://host:15002")
    server = _Server(extensions)
    monkeypatch.setattr(type(builder), "getOrCreate", lambda self: server)
    configure(configure(builder))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert builder.getOrCreate() is server
    assert [warning.category for warning in caught] == [ZonemapWarning] * count
    for warning in caught:
        assert str(warning.message).startswith("Cannot use zonemap on the Spark Connect server: its spark.sql.ext")
        assert warning.filename == __file__


def test_a_local_connect_server_is_started_with_everything(jar: Path) -> None:
    options = configure(classic().remote("local[1]"))._options
    assert listed(options, confs.EXTENSIONS) == BOTH
    assert listed(options, confs.JARS) == [str(jar)]


def test_warnings_point_to_the_caller() -> None:
    with pytest.warns(ZonemapWarning) as caught:
        configure(classic().config(confs.HOT_WINDOW, "1h"), dual_index=DualIndex())
    assert caught[0].filename == __file__
