"""Writes check values of counters: histories as `checkvalues.py` writes them, in which records count.

    valuechecks.py [COUNT] >value-checks.json

`shown` has the number under `n`. A kept record has the offset among its cells, and `totals`: for each replica that added, the number of
its last transaction that did, and the sum of all that it has added.
"""
import json
import sys

from checkvalues import Recorder, RecordedSteps, as_json, versions
from values import Replica, World, number


class RecordingReplica(Recorder, Replica):
    def add(self, name, amount, d):
        self.record("add", lambda: super(Recorder, self).add(name, amount, d), name=name, amount=amount)


class RecordingWorld(RecordedSteps, World):
    replica_type = RecordingReplica

    def shown_values(self, record):
        cells = {f: record.cell(f, self.rules.follows) for f in ("o", "x", "y")}
        return {**{f: c[1] for f, c in cells.items() if c and c[1] is not None}, "n": number(record, self.rules.follows)}

    def as_json(self, record):
        result = as_json(record)
        if "n" in record.cells:
            result["cells"]["n"][1] = record.cells["n"][1][2]
        if record.totals:
            result["totals"] = {r: list(t) for r, t in sorted(record.totals.items())}
        return result


def layers(world):
    """The versions of seeds, in which a number is what a record begins with."""
    result = versions(world)
    for version in result.values():
        for fields in version["records"].values():
            if fields and "n" in fields:
                fields["n"] = fields["n"][2]
    return result


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 16
    mixes = [["counters"], ["counters", "deleteWins"], ["counters", "seeds"], ["counters", "seeds", "adoption", "deleteWins"]]
    histories, seed = [], 0
    while len(histories) < count:
        seed += 1
        world = RecordingWorld(seed, mixes[len(histories) % len(mixes)])
        flags = world.run()
        assert not flags, (seed, flags)
        adds = sum(s["do"] == "add" for s in world.story)
        if adds < 3 or not world.shredded:   # a history without purges says little of what outlasts them
            continue
        histories.append({"seed": seed, "features": sorted(world.features), "deleteWins": sorted(world.rules.delete_wins),
                          "followsPerField": world.rules.follows, "versions": layers(world), "steps": world.story})
    lines = ",\n".join(json.dumps(h, separators=(",", ":"), sort_keys=True) for h in histories)
    print('{"format":1,"histories":[\n' + lines + "\n]}")


if __name__ == "__main__":
    main()
