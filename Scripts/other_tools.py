"""Tables of a store, changed by other tools: what they change arrives everywhere, or Tally says what is in the way."""

import os
import sqlite3
import subprocess

import peewee
import sqlalchemy
import sqlite_utils
from alembic.migration import MigrationContext
from alembic.operations import Operations
from playhouse.migrate import SqliteMigrator, migrate

TOOL, FOLDER = os.environ["TOOL"], os.environ["FOLDER"]
SCHEMA = """{"entities":[{"type":"P","fields":{"name":"text","note":"text"}},
{"type":"G","fields":{"name":"text"},"references":{"owner":{"to":"P","onDelete":"cascade"}},
"relationships":{"players":{"to":"P"}}}]}"""


def run(*arguments, status=0):
    done = subprocess.run([TOOL, *arguments], cwd=FOLDER, capture_output=True, text=True)
    assert done.returncode == status, f"{arguments}: {done.returncode} {done.stdout} {done.stderr}"
    return done.stdout + done.stderr


def stores(name):
    a, b = f"{name}-a", f"{name}-b"
    with open(f"{FOLDER}/schema.json", "w") as file:
        file.write(SCHEMA)
    for store in (a, b):
        run("new", store, "--schema", "schema.json")
    run("put", a, "P|~|1", "name=ann", "note=x")
    run("put", a, "P|~|2", "name=bob")
    run("put", a, "G|~|1", "name=go", "owner=P|~|1")
    run("link", a, "G|~|1", "players", "P|~|2")
    run("sync", a, b)
    return a, b


def equal(a, b, expected):
    run("sync", a, b)
    for store in (a, b):
        assert run("verify", store).startswith("ok "), store
        assert expected in run("get", store, "P|~|1"), run("get", store, "P|~|1")
    assert run("dump", a) == run("dump", b)
    # And life goes on.
    run("put", a, "P|~|3", "name=cid")
    run("link", a, "G|~|1", "players", "P|~|3")
    run("delete", b, "P|~|1")
    run("sync", a, b)
    assert run("dump", a, "--view") == run("dump", b, "--view")


def converted_by_sqlite_utils():
    a, b = stores("convert")
    sqlite_utils.Database(f"{FOLDER}/{a}")["P"].convert("name", lambda value: value.upper())
    equal(a, b, "name=ANN")


def transformed_by_sqlite_utils():
    a, b = stores("transform")
    sqlite_utils.Database(f"{FOLDER}/{a}")["P"].transform(defaults={"note": "q"})
    # What is there can be read; what writes, which the table does not take any more, says what is in the way.
    assert "name=ann" in run("get", a, "P|~|1")
    for command in (["put", a, "P|~|9", "name=new"], ["sync", a, b]):
        told = run(*command, status=65)
        assert "the table P " in told and "tally_clock" in told and "rebuild it" in told, told


def altered_by_alembic():
    a, b = stores("alembic")
    with sqlalchemy.create_engine(f"sqlite:///{FOLDER}/{a}").begin() as connection:
        operations = Operations(MigrationContext.configure(connection))
        with operations.batch_alter_table("P") as batch:
            batch.add_column(sqlalchemy.Column("extra", sqlalchemy.Text(), nullable=True))
            batch.alter_column("note", nullable=True, server_default="q")
        with operations.batch_alter_table("G") as batch:
            batch.add_column(sqlalchemy.Column("extra", sqlalchemy.Text(), nullable=True))
            batch.alter_column("name", nullable=True, server_default="q")
        connection.execute(sqlalchemy.text("UPDATE P SET name = 'ANNA' WHERE id = 'P|~|1'"))
    equal(a, b, "name=ANNA")


def altered_by_peewee():
    a, b = stores("peewee")
    database = peewee.SqliteDatabase(f"{FOLDER}/{a}")
    migrate(SqliteMigrator(database).add_column("P", "extra", peewee.TextField(null=True)))
    database.execute_sql("UPDATE P SET name = 'Anne' WHERE id = 'P|~|1'")
    database.close()
    equal(a, b, "name=Anne")


for test in (converted_by_sqlite_utils, transformed_by_sqlite_utils, altered_by_alembic, altered_by_peewee):
    test()
    print(f"{test.__name__} passed")
