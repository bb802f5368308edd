# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from zonemap import UnsupportedSparkError
from zonemap.session import spark_installation


def package(folder: Path, content: str | None) -> Path:
    """Writes a package ``pyspark`` whose import fails, with this file of its version."""
    (folder / "pyspark").mkdir(parents=True)
    (folder / "pyspark" / "__init__.py").write_text("raise AssertionError('imported')")
    if content is not None:
        (folder / "pyspark" / "version.py").write_text(content)
    return folder


@pytest.fixture
def path(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a folder the whole module path, without a loaded PySpark."""

    def use(folder: Path) -> None:
        monkeypatch.setattr(sys, "path", [str(folder)])
        monkeypatch.setattr(sys, "path_importer_cache", {})
        monkeypatch.delitem(sys.modules, "pyspark", raising=False)

    return use


@pytest.mark.parametrize(
    ("content", "version"),
    [
        ('# comment\n__version__: str = "4.0.1"\n', "4.0.1"),
        ("__version__ = '3.5.6'\n", "3.5.6"),
        ("__version__ = read()\n", None),
        (None, None),
    ],
)
def test_the_version_of_the_package_is_read_without_importing_it(
    content: str | None, version: str | None, tmp_path: Path, path: Any
) -> None:
    path(package(tmp_path, content))
    assert spark_installation.spark_version() == version


def test_without_pyspark_the_version_is_unknown(tmp_path: Path, path: Any) -> None:
    path(tmp_path)
    assert spark_installation.spark_version() is None
    spark_installation.require_supported("start Spark")


def test_spark_home_comes_before_the_package(tmp_path: Path, path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path(package(tmp_path / "site", '__version__ = "4.1.3"'))
    home = tmp_path / "spark"
    (home / "jars").mkdir(parents=True)
    monkeypatch.setenv("SPARK_HOME", str(home))
    assert spark_installation.spark_version() == "4.1.3"
    (home / "jars" / "spark-core_2.12-3.4.4.jar").touch()
    assert spark_installation.spark_version() == "3.4.4"
    with pytest.raises(UnsupportedSparkError, match=rf"Point SPARK_HOME, which is '{home}', to Spark 4\.1\."):
        spark_installation.require_supported("start Spark")


def test_the_installed_pyspark_is_the_supported_one() -> None:
    pytest.importorskip("pyspark")
    version = spark_installation.spark_version()
    assert version is not None and spark_installation.is_supported(version)


@pytest.mark.parametrize(("version", "known"), [("4.1", (4, 1)), ("4.10.2", (4, 10)), ("x", (0, 0)), ("4", (0, 0))])
def test_versions_are_compared_as_numbers(version: str, known: tuple[int, int]) -> None:
    assert spark_installation.pair(version) == known
