# SPDX-License-Identifier: Apache-2.0
"""Writes the class archive that the test JVMs share: Spark's classes, parsed and verified once instead of in each JVM.

    python -m support.archive FILE

One session of Spark and Iceberg runs statements of the kinds that the suites run, and leaves its classes in FILE when
it ends. The JVM checks an archive against its own version and class path and ignores one that does not fit.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

os.environ["ZONEMAP_TEST_STOCK"] = "1"  # the product's classes come from a class loader that archives leave out

from support import session, tables

#: Writing the archive takes longer than an ordinary end of a JVM.
SECONDS_TO_END = 300

TABLE = "lake.db.t"
STATEMENTS = (
    f"SELECT * FROM {TABLE} WHERE id BETWEEN 3 AND 17 AND s LIKE 'k%' ORDER BY id DESC LIMIT 3",
    f"SELECT m, count(*), max(d) FROM {TABLE} GROUP BY m ORDER BY 2 LIMIT 3",
    f"SELECT a.id FROM {TABLE} a JOIN {TABLE} b ON a.id = b.m WHERE b.d IN (SELECT max(d) FROM {TABLE})",
    f"SELECT year(ts), upper(s) FROM (SELECT s, timestamp_seconds(id) AS ts FROM {TABLE}) WHERE ts > DATE'1970-01-01'",
    f"EXPLAIN SELECT * FROM {TABLE} WHERE id = 3",
    f"INSERT INTO {TABLE} SELECT id + 100, s, d, m FROM {TABLE} WHERE id < 3",
    f"UPDATE {TABLE} SET m = 1 WHERE id = 2",
    f"DELETE FROM {TABLE} WHERE id = 3",
    f"MERGE INTO {TABLE} t USING (SELECT 5L AS id) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET m = 1 WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)",
    f"ALTER TABLE {TABLE} ADD COLUMN tags MAP<STRING, STRING>",
    f"SELECT file_path FROM {TABLE}.data_files",
    f"CALL lake.system.rewrite_manifests(table => '{TABLE}')",
)


def write(archive: Path) -> None:
    """Writes the archive. Prints a line where Java wrote none: the tests run without it and take longer."""
    unfinished = archive.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    archive.unlink(missing_ok=True)
    archive.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp())
    try:
        session.use_directory(folder)
        session.JVM_FLAGS = f"{session.PLAIN_JVM_FLAGS} -XX:ArchiveClassesAtExit={unfinished} {session.QUIET}"
        spark = session.start()
        tables.range_table(spark, TABLE, props={"write.delete.mode": "merge-on-read"})
        for statement in STATEMENTS:
            spark.sql(statement).collect()
        session.stop(SECONDS_TO_END)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if unfinished.exists():
        unfinished.rename(archive)
    else:
        print(f"Java wrote no class archive '{archive}'. The tests run without it and take a few minutes longer.")


if __name__ == "__main__":
    write(Path(sys.argv[1]).resolve())
