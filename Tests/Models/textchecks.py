"""Writes check values of texts: histories as they happened, and after each step what a device keeps.

    textchecks.py [COUNT] >text-checks.json

They are for another implementation, which replays the steps and compares. A step says who (`at`) did what: `write` makes the text
`text`, `take` takes in what `from` has since `base`. Then `text` is what shows there, and `kept` has the runs that have changed since
the step before: id, parent (null, or run and offset), side (0 left, 1 right), the sequence of each element (null where none is known),
the characters (a blank where one is deleted or not known), and of each deleted element offset and dot. Salt is 1.
"""
import json
import sys

from texts import Replica, World


class RecordingReplica(Replica):
    def write(self, new, world=None):
        made = super().write(new, world)
        if made or self.text.dead:
            self.put_down({"do": "write"})
        return made

    def pull(self, other, base=None):
        base = dict(self.vector if base is None else base)
        super().pull(other, base)
        self.put_down({"do": "take", "from": other.name, "base": base})

    def put_down(self, step):
        kept, before = self.kept(), getattr(self, "before", {})
        step["kept"] = [run for id, run in kept.items() if before.get(id) != run]
        self.before = kept
        self.world.story.append({"at": self.name, **step, "text": self.text.text()})

    def kept(self):
        runs = {}
        for id, run in sorted(self.text.runs.items()):
            parent = None if run.parent is None else [list(run.parent[0]), run.parent[1]]
            dead = [[i, *self.text.dead[id, i]] for i in range(len(run.dots)) if (id, i) in self.text.dead]
            runs[id] = [list(id), parent, run.side, [d and d[1] for d in run.dots], "".join(c or " " for c in run.chars), dead]
        return runs


class RecordingWorld(World):
    replica_type = RecordingReplica

    def __init__(self, seed):
        super().__init__(seed, steps=22)
        self.story = []
        for replica in self.replicas:
            replica.world = self


def main():
    histories = []
    for seed in range(1, 1 + (int(sys.argv[1]) if len(sys.argv) > 1 else 24)):
        world = RecordingWorld(seed)
        flags = world.run()
        assert not flags, (seed, flags)
        histories.append({"seed": seed, "steps": world.story})
    lines = ",\n".join(json.dumps(h, separators=(",", ":"), sort_keys=True, ensure_ascii=False) for h in histories)
    print('{"format":1,"histories":[\n' + lines + "\n]}")


if __name__ == "__main__":
    main()
