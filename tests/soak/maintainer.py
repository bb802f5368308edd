# SPDX-License-Identifier: Apache-2.0
"""A process that maintains the index of the soak's tables, and commits nothing: `python -m soak.maintainer <warehouse> <folder>`.

It ends when the folder has a file `stop`, and leaves its counts there.
"""

from __future__ import annotations

import json
import random
import sys
import threading
from pathlib import Path

from support import session

from soak import lake
from soak.actors import Maintainer


def main(warehouse: str, folder: Path, seed: str) -> None:
    session.use_directory(folder)
    spark = session.start(lake.CONFS | lake.PRODUCT | {"spark.sql.catalog.lake.warehouse": warehouse})
    maintainer = Maintainer(spark, random.Random(seed))
    stop = threading.Event()
    thread = threading.Thread(target=maintainer.run, args=(stop,))
    thread.start()
    (folder / "started").touch()
    while thread.is_alive() and not (folder / "stop").exists():
        stop.wait(0.2)
    stop.set()
    thread.join()
    session.stop()
    found = {"done": maintainer.done, "never done": maintainer.never_done()}
    (folder / "counts.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
