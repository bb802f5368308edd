# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable

import pytest

from zonemap import InvalidArgumentError, ProcedureError, UnsupportedSparkError, ZonemapError


class _JavaError(Exception):
    """An exception of Spark: it holds a connection to the JVM, which cannot be copied or pickled."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.java_exception = threading.Lock()


COPIES = pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, *(lambda error, p=p: pickle.loads(pickle.dumps(error, p)) for p in range(6))]
)


@COPIES
def test_a_procedure_error_is_copied_without_the_error_of_spark(copied: Callable[[ProcedureError], object]) -> None:
    error = ProcedureError("Cannot x.", condition="X", java_trace="at y", spark_error=_JavaError("z"))
    error.add_note("n")
    found = copied(error)
    assert type(found) is ProcedureError
    assert (str(found), found.args, found.condition, found.java_trace) == ("Cannot x.", ("Cannot x.",), "X", "at y")
    assert found.__notes__ == ["n"]
    assert found.spark_error is None
    assert isinstance(error.spark_error, _JavaError)


def test_only_the_message_of_a_procedure_error_is_required() -> None:
    error = ProcedureError("Cannot x.")
    assert (error.condition, error.java_trace, error.spark_error) == (None, None, None)


@COPIES
@pytest.mark.parametrize("kind", [ZonemapError, InvalidArgumentError, UnsupportedSparkError])
def test_other_errors_are_copied(kind: type[ZonemapError], copied: Callable[[ZonemapError], object]) -> None:
    found = copied(kind("Cannot x."))
    assert type(found) is kind
    assert str(found) == "Cannot x."
