# SPDX-License-Identifier: Apache-2.0
"""What the package needs: PyIceberg, PyArrow and NumPy, and neither PySpark nor a JVM."""

from __future__ import annotations

import subprocess
import sys

import pytest
from conftest import ROOT

from zonemap.common import optional_packages


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT / "python", check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_jvm_is_used() -> None:
    code = "import sys; from zonemap.pyiceberg import plan_files; print({'pyspark', 'py4j'} & set(sys.modules))"
    assert run(code) == "set()\n"


def test_importing_the_package_imports_no_library() -> None:
    code = "import sys, zonemap.pyiceberg; print({'numpy', 'pyarrow', 'pyiceberg', 'pyspark'} & set(sys.modules))"
    assert run(code) == "set()\n"


@pytest.mark.parametrize("missing", ["pyiceberg", "numpy", "google_crc32c"])
def test_a_missing_library_is_named(missing: str) -> None:
    code = f"""
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
from zonemap.common.errors import ZonemapError
import zonemap.pyiceberg
try:
    zonemap.pyiceberg.plan_files
except ZonemapError as error:
    print(error)
"""
    found = run(code)
    assert found.startswith(f"Cannot use zonemap.pyiceberg: '{missing.replace('_', '-')}' is not installed. ")
    assert optional_packages.command("pyiceberg") in found


def test_another_version_of_a_library_is_named() -> None:
    code = """
import sys
import pyiceberg.table
sys.modules["pyiceberg.table.delete_file_index"] = None
from zonemap.common.errors import ZonemapError
import zonemap.pyiceberg
try:
    zonemap.pyiceberg.plan_files
except ZonemapError as error:
    print(error)
"""
    found = run(code)
    assert found.startswith("Cannot use zonemap.pyiceberg: it does not work with pyiceberg 0.")
    assert "delete_file_index" in found


def test_an_unknown_name_is_an_attribute_error() -> None:
    import zonemap.pyiceberg

    with pytest.raises(AttributeError, match="nope"):
        zonemap.pyiceberg.nope  # noqa: B018
