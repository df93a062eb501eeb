"""What is left of a deleted record, in bytes: stubs in the tables and form of Docs/StorageFormat.md, measured with the SQLite of this Python.

    stub_bytes.py [COUNT]        300,000 stubs unless said
"""
import os
import random
import sqlite3
import sys
import tempfile

DAY = 86_400_000
BEGIN = 1_767_225_600_000          # 2026-01-01
SUM = b"\x82\x28\x6d"               # any checksum


def varint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def zigzag(n):
    return varint(n << 1 if n >= 0 else (-n << 1) - 1)


def stamps(*each):
    """(replica number, sequence, time); the first time in full, the others as differences."""
    out, before = b"", 0
    for replica, sequence, time in each:
        out += varint(replica << 2 | 2) + varint(sequence) + zigzag(time - before)
        before = time
    return out


def stub(existence, delete, life, touches=(), owner=None):
    """Kind of body 8, plus 16 with superseded touches, plus 32 with references; a checksum; three stamps; then what the bits say."""
    body = bytes([8 | (16 if touches else 0) | (32 if owner else 0)]) + SUM + stamps(existence, delete, life)
    if touches:
        body += varint(len(touches)) + b"".join(varint(r) + varint(s) for r, s in touches)
    if owner:
        field, kind, uuid = owner
        body += varint(1) + varint(field << 1 | 1) + b"\x00" + varint(kind << 1) + uuid
    return body


def size(create, rows, insert, vacuum):
    path = tempfile.mktemp(suffix=".db")
    db = sqlite3.connect(path)
    db.execute("PRAGMA page_size = 4096")
    db.execute("CREATE TABLE pad(x)")
    for statement in create:
        db.execute(statement)
    db.commit()
    empty = os.path.getsize(path)
    db.executemany(insert, rows)
    db.commit()
    if vacuum:
        db.execute("VACUUM")
    db.close()
    result = os.path.getsize(path) - empty
    os.remove(path)
    return result


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
    rng = random.Random(24)
    plain, edited, owned, log, texts, day, sequence = [], [], [], [], [], [], 0
    for number in range(count):
        created = BEGIN + number * DAY // 1000                       # a thousand a day
        key = rng.randbytes(16)
        sequence += 2
        deleted = created + rng.randrange(400) * DAY + rng.randrange(DAY)
        life = deleted + 31 * DAY + rng.randrange(DAY)
        existence, delete = (rng.randrange(1, 6), sequence, created), (rng.randrange(1, 6), sequence + 800_000, deleted)
        shred = rng.randrange(1, 6), sequence + 900_000, life
        plain.append((3, key, stub(existence, delete, shred)))
        edited.append((3, key, stub(existence, delete, shred, [(2, sequence + 9000), (3, sequence + 700)])))
        owned.append((3, key, stub(existence, delete, shred, [], (4, 2, rng.randbytes(16)))))
        text = "Game|~|" + "%s-%s-%s-%s-%s" % tuple(key.hex()[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))
        texts.append((3, text, plain[-1][2]))
        day.append(varint(3 << 2) + key)
        if len(day) == 1000 or number == count - 1:
            log.append((0, shred[0], shred[1], b"".join(day)))
            day = []
    new = ["CREATE TABLE tally_stub(kind INTEGER NOT NULL, key ANY NOT NULL, body BLOB NOT NULL, PRIMARY KEY(kind, key)) STRICT, WITHOUT ROWID"]
    put = "INSERT INTO tally_stub VALUES(?, ?, ?)"
    old = ["CREATE TABLE tally_hidden(n INTEGER NOT NULL PRIMARY KEY, kind INTEGER NOT NULL, key TEXT NOT NULL, body BLOB NOT NULL, UNIQUE(kind, key)) STRICT"]
    logged = ["CREATE TABLE tally_log(n INTEGER NOT NULL PRIMARY KEY, zone INTEGER, replica INTEGER, sequence INTEGER, items BLOB) STRICT",
              "CREATE INDEX tally_log_dot ON tally_log(zone, replica, sequence)"]
    print(f"{count} stubs, SQLite {sqlite3.sqlite_version}; bytes each, as inserted and after VACUUM")
    for what, create, rows, insert in [
            ("stub", new, plain, put), ("stub, edited by two others", new, edited, put), ("stub with an owner", new, owned, put),
            ("the same stub in tally_hidden", old, texts, "INSERT INTO tally_hidden(kind, key, body) VALUES(?, ?, ?)"),
            ("its entry in the change log", logged, log, "INSERT INTO tally_log(zone, replica, sequence, items) VALUES(?, ?, ?, ?)")]:
        body = sum(len(r[-1]) for r in rows) / count
        print(f"  {what:32s} body {body:5.1f}   {size(create, rows, insert, False) / count:6.1f} {size(create, rows, insert, True) / count:6.1f}")
    contexts = [(r[1], r[2] + n, BEGIN + r[2] * 40_000 + n, varint(5) + b"".join(varint(i) + varint(r[2] * i + n) for i in range(1, 6)))
                for r in log for n in range(20)]
    context = ["CREATE TABLE tally_context(replica INTEGER, sequence INTEGER, time INTEGER, vector BLOB, PRIMARY KEY(replica, sequence, time)) STRICT, WITHOUT ROWID"]
    print(f"  {'context of a lone deletion':32s} body {sum(len(c[3]) for c in contexts) / len(contexts):5.1f}   "
          f"{size(context, contexts, 'INSERT INTO tally_context VALUES(?, ?, ?, ?)', False) / len(contexts):6.1f}")
    name = lambda kind: kind + "|~|" + "%s-%s-%s-%s-%s" % tuple(rng.randbytes(16).hex()[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))
    links = [(name("Game"), name("Player")) for _ in range(count // 10)]
    tag = b"\x02" + SUM + b"\x01" + stamps((2, 900_000, BEGIN + 9 * DAY)) + b"\x01\x00\x00"
    hidden = [(5, a + "\n" + b, tag) for a, b in links]
    waits = [(end, 5, a + "\n" + b) for a, b in links for end in (a, b)]
    cut = ["CREATE TABLE tally_cut(kind INTEGER NOT NULL, source ANY NOT NULL, target ANY NOT NULL, body BLOB NOT NULL, PRIMARY KEY(kind, source, target)) STRICT, WITHOUT ROWID",
           "CREATE INDEX tally_cut_target ON tally_cut(kind, target)"]
    cuts = [(5, rng.randbytes(16), rng.randbytes(16), tag) for _ in links]
    wait = ["CREATE TABLE tally_wait(target TEXT NOT NULL, kind INTEGER NOT NULL, key TEXT NOT NULL, PRIMARY KEY(target, kind, key)) STRICT, WITHOUT ROWID"]
    put_wait = "INSERT INTO tally_wait VALUES(?, ?, ?)"
    print(f"  {'hidden link of one tag':32s} body {len(tag):5.1f}   {size(old, hidden, 'INSERT INTO tally_hidden(kind, key, body) VALUES(?, ?, ?)', False) / len(links):6.1f}")
    print(f"  {'its two rows in tally_wait':32s}              {size(wait, waits, put_wait, False) / len(links):6.1f}")
    print(f"  {'a link in a table of its own':32s}              "
          f"{size(cut, cuts, 'INSERT INTO tally_cut VALUES(?, ?, ?, ?)', False) / len(links):6.1f} {size(cut, cuts, 'INSERT INTO tally_cut VALUES(?, ?, ?, ?)', True) / len(links):6.1f}")
    owned_waits = [(name("Player"), 3, name("Game")) for _ in range(count // 10)]
    print(f"  {'row in tally_wait of an owned one':32s}             {size(wait, owned_waits, put_wait, False) / len(owned_waits):6.1f}")
    single = [(0, r[1], r[2], r[3][:17]) for r in log for _ in range(20)]
    print(f"  {'log entry of a lone deletion':32s} body  17.0   "
          f"{size(logged, single, 'INSERT INTO tally_log(zone, replica, sequence, items) VALUES(?, ?, ?, ?)', False) / len(single):6.1f}")


if __name__ == "__main__":
    main()
