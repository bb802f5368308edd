#!/usr/bin/env bash
# Prints a Python that is new enough (3.11): $PYTHON if it is set, else the first one on the PATH that works.
set -u
newer='import sys; sys.exit(sys.version_info < (3, 11))'
for name in ${PYTHON:-python3 python3.13 python3.12 python3.11 python}; do
  if "$name" -c "$newer" >/dev/null 2>&1; then
    command -v "$name"
    exit 0
  fi
done
echo "zonemap: Python 3.11 or newer is missing: install it, or name one with PYTHON=/path/to/python3" >&2
exit 2
