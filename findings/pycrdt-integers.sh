#!/usr/bin/env bash
# pycrdt 0.14.13 (PyPI), the Python form of Yrs. Integers of a map are not what was put, and two documents that have synced show different
# values: 2^63 - 1 is that number where it was written and the double 9223372036854775808.0 where it arrived; 2^53 is an integer at one and
# a double at the other. 2^31 is a double at once. 2^53 + 1 is an integer on both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pycrdt==0.14.13
"$folder/venv/bin/python" - <<'PYTHON'
from pycrdt import Doc, Map

shown = {}
for number in (2**31, 2**53, 2**53 + 1, 2**63 - 1):
    writer, reader = Doc(), Doc()
    numbers = writer.get("numbers", type=Map)
    numbers["n"] = number
    arrived = reader.get("numbers", type=Map)
    reader.apply_update(writer.get_update())
    shown[number] = (numbers["n"], arrived["n"])
    print(number, "shows as", repr(numbers["n"]), "and, after a sync, as", repr(arrived["n"]))
    assert writer.get_state() == reader.get_state()
types = {number: tuple(type(value).__name__ for value in values) for number, values in shown.items()}
assert types == {2**31: ("float", "float"), 2**53: ("int", "float"), 2**53 + 1: ("int", "int"), 2**63 - 1: ("int", "float")}, types
assert shown[2**63 - 1][0] != shown[2**63 - 1][1], "the behaviour has changed: both show the same number"
PYTHON
