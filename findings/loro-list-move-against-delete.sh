#!/usr/bin/env bash
# loro 1.17.1 (PyPI), a movable list of a, b, c in two documents. One deletes a; the other, which has not heard of it, changes a to A: the
# edit is lost, and a stays deleted. If the other moves a instead, a is back on both, with its value. So a delete wins over an edit and
# loses to a move; which of the documents has the greater peer id changes neither.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check loro==1.17.1
"$folder/venv/bin/python" - <<'PYTHON'
import loro


def after(deleter, change):
    """What both show after one has deleted the first element, and the other has changed it meanwhile."""
    one, other = loro.LoroDoc(), loro.LoroDoc()
    one.peer_id, other.peer_id = (1, 2) if deleter == 1 else (2, 1)
    for letter in "abc":
        one.get_movable_list("list").push(letter)
    one.commit()
    other.import_(one.export(loro.ExportMode.Snapshot()))
    one.get_movable_list("list").delete(0, 1)
    one.commit()
    change(other.get_movable_list("list"))
    other.commit()
    for to, source in ((one, other), (other, one)):
        to.import_(source.export(loro.ExportMode.Snapshot()))
    shown = [document.get_deep_value()["list"] for document in (one, other)]
    assert shown[0] == shown[1]
    return shown[0]


edited = [after(deleter, lambda letters: letters.set(0, "A")) for deleter in (1, 2)]
moved = [after(deleter, lambda letters: letters.mov(0, 2)) for deleter in (1, 2)]
print("deleted and edited:", edited[0], "deleted and moved:", moved[0])
assert edited == [["b", "c"]] * 2, "the behaviour has changed: the edit is not lost any more"
assert moved == [["b", "c", "a"]] * 2, "the behaviour has changed: the move does not bring it back any more"
PYTHON
