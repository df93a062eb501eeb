#!/usr/bin/env bash
# pycrdt 0.14.13 (PyPI). An UndoManager made as its documentation begins records what arrives from other documents as well. Who has written
# nothing can undo: that takes back the other's value, and the next sync takes it from the other document too.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pycrdt==0.14.13
"$folder/venv/bin/python" - <<'PYTHON'
from pycrdt import Doc, Map, UndoManager

one, other = Doc(), Doc()
one["record"] = mine = Map()
other["record"] = theirs = Map()
theirs["title"] = "first"
one.apply_update(other.get_update())
undo = UndoManager(scopes=[mine])
theirs["title"] = "second"
one.apply_update(other.get_update(one.get_state()))
before = (mine["title"], undo.can_undo())
done = undo.undo()
other.apply_update(one.get_update(other.get_state()))
after = (mine.get("title"), theirs.get("title"))
print("before the undo", before, "the undo", done, "after it", after)
assert before == ("second", True) and done and after == ("first", "first"), "the behaviour has changed"
PYTHON
