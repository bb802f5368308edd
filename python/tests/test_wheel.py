# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest
from conftest import ROOT

import zonemap
from zonemap.common.version import INGEST_MINORS, SPARK_MINORS, scala_of

#: The jars of the wheel, each with classes that users name or that ServiceLoader finds.
JARS = {
    "zonemap-spark": {
        *("zonemap/spark/ZoneMapExtension", "zonemap/spark/ZoneMapCatalog", "zonemap/spark/ZoneMapExplain"),
        *("zonemap/spark/PlanningCounters", "zonemap/insight/InsightPart", "zonemap/server/ServeProcess"),
    },
    "zonemap-ingest-spark": {
        *("zonemap/ingest/spark/ZoneMapIngestSource", "zonemap/ingest/spark/IngestPart"),
        *("zonemap/ingest/kafka/KafkaQueues", "zonemap/ingest/spark/commit/CommitProcess"),
    },
}
#: The packages of classes in each jar.
PACKAGES = {
    "zonemap-spark": tuple(f"zonemap/{name}/" for name in ("core", "iceberg", "spark", "insight", "server")),
    "zonemap-ingest-spark": ("zonemap/ingest/",),
}

MINORS = pytest.mark.parametrize("minor", SPARK_MINORS)
#: Each jar of the wheel, with its Spark.
LISTED = [("zonemap-spark", minor) for minor in SPARK_MINORS] + [
    ("zonemap-ingest-spark", minor) for minor in INGEST_MINORS
]


@pytest.fixture(scope="module")
def wheel() -> zipfile.ZipFile:
    path = ROOT / "dist" / f"zonemap-{zonemap.__version__}-py3-none-any.whl"
    assert path.is_file(), "run 'make wheel' first"
    return zipfile.ZipFile(path)


def jar_name(artifact: str, minor: str) -> str:
    return f"{artifact}-{minor}_{scala_of(minor)}-{zonemap.__version__}.jar"


def entries(wheel: zipfile.ZipFile, artifact: str, minor: str) -> set[str]:
    with wheel.open(f"zonemap/jars/{jar_name(artifact, minor)}") as file, zipfile.ZipFile(file) as jar:
        return set(jar.namelist())


def digests(jar: zipfile.ZipFile) -> list[tuple[str, int]]:
    """The names of the entries, with the checksum of each."""
    return [(entry.filename, entry.CRC) for entry in jar.infolist()]


def test_the_wheel_holds_the_package_and_its_jars_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    names = {name for name in wheel.namelist() if not name.endswith("/")}
    sources = ROOT / "python" / "zonemap"
    expected = {
        f"zonemap/{path.relative_to(sources)}"
        for path in sources.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    expected |= {f"zonemap/jars/{jar_name(artifact, minor)}" for artifact, minor in LISTED}
    assert {name for name in names if ".dist-info/" not in name} == expected
    assert {name.rpartition("/")[2] for name in names if "/licenses/" in name} == {"LICENSE", "NOTICE"}


@pytest.mark.parametrize(("artifact", "minor"), LISTED)
def test_the_jars_of_the_wheel_have_the_entries_of_those_of_dist(
    wheel: zipfile.ZipFile, artifact: str, minor: str
) -> None:
    name = jar_name(artifact, minor)
    with (
        wheel.open(f"zonemap/jars/{name}") as file,
        zipfile.ZipFile(file) as of_wheel,
        zipfile.ZipFile(ROOT / "dist" / name) as of_dist,
    ):
        assert digests(of_wheel) == digests(of_dist)


@pytest.mark.parametrize(("artifact", "minor"), LISTED)
def test_each_jar_holds_the_classes_of_its_modules_only(wheel: zipfile.ZipFile, artifact: str, minor: str) -> None:
    classes = {entry for entry in entries(wheel, artifact, minor) if entry.endswith(".class")}
    assert {f"{name}.class" for name in JARS[artifact]} <= classes
    of_scala = ("zonemap/compat/",) if scala_of(minor) == "2.12" else ()
    assert {entry for entry in classes if not entry.startswith(PACKAGES[artifact] + of_scala)} == set()


def test_the_wheel_has_at_most_20_megabytes() -> None:
    wheel = ROOT / "dist" / f"zonemap-{zonemap.__version__}-py3-none-any.whl"
    assert wheel.stat().st_size <= 20_000_000


@MINORS
def test_the_jar_of_the_planner_names_nothing_of_append_ingestion(wheel: zipfile.ZipFile, minor: str) -> None:
    assert {entry for entry in entries(wheel, "zonemap-spark", minor) if "ingest" in entry.lower()} == set()


@pytest.mark.parametrize(("artifact", "minor"), LISTED)
def test_each_jar_holds_the_license(wheel: zipfile.ZipFile, artifact: str, minor: str) -> None:
    with wheel.open(f"zonemap/jars/{jar_name(artifact, minor)}") as file, zipfile.ZipFile(file) as jar:
        assert jar.read("META-INF/LICENSE") == (ROOT / "LICENSE").read_bytes()


def test_the_metadata_names_author_and_places_and_its_links_are_absolute(wheel: zipfile.ZipFile) -> None:
    metadata = message_from_bytes(wheel.read(f"zonemap-{zonemap.__version__}.dist-info/METADATA"))
    assert metadata["Author"] == "The zonemap maintainers"
    places = dict(value.split(", ", 1) for value in metadata.get_all("Project-URL") or [])
    assert set(places) == {"Source", "Documentation", "Changelog", "Issues"}
    assert metadata["Description-Content-Type"] == "text/markdown"
    text = metadata.get_payload()
    links = re.findall(r"\]\(([^)]+)\)", str(text))
    here = re.findall(r"\]\(([^)]+)\)", (ROOT / "README.md").read_text())
    assert len(links) == len(here) > 10
    base = f"{places['Source']}/blob/v{zonemap.__version__}/"
    assert links == [link if link.startswith(("https://", "#")) else base + link for link in here]


@pytest.mark.parametrize("ingest", [False, True])
def test_the_installed_package_carries_its_jars(ingest: bool) -> None:
    """Run in a process of its own, where nothing stands in for the jars."""
    code = f"import zonemap; print(zonemap.jar_path(ingest={ingest}))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/")
    path = Path(answer.stdout.strip())
    assert path.is_absolute()
    with zipfile.ZipFile(path) as installed, zipfile.ZipFile(ROOT / "dist" / path.name) as of_dist:
        assert digests(installed) == digests(of_dist)


def test_without_a_jar_the_build_ends_with_one_line(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "NOTICE"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "python" / "zonemap", tmp_path / "python" / "zonemap")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert answer.returncode != 0
    last = answer.stderr.strip().splitlines()
    assert len(last) == 1
    wanted = f"dist/zonemap-spark-4.1_2.13-{zonemap.__version__}.jar is missing"
    assert last[0].startswith(f"zonemap: Cannot build the wheel: {wanted}")
