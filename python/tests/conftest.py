from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from zonemap import confs, current, installed, session, version

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _no_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """No conf comes from the machine the tests run on, and no JVM counts as running."""
    for name in ("PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_HOME", "SPARK_REMOTE", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(session, "_jvm_confs", lambda: None)


@pytest.fixture
def spark_version(monkeypatch: pytest.MonkeyPatch) -> Callable[[str | None], None]:
    """Sets the version of Spark that this process would start."""
    return lambda found: monkeypatch.setattr(installed, "spark_version", lambda: found)


@pytest.fixture(autouse=True)
def jar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Stands in for the wheel's jar, so that these tests also run from the source tree."""
    path = tmp_path / f"zonemap-spark-4.1_2.13-{version.__version__}.jar"
    path.touch()
    monkeypatch.setattr(session, "jar_path", lambda: path)
    return path


def listed(options: dict[str, object], key: str) -> list[str]:
    return current.split_list(str(options[key]))


BOTH = [confs.ICEBERG_EXTENSION, confs.EXTENSION_CLASS]
