#!/usr/bin/env python3
"""Sets of records with what they mean, for another implementation (Tests/SpacesTests). One set a line:

    {"records": [[id, operation, author, parents, …], …], "means": {…}}

After the parents stand: in a `join` and a `close` the record of the invitation; in a `remove` the devices, then the files that
are kept; in a `key`, `wrap` and `share` the key. The recovery key is `R`; the genesis is its invitation. Some sets lack records
that others name: what waits for them is listed.

    python3 spacesets.py 40 >space-sets.json         sets of forty histories of 70 steps, and of four of 200
    python3 spacesets.py 3000 --start 50000          others
"""
import json
import random
import sys

import spaces


def parents(record, records):
    """The newest of what a record stands for."""
    rest = set(record.past)
    for i in record.past:
        rest -= records[i].past
    return sorted(rest)


def line(ids, world):
    """A set of records, which may lack some that others name."""
    records = world.records
    here = set()
    for i in sorted(ids):
        if records[i].past <= here:
            here.add(i)
    view = spaces.View(frozenset(here), world)
    said = []
    for i in sorted(ids):
        r = records[i]
        row = [i, r.op, r.author, parents(r, records)]
        if r.op in ("join", "close"):
            row.append(r.d["invite"])
        elif r.op == "remove":
            row += [sorted(r.d["devices"]), sorted(r.d["kept"])]
        elif r.op in ("key", "wrap", "share"):
            row.append(r.d["key"])
        said.append(row)
    means = {
        "present": sorted(view.present - {"R"}), "removed": sorted(view.removed), "excluded": sorted(view.out),
        "open": sorted(view.open), "used": sorted(view.used), "closed": sorted(view.closed),
        "changes": sorted(view.changes), "keys": sorted(view.keys),
        "usable": sorted(k for k in view.keys if view.usable(k)),
        "kept": {d: sorted(files) for d, files in sorted(view.kept.items()) if files},
        "heads": sorted(here - set().union(*(records[i].past for i in here))), "waiting": sorted(set(ids) - here),
    }
    return json.dumps({"records": said, "means": means}, separators=(",", ":"))


def lines(seed, steps):
    """Of one history: all that was said, what somebody has, a beginning of it, and some of it with gaps."""
    world, _ = spaces.history(seed, "sealed", steps=steps)
    rng = random.Random(seed)
    everything = sorted(world.records)
    yield line(everything, world)
    yield line(rng.choice(world.bodies).log, world)
    yield line(everything[:rng.randrange(1, len(everything) + 1)], world)
    yield line([i for i in everything if rng.random() < 0.97], world)


if __name__ == "__main__":
    count = int(sys.argv[1])
    start = int(sys.argv[sys.argv.index("--start") + 1]) if "--start" in sys.argv else 0
    for number in range(count):
        for text in lines(start + number, 70):
            print(text)
    for number in range(count // 10):
        for text in lines(start + number, 200):
            print(text)
