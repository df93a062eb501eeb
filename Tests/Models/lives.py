"""Deleting by lives: the state of a record, and its join. Docs/Contract.md, section 11, says it in words.

Presence (existence, owner references, `tally_forward`, touches, deletes, layers, basis, links, totals of counters) follows today's
rules and is never dropped. The values of the other fields belong to a life. A shred begins a new life with nothing in it; what must
outlive it is lifted: said again in the new life with its own stamp, under the dot of the transaction that lifts, its `via`.

A name in `world.faults` leaves a rule out; README.md lists them.
"""
from today import FORWARD, OWNER, Presence, State, Visibility, beyond, covers, dot, include_user, merged, value_key

NO_LIFE = (0, 0, "", 0)            # (order, time, replica, sequence); order is the time, unless a fault says otherwise
FAULTS = frozenset()               # the rules that are left out in the present world


def life_time(life):
    return life[1]


def greater_cell(a, b):
    """Of two cells (stamp, value, via) of one field and one life: by stamp, value, via."""
    if a is None or b is None:
        return a or b
    if a[0] == b[0]:
        order = (lambda c: c[2]) if "viaFirst" in FAULTS else (lambda c: (value_key(c[1]), c[2]))
        return max(a, b, key=order)
    return a if a[0] > b[0] else b


def lesser_start(a, b):
    """Of two starts (total, via) of one replica's adds: the lesser total, then the greater via."""
    if a is None or b is None:
        return a or b
    if a[0] == b[0]:
        return max(a, b, key=lambda s: s[1])
    return a if a[0] < b[0] else b


class LivesRecord(Presence):
    __slots__ = ("owner", "forward", "touched", "life", "seen", "cells", "starts", "said")

    def __init__(self):
        super().__init__()
        self.owner = self.forward = self.said = None
        self.touched, self.life = {}, NO_LIFE
        self.seen, self.cells, self.starts = {}, {}, {}

    def copy(self):
        result = LivesRecord()
        result.copy_presence(self)
        result.owner, result.forward, result.said, result.life = self.owner, self.forward, self.said, self.life
        result.touched, result.seen = dict(self.touched), dict(self.seen)
        result.cells, result.starts = dict(self.cells), dict(self.starts)
        return result

    # As `Presence` wants it

    def own(self, field):
        if field == OWNER:
            return self.owner
        if field == FORWARD:
            return self.forward
        cell = self.cells.get(field)
        return cell and cell[:2]

    def touches(self):
        return dict(self.touched)

    # Lives

    def has_life(self):
        return self.life != NO_LIFE

    def has_content(self):
        return bool(self.cells or self.said or self.starts)

    def says_something(self, follows):
        if not self.has_life() or self.cells or self.said:
            return True
        return self.shown_layer(follows) is not None and "hollowSeeds" not in FAULTS

    def is_later(self, other):
        if "equalLivesMerge" in FAULTS:
            return self.life[0] > other.life[0]
        return self.life > other.life

    def begin_life(self, life):
        self.life, self.cells, self.starts, self.said = life, {}, {}, None

    def next_time(self, now):
        return max([now, life_time(self.life) + 1] + [c[0][1] + 1 for c in self.cells.values()])

    def vias(self):
        for cell in self.cells.values():
            yield cell[2]
        for _, via in self.starts.values():
            yield via
        if self.said:
            yield self.said

    # Counters

    def start(self, replica):
        """Up to where what a replica added does not count in this life."""
        if not self.has_life():
            return (0, 0)
        seen = self.seen.get(replica, (0, 0))
        said = self.starts.get(replica)
        return min(said[0], seen) if said else seen

    def counted(self):
        """For each replica of which adds count: after which of its totals, and up to which."""
        base = self.cells.get("n")
        based = dict(base[1][1]) if base else {}
        result = {}
        for replica, total in self.totals.items():
            low = max(self.start(replica), based.get(replica, (0, 0)))
            if total > low:
                result[replica] = low, total
        return result

    def count(self):
        base = self.cells.get("n")
        return (base[1][0] if base else 0) + sum(high[1] - low[1] for low, high in self.counted().values())

    # Writing

    def exist(self, stamp):
        self.existence = max(self.existence or stamp, stamp)
        include_user(self.touched, stamp)
        self.said = max(self.said or dot(stamp), dot(stamp))
        self.normalize()

    def write(self, field, stamp, value):
        include_user(self.touched, stamp)
        if field in (OWNER, FORWARD):
            self.join_register(field, (stamp, value))
            if self.has_life() and not self.has_content() and self.existence:
                self.said = dot(stamp)
        else:
            self.cells[field] = greater_cell(self.cells.get(field), (stamp, value, dot(stamp)))
        self.normalize()

    def normalize(self):
        if self.has_life() and "dropCoveredTouches" in FAULTS:
            self.touched = beyond(self.touched, self.context())

    # Joining

    def join_register(self, field, cell):
        mine = self.own(field)
        if mine is None or (cell[0], value_key(cell[1])) > (mine[0], value_key(mine[1])):
            if field == OWNER:
                self.owner = cell
            else:
                self.forward = cell

    def join_presence(self, other):
        if other.existence:
            self.existence = max(self.existence or other.existence, other.existence)
        for field in (OWNER, FORWARD):
            if other.own(field):
                self.join_register(field, other.own(field))
        self.touched = merged(self.touched, other.touched)
        self.join_deletes(other.deletes)
        self.join_seeds(other.layers, other.basis)
        self.join_totals(other.totals)
        self.normalize()

    def join_same_life(self, other):
        if self.life == other.life:
            if self.seen != other.seen:   # only with copies
                self.seen = {r: min(x, other.seen[r]) for r, x in self.seen.items() if r in other.seen}
        elif other.life > self.life:
            self.life, self.seen = other.life, other.seen
        for field, cell in other.cells.items():
            self.cells[field] = greater_cell(self.cells.get(field), cell)
        for replica, start in other.starts.items():
            self.starts[replica] = lesser_start(self.starts.get(replica), start)
        if other.said:
            self.said = max(self.said or other.said, other.said)

    def join_content(self, other):
        """The join alone: the later life wins whole."""
        if "livesMix" in FAULTS:
            later = max(self.life, other.life)
            self.join_same_life(other)
            self.life = later
        elif other.is_later(self):
            self.life, self.seen, self.said = other.life, other.seen, other.said
            self.cells, self.starts = dict(other.cells), dict(other.starts)
        elif not self.is_later(other):
            self.join_same_life(other)

    def delta(self, base):
        part = LivesRecord()
        has = self.presence_delta(part, base)
        if self.owner and not covers(base, dot(self.owner[0])):
            part.owner = self.owner
        if self.forward and not covers(base, dot(self.forward[0])):
            part.forward = self.forward
        part.touched = beyond(self.touched, base)
        part.life, part.seen = self.life, self.seen
        part.cells = {f: c for f, c in self.cells.items() if not covers(base, c[2])}
        part.starts = {r: s for r, s in self.starts.items() if not covers(base, s[1])}
        part.said = self.said if self.said and not covers(base, self.said) else None
        has = has or part.owner or part.forward or part.touched or part.has_content()
        return part if has or self.has_life() and not covers(base, self.life[2:]) else None

    def key(self):
        return (self.presence_key(), self.owner, self.forward, self.touched, self.life, self.seen, self.cells, self.starts,
                self.said)


class LivesState(State):
    record_type = LivesRecord

    def look(self):
        return Visibility(self, hollows="noHollow" not in FAULTS)
