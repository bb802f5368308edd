# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from zonemap.common import version
from zonemap.session import conf_sources, configuration, confs, spark_installation
from zonemap.session import jar as jar_module

ROOT = Path(__file__).resolve().parents[2]


def build_site(source: Path, target: Path) -> subprocess.CompletedProcess[str]:
    """Builds the documentation of a checkout as a site; a warning is an error."""
    options = ["--quiet", "--fail-on-warning", "--keep-going", "-c", str(source / "docs" / "site")]
    command = [sys.executable, "-m", "sphinx", *options, "-b", "html", str(source), str(target)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the documentation site."""
    folder = tmp_path_factory.mktemp("site")
    built = build_site(ROOT, folder)
    assert (built.returncode, built.stderr) == (0, "")
    return folder


@pytest.fixture(autouse=True)
def _no_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """No conf comes from the machine the tests run on, and no JVM counts as running."""
    for name in ("PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_HOME", "SPARK_REMOTE", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(configuration, "_jvm_confs", lambda: None)


@pytest.fixture
def spark_version(monkeypatch: pytest.MonkeyPatch) -> Callable[[str | None], None]:
    """Sets the version of Spark that this process would start."""
    return lambda found: monkeypatch.setattr(spark_installation, "spark_version", lambda: found)


@pytest.fixture(autouse=True)
def jar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Stands in for the jars of the wheel, so that these tests also run from the source tree; that of the extension."""
    for artifact, minors in (("zonemap-spark", version.SPARK_MINORS), ("zonemap-ingest-spark", version.INGEST_MINORS)):
        for minor in minors:
            (tmp_path / f"{artifact}-{minor}_{version.scala_of(minor)}-{version.__version__}.jar").touch()
    monkeypatch.setattr(jar_module, "JARS", tmp_path)
    return tmp_path / f"zonemap-spark-4.1_2.13-{version.__version__}.jar"


def listed(options: dict[str, object], key: str) -> list[str]:
    return conf_sources.split_list(str(options[key]))


BOTH = [confs.ICEBERG_EXTENSION, confs.EXTENSION_CLASS]
