# SPDX-License-Identifier: Apache-2.0
"""``python provenance.py <result.json>``: adds the measuring machine and the measured commit to a result file."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any


def of() -> dict[str, Any]:
    """Returns the machine and the commit of the measured code; "-dirty" marks uncommitted changes."""
    return {"machine": _machine(), "commit": _commit()}


def _machine() -> dict[str, Any]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memoryGiB": round(memory / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
    }


def _cpu() -> str:
    """Returns the name of the processor; empty if the system does not provide one."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*: (.*)$", info.read_text(), re.MULTILINE) if info.exists() else None
    return found.group(1) if found else platform.processor()


def _commit() -> str:
    """Returns the commit, with "-dirty" if any file other than results and documents differs from the commit."""
    commit = _git("rev-parse", "--short=12", "HEAD").stdout.strip()
    others = (":/", ":(top,exclude)benchmarks/*/results/*", ":(top,exclude)docs", ":(top,exclude)*.md")
    is_dirty = _git("diff", "--quiet", "HEAD", "--", *others).returncode != 0
    return f"{commit}{'-dirty' if is_dirty else ''}" if commit else "unknown"


def _git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(("git", *arguments), cwd=Path(__file__).parent, capture_output=True, text=True, check=False)


def main(result: Path) -> None:
    result.write_text(json.dumps(json.loads(result.read_text()) | of(), indent=2) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
