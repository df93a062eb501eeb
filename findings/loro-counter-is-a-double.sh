#!/usr/bin/env bash
# loro 1.17.1 (PyPI). A counter that two documents share is a double. From 2^53 on, what one document adds is gone, without an error: after
# 2^53, then + 1, then - 2^53 it shows 0.0 on both, and the 1 was lost. The same numbers in a map are exact.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check loro==1.17.1
"$folder/venv/bin/python" - <<'PYTHON'
import loro

one, other = loro.LoroDoc(), loro.LoroDoc()
one.peer_id, other.peer_id = 1, 2
one.get_counter("bytes").increment(2**53)
one.get_map("map").insert("bytes", 2**53 + 1)
one.commit()
other.import_(one.export(loro.ExportMode.Snapshot()))
other.get_counter("bytes").increment(1)
other.commit()
one.import_(other.export(loro.ExportMode.Snapshot()))
one.get_counter("bytes").decrement(2**53)
one.commit()
other.import_(one.export(loro.ExportMode.Snapshot()))
shown = [repr(document.get_counter("bytes").value) for document in (one, other)]
print("both show", shown, "and the map", other.get_map("map").get("bytes").value)
assert shown == ["0.0", "0.0"], "the behaviour has changed: one addition of 1 should be left"
assert other.get_map("map").get("bytes").value == 2**53 + 1
PYTHON
