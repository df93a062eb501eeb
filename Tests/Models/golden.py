"""Writes Tests/TallyWireTests/Golden/life.hex, from Docs/WireFormat.md alone: a delta of records that have a life.

    golden.py        prints the file

It is a second program: the code under test has no part in it, so that bytes and fingerprint say what the page says.
"""
import struct

MASK = (1 << 64) - 1
FIRST = bytes.fromhex("0102030405060708090a0b0c0d0e0f10")
SECOND = bytes.fromhex("f1f2f3f4f5f6f7f8f9fafbfcfdfeff00")
REPLICAS = [FIRST, SECOND]
USER = 2
T = 1_700_000_000_000

# --- SipHash


def siphash(data, rounds, final, wide=False):
    """SipHash with the key 00 01 … 0F; two numbers if `wide`."""
    k0, k1 = 0x0706050403020100, 0x0F0E0D0C0B0A0908
    v = [0x736F6D6570736575 ^ k0, 0x646F72616E646F6D ^ k1, 0x6C7967656E657261 ^ k0, 0x7465646279746573 ^ k1]
    if wide:
        v[1] ^= 0xEE

    def rotated(x, by):
        return (x << by | x >> 64 - by) & MASK

    def turn(count):
        a, b, c, d = v
        for _ in range(count):
            a, c = (a + b) & MASK, (c + d) & MASK
            b, d = rotated(b, 13) ^ a, rotated(d, 16) ^ c
            a = rotated(a, 32)
            c, a = (c + b) & MASK, (a + d) & MASK
            b, d = rotated(b, 17) ^ c, rotated(d, 21) ^ a
            c = rotated(c, 32)
        v[:] = a, b, c, d

    padded = data + bytes(-(len(data) + 1) % 8) + bytes([len(data) & 0xFF])
    for (word,) in struct.iter_unpack("<Q", padded):
        v[3] ^= word
        turn(rounds)
        v[0] ^= word
    v[2] ^= 0xEE if wide else 0xFF
    turn(final)
    low = v[0] ^ v[1] ^ v[2] ^ v[3]
    if not wide:
        return low
    v[1] ^= 0xDD
    turn(final)
    return low, v[0] ^ v[1] ^ v[2] ^ v[3]


def hashed(data):
    return siphash(data, 1, 3)


def checksum(data):
    return siphash(data, 2, 4)


# --- The fingerprint: section 8

EXISTENCE, FIELD, DELETE, LIFE, VIA, SAID = 1, 2, 8, 10, 11, 12
NULL, INTEGER, TEXT = 0, 1, 3


def words(*numbers):
    return b"".join(number.to_bytes(8, "little") for number in numbers)


def replica_words(replica):
    return int.from_bytes(replica[:8], "big"), int.from_bytes(replica[8:], "big")


def context_hash(context):
    return sum(hashed(words(*replica_words(replica), sequence)) for replica, sequence in context.items()) & MASK


def cell_hash(name, stamp, part, value, kind, storage):
    rank, time, (replica, sequence) = stamp
    data = words(rank << 48 | time, *replica_words(replica), sequence, hashed(name.encode()), part)
    return siphash(data + value + bytes([kind, storage]), 1, 3, wide=True)


def dot_text(dot):
    return ("%s:%d" % (dot[0].hex(), dot[1])).encode()


def value_bytes(value):
    if isinstance(value, int):
        return words(value & MASK), INTEGER
    return value.encode(), TEXT


def fingerprint(records):
    total = [0, 0]

    def add(pair):
        total[:] = (total[0] + pair[0]) & MASK, (total[1] + pair[1]) & MASK

    for name, state in records:
        add(cell_hash(name, state["existence"], 0, b"", EXISTENCE, NULL))
        for field, (stamp, value, _) in state["fields"].items():
            add(cell_hash(name, stamp, hashed(field.encode()), *value_bytes(value)[:1], FIELD, value_bytes(value)[1]))
        for stamp, context in state["deletes"]:
            add(cell_hash(name, stamp, context_hash(context), b"", DELETE, NULL))
        life = state["life"]
        add(cell_hash(name, life["stamp"], context_hash(life["context"]), b"", LIFE, NULL))
        if life["said"]:
            add(cell_hash(name, life["stamp"], 0, dot_text(life["said"]), SAID, TEXT))
        for field, (stamp, _, via) in state["fields"].items():
            if via:
                add(cell_hash(name, stamp, hashed(field.encode()), dot_text(via), VIA, TEXT))
    return b"".join(half.to_bytes(8, "big") for half in total)


# --- Bytes: sections 2 to 5


def varint(number):
    result = bytearray()
    while number >= 0x80:
        result.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(result + bytes([number]))


def zigzag(number):
    return varint(number << 1 if number >= 0 else -number * 2 - 1)


def text(string):
    return varint(len(string.encode())) + string.encode()


def vector(entries):
    numbered = sorted((REPLICAS.index(replica), sequence) for replica, sequence in entries.items())
    return varint(len(numbered)) + b"".join(varint(number) + varint(sequence) for number, sequence in numbered)


def value(value):
    if isinstance(value, int):
        return b"\x01" + zigzag(value)
    kind, _, key = value.partition("|~|")
    if key.count("-") == 4:
        return b"\x05" + text(kind) + bytes.fromhex(key.replace("-", ""))
    return b"\x03" + text(value)


def order(stamp):
    rank, time, (replica, sequence) = stamp
    return replica, sequence, time, rank


def stamps_and_contexts(records):
    stamps, deletes, lives = set(), {}, {}
    for _, state in records:
        stamps.add(state["existence"])
        stamps.update(stamp for stamp, _, _ in state["fields"].values())
        for stamp, context in state["deletes"]:
            stamps.add(stamp)
            deletes[stamp] = context
        stamps.add(state["life"]["stamp"])
        lives[state["life"]["stamp"]] = state["life"]["context"]
    stamps = sorted(stamps, key=order)
    data = varint(len(stamps))
    before = (None, 0, 0)
    for rank, time, (replica, sequence) in stamps:
        data += varint(REPLICAS.index(replica) << 2 | rank)
        data += varint(sequence - (before[1] if before[0] == replica else 0)) + zigzag(time - before[2])
        before = (replica, sequence, time)
    contexts = []
    for number, stamp in enumerate(stamps):
        if stamp in deletes:
            contexts.append((number, deletes[stamp]))
        if stamp in lives and lives[stamp] != deletes.get(stamp):
            contexts.append((number, lives[stamp]))
    data += varint(len(contexts)) + b"".join(varint(number) + vector(context) for number, context in contexts)
    return stamps, data


def travelled(dot, life):
    if dot is None:
        return varint(0)
    if dot == life["stamp"][2]:
        return varint(1)
    return varint(2 + REPLICAS.index(dot[0])) + varint(dot[1])


def record(state, fields, stamps):
    cells = [(place, *state["fields"][field]) for place, field in enumerate(fields) if field in state["fields"]]
    shared = {stamp for _, stamp, _, _ in cells} | {state["existence"]}
    is_one = bool(cells) and len(shared) == 1
    data = bytes([1 | (2 if is_one else 0) | (8 if state["deletes"] else 0) | 64])
    data += varint(stamps.index(state["existence"]))
    data += bytes([sum(1 << place for place, _, _, _ in cells)])
    if not is_one:
        data += b"".join(varint(stamps.index(stamp)) for _, stamp, _, _ in cells)
    if state["deletes"]:
        data += varint(len(state["deletes"])) + b"".join(varint(stamps.index(stamp)) for stamp, _ in state["deletes"])
    life = state["life"]
    data += varint(stamps.index(life["stamp"])) + travelled(life["said"], life)
    for place, _, _, via in cells:
        if not fields[place].endswith("&"):
            data += travelled(via, life)
    return data


def block(records):
    stamps, data = stamps_and_contexts(records)
    fields = sorted({field for _, state in records for field in state["fields"]})
    columns = [b"".join(value(s["fields"][f][1]) for _, s in records if f in s["fields"]) for f in fields]
    data += varint(1) + text("SBGame") + varint(len(fields))
    data += b"".join(text(field) + varint(len(column)) for field, column in zip(fields, columns))
    data += b"".join(columns)
    keys = [name.partition("|~|")[2] for name, _ in records]
    uuids = [key for key in keys if key.count("-") == 4]
    texts = [key for key in keys if key.count("-") != 4]
    assert keys == sorted(uuids) + sorted(texts)
    data += varint(len(uuids)) + b"".join(bytes.fromhex(key.replace("-", "")) for key in uuids)
    data += varint(len(texts)) + b"".join(text(key) for key in texts)
    data += b"".join(record(state, fields, stamps) for _, state in records)
    return data + varint(0)


def main():
    insert, edit = (USER, T, (FIRST, 3)), (USER, T + 5, (SECOND, 1))
    shred = (USER, T + 9, (FIRST, 5))
    life = {"stamp": shred, "context": {FIRST: 5, SECOND: 1}}
    place = "SBPlace|~|0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0ff"
    purge = (USER, T + 30, (SECOND, 4))
    records = [
        # Deleted and shredded: the reference stays.
        ("SBGame|~|386c1919-5f25-4be2-975f-5b34506c51db", {
            "existence": insert, "fields": {"owner&": (insert, place, None)},
            "deletes": [((USER, T + 7, (FIRST, 4)), {FIRST: 4, SECOND: 1})], "life": {**life, "said": None}}),
        # Brought back by an edit that the shred had not seen, and with what its author had of it.
        ("SBGame|~|go", {
            "existence": insert, "fields": {"count": (edit, -3, (SECOND, 2)), "title": (insert, "Go", (FIRST, 5))},
            "deletes": [], "life": {**life, "said": (SECOND, 2)}}),
        # Written in the life.
        ("SBGame|~|hex", {
            "existence": insert, "fields": {"title": ((USER, T + 20, (SECOND, 3)), "Hex", None)},
            "deletes": [], "life": {**life, "said": (FIRST, 5)}}),
        # Two copies of a store began a life under the stamp of a delete: the delete has the greater of what they had
        # seen, the life the lesser.
        ("SBGame|~|nim", {
            "existence": insert, "fields": {}, "deletes": [(purge, {FIRST: 5, SECOND: 4})],
            "life": {"stamp": purge, "context": {FIRST: 3, SECOND: 4}, "said": None}}),
    ]
    data = b"TL\x02\x01" + varint(2)
    for replica, sequence in ((FIRST, 5), (SECOND, 4)):
        data += replica + varint(0) + varint(sequence)
    data += fingerprint(records)
    content = block(records)
    data += varint(len(content) << 1) + content + b"\x00"
    data += checksum(data).to_bytes(8, "big")
    print("# A delta of four records with a life. Made by Tests/Models/golden.py.")
    for start in range(0, len(data), 32):
        print(data[start : start + 32].hex())


if __name__ == "__main__":
    main()
