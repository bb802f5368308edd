# SPDX-License-Identifier: Apache-2.0
"""A copy of the checkout in which guards are switched off one at a time, with one sbt shell that stays open."""

from __future__ import annotations

import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from catalogue import ROOT, Guard

KILLED, SURVIVED, BROKEN, SLOW, ERROR = "killed", "survived", "does not compile", "no end", "error"

#: Folders of build output, copied once so that the first compilation of the copy is incremental.
BUILT = (
    "target",
    "project/target",
    "project/project",
    *(f"jvm/{m}/target" for m in ("core", "iceberg", "spark", "insight")),
)
SOURCES = ("jvm", "project", "python", "examples", "tests", "dev")
JAR = "jvm/insight/target/scala-2.13"

FAILED_CASE = re.compile(r"^\[info\] - (.*) \*\*\* FAILED \*\*\*")
RAN = re.compile(r"Tests: succeeded (\d+), failed (\d+)")
#: A test that failed. A test whose fixture or module raises is an ERROR: it did not run, so it proves nothing.
FAILED_NODE = re.compile(r"^FAILED (\S+)")


@dataclass(frozen=True)
class Verdict:
    """The result of a test without one guard; `by` names the case that failed first, or the reason of no result."""

    verdict: str
    by: str
    seconds: int


class SbtEndedError(Exception):
    """The shell ended, or ran a command for too long and was ended."""


class Shell:
    """An sbt shell in a folder. Commands are written to it one at a time."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._commands = 0

    def run(self, command: str, seconds: float) -> list[str]:
        """Returns the lines that the command prints."""
        process = self._process or self._start()
        assert process.stdin is not None
        # sbt answers each command in order, and names a command that it does not know: the mark ends the output
        self._commands += 1
        mark = f"endOfCommand{self._commands}"
        end = f"[error] Not a valid command: {mark}"
        process.stdin.write(f"{command}\n{mark}\n")
        process.stdin.flush()
        until = time.monotonic() + seconds
        printed: list[str] = []
        while True:
            try:
                line = self._lines.get(timeout=max(0.1, until - time.monotonic()))
            except queue.Empty:
                self.close()
                raise SbtEndedError(f"no end after {seconds:.0f} s") from None
            if line is None:
                self.close()
                raise SbtEndedError("sbt ended: " + " ".join(printed[-3:]))
            if end in line:  # sbt prints its prompt before the answer
                return printed
            if "endOfCommand" not in line:  # the rest of the answer to the mark before
                printed.append(line)

    def _start(self) -> subprocess.Popen[str]:
        self._lines = queue.Queue()
        self._commands = 0
        process = subprocess.Popen(
            [self._folder / "dev" / "sbt"],
            cwd=self._folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self._process = process
        threading.Thread(target=self._read, args=(process, self._lines), daemon=True).start()
        return process

    @staticmethod
    def _read(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line.rstrip("\n"))
        lines.put(None)

    def close(self) -> None:
        """Ends the shell and the tests that it forked."""
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            os.killpg(process.pid, 15)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)


class Scratch:
    """A copy of the sources of the checkout. The user's own files are never changed."""

    def __init__(self, folder: Path, jars: Path):
        self.folder = folder
        self._jars = jars
        self._shell = Shell(folder)

    def refresh(self) -> None:
        """Makes the sources of the copy those of the checkout, and copies build output once."""
        for name in BUILT:
            if (ROOT / name).is_dir() and not (self.folder / name).exists():
                shutil.copytree(
                    ROOT / name, self.folder / name, ignore=_left_by_tests, symlinks=True, copy_function=_copy_files
                )
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        names = {name for name in listed if (ROOT / name).is_file()}
        for name in names:
            source, target = ROOT / name, self.folder / name
            if not target.exists() or target.read_bytes() != source.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
        for top in SOURCES:
            for path in (self.folder / top).rglob("*"):
                name = path.relative_to(self.folder).as_posix()
                if path.suffix in (".scala", ".py", ".java", ".toml") and "/target/" not in name and name not in names:
                    path.unlink()

    def judge(self, guard: Guard, seconds: float) -> Verdict:
        """Switches the guard off, runs its test, and puts the guard back. A guard that is not found is an error."""
        path = self.folder / guard.file
        whole = path.read_text(encoding="utf-8")
        started = time.monotonic()
        try:
            without = guard.switched_off(whole)
        except ValueError as error:
            return Verdict(ERROR, str(error), 0)
        path.write_text(without, encoding="utf-8")
        try:
            verdict, by = self._pytest(guard, seconds) if guard.is_python else self._scala(guard, seconds)
        except (SbtEndedError, subprocess.TimeoutExpired) as error:
            verdict, by = SLOW, str(error)[:200]
        finally:
            path.write_text(whole, encoding="utf-8")
        return Verdict(verdict, by, round(time.monotonic() - started))

    def failing(self, guards: Iterable[Guard], seconds: float) -> list[str]:
        """Runs the suites of the guards without a change, and returns the cases that fail."""
        suites: dict[str, set[str]] = {}
        for guard in guards:
            if not guard.is_python:
                suites.setdefault(guard.module, set()).add(f"*.{guard.suite}")
        failed = []
        for module, names in sorted(suites.items()):
            printed = self._shell.run(f"{module}/testOnly {' '.join(sorted(names))}", seconds * len(names))
            failed += [found[1] for line in printed if (found := FAILED_CASE.search(line))]
            if not any(RAN.search(line) for line in printed):
                failed.append(f"{module}: {_first_error(printed)}")
        return failed

    def _scala(self, guard: Guard, seconds: float) -> tuple[str, str]:
        case = f' -- -z "{guard.case}"' if guard.case else ""
        printed = self._shell.run(f"{guard.module}/testOnly *.{guard.suite}{case}", seconds)
        if _did_not_compile(printed):
            return BROKEN, _first_error(printed)
        failed = [found[1] for line in printed if (found := FAILED_CASE.search(line))]
        ran = next((found for line in printed if (found := RAN.search(line))), None)
        if failed:
            return KILLED, failed[0]
        if any("*** ABORTED ***" in line for line in printed):
            return ERROR, f"{guard.suite} is aborted"
        if ran is None or ran[1] == "0":
            return ERROR, "no test ran: " + _first_error(printed)
        return SURVIVED, f"{ran[1]} cases passed"

    def _pytest(self, guard: Guard, seconds: float) -> tuple[str, str]:
        if guard.file.startswith("jvm/"):
            printed = self._shell.run("insight/assembly", seconds)
            if _did_not_compile(printed):
                return BROKEN, _first_error(printed)
        packaged = self.folder / "python" / "zonemap" / "jars"
        packaged.mkdir(parents=True, exist_ok=True)
        for jar in (self.folder / JAR).glob("zonemap-*.jar"):
            shutil.copy2(jar, packaged / jar.name)
        environment = os.environ | {"PYTHONPATH": str(self.folder / "python"), "ZONEMAP_TEST_JARS": str(self._jars)}
        case = ["-k", guard.case] if guard.case else []
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-rfE", guard.test, *case],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        lines = done.stdout.splitlines()
        if done.returncode == 1:
            failed = next((found[1] for line in lines if (found := FAILED_NODE.search(line))), None)
            if failed is None:
                return ERROR, "no test failed: " + " ".join(lines[-2:])
            return KILLED, failed.split("/")[-1]
        if done.returncode == 0:
            return SURVIVED, lines[-1].strip("= ")
        return ERROR, f"pytest ended with {done.returncode}: " + " ".join(lines[-2:])

    def close(self) -> None:
        """Ends the sbt shell."""
        self._shell.close()


def _left_by_tests(folder: str, _names: list[str]) -> list[str]:
    """The warehouses that tests have left: files with holes, which a copy fills."""
    return ["tmp"] if Path(folder) == ROOT / "target" else []


def _copy_files(source: str, target: str) -> None:
    if Path(source).is_file():  # no pipes or sockets
        shutil.copy2(source, target)


def _did_not_compile(printed: list[str]) -> bool:
    return any("Compilation failed" in line for line in printed)


def _first_error(printed: list[str]) -> str:
    errors = [line for line in printed if line.startswith("[error]")]
    return (errors or printed[-1:] or [""])[0][:200]
