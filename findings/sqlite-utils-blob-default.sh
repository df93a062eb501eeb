#!/usr/bin/env bash
# sqlite-utils 3.38, `table.transform()`, on SQLite 3.37 or later. A table is STRICT and has a column `mark BLOB NOT NULL DEFAULT
# x'0000'` and a foreign key DEFERRABLE INITIALLY DEFERRED. Renaming another column makes the table anew with the default
# 'x''0000''', a text of seven characters, so that every insert which leaves the column out fails; and the key is immediate.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check sqlite-utils==3.38
"$folder/venv/bin/python" - <<'PYTHON'
import sqlite3, sqlite_utils

connection = sqlite3.connect(":memory:")
connection.executescript("""
    CREATE TABLE owner(id TEXT NOT NULL PRIMARY KEY) STRICT;
    CREATE TABLE item(id TEXT NOT NULL PRIMARY KEY, name TEXT,
      owner TEXT REFERENCES owner(id) DEFERRABLE INITIALLY DEFERRED, mark BLOB NOT NULL DEFAULT x'0000') STRICT;
    INSERT INTO item(id) VALUES('before');
""")
sqlite_utils.Database(connection)["item"].transform(rename={"name": "title"})
sql = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'item'").fetchone()[0]
print(sql)
assert "DEFAULT 'x''0000'''" in sql and "STRICT" in sql and "DEFERRABLE" not in sql
try:
    connection.execute("INSERT INTO item(id) VALUES('after')")
    raise SystemExit("the insert was taken: the behaviour has changed")
except sqlite3.IntegrityError as error:
    print(error)
    assert "cannot store TEXT value in BLOB column" in str(error)
PYTHON
