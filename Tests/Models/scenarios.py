"""Directed scenarios. Each must hold with the design, and must not hold without the rule that it is named after.

    scenarios.py [WORD ...]      those whose rule or text has one of the words; all unless said
    scenarios.py --brief         says only what does not hold
"""
import sys

from checks import DAY, WINDOW
from replica import Replica
from today import OWNER, SEED, Layer, Rules, dot
from world import YEAR, World

SCENARIOS = []


def scenario(rule, want, **options):
    def note(body):
        SCENARIOS.append((rule, body.__doc__, want, body, options))
        return body
    return note


class Stage:
    """Replicas A to D, and what they do."""

    def __init__(self, faults, skew=None, delete_wins="", kind="harsh", counters=False):
        self.world = world = World(0, kind, faults, (), [], draw=False)
        world.rules = Rules(frozenset(delete_wins.split()))
        world.fields = ["x", "y", "n"] if counters else ["x", "y"]
        world.features = frozenset(["counters"]) if counters else frozenset()
        for name in "ABCD":
            replica = Replica(world, name + "0", (skew or {}).get(name, 0))
            setattr(self, name, replica)
            world.replicas.append(replica)

    def insert(self, r, name, **fields):
        r.transact(lambda d, now: r.insert(name, fields, d, now))

    def edit(self, r, name, field, value):
        r.transact(lambda d, now: r.edit(name, field, value, d, now))

    def restore(self, r, *names):
        r.transact(lambda d, now: [r.exist(n, d, now) for n in names] if len(names) > 1 else r.restore(names[0], d, now))

    def delete(self, r, name):
        r.transact(lambda d, now: r.delete(name, d, now))

    def put(self, r, member, owner):
        r.transact(lambda d, now: r.tag((owner, member), d, now))

    def add(self, r, name, amount):
        r.transact(lambda d, now: r.add(name, amount, d))

    def set(self, r, name, value):
        self.edit(r, name, "n", (value, r.totals(name)))

    def pull(self, r, source, base=None):
        self.world.share(source.vector)
        source.days.note(source.clock(), source.vector, peer=True)
        r.apply(source.clone(), dict(r.vector) if base is None else base)

    def sync(self, a, b):
        self.pull(a, b), self.pull(b, a), self.pull(a, b)

    def seed(self, r, number, tag=None, link=None, **records):
        """Applies a version: record name = {field: value} or None to retire it."""
        tag = tag or "~v%d" % number
        stamp = SEED, number, tag, 1
        virtual = Replica(self.world, tag)
        for state in (virtual.state, virtual.plain):
            for name, fields in records.items():
                state.record(name).layers[dot(stamp)] = Layer(stamp, fields is None, dict(fields or {}))
            if link:
                state.add(link, stamp)
        virtual.vector = {tag: 1}
        r.apply(virtual, {})

    def adopt(self, r, **seed_of):
        r.transact(lambda d, now: r.adopt(sorted(seed_of), seed_of, d, now))

    def values(self, record, shown=False):
        fields = ("x", "y")
        cells = {f: (record.cell(f, False) if shown else record.own(f)) for f in fields}
        return {f: c[1] for f, c in cells.items() if c and c[1] is not None}

    def see(self, r, name):
        """What the app sees of a record; None if it is not shown."""
        return self.values(r.state.records[name], True) if r.state.look().is_shown(name) else None

    def held(self, r, name):
        return self.values(r.state.records[name])

    def number(self, r, name):
        return r.state.records[name].count() if r.state.look().is_shown(name) else None

    def start(self, *others, owner=False, counter=False):
        """A, B, … share p {x: 1, y: 2}; or p that owns c {x: 1, y: 2}; or p with x and a counter of 10."""
        if owner:
            self.insert(self.A, "p", x=0)
            self.insert(self.A, "c", x=1, y=2, o="p")
        elif counter:
            self.insert(self.A, "p", x=1, n=(10, ()))
        else:
            self.insert(self.A, "p", x=1, y=2)
        for r in others:
            self.pull(r, self.A)


# Lifting

@scenario("noLiftSeen", [{"x": 3, "y": 2}] * 2)
def edit_away(z):
    "A edits x away; B deletes p, shreds it, takes A's edit in; A takes B's in: complete on both"
    z.start(z.B), z.edit(z.A, "p", "x", 3), z.delete(z.B, "p"), z.B.compact()
    z.pull(z.B, z.A), z.pull(z.A, z.B), z.pull(z.B, z.A)
    return [z.see(z.A, "p"), z.see(z.B, "p")]


@scenario("noLiftNews", {"x": 3})
def edit_away_and_lost(z):
    "the same, but A only hands in its edit and is lost"
    z.start(z.B), z.edit(z.A, "p", "x", 3), z.delete(z.B, "p"), z.B.compact(), z.pull(z.B, z.A)
    return z.see(z.B, "p")


@scenario("noLiftUnsent", {"x": 3, "y": 2})
def edit_and_delete_away(z):
    "A edits x and deletes p itself, away; B had shredded; A syncs, then restores"
    z.start(z.B), z.delete(z.B, "p"), z.B.compact(), z.edit(z.A, "p", "x", 3), z.delete(z.A, "p"), z.pull(z.A, z.B)
    z.restore(z.A, "p")
    return z.see(z.A, "p")


@scenario("newsIfVisible", {"x": 3})
def edit_and_delete_away_and_lost(z):
    "the same, A is lost after handing in; B restores"
    z.start(z.B), z.delete(z.B, "p"), z.B.compact(), z.edit(z.A, "p", "x", 3), z.delete(z.A, "p"), z.pull(z.B, z.A)
    z.restore(z.B, "p")
    return z.see(z.B, "p")


@scenario("noSayTouched", {})
def moved_away(z):
    "A moves c to another owner while away, no value written; B deletes c, shreds it, takes A's move in; A is lost: c shows"
    z.start(z.B, owner=True), z.insert(z.A, "q", x=5), z.pull(z.B, z.A)
    z.edit(z.A, "c", OWNER, "q"), z.delete(z.B, "c"), z.B.compact(), z.pull(z.B, z.A)
    return z.see(z.B, "c")


@scenario("touchesAreSent", {"x": 1, "y": 2})
def moved_below_what_is_deleted(z):
    "B deletes c and shreds it; A, away, moves c below q and deletes q, takes B's shred in, and restores q: c is there, whole"
    z.start(z.B, owner=True), z.delete(z.B, "c"), z.B.compact()
    z.insert(z.A, "q", x=5), z.edit(z.A, "c", OWNER, "q"), z.delete(z.A, "q"), z.pull(z.A, z.B), z.restore(z.A, "q")
    return z.see(z.A, "c")


@scenario("touchesAreSent", {"x": 1, "y": 2})
def member_below_what_is_deleted(z):
    "the same, but A puts a member into c, and deletes its owner p"
    z.start(z.B, owner=True), z.insert(z.A, "m", x=5), z.pull(z.B, z.A), z.delete(z.B, "c"), z.B.compact()
    z.put(z.A, "m", "c"), z.delete(z.A, "p"), z.pull(z.A, z.B), z.restore(z.A, "p")
    return z.see(z.A, "c")


@scenario("liftKnown", {})
def old_file(z):
    "an old file with p's values is taken in whole after the shred: nothing of it is kept"
    z.start(z.B)
    file = z.A.clone()
    z.delete(z.B, "p"), z.B.compact(), z.pull(z.B, file, {})
    return z.held(z.B, "p")


@scenario("liftKeepsVia", {"x": 3, "y": 2})
def lift_travels(z):
    "A lifts; C, which had the old values and the shred, syncs with A"
    z.start(z.B, z.C), z.delete(z.B, "p"), z.B.compact(), z.pull(z.C, z.B)
    z.edit(z.A, "p", "x", 3), z.pull(z.A, z.B), z.pull(z.C, z.A)
    return z.see(z.C, "p")


@scenario("liftIsWrite", {"x": 5, "y": 8})
def two_lift(z):
    "C edits x, A edits y, both away; B shreds; C lifts, then A; they meet: no old value beats a newer edit"
    z.start(z.B, z.C), z.delete(z.B, "p"), z.B.compact(), z.edit(z.C, "p", "x", 5), z.edit(z.A, "p", "y", 8)
    z.pull(z.C, z.B), z.pull(z.A, z.B), z.sync(z.A, z.C)
    return z.see(z.A, "p")


@scenario("liftTouches", None)
def lift_is_no_touch(z):
    "A edits p; C sees that and deletes p; B, which had shredded it, takes A's edit in; B and C meet: p stays deleted"
    z.start(z.B, z.C), z.delete(z.B, "p"), z.B.compact(), z.edit(z.A, "p", "x", 3), z.pull(z.C, z.A), z.delete(z.C, "p")
    z.pull(z.B, z.A), z.sync(z.B, z.C)
    return z.see(z.B, "p")


@scenario("liftIfVisible", None)
def hears_of_both_at_once(z):
    "B deletes p, which owns c, shreds both, inserts p's name anew; A, for whom p was deleted, hears of it at once: c stays away"
    z.start(z.B, owner=True), z.delete(z.B, "p"), z.pull(z.A, z.B), z.B.compact(), z.insert(z.B, "p", x=9), z.pull(z.A, z.B)
    return z.see(z.A, "c")


@scenario("sayKnown", (None, None))
def newcomer(z):
    "p owns c; both are shredded; D, which is new, takes it in and says nothing of its own; nor is c there when p's name is used again"
    z.start(owner=True), z.delete(z.A, "p"), z.A.compact(), z.pull(z.D, z.A)
    before = z.D.vector.get("D0")
    z.insert(z.A, "p", x=9), z.pull(z.D, z.A)
    return before, z.see(z.D, "c")


# Lives

@scenario("livesMix", ({}, True))
def shred_travels(z):
    "B deletes and shreds, A takes it in: no values are left, equal states"
    z.start(z.B), z.delete(z.B, "p"), z.B.compact(), z.sync(z.A, z.B)
    return z.held(z.A, "p"), z.A.key() == z.B.key()


@scenario("noFloor", {"x": 9}, skew={"B": -10**6 + 5})
def slow_clock(z):
    "x was edited; B, whose clock is behind, inserts the purged name anew; C, which edited y away, lifts the old x: B's x shows"
    z.start(), z.edit(z.A, "p", "x", 3), z.pull(z.B, z.A), z.pull(z.C, z.A), z.delete(z.B, "p"), z.B.compact()
    z.insert(z.B, "p", x=9), z.edit(z.C, "p", "y", None), z.pull(z.C, z.B), z.pull(z.B, z.C)
    return z.see(z.B, "p")


@scenario("insertBare", {"x": 9})
def insert_is_complete(z):
    "B inserts the purged name with x alone; C, which edited x away, lifts: the old y does not come back"
    z.start(z.B, z.C), z.delete(z.B, "p"), z.B.compact(), z.edit(z.C, "p", "x", 3), z.insert(z.B, "p", x=9), z.pull(z.C, z.B)
    return z.see(z.C, "p")


@scenario("lifeCounts", {}, skew={"A": 5 * 10**6})
def life_is_a_time(z):
    "A, clock ahead, edits x, deletes, shreds; B deletes, shreds, inserts, deletes, shreds; they meet; B inserts: later than all it has seen"
    z.start(z.B), z.edit(z.A, "p", "x", 7), z.delete(z.A, "p"), z.A.compact(), z.delete(z.B, "p"), z.B.compact()
    z.insert(z.B, "p", x=8), z.delete(z.B, "p"), z.B.compact(), z.sync(z.A, z.B), z.insert(z.B, "p", x=9)
    return dict(z.world.flags)


@scenario("restoreBare", {"x": 1, "y": 2})
def restore_is_complete(z):
    "B restores p; A, not knowing, shreds it, takes the restore in, deletes p again; B takes that in and restores"
    z.start(z.B), z.delete(z.B, "p"), z.pull(z.A, z.B), z.restore(z.B, "p"), z.A.compact(), z.pull(z.A, z.B)
    z.delete(z.A, "p"), z.pull(z.B, z.A), z.restore(z.B, "p")
    return z.see(z.B, "p")


@scenario("noHollow", None)
def hollow(z):
    "p and what it owns are shredded; p's name is inserted again: c is not there, empty"
    z.start(z.B, owner=True), z.delete(z.B, "p"), z.B.compact(), z.insert(z.B, "p", x=9)
    return z.see(z.B, "c")


@scenario("noSayShown", {})
def shown_through_its_child(z):
    "p owns c, both shredded; A's edit of c comes in, so p shows, empty; B puts a member into p and moves c away: p stays"
    z.start(z.B, owner=True), z.insert(z.A, "q", x=5), z.pull(z.B, z.A), z.delete(z.B, "p"), z.B.compact()
    z.edit(z.A, "c", "x", 4), z.pull(z.B, z.A), z.put(z.B, "c", "p"), z.edit(z.B, "c", OWNER, "q")
    return z.see(z.B, "p")


@scenario("sayShownFirst", {})
def shown_through_a_lift(z):
    "g owns p owns c; B deletes g, shreds all; C's edit of c comes in, so g and p show; then A's edit of g and move of c: p stays"
    z.insert(z.A, "g", x=0), z.insert(z.A, "p", x=1, o="g"), z.insert(z.A, "c", x=2, o="p"), z.insert(z.A, "q", x=5)
    z.pull(z.B, z.A), z.pull(z.C, z.A), z.edit(z.C, "c", "x", 4), z.edit(z.A, "g", "x", 7), z.edit(z.A, "c", OWNER, "q")
    z.delete(z.B, "g"), z.B.compact(), z.pull(z.B, z.C), z.pull(z.B, z.A)
    return z.see(z.B, "p")


# Presence

@scenario("shredDropsOwner", "p")
def owner_stays(z):
    "c, owned by p, is shredded; A's edit of c, away, comes in and A is lost: c shows under p"
    z.start(z.B, owner=True), z.delete(z.B, "c"), z.B.compact(), z.edit(z.A, "c", "x", 4), z.pull(z.B, z.A)
    return z.B.state.look().owner("c")


@scenario("shredVisible", {"x": 4, "y": 2})
def visible_is_not_shredded(z):
    "B deletes p, takes A's concurrent edit in, compacts"
    z.start(z.B), z.edit(z.A, "p", "x", 4), z.delete(z.B, "p"), z.pull(z.B, z.A), z.B.compact()
    return z.see(z.B, "p")


@scenario(None, None)
def nothing_returns(z):
    "p and its child are deleted by one, the child restored before by the other; both purge: nothing returns"
    z.start(z.B, owner=True), z.delete(z.B, "c"), z.pull(z.A, z.B), z.restore(z.A, "c"), z.delete(z.A, "p"), z.pull(z.B, z.A)
    z.B.compact(), z.A.compact(), z.sync(z.A, z.B)
    return z.see(z.B, "p")


# Delete-wins

@scenario("newsIfVisible", [None, {"x": 3}], delete_wins="p")
def delete_wins_edit(z):
    "A edits x away and is lost; B had deleted and shredded: not back; B restores: the edit is there"
    z.start(z.B), z.edit(z.A, "p", "x", 3), z.delete(z.B, "p"), z.B.compact(), z.pull(z.B, z.A)
    before = z.see(z.B, "p")
    z.restore(z.B, "p")
    return [before, z.see(z.B, "p")]


@scenario("noLiftUnsent", [None, {"x": 3, "y": 2}], delete_wins="p")
def delete_wins_takes_it_away(z):
    "the same, but A takes the shred in: the record goes from A's screen; A restores: complete"
    z.start(z.B), z.edit(z.A, "p", "x", 3), z.delete(z.B, "p"), z.B.compact(), z.pull(z.A, z.B)
    before = z.see(z.A, "p")
    z.restore(z.A, "p")
    return [before, z.see(z.A, "p")]


@scenario("restoreBare", [{"x": 1, "y": 2}, {"x": 0}], delete_wins="p")
def delete_wins_owner(z):
    "B deletes c and its delete-wins owner p; A restores both; B shreds unknowing, takes A's in, deletes p; A takes B's in, restores both"
    z.start(z.B, owner=True), z.delete(z.B, "c"), z.delete(z.B, "p"), z.pull(z.A, z.B), z.restore(z.A, "c", "p")
    z.B.compact(), z.pull(z.B, z.A), z.delete(z.B, "p"), z.pull(z.A, z.B), z.restore(z.A, "c", "p")
    return [z.see(z.A, "c"), z.see(z.A, "p")]


@scenario("restoreWithoutOwners", {"x": 1, "y": 2}, delete_wins="p g")
def restore_brings_owners(z):
    "c under the delete-wins owners p and g, all deleted; a restore of c brings back both"
    z.insert(z.A, "g", x=0), z.insert(z.A, "p", x=0, o="g"), z.insert(z.A, "c", x=1, y=2, o="p")
    z.delete(z.A, "c"), z.delete(z.A, "p"), z.delete(z.A, "g"), z.restore(z.A, "c")
    return z.see(z.A, "c")


@scenario("gateDeletesOnly", {"x": 3, "y": 2}, delete_wins="p", kind="ordinary")
def window_of_an_edit(z):
    "delete-wins: C edits x while A deletes p; all know of the delete, nobody of the edit; A restores p, C compacts, they meet: the edit is there"
    z.start(z.B, z.C, z.D), z.edit(z.C, "p", "x", 3), z.delete(z.A, "p"), z.pull(z.B, z.A), z.pull(z.D, z.A), z.pull(z.A, z.B), z.pull(z.A, z.D)
    z.pull(z.C, z.A), z.restore(z.A, "p"), z.C.compact(), z.sync(z.A, z.C)
    return z.see(z.A, "p")


@scenario("gateAboveOnly", {"x": 1, "y": 2}, kind="ordinary")
def window_of_what_is_below(z):
    "p is deleted, but shows through c, moved there at the same time; B deletes c; A compacts, before C hears of it; B restores c: p is whole"
    z.start(z.B), z.insert(z.A, "c", x=3), [z.pull(r, z.A) for r in (z.B, z.C, z.D)]
    z.edit(z.B, "c", OWNER, "p"), z.delete(z.A, "p"), z.sync(z.A, z.B), [z.sync(z.A, r) for r in (z.C, z.D)], z.sync(z.A, z.B)
    z.delete(z.B, "c"), z.pull(z.A, z.B), z.A.compact(), z.pull(z.B, z.A), z.restore(z.B, "c")
    return z.see(z.B, "p")


@scenario(None, ({}, {}), kind="ordinary")
def no_window_of_a_move_away(z):
    "the same, but B moves c away and back again: p has no values, since nothing has kept where c was; an exception that the page states"
    z.start(z.B), z.insert(z.A, "c", x=3), [z.pull(r, z.A) for r in (z.B, z.C, z.D)]
    z.edit(z.B, "c", OWNER, "p"), z.delete(z.A, "p"), z.sync(z.A, z.B), [z.sync(z.A, r) for r in (z.C, z.D)], z.sync(z.A, z.B)
    z.edit(z.B, "c", OWNER, None), z.pull(z.A, z.B), z.A.compact(), z.pull(z.B, z.A), z.edit(z.B, "c", OWNER, "p")
    z.world.settle(), z.world.check_exceptions(z.A)
    return z.see(z.B, "p"), dict(z.world.flags)


# Counters

@scenario("noStartLift", [15, 15], counters=True)
def starts_are_lifted(z):
    "10, B adds 5, A has it and edits x away; B deletes, shreds; A takes it in: still 15, on both"
    z.start(z.B, counter=True), z.add(z.B, "p", 5), z.pull(z.A, z.B), z.edit(z.A, "p", "x", 3), z.delete(z.B, "p")
    z.B.compact(), z.pull(z.A, z.B), z.pull(z.B, z.A)
    return [z.number(z.A, "p"), z.number(z.B, "p")]


@scenario("noSeenInLife", 3, counters=True)
def life_has_seen(z):
    "A adds 3 away and is lost after handing in; B, with 5 of its own, had shredded: 3, and not 5 + 3 without the 10"
    z.start(z.B, counter=True), z.add(z.B, "p", 5), z.add(z.A, "p", 3), z.delete(z.B, "p"), z.B.compact(), z.pull(z.B, z.A)
    return z.number(z.B, "p")


@scenario("totalsDropped", 101, counters=True)
def totals_stay(z):
    "A adds 5, B has it, A adds 1 away; B deletes, shreds, restores the name, sets 100; they meet: 101, not 106"
    z.start(z.B, counter=True), z.add(z.A, "p", 5), z.pull(z.B, z.A), z.add(z.A, "p", 1), z.delete(z.B, "p"), z.B.compact()
    z.restore(z.B, "p"), z.set(z.B, "p", 100), z.sync(z.A, z.B)
    return z.number(z.B, "p")


@scenario("noStartNews", 15, counters=True)
@scenario("noStartAgain", 15, counters=True)
def restore_says_starts(z):
    "B adds 5 and deletes; A restores; B shreds unknowing and takes A's restore in: 15"
    z.start(z.B, counter=True), z.add(z.B, "p", 5), z.delete(z.B, "p"), z.pull(z.A, z.B), z.restore(z.A, "p")
    z.B.compact(), z.pull(z.B, z.A)
    return z.number(z.B, "p")


@scenario("equalLivesMerge", [15, 15], counters=True, skew={"B": -10**6 + 5})
def lives_of_one_time(z):
    "A deletes, C adds 5 unknowing; B, clock behind, takes both in, deletes, shreds; A restores: two lives of one time; A takes C's in, then B's: 15"
    z.start(z.B, z.C, counter=True), z.delete(z.A, "p"), z.pull(z.B, z.A), z.add(z.C, "p", 5), z.pull(z.B, z.C)
    z.delete(z.B, "p"), z.B.compact(), z.restore(z.A, "p"), z.pull(z.A, z.C)
    before = z.number(z.A, "p")
    assert z.A.state.records["p"].life[1] == z.B.state.records["p"].life[1]
    z.pull(z.A, z.B)
    return [before, z.number(z.A, "p")]


# Copies and cycles

@scenario("viaFirst", (True, True))
def twins(z):
    "one id, one number, one millisecond, two values of x: after the repair both have the greater"
    z.start(z.B, z.D)
    copy, time = z.A.clone(), z.world.time
    z.edit(z.A, "p", "x", 3)
    z.world.time = time
    z.edit(copy, "p", "x", 4)
    z.world.is_copied = True
    z.pull(z.B, z.A), z.pull(z.D, copy)
    for r, other in ((z.B, z.D), (z.D, z.B)):
        r.apply(other.clone(), {}, True)
    return z.B.key() == z.D.key(), z.B.vector == z.D.vector


def said_again_beside_a_copy(z, older):
    """A inserts c under the number under which its copy, which D hears first, edits p; A restores c, hands it to D and is lost."""
    if older:
        z.insert(z.B, "c", x=1)
    z.world.time += 1000
    z.insert(z.A, "p", x=0)
    copy = z.A.clone()
    z.insert(z.A, "c", x=2), z.edit(copy, "p", "x", 9), z.pull(z.D, copy)
    z.delete(z.A, "c"), z.restore(z.A, "c"), z.pull(z.D, z.A)
    z.world.replicas = [z.B, z.D]
    z.world.settle(), z.world.check_exceptions(z.D)
    return [z.see(z.B, "c"), z.see(z.D, "c")], "x" in z.D.plain.records["c"].fields, z.world.beyond


@scenario("restoreBare", ([{"x": 2}] * 2, True, 1), kind="copies")
def said_again_outlives_its_number(z):
    "A's value, said again, reaches D, who took its number for known, and beats B's older one, which is all that today's rules show: nothing is lost"
    return said_again_beside_a_copy(z, older=True)


@scenario("restoreBare", ([{"x": 2}] * 2, False, 1), kind="copies")
def said_again_where_nothing_was(z):
    "the same where nobody else had written: today's rules show nothing, and the value comes from A all the same"
    return said_again_beside_a_copy(z, older=False)


@scenario(None, [{"valueBeyondToday": ("c", "x")}, {"valueFromNowhere": ("c", "x")}], kind="copies")
def beyond_today_by_a_twin_alone(z):
    "a value that today's rules lack, older one or none, is a fault unless its number was issued twice and it was said again: the checker says so"
    z.insert(z.A, "c", x=1), z.edit(z.A, "c", "x", 2)
    found = []
    for rest in ({"x": ((2, 1, "A0", 1), 1)}, {}):
        z.A.plain.records["c"].fields = rest
        z.world.check_exceptions(z.A)
        found.append(dict(z.world.flags))
        z.world.flags.clear()
    return found


@scenario("dropCoveredTouches", True)
def covered_touches_stay(z):
    "the number of A's delete is issued twice; the delete that gives way had covered an edit, which revives p: on who had shredded, too"
    z.world.is_copied = True
    z.start(z.B, z.C), z.edit(z.B, "p", "x", 3), z.pull(z.D, z.B)
    copy = z.A.clone()
    z.pull(z.A, z.B), z.delete(z.A, "p")
    z.edit(copy, "q", "x", 1)
    z.pull(z.C, copy), z.delete(z.C, "p")
    z.pull(z.D, z.A), z.D.compact()
    z.pull(z.D, z.C)
    return z.D.state.look().is_visible("p") == z.D.plain.look().is_visible("p")


@scenario("noHollow", [{"x": 7}, None])
def cycle(z):
    "p owns c by A and c owns p by B, concurrently; the lesser stamp gives way; the top is deleted, both shredded, its name inserted: the other stays hollow"
    z.insert(z.A, "p", x=1), z.insert(z.A, "c", x=2), z.pull(z.B, z.A), z.edit(z.A, "c", OWNER, "p"), z.edit(z.B, "p", OWNER, "c")
    z.sync(z.A, z.B)
    top = "p" if z.A.state.look().owner("p") is None else "c"
    z.delete(z.A, top), z.A.compact(), z.insert(z.A, top, x=7, o=None)
    return [z.see(z.A, top), z.see(z.A, "c" if top == "p" else "p")]


# Seeds

@scenario("shredDropsLayers", {"x": "Toast", "y": 120})
def layers_are_never_shredded(z):
    "a person edits and deletes a seed; B shreds; A's edit of y comes in: the rest is the version's again"
    for r in (z.A, z.B):
        z.seed(r, 1, s={"x": "Toast", "y": 90})
    z.edit(z.B, "s", "x", "Cheers"), z.pull(z.A, z.B), z.delete(z.B, "s"), z.B.compact()
    z.edit(z.A, "s", "y", 120), z.pull(z.B, z.A, {r: n for r, n in z.B.vector.items()})
    return z.see(z.B, "s")


@scenario("shredDropsBasis", {"x": "Toast", "y": 120})
def basis_stays(z):
    "a seed that a person edited is deleted and shredded; version 2 comes, then A's edit from before: still version 1 beneath"
    for r in (z.A, z.B):
        z.seed(r, 1, s={"x": "Toast", "y": 90})
    z.edit(z.B, "s", "y", 100), z.pull(z.A, z.B), z.delete(z.B, "s"), z.B.compact(), z.seed(z.B, 2, s={"x": "Cheers", "y": 60})
    z.edit(z.A, "s", "y", 120), z.pull(z.B, z.A)
    return z.see(z.B, "s")


@scenario("hollowSeeds", {"x": "Toast"})
def seed_is_never_hollow(z):
    "p owns the seed s, which a person has edited; p is deleted, both are shredded, p is inserted anew: s shows, as its version says"
    z.insert(z.A, "p", x=1), z.seed(z.A, 1, s={"x": "Toast"}), z.edit(z.A, "s", "x", "Cheers"), z.edit(z.A, "s", OWNER, "p")
    z.delete(z.A, "p"), z.A.compact(), z.insert(z.A, "p", x=2)
    return z.see(z.A, "s")


@scenario(None, [False, {"x": "Cheers"}])
def untouched_seed_has_no_life(z):
    "a seed that a person deleted and nobody edited has nothing to shred; its restore shows the newest version"
    z.seed(z.A, 1, s={"x": "Toast"}), z.delete(z.A, "s"), z.A.compact(), z.seed(z.A, 2, s={"x": "Cheers"}), z.restore(z.A, "s")
    return [z.A.state.records["s"].has_life() and not z.A.state.records["s"].said, z.see(z.A, "s")]


@scenario("shredDropsForward", "s")
def forward_stays(z):
    "duplicate d of the seed s owned c; adopted, and d is shredded: c still belongs to s"
    z.insert(z.A, "d", x="Toast"), z.insert(z.A, "c", x=1, o="d"), z.seed(z.A, 1, s={"x": "Toast"}), z.adopt(z.A, d="s")
    z.A.compact()
    return z.A.state.look().owner("c")


@scenario("noLiftSeen", [{"x": "Toast", "y": 5}, "d"])
def adoption_ends_after_a_shred(z):
    "B adopts duplicate d and shreds it; A had edited d away: d is back, whole, and c points at it again"
    z.insert(z.A, "d", x="Toast"), z.insert(z.A, "c", x=1, o="d"), z.pull(z.B, z.A)
    z.seed(z.B, 1, s={"x": "Toast"}), z.adopt(z.B, d="s"), z.B.compact(), z.edit(z.A, "d", "y", 5)
    z.pull(z.B, z.A), z.pull(z.A, z.B), z.pull(z.B, z.A)
    return [z.see(z.B, "d"), z.B.state.look().owner("c")]


@scenario("noSayTouched", {})
def member_of_a_shredded_duplicate(z):
    "B adopts d and shreds it; A had put a member into d, away, and is lost: d is back, with nothing but the member"
    z.insert(z.A, "d", x="Toast"), z.insert(z.A, "m", x=1), z.pull(z.B, z.A)
    z.seed(z.B, 1, s={"x": "Toast"}), z.adopt(z.B, d="s"), z.B.compact(), z.put(z.A, "m", "d"), z.pull(z.B, z.A)
    return z.see(z.B, "d")


@scenario("insertBare", {"x": 9})
def new_life_of_a_purged_seed(z):
    "a seed that a person edited is deleted and shredded; its name is inserted anew with x alone; C, which edited x away, lifts: neither version nor old y"
    for r in (z.A, z.B, z.C):
        z.seed(r, 1, s={"x": "Toast"})
    z.edit(z.A, "s", "y", 7), z.pull(z.B, z.A), z.pull(z.C, z.A)
    z.delete(z.B, "s"), z.B.compact(), z.edit(z.C, "s", "x", "mine"), z.insert(z.B, "s", x=9), z.pull(z.C, z.B)
    return z.see(z.C, "s")


# The window

def window(rule, want, **options):
    return scenario(rule, want, kind="window", **options)


def days(z, number):
    z.world.time += number * DAY


def compacted(z, r, name="p"):
    r.compact()
    return r.state.records[name].has_life()


@window("noGate", [False, False, True])
def window_from_the_first_exchange(z):
    "A, away, deletes p and compacts after 40 days: nobody has heard of the delete; nor 20 days after it synced; after 31 days, yes"
    z.start(z.B), z.sync(z.A, z.B), z.delete(z.A, "p"), days(z, 40)
    first = compacted(z, z.A)
    z.pull(z.B, z.A), days(z, 20)
    second = compacted(z, z.A)
    days(z, 11)
    return [first, second, compacted(z, z.A)]


def shows_through(z, keep):
    """A's delete of p has been with B for 40 days, but p shows: B had kept it at the same time."""
    z.start(z.B), z.insert(z.A, "c", x=3), z.sync(z.A, z.B)
    keep(), z.delete(z.A, "p"), z.sync(z.A, z.B), days(z, 40), z.sync(z.A, z.B)
    assert z.see(z.A, "p")


@window("gateAboveOnly", [False, True])
def window_of_a_delete_below(z):
    "p, deleted by A, shows for 40 days through c, which B had moved there; B deletes c: p goes 31 days after that, and not at once"
    shows_through(z, lambda: z.edit(z.B, "c", OWNER, "p"))
    z.delete(z.B, "c"), z.sync(z.A, z.B)
    first = compacted(z, z.A)
    days(z, 31)
    return [first, compacted(z, z.A)]


@window("gateAboveOnly", [False, True])
def window_of_a_removal(z):
    "the same with a member, which B puts into p and takes out again"
    shows_through(z, lambda: z.put(z.B, "c", "p"))
    z.B.transact(lambda d, now: z.B.untag(("p", "c"), d, now)), z.sync(z.A, z.B)
    first = compacted(z, z.A)
    days(z, 31)
    return [first, compacted(z, z.A)]


@window("gateOwnEdits", [False, True], delete_wins="q")
def window_of_a_move_above(z):
    "delete-wins q is deleted for 40 days; then B's move of p below it comes in: c, which p owns, goes 31 days after that"
    z.insert(z.A, "q", x=5), z.start(z.B, z.C, owner=True), z.delete(z.A, "q"), z.sync(z.A, z.C), days(z, 40), z.sync(z.A, z.C)
    z.edit(z.B, "p", OWNER, "q"), z.pull(z.A, z.B)
    first = compacted(z, z.A, "c")
    days(z, 31)
    return [first, compacted(z, z.A, "c")]


@window("gateLivingOwners", True)
def window_beside_others(z):
    "c is deleted; p, which owns it and lives on, is edited every day, and owns what comes and goes every day: c goes after 31 days all the same"
    z.start(z.B, owner=True), z.sync(z.A, z.B), z.delete(z.A, "c")
    for day in range(32):
        z.insert(z.A, f"d{day}", x=1, o="p"), z.edit(z.A, "p", "x", day), z.delete(z.A, f"d{day}"), z.sync(z.A, z.B), days(z, 1)
    return compacted(z, z.A, "c")


@window("windowOffByOne", [False, True])
def window_is_whole(z):
    "a delete that went out in the evening is not shredded on the 30th morning after"
    z.start(z.B), z.sync(z.A, z.B)
    z.world.time += DAY - z.A.clock() % DAY - 3_600_000
    z.delete(z.A, "p"), z.pull(z.B, z.A), days(z, WINDOW - 1)
    z.world.time += 4 * 3_600_000
    first = compacted(z, z.A)
    days(z, 1)
    return [first, compacted(z, z.A)]


@window("newestRowsOnly", [False, True])
def long_window_in_daily_use(z):
    "with a window of 90 days, and a sync every day, what is deleted goes on the 91st"
    for r in (z.A, z.B):
        r.days.window = 90
    z.start(z.B), z.sync(z.A, z.B), z.delete(z.A, "p")
    gone = []
    for _ in range(92):
        z.pull(z.B, z.A), z.pull(z.A, z.B)
        gone.append(compacted(z, z.A))
        days(z, 1)
    return gone[-2:]


@window("calendarDays", False, skew={"A": -56 * YEAR})
def clock_from_1970(z):
    "A starts in 1970, deletes p and syncs; then it hears the time: not 56 years have gone by"
    z.start(z.B), z.sync(z.A, z.B), z.delete(z.A, "p"), z.pull(z.B, z.A)
    z.A.skew = 0
    return compacted(z, z.A)


@window(None, True)
def clock_that_is_set_at_each_start(z):
    "A starts in 1970 every day until it hears the time: after 31 such days the window is over all the same"
    z.start(z.B), z.sync(z.A, z.B), z.delete(z.A, "p"), z.pull(z.B, z.A)
    for _ in range(WINDOW + 1):
        days(z, 1)
        z.A.skew = -56 * YEAR - (z.world.time - 1_800_000_000_000)
        z.insert(z.A, "q", x=1) if z.A.state.look().is_shown("q") is False and "q" not in z.A.state.records else z.edit(z.A, "q", "x", z.world.time)
        z.A.compact()
        early = z.A.state.records["p"].has_life()
        z.A.skew = 0
        z.pull(z.B, z.A)
    assert not early
    return compacted(z, z.A)


@window(None, [False, True], skew={"A": 173 * YEAR})
def clock_in_2200(z):
    "A's clock is in 2200 throughout: the window is as long as anybody's"
    z.start(z.B), z.sync(z.A, z.B), z.delete(z.A, "p"), z.pull(z.B, z.A)
    days(z, 29)
    first = compacted(z, z.A)
    days(z, 2)
    return [first, compacted(z, z.A)]


@window("rowsKeptAtFirstPeer", False)
def first_peer(z):
    "A is alone and deletes p; 20 days later it meets its first peer, which has p from then on; after 11 days more p can still be restored"
    z.insert(z.A, "p", x=1), z.delete(z.A, "p"), days(z, 20), z.pull(z.B, z.A), days(z, 11)
    return compacted(z, z.A)


@window(None, [False, True])
def heard_late(z):
    "B hears of a delete 40 days after it was made: it has its own window, from then on"
    z.start(z.B), z.pull(z.A, z.B), z.delete(z.A, "p"), days(z, 40), z.pull(z.B, z.A)
    first = compacted(z, z.B)
    days(z, 31)
    return [first, compacted(z, z.B)]


def play(rule, body, options):
    stage = Stage((rule,) if rule else (), **options)
    return body(stage), dict(stage.world.flags)


def main():
    bad = count = 0
    words = [w for w in sys.argv[1:] if w != "--brief"]
    for rule, doc, want, body, options in SCENARIOS:
        if words and not any(w in f"{rule} {doc} {body.__name__}" for w in words):
            continue
        count += 1
        got, flags = play(None, body, options)
        other = play(rule, body, options)[0] if rule else None
        holds = got == want and not flags and (rule is None or other != want)
        bad += not holds
        if holds and "--brief" in sys.argv:
            continue
        without = f", without {rule}: {other}" if rule else ""
        print(f"{'ok ' if holds else 'BAD'} {body.__name__}: {doc}: {got}{'' if got == want else f', not {want}'}{without} {flags or ''}")
    print(f"{count} scenarios, {bad} bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
