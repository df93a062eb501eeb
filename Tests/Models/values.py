"""Counters, ordered relationships and unique fields beside deleting by lives: the other models with these in them, and all of
their checks.

    values.py run WORLD FIRST COUNT [--only FEATURE ...] [--without RULE ...] [--claim CLAIM]
    values.py gate [--seconds SECONDS]

Features: counters (also in `copies`), order, unique, greatest; besides those of world.py. In a sentence each:

- counter: an offset, which is a register of the content and says a number less all totals that its author knew, and a total for each
  replica that added, which is presence. What shows is the offset and all totals;
- position: a register of a link, which is presence and no touch. A key is a path of (run, counter);
- unique: a function of what is shown. The holder of a value is the least claim, the greatest of the column's stamp and the beginning
  of the record's life; what comes back by a local write begins a life that is later than the claims of all who are there;
- greatest: a register of which the greater value of one rank and time stays. A raise has the time of what it raises, or 0; a set has
  a time of its own.
"""
import argparse
import hashlib
import sys
import time as wall

import lives
import replica as replicas
import world as worlds
from lives import LivesRecord, LivesState
from today import SEED, USER, State, covers, dot, include, merged

NAMES = ["Work", "Home", None, "Work", "Play"]
CLAIMS = ("register", "existence", "life", "again")


# Positions: elements have even counters, gaps odd ones

def between(left, right, run, mine):
    """A key between two. `mine` has the runs that this opening of the store has begun: what they hang beneath, and how far they go."""
    def grown(key, step):
        own = mine.get(key[-1][0]) if key else None
        if own is None or own[0] != key[:-1] or key[-1][1] != own[2 if step > 0 else 1]:
            return None
        return key[:-1] + ((key[-1][0], key[-1][1] + step),)

    after = grown(left, 2)
    if after and (right is None or after < right):
        beneath, least, _ = mine[after[-1][0]]
        mine[after[-1][0]] = (beneath, least, after[-1][1])
        return after
    before = grown(right, -2)
    if before and (left is None or left < before):
        beneath, _, most = mine[before[-1][0]]
        mine[before[-1][0]] = (beneath, before[-1][1], most)
        return before
    left = left or ()
    size = len(left)
    same_run = right and left and len(right) >= size and right[:size - 1] == left[:-1] \
        and right[size - 1][0] == left[-1][0] and right[size - 1][1] > 0
    if right is None or not (right[:size] == left or same_run):
        beneath = left
    else:
        place = size if right[:size] == left else size - 1
        while right[place][1] % 2:
            place += 1
        gap = 2 if "gapIsElement" in lives.FAULTS else 1
        beneath = right[:place] + ((right[place][0], right[place][1] - gap),)
    mine[run] = (beneath, 0, 0)
    return beneath + ((run, 0),)


class Raised(tuple):
    """A stamp of a field that keeps the greatest: rank, time, value, and only then the dot."""

    def __new__(cls, stamp, value):
        result = super().__new__(cls, stamp)
        result.order = stamp[:2] + (value,) + stamp[2:]
        return result

    def __lt__(self, other):
        return self.order < other.order if isinstance(other, Raised) and "greatestByDot" not in lives.FAULTS else tuple(self) < tuple(other)

    def __gt__(self, other):
        return other < self if isinstance(other, Raised) else tuple(self) > tuple(other)

    def __le__(self, other):
        return not self > other

    def __ge__(self, other):
        return not self < other


class Positions:
    """Positions of links, in the state of the design and in today's alike: nothing of them is ever dropped."""

    def __init__(self, rules):
        super().__init__(rules)
        self.positions = {}

    def copy(self):
        result = super().copy()
        result.positions = dict(self.positions)
        return result

    def join_positions(self, other):
        for key, position in other.items():
            if key not in self.positions or self.positions[key] < position:
                self.positions[key] = position

    def positions_delta(self, base):
        return {k: p for k, p in self.positions.items() if not covers(base, dot(p[0]))}

    def join(self, other):
        super().join(other)
        self.join_positions(other.positions)

    def delta(self, base):
        part = super().delta(base)
        part.positions = self.positions_delta(base)
        return part

    def key(self):
        return super().key(), self.positions


class PlainState(Positions, State):
    pass


class Record(LivesRecord):
    """Counters without seen totals and starts: everything that was ever added counts, and the offset takes off what it had seen."""

    def start(self, replica):
        return (0, 0)

    def counted(self):
        return {r: ((0, 0), t) for r, t in self.totals.items()}

    def take(self, other, fields=("owner", "forward", "said", "life", "touched", "seen", "cells", "starts")):
        self.copy_presence(other)
        for field in fields:
            value = getattr(other, field)
            setattr(self, field, dict(value) if isinstance(value, dict) else value)
        return self

    def copy(self):
        return Record().take(self)

    def delta(self, base):
        part = super().delta(base)
        return None if part is None else Record().take(part)


class DesignState(Positions, LivesState):
    record_type = Record


def offset(value, totals):
    """What a set writes: the number and the totals that today's engine needs, and the offset of the design."""
    seen = 0 if "setIsRegister" in lives.FAULTS else sum(t[1] for _, t in totals)
    return value, totals, value - seen


def number(record, follows):
    cell = record.cell("n", follows)
    totals = record.totals.values()
    return (cell[1][2] if cell else 0) + sum(t[1] for t in totals)


def number_today(record, follows):
    cell = record.cell("n", follows)
    seen = dict(cell[1][1]) if cell else {}
    known = {r: seen.get(r, (0, 0)) for r in record.totals}
    return (cell[1][0] if cell else 0) + sum(t[1] - known[r][1] for r, t in record.totals.items() if t > known[r])


class Replica(replicas.Replica):
    def __init__(self, world, name, skew=0):
        super().__init__(world, name, skew)
        self.state, self.plain, self.runs = DesignState(world.rules), PlainState(world.rules), {}

    def clone(self):
        result = super().clone()
        result.runs = {}
        return result

    def apply(self, source, base, is_repair=False):
        part = source.state.positions_delta(base)
        super().apply(source, base, is_repair)
        self.state.join_positions(part)
        if self.world.is_copied:
            self.plain.join_positions(source.plain.positions_delta(base))

    # Counters

    def write(self, name, field, value, d, now, rank=USER):
        if field == "m":
            return self.keep(name, value, d, now, is_set=True)
        if field == "n" and len(value) == 2:
            value = offset(*value)
        super().write(name, field, value, d, now, rank)

    # The greatest

    def greatest(self, name):
        """What shows: 0 if nothing was said."""
        record = self.state.records.get(name)
        cell = record and record.cell("m", self.state.rules.follows)
        return cell[1] if cell else 0

    def keep(self, name, value, d, now, is_set):
        record, plain = self.state.record(name), self.plain.record(name)
        old = record.own("m")
        old = old if old and old[0][0] == USER else None
        begun = old[0][1] if old else 0
        if is_set:
            begun = time = max(now, begun + 1, record.life[1] + 1)
        else:
            time = max(now, begun + 1) if "raiseIsRegister" in lives.FAULTS else begun
        self.world.kept.append((name, d, begun, value))
        stamp = Raised((USER, time) + d, value)
        record.write("m", stamp, value)
        plain.write("m", stamp, value)

    def insert(self, name, fields, d, now):
        """Who inserts one record on several devices begins at one place; the insert of a name that was known sets."""
        given, known = dict(fields), name in self.state.records
        value = None if known else given.pop("m", None)
        super().insert(name, given, d, now)
        if value is not None:
            self.keep(name, value, d, now, is_set=False)

    def raised(self, name, value, d, now, is_set=False):
        if is_set or value > self.greatest(name):
            if self.state.record(name).layers:
                self.note_basis(name, (USER, now) + d)
            self.keep(name, value, d, now, is_set)

    def carry(self, seed, field, stamp, value):
        super().carry(seed, field, Raised(stamp, value) if field == "m" else stamp, value)

    def add(self, name, amount, d):
        if self.state.record(name).layers:
            self.note_basis(name, (USER, self.now()) + d)
        super().add(name, amount, d)
        if "addIsNoTouch" in lives.FAULTS:
            self.state.record(name).touched = {r: s for r, s in self.state.record(name).touched.items() if (r, s) != d}

    # Order

    def members(self, source):
        look = self.state.look()
        shown = look.shown()
        found = [k[1] for k in self.state.links if k[0] == source and look.is_member(k) and k[1] in shown]
        return sorted(found, key=lambda m: (self.position(source, m) or (), m))

    def position(self, source, member):
        position = self.state.positions.get((source, member))
        return position and position[1]

    def place(self, key, position, d, now, rank=USER):
        old = self.state.positions.get(key)
        stamp = (rank, max(now, old[0][1] + 1 if old else 0)) + d
        for state in (self.state, self.plain):
            state.join_positions({key: (stamp, position)})
        if "moveIsTouch" in lives.FAULTS:
            include(self.state.record(key[0]).touched, d)

    def ensure(self, source, d, now):
        """Links from before the relationship was ordered have no position and stand first: who inserts gives them positions, as one run."""
        bare = [m for m in self.members(source) if self.position(source, m) is None]
        if not bare or "bareStay" in lives.FAULTS:
            return
        first = [p for p in (self.position(source, m) for m in self.members(source)) if p][:1]
        run, left = self.world.run_id(), None
        for member in bare:
            left = between(left, first[0] if first else None, run, self.runs)
            self.place((source, member), left, d, now)

    def key_at(self, source, at, run, without=()):
        members = [m for m in self.members(source) if m not in without]
        left = self.position(source, members[at - 1]) if at else None
        right = self.position(source, members[at]) if at < len(members) else None
        if left is not None and right is not None and left >= right:
            right = None
        if "fraction" in lives.FAULTS:
            low = left[0][1] if left else 0.0
            return (("", (low + (right[0][1] if right else low + 2)) / 2),)
        return between(left, right, run, self.runs)

    def tag(self, key, d, now, rank=USER):
        if "order" in self.world.features and not self.state.look().is_member(key):
            self.ensure(key[0], d, now)
            last = len(self.members(key[0]))
            self.place(key, self.key_at(key[0], last, self.world.run_id(), (key[1],)), d, now, rank)
        super().tag(key, d, now, rank)

    def insert_run(self, source, at, count, is_backwards, d, now):
        self.ensure(source, d, now)
        members, world = self.members(source), self.world
        anchor = tuple((members[i], self.position(source, members[i])) if 0 <= i < len(members) else None for i in (at - 1, at))
        run, new = world.run_id(), []
        for j in range(count):
            world.made += 1
            member = "m%d" % world.made
            new.append(member)
            self.insert(member, {"x": world.time}, d, now)
            self.place((source, member), self.key_at(source, at if is_backwards else at + j, run), d, now)
            for state in (self.state, self.plain):
                state.add((source, member), (USER, now) + d)
        world.bursts.append((d, source, anchor, new[::-1] if is_backwards else new, merged(self.vector, {})))

    # Unique

    def say_again(self, d, shown, known):
        if self.world.claim not in ("life", "again"):
            return super().say_again(d, shown, known)
        look, now = self.state.look(), self.clock()
        now_shown = look.shown()
        if self.world.claim == "again":   # what comes back is later than the claims of all who are there
            held = [n for n in now_shown & shown if "unique" in self.world.features and self.has_claim(n)]
            now = max([0] + [self.claim(n)[1] + 1 for n in held])
        for name in now_shown - shown:
            record = self.state.records[name]
            if not (record.deletes or record.has_life() or name in known) or record.is_offered():
                continue
            cells = {f: (c[0], c[1], d) for f, c in record.cells.items()}
            for field, cell in cells.items():
                self.world.note_via(name, field, cell[0], d)
            time = record.next_time(now)
            record.begin_life((time, time) + d)
            record.seen, record.cells, record.said = {}, cells, d
            record.normalize()
            self.world.says_again += 1
        self.say_shown(d, now_shown)

    def restore(self, name, d, now):
        self.world.has_restored = True
        super().restore(name, d, now)

    def has_claim(self, name):
        cell = self.state.records[name].cell("u", self.world.rules.follows)
        return cell and cell[1] is not None

    def claim(self, name):
        record = self.state.records[name]
        claim = record.cell("u", self.world.rules.follows)[0]
        if self.world.claim == "existence" and record.existence:
            claim = max(claim, record.existence)
        if self.world.claim in ("life", "again") and record.has_life():
            claim = max(claim, (USER,) + record.life[1:])
        return claim

    def unique(self):
        """What each record shows, and who claims each value."""
        look, by = self.state.look(), {}
        for name in look.shown():
            if self.has_claim(name):
                value = self.state.records[name].cell("u", self.world.rules.follows)[1]
                by.setdefault(value, []).append((self.claim(name), name))
        view = {}
        for value in sorted(by):
            order = sorted(by[value], reverse="lastHolds" in lives.FAULTS)
            view[order[0][1]] = value
            for _, name in order[1:]:
                if "suffixByPlace" in lives.FAULTS:
                    view[name] = value + " 2"
                    continue
                digits = hashlib.sha1(name.encode()).hexdigest()
                free = (v for v in (value + " ~" + digits[:size] for size in (1, 4, 40)) if v not in by and v not in view.values())
                view[name] = next(free, value + " ~" + name)
        return view, by


class World(worlds.World):
    replica_type = Replica

    def __init__(self, seed, kind="harsh", faults=(), only=None, steps=None, draw=True, claim="again"):
        self.made = self.runs = self.stolen = self.restores = self.orders = self.counters = 0
        self.bursts, self.has_restored, self.claim = [], False, claim
        self.kept, self.keeps, self.greatest = [], seed % 3 == 0, 0
        super().__init__(seed, kind, faults, only, steps, draw)
        if "unique" in self.features:
            self.fields = self.fields + ["u"]
        if "greatest" in self.features:
            self.fields = self.fields + ["m"]

    def run_id(self):
        self.runs += 1
        return "%04x" % (self.runs * 40503 % 65536)

    def draw_features(self, only):
        drawn = super().draw_features(only)
        extra = {f for f in ("order", "unique") if self.rng.random() < 0.5}
        counters = {"counters"} if self.rng.random() < 0.4 else set()
        greatest = {"greatest"} if self.keeps else set()
        return frozenset(drawn) if only is not None else frozenset(drawn | extra | counters | greatest)

    def draw_versions(self):
        former, worlds.Replica = worlds.Replica, Replica
        try:
            result = super().draw_versions()
        finally:
            worlds.Replica = former
        for tag, (no, virtual) in result.items():
            for state in (virtual.state, virtual.plain):
                if "order" in self.features:
                    for key in state.links:
                        state.positions[key] = ((SEED, no, tag, 1), ((tag, 0),))
                for name, record in state.records.items():
                    for layer in record.layers.values():
                        if layer.retired:
                            continue
                        if "counters" in self.features:
                            layer.fields.setdefault("n", offset(10 * no, ()))
                        if "greatest" in self.features:
                            layer.fields.setdefault("m", 10 * no)
                        if "unique" in self.features:
                            layer.fields.setdefault("u", "Work" if name == "s0" else "Home")
        return result

    def default(self, replica, name, field):
        return (0, replica.totals(name)) if field == "n" else 0 if field == "m" else None

    def draw_insert(self, replica, name, owners, value, rng):
        given = super().draw_insert(replica, name, owners, value, rng)
        if "unique" in self.features and rng.random() < 0.7:
            given["u"] = rng.choice(NAMES)
        if "greatest" in self.features and name not in worlds.DUPLICATES and rng.random() < 0.4:
            given["m"] = rng.randrange(20)
        return given

    def counted(self, state):
        return {} if isinstance(state, DesignState) else super().counted(state)

    def act(self, replica, rng):
        before = replica.unique()[0] if "unique" in self.features else None
        self.has_restored = False
        super().act(replica, rng)
        if before is None or not self.has_restored:
            return
        self.restores += 1
        view, _ = replica.unique()
        for name, value in before.items():
            said = replica.state.records[name].cell("u", self.rules.follows)
            if said and said[1] == value and name in view and view[name] != value:
                self.stolen += 1
                break

    def change(self, replica, name, shown, owners, draw, value, rng):
        more, features = rng.random(), self.features
        if features <= {"order", "deleteWins", "seeds"}:
            more *= 0.45
        if "order" in features and owners and more < 0.25:
            source = rng.choice(owners)
            members = replica.members(source)
            if more < 0.12 and self.made < 40:
                at, count, is_backwards = rng.randrange(len(members) + 1), rng.choice([1, 2, 3]), rng.random() < 0.4
                self.note(replica.name, "inserts", count, "members of", source, "at", at)
                return replica.transact(lambda d, now: replica.insert_run(source, at, count, is_backwards, d, now))
            if members and more < 0.19:
                member, at = rng.choice(members), rng.randrange(len(members))
                self.note(replica.name, "moves member", member, "of", source, "to", at)

                def move(d, now):
                    replica.ensure(source, d, now)
                    replica.place((source, member), replica.key_at(source, at, self.run_id(), (member,)), d, now)
                return replica.transact(move)
            if members:
                member = rng.choice(members)
                self.note(replica.name, "removes member", member, "of", source)
                return replica.transact(lambda d, now: replica.untag((source, member), d, now))
        if "greatest" in features and rng.random() < 0.3:
            best, is_set = rng.randrange(60), rng.random() < 0.15
            self.note(replica.name, "sets" if is_set else "raises", name, "m", best)
            return replica.transact(lambda d, now: replica.raised(name, best, d, now, is_set))
        if "unique" in features and 0.25 <= more < 0.4:
            new = rng.choice(NAMES)
            self.note(replica.name, "names", name, new)
            return replica.transact(lambda d, now: replica.edit(name, "u", new, d, now))
        return super().change(replica, name, shown, owners, draw, value, rng)

    # Checks

    def same(self, replica, mine=None, today=None, at_end=False):
        super().same(replica, mine, today, at_end)
        if "unique" in self.features:
            view, by = replica.unique()
            if len(set(view.values())) != len(view):
                self.flag("notUnique", replica.name)
            for value, claims in by.items():
                if [n for n in view if view[n] == value] != [min(claims)[1]]:
                    self.flag("wrongHolder", (replica.name, value))

    def check_counters(self, replica, look, today):
        """Exact: where the offset is today's, the number is. Where it went with a purge (E1), the sum of all that was added is there."""
        follows = self.rules.follows
        for name in sorted(today.visible()):
            if not look.is_shown(name):
                continue
            self.counters += 1
            record, plain = replica.state.records[name], replica.plain.records[name]
            base, due = record.cell("n", follows), plain.cell("n", follows)
            every = {(who, s): a for (n, who), adds in self.adds.items() if n == name for s, a in adds}
            based = self.seen.get(dot(due[0]), {}) if due else {}
            added = sum(a for d, a in every.items() if covers(replica.vector, d) and not covers(based, d))
            if not self.is_copied and (due[1][0] if due else 0) + added != number_today(plain, follows):
                self.flag("todaysCounter", name)
            if (base and base[0]) == (due and due[0]) and (not self.is_copied or not base or base[1] == due[1]):
                if number(record, follows) != number_today(plain, follows):
                    self.flag("counter", (name, number(record, follows), number_today(plain, follows)))
            elif not self.is_copied and not self.is_purged(name, dot(due[0])):
                self.flag("baseLost", name)
            else:
                self.rebased += 1

    def check_order(self, replica):
        at = {}
        for source in {k[0] for k in replica.state.links}:
            at.update({(source, m): i for i, m in enumerate(replica.members(source))})
        done = []
        for d, source, anchor, members, seen in self.bursts:
            if not covers(replica.vector, d):
                continue
            places = [at[source, m] for m in members
                      if (source, m) in at and dot(replica.state.positions[source, m][0]) == d]
            if places != sorted(places):
                self.flag("order", members)
            for other, source2, anchor2, places2, seen2 in done:
                if source2 == source and anchor2 == anchor and other[0] != d[0] and not covers(seen, other) and not covers(seen2, d):
                    self.orders += 1
                    if places and places2 and not (max(places) < min(places2) or max(places2) < min(places)):
                        self.flag("interleaved", (members, places, places2))
            done.append((d, source, anchor, places, seen))

    def check_greatest(self, replica):
        """By today's rules the greatest shows of what began last; what the design shows beyond E1 other checks compare with that."""
        due = {}
        for name, d, begun, value in self.kept:
            if covers(replica.vector, d):
                due[name] = max(due.get(name, (0, -1)), (begun, value))
        for name, (begun, value) in due.items():
            self.greatest += 1
            cell = replica.plain.records[name].own("m")
            if cell is None or cell[1] != value:
                self.flag("greatest", (name, cell, begun, value))

    def check_exceptions(self, replica):
        features = self.features
        self.features = features - {"counters"}
        super().check_exceptions(replica)
        self.features = features
        if "counters" in features:
            self.check_counters(replica, replica.state.look(), replica.plain.look())
        if "greatest" in features and not self.is_copied:
            self.check_greatest(replica)
        if replica.state.positions != replica.plain.positions:
            self.flag("positions", replica.name)
        if "order" in features:
            self.check_order(replica)


TOTALS = ("deltas", "shredded", "lifted", "purged", "hollow", "adopted", "rebased", "counters", "greatest", "orders", "restores", "stolen",
          "repaired")

# Rules left out: the features that show them, and of how many harsh histories some must notice.
RULES = {
    "setIsRegister": (["counters"], 20), "totalsDropped": (["counters"], 20), "moveIsTouch": (["order", "deleteWins"], 20),
    "fraction": (["order"], 40), "lastHolds": (["unique"], 20), "suffixByPlace": (["unique"], 30),
    "raiseIsRegister": (["greatest"], 20), "greatestByDot": (["greatest"], 20),
}


def run(kind, seeds, faults=(), only=None, claim="again"):
    """(failed seeds by kind of failure, how many histories failed, totals)"""
    failed, count, totals = {}, 0, dict.fromkeys(TOTALS, 0)
    for seed in seeds:
        world = World(seed, kind, faults, only, claim=claim)
        flags = world.run()
        count += bool(flags)
        for flag in flags:
            failed.setdefault(flag, []).append(seed)
        for name in TOTALS:
            totals[name] += getattr(world, name)
    return failed, count, totals


def gate(seconds):
    """Histories of every world for so many seconds, and rules left out that the checks must notice at once."""
    bad, count, first = 0, 0, 1
    for rule, (only, histories) in RULES.items():
        if not run("harsh", range(1, histories + 1), {rule}, only)[1]:
            print(f"without {rule} {histories} histories hold: the checks notice nothing")
            bad += 1
    begun = wall.time()
    while wall.time() - begun < seconds:
        for kind in worlds.WORLDS:
            failed, failures, _ = run(kind, range(first, first + 5))
            bad += failures
            count += 5
            for flag, seeds in sorted(failed.items()):
                print(f"{kind} {seeds[0]}: {flag}")
        first += 5
    print(f"{count} histories of counters, orders and names, {bad} bad")
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "gate"])
    parser.add_argument("world", choices=worlds.WORLDS, nargs="?")
    parser.add_argument("first", type=int, nargs="?")
    parser.add_argument("count", type=int, nargs="?")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--without", nargs="*", default=[])
    parser.add_argument("--claim", choices=CLAIMS, default="again")
    parser.add_argument("--seconds", type=int, default=15)
    options = parser.parse_args()
    if options.what == "gate":
        sys.exit(gate(options.seconds))
    begun = wall.time()
    seeds = range(options.first, options.first + options.count)
    failed, count, totals = run(options.world, seeds, set(options.without), options.only, options.claim)
    print(options.world, " ".join(options.without) or "design", f"failed {count} of {options.count}",
          " ".join(f"{name} {value}" for name, value in totals.items()), f"{wall.time() - begun:.0f} s")
    for flag, seeds in sorted(failed.items()):
        print("  ", flag, len(seeds), "first", seeds[:5])
    sys.exit(1 if count and not options.without else 0)


if __name__ == "__main__":
    main()
