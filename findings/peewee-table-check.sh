#!/usr/bin/env bash
# peewee 3.18.2, `playhouse.migrate.SqliteMigrator`. A table has a CHECK after its columns. `add_not_null` makes the table anew, takes
# the word CHECK for the name of a column when it copies the rows, and fails with "has no column named CHECK".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check peewee==3.18.2
"$folder/venv/bin/python" - <<'PYTHON'
import peewee
from playhouse.migrate import SqliteMigrator, migrate

database = peewee.SqliteDatabase(":memory:")
database.execute_sql("CREATE TABLE item(id TEXT NOT NULL PRIMARY KEY, name TEXT, CHECK(length(name) < 9))")
database.execute_sql("INSERT INTO item VALUES('a', 'one')")
try:
    migrate(SqliteMigrator(database).add_not_null("item", "name"))
    raise SystemExit("the migration passed: the behaviour has changed")
except peewee.OperationalError as error:
    print(error)
    assert "has no column named CHECK" in str(error)
sql = database.execute_sql("SELECT sql FROM sqlite_master WHERE name = 'item'").fetchone()[0]
assert "name TEXT, CHECK" in sql
PYTHON
