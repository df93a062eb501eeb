"""A store that deletes by lives: what a person does, what a shred does, what is lifted when a delta comes in.

A name in `world.faults` leaves a rule out.
"""
from lives import LivesState, greater_cell, lesser_start, life_time
from today import (ADOPTED, FORWARD, OWNER, SEED, USER, State, beyond, covers, dot, include, merged)


class Shred:
    """What a check needs to know of a shred: what its author had seen, and for whom the record was hidden then."""
    def __init__(self, seen, was_hidden, was_hidden_everywhere):
        self.seen, self.was_hidden, self.was_hidden_everywhere = seen, was_hidden, was_hidden_everywhere


class Replica:
    """A store: the state of the design, and beside it today's."""

    def __init__(self, world, name, skew=0):
        self.world, self.name, self.skew = world, name, skew
        self.vector, self.acknowledged, self.backup = {}, {}, None
        self.state, self.plain = LivesState(world.rules), State(world.rules)
        self.days, self.applied_seed = world.new_days(), 0

    def clone(self):
        result = type(self).__new__(type(self))
        result.world, result.name, result.skew, result.backup = self.world, self.name, self.skew, None
        result.vector, result.acknowledged = dict(self.vector), {r: dict(v) for r, v in self.acknowledged.items()}
        result.state, result.plain, result.days = self.state.copy(), self.plain.copy(), self.days.copy()
        result.applied_seed = self.applied_seed
        return result

    def has(self, fault):
        return fault in self.world.faults

    def key(self):
        return self.state.key()

    def now(self):
        return max(1, self.world.tick() + self.skew) + ord(self.name[0]) % 7

    def clock(self):
        return max(1, self.world.time + self.skew)

    # Transactions

    def begin(self):
        d = self.name, self.vector.get(self.name, 0) + 1
        self.world.began(d, self.vector)
        return d

    def end(self, d):
        self.vector[d[0]] = d[1]
        self.acknowledged[self.name] = dict(self.vector)
        self.days.note(self.clock(), self.vector, peer=False)

    def transact(self, body):
        """A local transaction: `body(dot, now)`, and then what it makes seen again begins a new life."""
        shown, known = self.state.look().shown(), set(self.state.records)
        d = self.begin()
        now = self.now()
        body(d, now)
        self.say_again(d, shown, known)
        self.end(d)

    def exist(self, name, d, now):
        record = self.state.record(name)
        stamp = (USER, max(now, record.existence[1] + 1 if record.existence else 0)) + d
        self.note_basis(name, stamp)
        record.exist(stamp)
        self.plain.record(name).exist(stamp)

    def note_basis(self, name, stamp):
        """The first edit of a seeded record notes which version the person had in front of them."""
        for state in (self.state, self.plain):
            record = state.record(name)
            layer = None if record.basis else record.shown_layer(state.rules.follows)
            if layer:
                record.join_seeds({}, (layer.stamp, stamp))

    def insert(self, name, fields, d, now):
        """A new row: a new life of the name if it was known."""
        known = name in self.state.records
        record = self.state.record(name)
        stamp = (USER, max(now, record.existence[1] + 1 if record.existence else 0)) + d
        given = dict(fields)
        if known:
            layered = {f for layer in record.layers.values() for f in layer.fields}
            for field in self.world.fields:
                # Of a purged name it is not known which fields have been written.
                if not self.has("insertBare") and record.has_life() or field in layered or record.own(field):
                    given.setdefault(field, self.world.default(self, name, field))
            if OWNER not in given and (record.owner or OWNER in layered):
                given[OWNER] = None
            for key in [k for k in self.state.links if name in k]:
                self.untag(key, d, now)
        record.exist(stamp)
        self.plain.record(name).exist(stamp)
        for field, value in given.items():
            self.write(name, field, value, d, stamp[1] if record.own(field) is None else now)

    def write(self, name, field, value, d, now, rank=USER):
        """One cell, with the same stamp on both sides. A write that saw another is later."""
        record, plain = self.state.record(name), self.plain.record(name)
        old = record.own(field)
        floor = life_time(record.life) + 1 if record.has_life() and field not in (OWNER, FORWARD) and not self.has("noFloor") else 0
        stamp = (rank, max(now, old[0][1] + 1 if old else 0, floor)) + d
        before = plain.own(field)
        if before and before[0] > stamp and rank == USER and not self.world.is_twins(name, field, before[0]):
            self.world.flag("writeNotLater", (self.name, name, field))
        record.write(field, stamp, value)
        plain.write(field, stamp, value)

    def edit(self, name, field, value, d, now):
        record = self.state.record(name)
        if record.layers:
            old = record.own(field)
            self.note_basis(name, (USER, max(now, old[0][1] + 1 if old else 0)) + d)
        self.write(name, field, value, d, now)

    def add(self, name, amount, d):
        self.world.note_add(name, d, amount)
        for record in (self.state.record(name), self.plain.record(name)):
            record.totals[d[0]] = d[1], record.totals.get(d[0], (0, 0))[1] + amount
        include(self.state.record(name).touched, d)
        include(self.plain.record(name).superseded, d)
        self.plain.record(name).normalize()

    def totals(self, name):
        record = self.state.records.get(name)
        return tuple(sorted(record.totals.items())) if record else ()

    def delete(self, name, d, now, rank=USER):
        seen = merged(self.vector, {d[0]: d[1]})
        for state in (self.state, self.plain):
            state.record(name).delete((rank, now) + d, seen)

    def tag(self, key, d, now, rank=USER):
        for state in (self.state, self.plain):
            state.add(key, (rank, now) + d)

    def untag(self, key, d, now):
        for state in (self.state, self.plain):
            if key in state.links:
                state.remove(key, (USER, now) + d)

    def restore(self, name, d, now):
        """The record, and the dead delete-wins owners above it, found before anything is written."""
        look = self.state.look()
        above = [q for q in list(look.chain(name))[1:] if q in self.world.rules.delete_wins and not look.is_alive(q)]
        for each in [name] + ([] if self.has("restoreWithoutOwners") else above):
            self.exist(each, d, now)

    def say_again(self, d, shown, known):
        """What a local transaction makes seen again begins a life in which all that is here of it is said; and what is shown is said."""
        look = self.state.look()
        now_shown = look.shown()
        if not self.has("restoreBare"):
            for name in now_shown - shown:
                record = self.state.records[name]
                if not (record.deletes or record.has_life() or name in known) or record.is_offered():
                    continue
                starts = {r: (record.start(r), d) for r in record.totals}
                cells = {f: (c[0], c[1], d) for f, c in record.cells.items()}
                for field, cell in cells.items():
                    self.world.note_via(name, field, cell[0], d)
                time = record.next_time(0)
                order = record.life[0] + 1 if self.has("lifeCounts") else time
                record.begin_life((order, time) + d)
                record.seen, record.cells = dict(record.totals), cells
                record.starts = {} if self.has("noStartAgain") else starts
                record.said = d
                record.normalize()
                self.world.says_again += 1
        self.say_shown(d, now_shown)

    def to_say(self, shown):
        if self.has("noSayShown"):
            return []
        return [n for n in sorted(shown) if not self.state.records[n].says_something(self.world.rules.follows)]

    def say_shown(self, d, shown):
        for name in self.to_say(shown):
            self.state.records[name].said = d

    # Seeds

    def adopt(self, duplicates, seed_of, d, now):
        """What adoption writes, all of rank 1: see SeedAdoption+Finding.swift."""
        look = self.state.look()
        shown, members = look.shown(), look.members()
        late = self.late_members(look)
        for name in duplicates:
            seed = seed_of[name]
            if look.is_shown(seed) and not self.state.records[seed].belongs_to_user():
                layer = self.state.records[seed].shown_layer(self.world.rules.follows)
                for field in [OWNER, *self.world.fields]:
                    cell = self.state.records[name].own(field)
                    if cell and field != "n" and not (layer and field in layer.fields):
                        self.carry(seed, field, (ADOPTED, cell[0][1]) + d, cell[1])
            for key in sorted(k for k in members if name in k and set(k) <= shown):
                self.copy_member(key, tuple(seed_of.get(n, n) if n in duplicates else n for n in key), d, now)
            self.write(name, FORWARD, seed, d, now, rank=ADOPTED)
            self.delete(name, d, now, rank=ADOPTED)
        for key, moved in late:
            self.copy_member(key, moved, d, now)

    def carry(self, seed, field, stamp, value):
        for state in (self.state, self.plain):
            record = state.record(seed)
            own = record.own(field)
            if own is None or own[0] < stamp:
                record.write(field, stamp, value)

    def copy_member(self, key, moved, d, now):
        look = self.state.look()
        tags = self.state.links.get(moved, {})
        refused = any(r for a, r in tags.values() if a[0] == SEED) and not look.is_member(moved)
        if (look.is_member(moved) and set(moved) <= look.shown()) or refused or moved[0] == moved[1] != key[0]:
            return
        self.tag(moved, d, now, rank=ADOPTED)

    def late_members(self, look):
        found = []
        for key, tags in sorted(self.state.links.items()):
            for name in key:
                if look.forward(name) is None or look.is_shown(name) or not look.is_member(key):
                    continue
                moved = tuple(look.forward(n) or n for n in key)
                known = self.state.links.get(moved, {})
                seen = self.state.records[name].adopted_context()
                is_late = all(r is None for _, r in known.values()) and any(
                    r is None and a[0] > SEED and not covers(seen, t) for t, (a, r) in tags.items())
                if moved != key and moved[0] != moved[1] and (is_late or not known) and not look.is_member(moved):
                    found.append((key, moved))
        return found

    # Shredding

    def hiding(self, look, name):
        """The dots that must be over before a record may be shredded: the deletes on its chain of owners; the edits, up to the topmost
        owner that is deleted, that they do not cover; and of what is below a deleted one the deletes and removals by which it hides.
        """
        chain, records = list(look.chain(name)), self.state.records
        dots = [d for n in chain for d in records[n].deletes]
        dead = [n for n in chain if self.has("gateLivingOwners") or records[n].deletes and not look.is_alive(n)]
        if not self.has("gateDeletesOnly"):
            context = {}
            for n in chain:
                context = merged(context, records[n].context())
            for n in chain[:1] if self.has("gateOwnEdits") or not dead else chain[:chain.index(dead[-1]) + 1]:
                dots += beyond(look.own_surviving(n), context).items()
        if not self.has("gateAboveOnly"):
            for n in dead:
                dots += self.hiding_below(look, n, records[n].context())[1]
        return dots

    def hiding_below(self, look, name, context):
        """Whether anything below a record was touched beyond `context`, and the deletes and removals that hide such touches."""
        touched, dots = False, []
        for (source, _), tags in self.state.links.items():
            for d, (added, removed) in tags.items() if source == name else ():
                if removed and added[0] >= USER and not covers(context, d):
                    touched = True
                    dots.append(dot(removed))
        for child in look.children(name):
            record = self.state.records[child]
            is_touched, below = self.hiding_below(look, child, context)
            if is_touched or any(not covers(context, d) for d in [*record.touches().items(), *look.live_tags(child)]):
                touched = True
                dots += [*record.deletes, *below]
        return touched, dots

    def may_shred(self, look, name, ripe):
        record = self.state.records[name]
        if not (record.has_content() or not record.has_life() and record.says_something(True) and record.existence):
            return False
        if self.has("shredVisible"):
            return bool(record.deletes)
        if look.is_visible(name) or not look.is_deleted(name):
            return False
        return ripe is None or all(covers(ripe, d) for d in self.hiding(look, name))

    def compact(self, only=None):
        """Shreds what may go. `only`: purges this record and what is below it at once."""
        look = self.state.look()
        ripe = None if only else self.world.ripe(self)
        todo = [n for n in sorted(self.state.records) if self.may_shred(look, n, ripe)
                and (only is None or only in look.chain(n))]
        if not todo:
            return
        d = self.begin()
        now = self.now()
        for name in todo:
            if only is None:
                self.world.check_window(self, name, self.hiding(look, name))
            record = self.state.records[name]
            time = record.next_time(now)
            order = record.life[0] + 1 if self.has("lifeCounts") else time
            self.world.note_shred(self, name, d)
            record.begin_life((order, time) + d)
            record.seen = {} if self.has("noSeenInLife") else dict(record.totals)
            self.spoil_shred(name, record)
            record.normalize()
        self.end(d)
        self.world.shredded += len(todo)

    def spoil_shred(self, name, record):
        if self.has("totalsDropped"):
            record.totals, record.seen = {}, {}
        if self.has("shredDropsTouches"):
            record.touched = {}
        if self.has("shredDropsOwner"):
            record.owner = None
        if self.has("shredDropsBasis"):
            record.basis = None
        if self.has("shredDropsForward"):
            record.forward = None
        if self.has("shredDropsLayers"):
            record.layers = {}
        if self.has("dwDropsExistence") and name in self.world.rules.delete_wins and record.existence:
            if covers(record.context(), dot(record.existence)):
                record.existence = None

    # Taking in

    def apply(self, source, base, is_repair=False):
        """Joins what `source` has and `base` does not cover, which the own vector does; then lifts."""
        world, state, old = self.world, self.state, dict(self.vector)
        check = world.before_apply(self)
        shown = check[0]
        part = source.state.delta(base)
        lost, news = {}, {}
        touched = {}
        for key, tags in part.links.items():
            touched.setdefault(key[0], set()).update(d for d in tags if not covers(old, d))
        for name, other in part.records.items():
            record = state.record(name)
            mine = record.copy()
            had = old if self.has("numbersAreUnique") else mine.touched
            touched.setdefault(name, set()).update([*beyond(other.touched, old).items(), *beyond(other.touched, had).items()])
            record.join_presence(other)
            if other.is_later(record) and not self.has("livesMix"):
                # A repair holds all that the sender has: also whether a number that it covers stands for this very edit.
                alien = is_repair and not self.has("numbersAreUnique") and bool(beyond(mine.touched, other.touched))
                lost[name] = mine, alien
            elif record.is_later(other):
                fresh = lambda via: not covers(old, via) or self.has("liftKnown")
                # Touches are never dropped, so an edit that is no touch here was never here, whatever the vector covers.
                cells = {f: c for f, c in other.cells.items()
                         if fresh(c[2]) or c[0][0] >= USER and not covers(had, dot(c[0]))}
                begun = {r: s[0] for r, s in other.starts.items() if fresh(s[1])}
                news[name] = cells, begun, bool(other.said and fresh(other.said))
            record.join_content(other)
        state.join_links(part.links)
        self.vector = merged(old, source.vector)
        self.lift(source, shown, lost, news, touched)
        if world.is_copied:
            self.plain.join(source.plain.delta(base))
        else:
            self.plain.join(source.plain)
        self.heard(source)
        world.after_apply(self, source, check, is_repair)

    def has_seen(self, life, d):
        return covers(self.world.seen.get(life[2:], {}), d) if not self.has("sayKnown") else False

    def lift(self, source, shown, lost, news, touched):
        state = self.state
        look = state.look()
        cells, starts, said = [], [], []
        for name, (mine, alien) in lost.items():
            is_seen = not self.has("noLiftSeen") and (name in shown or self.has("liftIfVisible")) and look.is_visible(name)
            unsent = alien or any(not covers(source.vector, via) for via in mine.vias())
            unsent = unsent or any(not covers(source.vector, (r, x[0])) for r, x in mine.totals.items())
            if not self.has("touchesAreSent"):   # a move, or a member: an edit that writes no value
                unsent = unsent or bool(beyond(mine.touched, source.vector))
                unsent = unsent or any(not covers(source.vector, d) for d in look.live_tags(name))
            if is_seen or unsent and not self.has("noLiftUnsent"):
                cells += [(name, f, c) for f, c in mine.cells.items()]
                if not self.has("noStartLift"):
                    starts += [(name, r, mine.start(r)) for r in mine.totals]
                if mine.said or not mine.has_life() and not self.has("firstLifeUnsaid"):   # in the first life all is said
                    said.append(name)
        if not self.has("noLiftNews"):
            for name, (fresh, begun, is_said) in news.items():
                if self.has("newsIfVisible") and not look.is_visible(name):
                    continue
                cells += [(name, f, c) for f, c in fresh.items()]
                if not self.has("noStartNews"):
                    starts += [(name, r, x) for r, x in begun.items()]
                if is_said:
                    said.append(name)
        if not self.has("noSayTouched"):
            # What the author of the life had seen counts for nothing: it was known when the record was emptied.
            said += [n for n, dots in touched.items()
                     if n in state.records and any(not self.has_seen(state.records[n].life, d) for d in dots)]
        records = state.records
        cells = [(n, f, c) for n, f, c in cells if not records[n].cells.get(f) or records[n].cells[f][0] < c[0]]
        starts = [(n, r, x) for n, r, x in starts if x < records[n].start(r)]
        follows = self.world.rules.follows
        lifted = {n for n, _, _ in cells}
        said = sorted({n for n in said if n in records and n not in lifted and not records[n].says_something(follows)})
        unsaid = self.to_say(look.shown())
        early = [n for n in unsaid if n not in lifted] if self.has("sayShownFirst") else []
        if not (cells or starts or said or unsaid):
            return
        d = self.begin()
        now = self.now()
        for name, field, (stamp, value, via) in cells:
            stamp = (USER, now) + d if self.has("liftIsWrite") else stamp
            via = via if self.has("liftKeepsVia") else d
            records[name].cells[field] = greater_cell(records[name].cells.get(field), (stamp, value, via))
            self.world.note_via(name, field, stamp, d)
            if self.has("liftTouches"):
                include(records[name].touched, d)
        for name, replica, total in starts:
            records[name].starts[replica] = lesser_start(records[name].starts.get(replica), (total, d))
        for name in said + early:
            records[name].said = d
        if not self.has("sayShownFirst"):
            self.say_shown(d, state.look().shown())   # after the lifts: they make more seen
        self.end(d)
        self.world.lifted += len(cells) + len(starts)

    def heard(self, source):
        if source.name.startswith("~"):   # a version of a seed: nobody to sync with
            self.acknowledged[self.name] = dict(self.vector)
            return
        for replica, vector in source.acknowledged.items():
            self.acknowledged[replica] = merged(self.acknowledged.get(replica, {}), vector)
        self.acknowledged[source.name] = merged(self.acknowledged.get(source.name, {}), source.vector)
        self.acknowledged[self.name] = dict(self.vector)
        self.days.note(self.clock(), source.vector, peer=True)
