"""Today's rules: what the engine does with records, links, seeds and visibility before anything is shredded.

A port of Sources/TallyCRDT (RecordState, SeedState, ORSetElement, Visibility), small enough to be run hundreds of thousands of
times. Every replica of the model runs it beside the design in `lives.py`: the same writes, nothing ever dropped. What it
shows is what the design has to show, apart from the exceptions that the design states.

A dot is (replica, sequence), a stamp (rank, time, replica, sequence), a vector a dictionary from replica to sequence.
"""

SEED, ADOPTED, USER = 0, 1, 2
CONTENT = ("x", "y", "n")          # fields of a record; n is a counter, in worlds that have one
OWNER, FORWARD = "o", "fw"         # an owning reference, and for which seed a duplicate gave way: presence


def covers(vector, dot):
    return vector.get(dot[0], 0) >= dot[1]


def covers_all(vector, other):
    return all(vector.get(r, 0) >= n for r, n in other.items())


def merged(a, b):
    result = dict(a)
    for r, n in b.items():
        if n > result.get(r, 0):
            result[r] = n
    return result


def lowest(vectors):
    vectors = list(vectors)
    keys = set(vectors[0]).intersection(*vectors[1:])
    return {r: min(v[r] for v in vectors) for r in keys}


def beyond(vector, context):
    return {r: n for r, n in vector.items() if n > context.get(r, 0)}


def include(vector, dot):
    if dot[1] > vector.get(dot[0], 0):
        vector[dot[0]] = dot[1]


def dot(stamp):
    return stamp[2], stamp[3]


def value_key(value):
    """The order of values under one stamp, which only copies of a replica can make."""
    if value is None:
        return (0, 0)
    return (1, value) if isinstance(value, int) else (2, str(value)) if isinstance(value, str) else (3, value)


class Layer:
    """One version of a seed: its whole content, or that it retires the record. Never changed."""
    __slots__ = ("stamp", "retired", "fields")

    def __init__(self, stamp, retired, fields):
        self.stamp, self.retired, self.fields = stamp, retired, fields

    def __eq__(self, other):
        return (self.stamp, self.retired, self.fields) == (other.stamp, other.retired, other.fields)


class Presence:
    """The parts of a record that both sides treat alike: existence, deletes, layers, basis, totals of a counter."""
    __slots__ = ("existence", "deletes", "layers", "basis", "totals")

    def __init__(self):
        self.existence, self.deletes, self.layers, self.basis, self.totals = None, {}, {}, None, {}

    def copy_presence(self, other):
        self.existence, self.basis = other.existence, other.basis
        self.deletes, self.layers, self.totals = dict(other.deletes), dict(other.layers), dict(other.totals)

    def context(self, counts=lambda rank: True):
        result = {}
        for stamp, seen in self.deletes.values():
            if counts(stamp[0]):
                result = merged(result, seen)
        return result

    def personal_context(self):
        return self.context(lambda rank: rank >= USER)

    def adopted_context(self):
        return self.context(lambda rank: rank < USER)

    def delete(self, stamp, seen):
        self.deletes[dot(stamp)] = (stamp, seen)
        self.drop_seen_deletes()

    def drop_seen_deletes(self):
        every = self.deletes
        if len(every) > 1:
            rest = {d: e for d, e in every.items() if not any(o != d and covers(x[1], d) for o, x in every.items())}
            self.deletes = rest or dict([max(every.items(), key=lambda e: e[1][0])])

    def join_deletes(self, other):
        for d, (stamp, seen) in other.items():
            mine = self.deletes.get(d)
            self.deletes[d] = (max(mine[0], stamp), merged(mine[1], seen)) if mine else (stamp, seen)
        self.drop_seen_deletes()

    def join_seeds(self, layers, basis):
        for d, layer in layers.items():
            self.layers.setdefault(d, layer)
        if basis and (not self.basis or basis > self.basis):
            self.basis = basis

    def join_totals(self, totals):
        for replica, total in totals.items():
            self.totals[replica] = max(self.totals.get(replica, (0, 0)), total)

    def presence_delta(self, part, base):
        """Puts into `part` what `base` does not cover; whether that is anything."""
        if self.existence and not covers(base, dot(self.existence)):
            part.existence = self.existence
        part.deletes = {d: e for d, e in self.deletes.items() if not covers(base, d)}
        part.layers = {d: e for d, e in self.layers.items() if not covers(base, d)}
        part.basis = self.basis if self.basis and not covers(base, dot(self.basis[1])) else None
        part.totals = {r: x for r, x in self.totals.items() if x[0] > base.get(r, 0)}
        return bool(part.existence or part.deletes or part.layers or part.basis or part.totals)

    def presence_key(self):
        return self.existence, self.deletes, self.layers, self.basis, self.totals

    # What seeds show

    def newest_layer(self):
        return max(self.layers.values(), key=lambda e: e.stamp) if self.layers else None

    def shown_layer(self, follows):
        if not self.layers or self.existence and self.existence[0] >= USER and not self.basis:
            return None
        if not self.basis or follows:
            content = [e for e in self.layers.values() if not e.retired]
            return max(content, key=lambda e: e.stamp) if content else None
        upto = [e for e in self.layers.values() if e.stamp <= self.basis[0]]
        return max(upto, key=lambda e: e.stamp) if upto else None

    def is_offered(self):
        newest = self.newest_layer()
        return bool(newest) and not self.deletes and not newest.retired

    def cell(self, field, follows):
        """The register that the app sees: a person's, else the shown layer's, else what adoption carried over."""
        own = self.own(field)
        if own and own[0][0] >= USER or not self.layers:
            return own
        layer = self.shown_layer(follows)
        if layer and field in layer.fields:
            return layer.stamp, layer.fields[field]
        return own

    def belongs_to_user(self):
        return bool(self.basis or self.touches())


class Record(Presence):
    """A record as the engine keeps it today."""
    __slots__ = ("fields", "superseded")

    def __init__(self):
        super().__init__()
        self.fields, self.superseded = {}, {}

    def copy(self):
        result = Record()
        result.copy_presence(self)
        result.fields, result.superseded = dict(self.fields), dict(self.superseded)
        return result

    def own(self, field):
        return self.fields.get(field)

    def user_dots(self):
        if self.existence and self.existence[0] >= USER:
            yield dot(self.existence)
        for cell in self.fields.values():
            if cell[0][0] >= USER:
                yield dot(cell[0])

    def touches(self):
        result = dict(self.superseded)
        for d in self.user_dots():
            include(result, d)
        return result

    def write(self, field, stamp, value):
        self.join_cell(field, (stamp, value))
        self.normalize()

    def exist(self, stamp):
        old, self.existence = self.existence, max(self.existence or stamp, stamp)
        if old and old != stamp:
            include_user(self.superseded, min(old, stamp))
        self.normalize()

    def join_cell(self, field, cell):
        mine = self.fields.get(field)
        if mine is None:
            self.fields[field] = cell
        elif mine != cell:
            first, last = sorted((mine, cell), key=lambda c: (c[0], value_key(c[1])))
            self.fields[field] = last
            if first[0] != last[0]:
                include_user(self.superseded, first[0])

    def normalize(self):
        implied = {}
        for d in self.user_dots():
            include(implied, d)
        self.superseded = beyond(self.superseded, implied)

    def join(self, other):
        self.superseded = merged(self.superseded, other.superseded)
        if other.existence:
            self.exist(other.existence)
        for field, cell in other.fields.items():
            self.join_cell(field, cell)
        self.join_deletes(other.deletes)
        self.join_seeds(other.layers, other.basis)
        self.join_totals(other.totals)
        self.normalize()

    def delta(self, base):
        part = Record()
        has = self.presence_delta(part, base)
        part.fields = {f: c for f, c in self.fields.items() if not covers(base, dot(c[0]))}
        part.superseded = beyond(self.superseded, base)
        return part if has or part.fields or part.superseded else None

    def says_something(self, follows):
        return True

    def key(self):
        return self.presence_key(), self.fields, self.superseded


def include_user(vector, stamp):
    if stamp[0] >= USER:
        include(vector, dot(stamp))


class State:
    """Records and links. A link is a dictionary from the dot of an add to (stamp, greatest removal or None)."""
    record_type = Record

    def __init__(self, rules):
        self.rules, self.records, self.links = rules, {}, {}

    def copy(self):
        result = type(self)(self.rules)
        result.records = {n: r.copy() for n, r in self.records.items()}
        result.links = {k: dict(t) for k, t in self.links.items()}
        return result

    def record(self, name):
        if name not in self.records:
            self.records[name] = self.record_type()
        return self.records[name]

    def add(self, key, stamp):
        self.links.setdefault(key, {}).setdefault(dot(stamp), (stamp, None))

    def remove(self, key, stamp):
        tags = self.links[key]
        for d, (added, removed) in list(tags.items()):
            if removed is None:
                tags[d] = added, stamp

    def join_links(self, other):
        for key, tags in other.items():
            mine = self.links.setdefault(key, {})
            for d, (added, removed) in tags.items():
                old = mine.get(d)
                mine[d] = (max(added, old[0]), max(removed or (), old[1] or ()) or None) if old else (added, removed)

    def links_delta(self, base):
        result = {}
        for key, tags in self.links.items():
            new = {d: (a, r) for d, (a, r) in tags.items()
                   if not covers(base, d) or r and not covers(base, dot(r))}
            if new:
                result[key] = new
        return result

    def join(self, other):
        for name, part in other.records.items():
            mine = self.record(name)
            if mine.key() != part.key():
                mine.join(part)
        self.join_links(other.links)

    def delta(self, base):
        part = type(self)(self.rules)
        for name, record in self.records.items():
            piece = record.delta(base)
            if piece:
                part.records[name] = piece
        part.links = self.links_delta(base)
        return part

    def key(self):
        """What two equal states have in common; it is compared and nothing else."""
        return {n: r.key() for n, r in self.records.items()}, self.links

    def look(self):
        return Visibility(self)


class Rules:
    """What the schema says: which names are of a delete-wins type, and whether seeds follow per field."""
    def __init__(self, delete_wins=frozenset(), follows=False):
        self.delete_wins, self.follows = delete_wins, follows


class Visibility:
    """Which records the app sees, for one state that does not change meanwhile. A port of Visibility.swift."""

    def __init__(self, state, hollows=True):
        self.state, self.rules, self.hollows = state, state.rules, hollows
        self._tags, self._owner, self._children = None, None, None
        self._surviving, self._visible, self._alive, self._hollow, self._shown = {}, {}, {}, {}, None

    # Links

    def live_tags(self, name):
        """The dots of the tags that people added and nobody removed, of the relationships that the record has."""
        if self._tags is None:
            self._tags = {}
            for (source, _), tags in self.state.links.items():
                for d, (added, removed) in tags.items():
                    if removed is None and added[0] >= USER:
                        self._tags.setdefault(source, []).append(d)
        return self._tags.get(name, ())

    def is_member(self, key):
        tags = self.state.links.get(key, {})
        if any(removed is None and added[0] > SEED for added, removed in tags.values()):
            return True
        seeds = [(d, removed) for d, (added, removed) in tags.items() if added[0] == SEED]
        if not seeds or any(removed for _, removed in seeds):
            return False
        record = self.state.records.get(key[0])
        layer = record.shown_layer(self.rules.follows) if record else None
        return bool(layer) and any(d == dot(layer.stamp) for d, _ in seeds)

    # Owners

    def forward(self, name):
        """The seed for which a record gave way; None while it speaks for itself."""
        record = self.state.records.get(name)
        cell = record.own(FORWARD) if record else None
        if not cell or cell[1] == name:
            return None
        seen = record.adopted_context()
        if beyond(record.touches(), seen) or any(not covers(seen, d) for d in self.live_tags(name)):
            return None
        return cell[1]

    def edge(self, name):
        """(stamp, owner) as the register says; an owner that gave way is resolved."""
        record = self.state.records.get(name)
        cell = record.cell(OWNER, self.rules.follows) if record else None
        if not cell or cell[1] is None:
            return None
        return cell[0], self.forward(cell[1]) or cell[1]

    def owners(self):
        """The owner of each record that has one. Of the edges of a cycle the one with the least stamp, then name, gives way."""
        if self._owner is None:
            edges = {n: e for n in self.state.records for e in [self.edge(n)] if e}
            done = set()
            for start in sorted(edges):
                path = []
                name = start
                while name in edges and name not in done and name not in path:
                    path.append(name)
                    name = edges[name][1]
                if name in path:
                    cycle = path[path.index(name):]
                    del edges[min(cycle, key=lambda n: (edges[n][0], n))]
                done.update(path)
            self._owner = {n: e[1] for n, e in edges.items()}
            self._children = {}
            for n, owner in self._owner.items():
                self._children.setdefault(owner, []).append(n)
        return self._owner

    def owner(self, name):
        return self.owners().get(name)

    def children(self, name):
        self.owners()
        return self._children.get(name, ())

    def chain(self, name):
        """The record and its owners, as far as anything is known of them."""
        while name in self.state.records:
            yield name
            name = self.owner(name)

    # Presence

    def is_beaten(self, name):
        record = self.state.records[name]
        if name not in self.rules.delete_wins:
            return False
        personal = record.personal_context()
        if record.existence:
            return covers(personal, dot(record.existence))
        return not record.layers or bool(personal)

    def surviving(self, name):
        if name not in self._surviving:
            record = self.state.records.get(name)
            if record is None or self.is_beaten(name):
                self._surviving[name] = {}
            else:
                touches = record.touches()
                for d in self.live_tags(name):
                    include(touches, d)
                for child in self.children(name):
                    touches = merged(touches, self.surviving(child))
                self._surviving[name] = beyond(touches, record.context())
        return self._surviving[name]

    def own_surviving(self, name):
        """The touches and members of the record itself that no delete of it covers."""
        record = self.state.records[name]
        touches = record.touches()
        for d in self.live_tags(name):
            include(touches, d)
        return beyond(touches, record.context())

    def is_alive(self, name):
        if name not in self._alive:
            record = self.state.records.get(name)
            if record is None:
                result = False
            elif record.is_offered():
                result = True
            elif self.is_beaten(name):
                result = False
            elif not record.deletes and not record.layers:
                result = bool(record.existence or record.touches())
            else:
                result = bool(beyond(record.touches(), record.context())) or bool(self.surviving(name))
            self._alive[name] = result
        return self._alive[name]

    def is_visible(self, name):
        if name not in self._visible:
            owner = self.owner(name)
            self._visible[name] = self.is_alive(name) and (owner is None or self.is_visible(owner))
        return self._visible[name]

    def visible(self):
        return {n for n in self.state.records if self.is_visible(n)}

    def is_deleted(self, name):
        """Deleted, or below something deleted; not: below something unknown or retired."""
        return any(self.state.records[n].deletes and not self.is_alive(n) for n in self.chain(name))

    def members(self):
        return {k for k in self.state.links if self.is_member(k)}

    # What the design hides beyond that

    def is_hollow(self, name):
        """Nothing is said in this life of it, of anything that it owns, and no seed shows."""
        if name not in self._hollow:
            record = self.state.records[name]
            self._hollow[name] = not record.says_something(self.rules.follows) and all(
                self.is_hollow(c) for c in self.children(name) if self.is_alive(c))
        return self._hollow[name]

    def is_shown(self, name):
        return self.is_visible(name) and not (self.hollows and any(self.is_hollow(n) for n in self.chain(name)))

    def shown(self):
        if self._shown is None:
            self._shown = {n for n in self.state.records if self.is_shown(n)}
        return self._shown
