"""Writes check values: histories as they happened, and after each step what must be shown and what must be kept.

    checkvalues.py [COUNT] >check-values.json

They are for another implementation, which replays the steps with the same times and compares. Nothing of the engine makes them. A step
says who (`at`) did what (`do`), at which time of its clock (`now`) and under which number (`dot`, null if it wrote nothing); then

- `shown`: what the app sees there, by record, with the owner under `o`;
- `members`: the members that relationships hold, whether or not both ends are seen;
- `kept`: the records that have changed there since the step before.

Of a record: `existence`, `owner`, `forward` (a stamp and a value), `touches` (all of them, also those that cells show), `deletes`
(stamp and context), `layers` (stamps), `basis` (layer, edit), `life` (time and dot; null is the first), `said` (the dot of `!`), and
`cells`: stamp, value, and `via` where it is not the stamp's dot. A stamp is [rank, time, replica, sequence]. In the first life `said` is
left out. A record that is not shown and has a life and no cells is a stub.

`take` is a delta of what the other replica, or a file that it has put, has now, since `base`. `seed` is the delta of a version.
`compact` shreds all that is hidden by a delete, without a window; with `only` what is at and below a record.
"""
import json
import sys

from replica import Replica
from today import USER, covers, dot
from world import World


class Recorder:
    """Puts down what a replica does; goes before its class."""
    depth = 0

    def record(self, do, call, **words):
        Recorder.depth += 1
        try:
            call()
        finally:
            Recorder.depth -= 1
        if Recorder.depth == 0:
            self.world.operations.append({"do": do, **words})

    def now(self):
        self.world.latest_now = super().now()
        return self.world.latest_now

    def insert(self, name, fields, d, now):
        self.record("insert", lambda: super(Recorder, self).insert(name, fields, d, now), name=name, fields=fields)

    def edit(self, name, field, value, d, now):
        self.record("edit", lambda: super(Recorder, self).edit(name, field, value, d, now), name=name, field=field, value=value)

    def delete(self, name, d, now, rank=USER):
        self.record("delete", lambda: super(Recorder, self).delete(name, d, now, rank), name=name)

    def tag(self, key, d, now, rank=USER):
        self.record("put", lambda: super(Recorder, self).tag(key, d, now, rank), into=key[0], member=key[1])

    def untag(self, key, d, now):
        self.record("take out", lambda: super(Recorder, self).untag(key, d, now), of=key[0], member=key[1])

    def restore(self, name, d, now):
        self.record("restore", lambda: super(Recorder, self).restore(name, d, now), name=name)

    def adopt(self, duplicates, seed_of, d, now):
        self.record("adopt", lambda: super(Recorder, self).adopt(duplicates, seed_of, d, now), seeds=seed_of)

    def transact(self, body):
        self.world.operations = []
        super().transact(body)
        for operation in self.world.operations:
            self.world.put_down(self, operation, last=operation is self.world.operations[-1])

    def compact(self, only=None):
        super().compact(only)
        self.world.put_down(self, {"do": "compact", **({"only": only} if only else {})})

    def apply(self, source, base, is_repair=False):
        base = dict(base)
        super().apply(source, base, is_repair)
        if source.name.startswith("~"):
            self.world.put_down(self, {"do": "seed", "version": source.name})
        else:
            file = next((i for i, f in enumerate(self.world.files) if f is source), None)
            self.world.put_down(self, {"do": "take", "from": source.name, "base": base, **({} if file is None else {"file": file})})


class RecordingReplica(Recorder, Replica):
    pass


class RecordedSteps:
    """A harsh history of few steps; nobody is lost, copied or put back. Goes before the class of a world."""

    def __init__(self, seed, features):
        self.story, self.kept_before, self.vector_before, self.latest_now, self.operations = [], {}, {}, None, []
        super().__init__(seed, "harsh", (), features)
        self.steps = self.steps[:22]
        self.is_over = False

    def mishap(self, replica, rng, draw):
        pass

    def finish(self):
        self.settle()
        self.is_over = True
        super().finish()

    def step(self, rng):
        files = len(self.files)
        super().step(rng)
        if len(self.files) > files:
            self.story.append({"at": self.files[-1].name, "do": "put a file", "file": files})

    def put_down(self, replica, step, last=True):
        if self.is_over:
            return
        step = {"at": replica.name, **step}
        if last:
            number, before = replica.vector.get(replica.name, 0), self.vector_before.get(replica.name, 0)
            self.vector_before[replica.name] = number
            step["dot"] = [replica.name, number] if number > before else None
            step["now"] = self.latest_now if number > before else None
            look = replica.state.look()
            step["shown"] = {n: self.shown_values(replica.state.records[n]) for n in sorted(look.shown())}
            step["members"] = sorted(look.members())
            kept = {n: self.as_json(r) for n, r in sorted(replica.state.records.items())}
            old = self.kept_before.get(replica.name, {})
            step["kept"] = {n: r for n, r in kept.items() if old.get(n) != r}
            self.kept_before[replica.name] = kept
        self.story.append(step)


class RecordingWorld(RecordedSteps, World):
    replica_type = RecordingReplica

    def shown_values(self, record):
        cells = {f: record.cell(f, self.rules.follows) for f in ("o", *self.fields)}
        return {f: c[1] for f, c in cells.items() if c and c[1] is not None}

    def as_json(self, record):
        return as_json(record)


def as_json(record):
    result = {"existence": record.existence, "owner": record.owner, "forward": record.forward, "touches": record.touched,
              "deletes": sorted(record.deletes.values()), "layers": sorted(e.stamp for e in record.layers.values()),
              "basis": record.basis}
    if record.has_life():
        result["life"] = {"time": record.life[1], "dot": record.life[2:]}
        result["said"] = record.said
    result["cells"] = {f: [c[0], c[1]] + ([] if c[2] == dot(c[0]) else [c[2]]) for f, c in sorted(record.cells.items())}
    return json.loads(json.dumps({k: v for k, v in result.items() if v or k == "life"}))


def versions(world):
    return {tag: {"number": number,
                  "records": {n: {d: None if e.retired else e.fields for (d, _), e in r.layers.items()}[tag]
                              for n, r in sorted(virtual.state.records.items())},
                  "members": sorted(virtual.state.links)}
            for tag, (number, virtual) in world.versions.items()}


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 24
    mixes = [[], ["deleteWins"], ["cycles"], ["seeds"], ["seeds", "adoption"], ["seeds", "adoption", "deleteWins", "cycles"]]
    histories, seed, lifts = [], 0, 0
    while len(histories) < count:
        seed += 1
        world = RecordingWorld(seed, mixes[len(histories) % len(mixes)])
        flags = world.run()
        assert not flags, (seed, flags)
        took = any(s["do"] == "take" and s.get("dot") for s in world.story)
        if not took or world.shredded < 2:   # a history without lifts says little
            continue
        histories.append({"seed": seed, "features": sorted(world.features), "deleteWins": sorted(world.rules.delete_wins),
                          "followsPerField": world.rules.follows, "versions": versions(world), "steps": world.story})
    lines = ",\n".join(json.dumps(h, separators=(",", ":"), sort_keys=True) for h in histories)
    print('{"format":1,"histories":[\n' + lines + "\n]}")


if __name__ == "__main__":
    main()
