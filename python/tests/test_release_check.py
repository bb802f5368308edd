# SPDX-License-Identifier: Apache-2.0
"""The dry run of a release: what an artifact lacks is a problem."""

from __future__ import annotations

import io
import re
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "dev"))

import release_check as release

NAME = "zonemap-spark-4.1_2.13"
POM = (
    "<project><url>u</url><description>d</description><licenses><license><name>{}</name></license></licenses></project>"
)


def packed(*entries: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for entry in entries:
            made.writestr(zipfile.ZipInfo(entry), entry)
    return file.getvalue()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an artifact that equals the jar of a wheel."""
    jar = packed("META-INF/LICENSE", "zonemap/core/A.class", "zonemap/core/A$.class")
    with zipfile.ZipFile(tmp_path / "zonemap.whl", "w") as wheel:
        wheel.writestr(f"zonemap/jars/{NAME}-0.1.0.jar", jar)
    monkeypatch.setattr(release, "built_wheel", lambda: tmp_path / "zonemap.whl")
    monkeypatch.setattr(release, "REPOSITORY", tmp_path)
    made = tmp_path / "io" / "github" / "zonemap" / NAME / "0.1.0"
    made.mkdir(parents=True)
    (made / f"{NAME}-0.1.0.jar").write_bytes(jar)
    (made / f"{NAME}-0.1.0-sources.jar").write_bytes(packed("zonemap/core/A.scala"))
    (made / f"{NAME}-0.1.0.pom").write_text(POM.format("Apache-2.0"))
    return made


def test_an_artifact_with_the_bytes_of_the_wheel_can_be_released(folder: Path) -> None:
    assert release.wrong_artifacts("0.1.0") == []


@pytest.mark.parametrize(
    ("file", "content", "problem"),
    [
        (".jar", packed("META-INF/LICENSE"), "another jar"),
        (".jar", packed("zonemap/core/A.class"), "has no licence"),
        ("-sources.jar", packed("zonemap/other/A.scala"), "no sources of zonemap/core"),
        (".pom", POM.format("other").encode(), "POM .* has no licence"),
        (".pom", POM.format("Apache-2.0").replace("url>", "uri>").encode(), "has no url"),
    ],
)
def test_each_fault_of_an_artifact_is_a_problem(folder: Path, file: str, content: bytes, problem: str) -> None:
    (folder / f"{NAME}-0.1.0{file}").write_bytes(content)
    assert any(re.search(problem, found) for found in release.wrong_artifacts("0.1.0"))


def test_an_artifact_without_sources_is_a_problem(folder: Path) -> None:
    (folder / f"{NAME}-0.1.0-sources.jar").unlink()
    assert "sources are not in" in release.wrong_artifacts("0.1.0")[0]
