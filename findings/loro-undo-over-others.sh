#!/usr/bin/env bash
# loro 1.17.1 (PyPI). A document writes "one" and then "two" into a map and syncs. Another one writes "theirs", which wins everywhere. An
# undo in the first document reports success and writes "one": the other's value, which is later and which nobody has undone, is gone on
# both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check loro==1.17.1
"$folder/venv/bin/python" - <<'PYTHON'
import loro


def sync(one, other):
    one.import_(other.export(loro.ExportMode.Snapshot()))
    other.import_(one.export(loro.ExportMode.Snapshot()))


def title(document):
    return document.get_map("record").get("title").value


one, other = loro.LoroDoc(), loro.LoroDoc()
one.peer_id, other.peer_id = 1, 2
undo = loro.UndoManager(one)
for text in ("one", "two"):
    one.get_map("record").insert("title", text)
    one.commit()
sync(one, other)
other.get_map("record").insert("title", "theirs")
other.commit()
sync(one, other)
before = [title(document) for document in (one, other)]
done = undo.undo()
one.commit()
sync(one, other)
after = [title(document) for document in (one, other)]
print("before the undo", before, "the undo", done, "after it", after)
assert before == ["theirs", "theirs"]
assert done and after == ["one", "one"], "the behaviour has changed: an undo leaves what others wrote later"
PYTHON
