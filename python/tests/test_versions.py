# SPDX-License-Identifier: Apache-2.0
"""Versions that several files name: each version has one source, and all other files must agree with it."""

from __future__ import annotations

import re
import subprocess

from conftest import ROOT

import zonemap

RUNTIME = re.compile(r"^org\.apache\.iceberg:iceberg-spark-runtime-4\.1_2\.13:(\S+)$", re.MULTILINE)
#: Matches a three-part version on a line after the word Iceberg, or after an option or key with iceberg in its name.
NAMED = re.compile(r"(?<!py)iceberg\b[^\n|]*?[^\w.]v?(\d+\.\d+\.\d+)(?![\w.-]*\d)", re.IGNORECASE)
#: Files that name versions of measurements or releases, or versions that only their own test cases use.
ELSEWHERE = ("benchmarks/", "docs/benchmarks.md", "CHANGELOG.md", "python/tests/", "jvm/spark/src/test/")
KINDS = (".md", ".py", ".scala", ".java", ".sbt", ".toml", ".txt", ".yaml", ".sh", ".tmpl", "Makefile")


def listed() -> list[str]:
    """Returns Iceberg's versions in dev/jars.txt: the version that the build uses, then the newer one."""
    return RUNTIME.findall((ROOT / "dev" / "jars.txt").read_text(encoding="utf-8"))


def sources() -> list[str]:
    tops = ("dev", "docs", "jvm", "project", "python", "tests")
    paths = [*ROOT.glob("*"), *(path for top in tops for path in (ROOT / top).rglob("*"))]
    names = [str(path.relative_to(ROOT)) for path in paths if path.is_file() and "target" not in path.parts]
    return sorted(name for name in names if name.endswith(KINDS) and not name.startswith(ELSEWHERE))


def test_dev_jars_lists_two_runtimes_and_every_other_jar_of_iceberg_is_of_the_first() -> None:
    built_against, newer = listed()
    assert tuple(map(int, newer.split("."))) > tuple(map(int, built_against.split(".")))
    text = (ROOT / "dev" / "jars.txt").read_text(encoding="utf-8")
    others = re.findall(r"^org\.apache\.iceberg:iceberg-(?!spark-runtime)[^:]+:([^:\s]+)", text, re.MULTILINE)
    assert len(others) > 3
    assert set(others) == {built_against}


def test_every_file_that_names_a_version_of_iceberg_names_one_of_dev_jars() -> None:
    text = (ROOT / "dev" / "jars.txt").read_text(encoding="utf-8")
    known = set(re.findall(r"^org\.apache\.iceberg:iceberg-spark-runtime-[^:]+:(\S+)$", text, re.MULTILINE))
    assert set(listed()) <= known
    found = {name: NAMED.findall((ROOT / name).read_text(encoding="utf-8")) for name in sources()}
    naming = {name: versions for name, versions in found.items() if versions}
    assert {"README.md", "python/zonemap/__init__.py", "docs/guide/install.md"} <= set(naming)
    assert {name: versions for name, versions in naming.items() if set(versions) - known} == {}


def test_documents_and_the_command_line_name_the_version_built_against() -> None:
    built_against, newer = listed()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f'iceberg="{built_against}"' in readme
    assert newer in readme
    install = (ROOT / "docs" / "guide" / "install.md").read_text(encoding="utf-8")
    assert f"iceberg-spark-runtime-4.1_2.13:{built_against}" in install
    demos = (ROOT / "examples" / "demo" / "command.py").read_text(encoding="utf-8")
    assert f'default="{built_against}"' in demos


def test_make_reads_both_versions() -> None:
    command = ["make", "--no-print-directory", "--silent", "-f", "Makefile", "-f", "-", "show"]
    rule = "show: ; @echo $(VERSION) $(ICEBERG_JAR)\n"
    shown = subprocess.run(command, cwd=ROOT, input=rule, capture_output=True, text=True, check=True).stdout.split()
    assert shown == [zonemap.__version__, f"build/jars/iceberg-spark-runtime-4.1_2.13-{listed()[0]}.jar"]
