"""A random history: replicas, and what happens to them. Everything is drawn from one number."""
import random

import lives
from checks import WINDOW, Checks
from replica import Replica, Shred
from today import OWNER, SEED, Layer, Rules, covers, covers_all, dot, lowest, merged
from window import DAY, Days

YEAR = 365 * DAY
FEATURES = ("deleteWins", "counters", "cycles", "seeds", "adoption")
WORLDS = ("harsh", "ordinary", "window", "copies")
PLAIN_NAMES = ["p0", "p1", "c0", "c1"]
SEED_NAMES = ["s0", "s1"]
DUPLICATES = ["d0", "d1"]
KEYS = {"s0": "key0", "s1": "key1"}


class World(Checks):
    replica_type = Replica

    def __init__(self, seed, kind="harsh", faults=(), only=None, steps=None, draw=True):
        self.seed, self.kind, self.faults = seed, kind, frozenset(faults)
        self.rng = self.dice = random.Random(seed)
        lives.FAULTS = self.faults
        self.is_copied, self.has_window, self.is_ordinary = kind == "copies", kind == "window", kind == "ordinary"
        self.features = self.draw_features(only)
        self.time = 1_800_000_000_000 if self.has_window else 10**6
        self.replicas, self.files, self.flags, self.shreds, self.log = [], [], {}, {}, []
        self.seen, self.written, self.shared_at, self.twins, self.copied_names, self.adds = {}, {}, {}, set(), set(), {}
        self.vias = {}
        self.count = self.shredded = self.lifted = self.says_again = self.purged = self.hollow = 0
        self.twin_values = self.beyond = self.purged_adds = self.rebased = self.renamed = self.repaired = self.adopted = self.deltas = 0
        self.rules = Rules(self.draw_delete_wins(), "seeds" in self.features and self.rng.random() < 0.3)
        self.fields = ["x", "y"] + (["n"] if "counters" in self.features else [])
        self.names = ["p0", "c0"] + SEED_NAMES if "seeds" in self.features else PLAIN_NAMES   # few, so that they meet
        self.names = self.names + (DUPLICATES if "adoption" in self.features else [])
        self.versions = self.draw_versions()
        self.steps = steps
        if draw:
            for _ in range(self.rng.choice([2, 3, 3, 4])):
                self.new_replica()
            if steps is None:
                self.steps = list(range(self.rng.choice([25, 45, 80])))

    # Drawing

    def draw_features(self, only):
        drawn = [f for f in FEATURES if self.rng.random() < 0.5]
        if only is not None:
            return frozenset(only)
        drawn = frozenset(drawn) if self.rng.random() < 0.8 else frozenset()
        drawn = drawn - {"counters"} if self.is_copied else drawn
        return drawn | {"seeds"} if "adoption" in drawn else drawn

    def draw_delete_wins(self):
        names = PLAIN_NAMES + SEED_NAMES + DUPLICATES
        return frozenset(n for n in names if self.rng.random() < 0.6) if "deleteWins" in self.features else frozenset()

    def draw_versions(self):
        """The versions of the seed set, and one with other content under the same number."""
        result = {}
        for number, tag in [(1, "~v1"), (2, "~v2"), (2, "~w2"), (3, "~v3")] if "seeds" in self.features else ():
            stamp = SEED, number, tag, 1
            virtual = Replica(self, tag)
            for name in SEED_NAMES:
                fields = {"x": KEYS[name]}
                if self.rng.random() < 0.6:
                    fields["y"] = -number
                if name == "s1" and self.rng.random() < 0.6:
                    fields[OWNER] = "s0"
                layer = Layer(stamp, self.rng.random() < 0.25, fields)
                layer = Layer(stamp, True, {}) if layer.retired else layer
                for state in (virtual.state, virtual.plain):
                    state.record(name).layers[dot(stamp)] = layer
            if self.rng.random() < 0.6:
                for state in (virtual.state, virtual.plain):
                    state.add(("s0", "s1"), stamp)
            virtual.vector = {tag: 1}
            result[tag] = number, virtual
        return result

    def draw_skew(self, rng):
        if self.has_window:
            return rng.choice([0, 0, 0, -56 * YEAR, 20 * YEAR, 173 * YEAR])
        return rng.choice([0, 0, 0, -900_000, -300_000, 37, 5 * 10**6])

    def new_replica(self):
        self.count += 1
        name = "r%02d" % self.count if self.count > 9 else chr(64 + self.count) + "0"
        self.replicas.append(self.replica_type(self, name, self.draw_skew(self.dice)))
        return self.replicas[-1]

    def new_days(self):
        return Days(WINDOW, self.faults)

    def default(self, replica, name, field):
        return (0, replica.totals(name)) if field == "n" else None

    # What replicas report

    def tick(self):
        self.time += self.dice.choice([0, 0, 1000]) if self.is_copied else 1000
        return self.time

    def began(self, d, vector):
        if d in self.seen:
            self.twins.add(d)
        self.seen[d] = merged(vector, {d[0]: d[1]})
        self.written[d] = self.time

    def share(self, vector):
        if self.has_window:
            for d in self.written:
                if covers(vector, d):
                    self.shared_at.setdefault(d, self.time)

    def note_add(self, name, d, amount):
        self.adds.setdefault((name, d[0]), []).append((d[1], amount))

    def note_shred(self, replica, name, d):
        visible = lambda r: r.plain.look().is_visible(name)
        everywhere = not any(visible(r) and self.is_kept(r, replica, name) for r in self.replicas)
        self.shreds.setdefault(name, []).append(Shred(self.seen[d], not visible(replica), everywhere))

    def ripe(self, replica):
        """The vector that the deletes must be in before a shred; None where anything may go at any time."""
        if "noGate" in self.faults:
            return None
        if self.has_window:
            return replica.days.ripe(replica.clock())
        if not self.is_ordinary:
            return None
        names = {n for n in replica.vector if n[0] != "~"} | {r.name for r in self.replicas}
        heard = replica.acknowledged
        heard[replica.name] = dict(replica.vector)
        if not all(covers_all(replica.vector, v) for v in heard.values()):
            return {}
        return lowest(heard.get(n, {}) for n in names)

    # Steps

    def run(self):
        for number in self.steps:
            self.dice = random.Random(self.seed * 1_000_003 + number)
            self.step(self.dice)
        self.dice = random.Random(self.seed * 1_000_003 - 1)
        self.finish()
        return self.flags

    def note(self, *words):
        self.log.append(" ".join(str(w) for w in words))

    def step(self, rng):
        if self.has_window:
            hour = 3_600_000
            self.time += rng.choice([60_000, hour, 6 * hour, DAY, DAY, 3 * DAY, 10 * DAY, WINDOW * DAY - rng.randrange(30) * hour])
            if rng.random() < 0.05:
                replica = rng.choice(self.replicas)
                replica.skew = self.draw_skew(rng)
                self.note(replica.name, "has another clock, by", replica.skew // YEAR, "years")
        replica, draw = rng.choice(self.replicas), rng.random()
        if draw < 0.5:
            self.act(replica, rng)
        elif draw < 0.8:
            other = rng.choice(self.replicas)
            if other is not replica:
                self.pull(other, self.taken(replica), replica, rng)
                if draw >= 0.72:
                    self.pull(replica, self.taken(other), other, rng)
        elif draw < 0.88:
            self.note(replica.name, "compacts")
            replica.compact()
        elif draw < 0.91:
            self.note(replica.name, "puts a file")
            self.files.append(replica.clone())
            replica.days.note(replica.clock(), replica.vector, peer=True)
            self.share(replica.vector)
        elif draw < 0.94 and self.files:
            file = rng.choice(self.files)
            if file.name != replica.name:
                self.pull(replica, file, None, rng)
        elif not self.is_ordinary:
            self.mishap(replica, rng, draw)

    def mishap(self, replica, rng, draw):
        if self.is_copied and rng.random() < 0.5:
            if len(self.replicas) < 6:
                copy = (replica.backup or replica).clone() if rng.random() < 0.5 else replica.clone()
                self.note("a copy of", replica.name)
                self.replicas.append(copy)
                self.copied_names.add(copy.name)
        elif draw < 0.955:
            hidden = [n for n in self.names if n in replica.state.records and not replica.state.look().is_visible(n)]
            if hidden and not self.is_copied:
                name = rng.choice(hidden)
                deletes = replica.state.records[name].deletes
                if deletes and dot(max(s for s, _ in deletes.values()))[0] == replica.name:
                    self.note(replica.name, "purges", name)
                    replica.compact(only=name)
        elif draw < 0.965:
            if len(self.replicas) < 5:
                self.note("new", self.new_replica().name)
        elif draw < 0.975:
            self.note(replica.name, "is backed up")
            replica.backup = replica.clone()
        elif draw < 0.985 and replica.backup:
            back = replica.backup.clone()
            self.count += 1
            back.name = "z%02d" % self.count
            self.note(replica.name, "is put back as", back.name)
            self.replicas[self.replicas.index(replica)] = back
        elif len(self.replicas) > 2 and rng.random() < 0.4:
            self.note(replica.name, "is lost")
            self.replicas.remove(replica)

    def act(self, replica, rng):
        """What a person or their app does."""
        if self.versions and rng.random() < 0.08:
            self.apply_seed(replica, rng)
        elif "adoption" in self.features and rng.random() < 0.08:
            self.adopt(replica)
        else:
            self.edit(replica, rng)
        self.same(replica)

    def apply_seed(self, replica, rng):
        number, virtual = self.versions[rng.choice(sorted(self.versions))]
        if number >= replica.applied_seed and not covers_all(replica.vector, virtual.vector):
            self.note(replica.name, "seeds", virtual.name)
            replica.applied_seed = number
            replica.apply(virtual, {})

    def adopt(self, replica):
        look = replica.state.look()
        records, seed_of = replica.state.records, {}
        for name in DUPLICATES:
            record = records.get(name)
            if not record or not look.is_shown(name) or not self.is_untouched(record):
                continue
            for seed in SEED_NAMES:
                layers = records[seed].layers.values() if seed in records else ()
                if any(record.own("x")[1] == e.fields.get("x") for e in layers if not e.retired):
                    referred = any(records[c].own(OWNER) and records[c].own(OWNER)[1] == name for c in look.shown())
                    referred = referred or any(name in k for k in look.members())
                    if look.is_shown(seed) or not referred:
                        seed_of[name] = seed
        if seed_of or replica.late_members(look):
            self.note(replica.name, "adopts", seed_of)
            self.adopted += len(seed_of)
            replica.transact(lambda d, now: replica.adopt(sorted(seed_of), seed_of, d, now))

    @staticmethod
    def is_untouched(record):
        cells = [c for c in [record.owner, *record.cells.values()] if c]
        return (record.existence and not record.has_life() and not record.deletes and not record.layers and not record.totals
                and record.forward is None and record.own("x") and all(c[0] == record.existence for c in cells)
                and all(covers({record.existence[2]: record.existence[3]}, d) for d in record.touched.items()))

    def edit(self, replica, rng):
        look = replica.state.look()
        shown = sorted(look.shown())
        owners = [n for n in shown if n[0] in "ps"]
        name, draw, value = rng.choice(self.names), rng.random(), self.time + rng.randrange(7)
        if name not in shown and draw < 0.55:
            record = replica.state.records.get(name)
            may_restore = record and not look.is_visible(name) and (record.has_content() or record.shown_layer(self.rules.follows))
            if may_restore and rng.random() < 0.5:
                self.note(replica.name, "restores", name)
                replica.transact(lambda d, now: replica.restore(name, d, now))
                look = replica.state.look()
                if not look.is_visible(name) and all(
                        o is None or o in replica.state.records for o in [look.owner(n) for n in look.chain(name)]):
                    if all(look.is_alive(n) or not replica.state.records[n].layers for n in look.chain(name)):
                        self.flag("restoreShowsNothing", (replica.name, name))
                return
            given = self.draw_insert(replica, name, owners, value, rng)
            self.note(replica.name, "inserts", name, given)
            replica.transact(lambda d, now: replica.insert(name, given, d, now))
        elif shown:
            self.change(replica, rng.choice(shown), shown, owners, draw, value, rng)

    def draw_insert(self, replica, name, owners, value, rng):
        given = {"x": value} if rng.random() < 0.85 else {}
        if rng.random() < 0.6:
            given["y"] = value + 1
        if name[0] in "cd" and owners and rng.random() < 0.8:
            given[OWNER] = rng.choice(owners)
        if name in DUPLICATES:
            given["x"] = rng.choice(sorted(KEYS.values()))
        if "counters" in self.features:
            given["n"] = rng.choice([0, 0, 10]), replica.totals(name)
        return given

    def change(self, replica, name, shown, owners, draw, value, rng):
        other, extra = rng.choice(shown), rng.random()
        key = rng.choice(owners or shown), other
        if "counters" in self.features and extra < 0.3:
            amount = rng.choice([1, 2, 5, -3])
            if extra < 0.05:
                base = rng.choice([0, 100]), replica.totals(name)
                self.note(replica.name, "sets", name, "n", base[0])
                replica.transact(lambda d, now: replica.edit(name, "n", base, d, now))
            else:
                self.note(replica.name, "adds", amount, "to", name)
                replica.transact(lambda d, now: replica.add(name, amount, d))
        elif "cycles" in self.features and extra > 0.8 and other != name:
            self.note(replica.name, "puts", name, "under", other)
            replica.transact(lambda d, now: replica.edit(name, OWNER, other, d, now))
        elif draw < 0.45:
            field = rng.choice("xy")
            self.note(replica.name, "edits", name, field)
            replica.transact(lambda d, now: replica.edit(name, field, value, d, now))
        elif draw < 0.52 and name[0] in "cd" and owners:
            owner = rng.choice([o for o in owners if o != name] + [None])
            self.note(replica.name, "moves", name, "to", owner)
            replica.transact(lambda d, now: replica.edit(name, OWNER, owner, d, now))
        elif draw < 0.78:
            self.note(replica.name, "deletes", name)
            replica.transact(lambda d, now: replica.delete(name, d, now))
        elif owners:
            is_there = replica.state.look().is_member(key)
            self.note(replica.name, "takes" if is_there else "puts", key[1], "out of" if is_there else "into", key[0])
            replica.transact(lambda d, now: replica.untag(key, d, now) if is_there else replica.tag(key, d, now))

    # Syncing

    def taken(self, replica):
        """What a peer gets of a replica. A repair between copies changes both."""
        return replica.clone() if self.is_copied else replica

    def pull(self, replica, source, live, rng):
        self.note(replica.name, "takes in", source.name, "" if live else "(a file)")
        if self.is_copied:
            return self.pull_of_copies(replica, source, live, rng)
        self.compare(replica, source)
        base = replica.vector
        if rng is not None and rng.random() < 0.3:   # everything, or from what both have
            base = {} if rng.random() < 0.5 else lowest([replica.vector, source.vector])
        elif covers_all(replica.vector, source.vector):
            replica.heard(source)
            base = None
        if base is not None:
            replica.apply(source, base)
        if live:
            self.share(source.vector)
            live.days.note(live.clock(), live.vector, peer=True)
        self.compare(replica, source)

    def compare(self, a, b):
        if a.vector == b.vector and a.key() != b.key():
            self.flag("fingerprint", (a.name, b.name))

    def rename(self, replica):
        self.count += 1
        self.renamed += 1
        replica.name = "y%03d" % self.count

    def pull_of_copies(self, replica, source, live, rng):
        self.meet(replica, source, live)
        base = replica.vector
        if rng is not None and rng.random() < 0.2:
            base = lowest([replica.vector, source.vector])
        if not covers_all(replica.vector, source.vector):
            replica.apply(source, base)
        self.meet(replica, source, live)

    def meet(self, replica, source, live):
        """Contract, section 9: what tells a copy, and the repair."""
        if live is not None and replica.name == source.name:
            self.rename(replica)
            if live.name == source.name:
                self.rename(live)
        elif source.vector.get(replica.name, 0) > replica.vector.get(replica.name, 0):
            self.rename(replica)
        if replica.vector == source.vector:
            replica.plain.join(source.plain)
            if live is not None:
                live.plain.join(replica.plain)
        if replica.vector == source.vector and replica.key() != source.key():
            self.repaired += 1
            replica.apply(source, {}, True)
            if replica.name in self.copied_names:
                self.rename(replica)
            if live is not None:
                live.apply(replica.clone(), {}, True)
                if live.name in self.copied_names:
                    self.rename(live)

    def settle(self):
        for _ in range(12 if self.is_copied else 4):
            for a in self.replicas:
                for b in self.replicas:
                    if a is not b:
                        self.pull(b, self.taken(a), a, None)
            first = self.replicas[0]
            if all(r.vector == first.vector and (not self.is_copied or r.key() == first.key()) for r in self.replicas):
                break
        first = self.replicas[0]
        if any(r.vector != first.vector or r.key() != first.key() for r in self.replicas):
            self.flag("diverged")

    # The end

    def finish(self):
        self.settle()
        for replica in self.replicas:
            self.same(replica, at_end=True)
        replica = self.replicas[0]
        self.check_exceptions(replica)
        view = self.values(replica)
        for _ in range(2):
            if self.has_window:
                self.time += (WINDOW + 2) * DAY
                for r in self.replicas:
                    r.skew = 0 if "calendarDays" not in self.faults else r.skew
                    r.days.note(r.clock(), r.vector, peer=True)
                self.time += (WINDOW + 2) * DAY
            if self.is_ordinary:
                for a in self.replicas:
                    for b in self.replicas:
                        a.heard(b)
            for r in self.replicas:
                r.compact()
            self.settle()
        for r in self.replicas:
            look = r.state.look()
            for name, record in r.state.records.items():
                if record.has_content() and not look.is_shown(name) and (look.is_deleted(name) or look.is_visible(name)):
                    self.flag("leftover", (r.name, name))
            if self.values(r) != view:
                self.flag("shredChangedView", r.name)
