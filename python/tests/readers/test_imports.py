"""What the package needs: PyIceberg, PyArrow and NumPy, and neither PySpark nor a JVM."""

from __future__ import annotations

import subprocess
import sys

import pytest
from conftest import ROOT


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


@pytest.mark.parametrize("missing", ["pyiceberg", "numpy"])
def test_a_missing_library_is_named(missing: str) -> None:
    code = f"""
import sys
sys.modules[{missing!r}] = None
from zonemap.errors import ZonemapError
import zonemap.pyiceberg
try:
    zonemap.pyiceberg.plan_files
except ZonemapError as error:
    print(error)
"""
    found = run(code)
    assert found.startswith(f"Cannot use zonemap.pyiceberg: '{missing}")
    assert "pip install 'zonemap[pyiceberg]'" in found


def test_an_unknown_name_is_an_attribute_error() -> None:
    import zonemap.pyiceberg

    with pytest.raises(AttributeError, match="nope"):
        zonemap.pyiceberg.nope  # noqa: B018
