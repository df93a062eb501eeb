#!/usr/bin/env bash
# Changes a store's tables with other tools themselves: sqlite-utils, Alembic and peewee, from a package index. TOOL is the tally to test.
# Where they cannot be installed, the script prints a message and passes.
set -euo pipefail
cd "$(dirname "$0")/.."
tool=$(realpath "${TOOL:-.build/debug/tally}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if ! { python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  sqlite-utils==3.38 alembic==1.16.5 sqlalchemy==2.0.43 peewee==3.18.2; } >"$folder/log" 2>&1; then
  echo "other tools are not tested: they cannot be installed here"
  exit 0
fi
TOOL=$tool FOLDER=$folder "$folder/venv/bin/python" -B Scripts/other_tools.py
