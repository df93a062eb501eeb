#!/usr/bin/env bash
# Alembic 1.16.5 with SQLAlchemy 2.0.43, batch mode, on SQLite 3.37 or later. A table is STRICT, has a CHECK without a name, a foreign
# key DEFERRABLE INITIALLY DEFERRED and a trigger. Renaming a column makes the table anew without any of the four, and says nothing.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check alembic==1.16.5 sqlalchemy==2.0.43
"$folder/venv/bin/python" - <<'PYTHON'
import sqlalchemy
from alembic.migration import MigrationContext
from alembic.operations import Operations

with sqlalchemy.create_engine("sqlite://").connect() as connection:
    for sql in [
        "CREATE TABLE owner(id TEXT NOT NULL PRIMARY KEY) STRICT",
        "CREATE TABLE item(id TEXT NOT NULL PRIMARY KEY, name TEXT CHECK(length(name) < 9), "
        "owner TEXT REFERENCES owner(id) DEFERRABLE INITIALLY DEFERRED) STRICT",
        "CREATE TRIGGER seen AFTER UPDATE ON item BEGIN SELECT 1; END",
    ]:
        connection.execute(sqlalchemy.text(sql))
    with Operations(MigrationContext.configure(connection)).batch_alter_table("item") as batch:
        batch.alter_column("name", new_column_name="title")
    query = "SELECT sql FROM sqlite_master WHERE name = 'item'"
    sql = connection.execute(sqlalchemy.text(query)).scalar()
    print(sql)
    assert "title" in sql and "REFERENCES owner" in sql
    assert "STRICT" not in sql and "CHECK" not in sql and "DEFERRABLE" not in sql
    query = "SELECT count(*) FROM sqlite_master WHERE type = 'trigger'"
    triggers = connection.execute(sqlalchemy.text(query)).scalar()
    print("triggers left:", triggers)
    assert triggers == 0
PYTHON
