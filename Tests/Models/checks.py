"""What is checked: after every delta, after every local transaction, and when everybody has synced."""
from lives import LivesRecord
from today import FORWARD, OWNER, beyond, covers, dot, merged
from window import DAY

WINDOW = 30


class Checks:
    """The part of a `World` that finds faults. The first detail of each kind is kept in `flags`."""

    def flag(self, kind, detail=None):
        self.flags.setdefault(kind, detail)

    def note_via(self, name, field, stamp, d):
        """A value was lifted or said again."""
        if self.is_copied:
            self.vias.setdefault((name, field, stamp), set()).add(d)

    def is_twins(self, name, field, stamp):
        """E3: the value's number was issued twice, or one under which it was lifted or said again."""
        return dot(stamp) in self.twins or not self.twins.isdisjoint(self.vias.get((name, field, stamp), ()))

    def may_be_beyond(self, name, field, stamp):
        """E3: the value's number was issued twice, so that today's rules took it for known, and it came by one under which it was said."""
        return dot(stamp) in self.twins and (name, field, stamp) in self.vias

    def check_window(self, replica, name, dots):
        if not self.has_window or "noGate" in self.faults:
            return
        for d in dots:
            begun = self.written.get(d, 0) if not replica.days.has_peer else self.shared_at.get(d)
            if begun is None or self.time - begun <= WINDOW * DAY:
                self.flag("tooEarly", (replica.name, name, d))

    def counted(self, state):
        """For each record the dots of the adds that its counter counts."""
        if "counters" not in self.features:
            return {}
        result = {}
        for name, record in state.records.items():
            if isinstance(record, LivesRecord):
                spans = record.counted()
            else:
                base = record.fields.get("n")
                based = dict(base[1][1]) if base else {}
                spans = {r: (based.get(r, (0, 0)), x) for r, x in record.totals.items() if x > based.get(r, (0, 0))}
            result[name] = {(r, q) for r, (low, high) in spans.items()
                            for q, _ in self.adds.get((name, r), ()) if low[0] < q <= high[0]}
        return result

    # Checks after every delta

    def before_apply(self, replica):
        shown = replica.state.look().shown()
        held = {n: (dict(r.cells), list(r.vias()), dict(r.totals), r.touches()) for n, r in replica.state.records.items()}
        values = {(n, f): c for n in shown for f, c in replica.state.records[n].cells.items()}
        counted = {n: set(x) for n, x in self.counted(replica.state).items() if n in shown}
        return shown, values, counted, dict(replica.vector), held

    def after_apply(self, replica, source, before, is_repair):
        self.deltas += 1
        shown, values, counted, vector, held = before
        plain, now = replica.plain.look(), replica.state.look()
        for (name, field), cell in values.items():
            today = replica.plain.records[name].fields.get(field)
            if today and today[0] == cell[0] and plain.is_visible(name):
                mine = replica.state.records[name].cells.get(field)
                # With copies, a via can bring the twin of a value earlier than today.
                if mine is None or (mine[0] < cell[0] if self.is_copied else mine[0] != cell[0]):
                    self.flag("syncTookValue", (replica.name, source.name, name, field, cell))
        for name in shown:
            if plain.is_visible(name) and not now.is_shown(name):
                self.flag("syncHid", (replica.name, source.name, name))
        today, mine = self.counted(replica.plain), self.counted(replica.state)
        for name, adds in counted.items():
            base, base2 = replica.plain.records[name].fields.get("n"), replica.state.records[name].cells.get("n")
            based = self.seen.get(dot(base2[0]), {}) if base and base2 and base[0] != base2[0] else {}
            lost = {d for d in adds & today.get(name, set()) - mine.get(name, set()) if not covers(based, d)}
            if lost and plain.is_visible(name):
                self.flag("syncTookAdd", (replica.name, source.name, name, lost))
        self.same(replica, now, plain)
        if not self.is_copied:
            self.check_lifts(replica, source, now, shown, vector, held)

    def check_lifts(self, replica, source, look, shown, vector, held):
        """Nothing void comes back, nobody keeps what they need not, and what news touch is there."""
        own = replica.name, replica.vector.get(replica.name, 0)
        for name, record in replica.state.records.items():
            theirs = source.state.records.get(name)
            mine, vias, totals, touches = held.get(name, ({}, [], {}, {}))
            for field, cell in record.cells.items() if own[1] > vector.get(own[0], 0) else ():
                if cell[2] != own:
                    continue
                if field in mine and mine[field][0] == cell[0]:
                    unsent = any(not covers(source.vector, via) for via in vias)
                    unsent = unsent or any(not covers(source.vector, (r, x[0])) for r, x in totals.items())
                    unsent = unsent or any(not covers(source.vector, t) for t in [*touches.items(), *look.live_tags(name)])
                    if name not in shown and not unsent:
                        self.flag("keptNeedlessly", (replica.name, source.name, name, field))
                elif not theirs or field not in theirs.cells or covers(vector, theirs.cells[field][2]):
                    self.flag("voidValueCameBack", (replica.name, source.name, name, field))
        touched = {n for n in replica.state.records
                   if any(d[1] > vector.get(d[0], 0) and not replica.has_seen(replica.state.records[n].life, d)
                          for d in look.own_surviving(n).items())}
        for name in touched:
            if look.is_visible(name) and not any(look.is_hollow(n) for n in list(look.chain(name))[1:]):
                if not look.is_shown(name):
                    self.flag("touchedIsNotThere", (replica.name, source.name, name))

    def same(self, replica, mine=None, today=None, at_end=False):
        """Presence is today's: visibility, members, and all that they are computed from."""
        if self.is_copied and not at_end:
            return   # between a delta and its repair
        mine, today = mine or replica.state.look(), today or replica.plain.look()
        for name in mine.shown():
            if not replica.state.records[name].says_something(self.rules.follows):
                self.flag("shownUnsaid", (replica.name, name))
        if mine.visible() != today.visible():
            self.flag("presence", (replica.name, mine.visible() ^ today.visible()))
        if mine.members() != today.members():
            self.flag("members", replica.name)
        if self.is_copied:
            return
        for name, record in replica.state.records.items():
            plain = replica.plain.records.get(name)
            if plain is None or record.presence_key() != plain.presence_key() or record.touches() != plain.touches():
                self.flag("presenceItems", (replica.name, name))
            elif record.own(OWNER) != plain.own(OWNER) or record.own(FORWARD) != plain.own(FORWARD):
                self.flag("presenceRegisters", (replica.name, name))
            elif mine.owner(name) != today.owner(name) or mine.forward(name) != today.forward(name):
                self.flag("owners", (replica.name, name))
        if mine.hollows and mine.shown() - today.visible():
            self.flag("shownBeyondToday", replica.name)

    @staticmethod
    def values(replica):
        look = replica.state.look()
        return {n: ({f: c[:2] for f, c in replica.state.records[n].cells.items()}, replica.state.records[n].own(OWNER))
                for n in look.shown()}, look.members()

    @staticmethod
    def is_kept(replica, shredder, name):
        """Whether a record that is visible at `replica` would be so without what has moved away from below it by what `shredder` knows."""
        look, later, records = replica.plain.look(), shredder.plain.look(), replica.plain.records

        def surviving(n):
            touches = look.own_surviving(n)
            for child in look.children(n):
                is_there = child not in shredder.plain.records or later.owner(child) == n
                if is_there and look.surviving(child):
                    touches = merged(touches, surviving(child))
            return beyond(touches, records[n].context())
        return all(not records[n].deletes or surviving(n) for n in look.chain(name))

    def is_purged(self, name, d):
        """E1: somebody for whom the record was deleted shredded it, and had seen the value. In an ordinary history it was then deleted
        for everybody, or visible only through what has moved away since.
        """
        if "strict" in self.faults:
            return False
        return any((s.was_hidden_everywhere if self.is_ordinary else s.was_hidden) and covers(s.seen, d)
                   for s in self.shreds.get(name, ()))

    def check_exceptions(self, replica):
        look, today = replica.state.look(), replica.plain.look()
        for name in sorted(today.visible()):
            if not look.is_shown(name) and not ("noHollow" in self.faults):
                self.check_hollow(name, replica, look)
            record, plain = replica.state.records[name], replica.plain.records[name]
            for field, cell in plain.fields.items():
                if field in (OWNER, FORWARD):
                    continue
                mine = record.cells.get(field)
                if mine and mine[0] == cell[0]:
                    if mine[1] != cell[1]:
                        if self.is_twins(name, field, cell[0]):
                            self.twin_values += 1
                        else:
                            self.flag("wrongValue", (name, field))
                elif mine and mine[0] > cell[0]:
                    # Nothing is lost: the later value shows, as it would by today's rules if they had it.
                    if self.may_be_beyond(name, field, mine[0]):
                        self.beyond += 1
                    else:
                        self.flag("valueBeyondToday", (name, field))
                elif self.is_purged(name, dot(cell[0])):
                    self.purged += 1
                elif self.is_twins(name, field, cell[0]):
                    self.twin_values += 1
                else:
                    self.flag("lostValue", (name, field, cell, mine))
            for field, mine in record.cells.items():
                if field not in plain.fields:
                    if self.may_be_beyond(name, field, mine[0]):
                        self.beyond += 1
                    else:
                        self.flag("valueFromNowhere", (name, field))
        if "counters" in self.features and not self.is_copied:
            self.check_counters(replica, look, today)

    def check_hollow(self, name, replica, look):
        """E2: it, or an owner, is a record of which every surviving touch was seen by those who purged it, and so for all below."""
        records = replica.state.records
        top = next((n for n in look.chain(name) if look.is_hollow(n)), None)

        def is_gone(n):
            return (not records[n].has_content()
                    and all(self.is_purged(n, d) for d in look.own_surviving(n).items())
                    and all(is_gone(c) for c in look.children(n) if look.is_alive(c)))
        if top is None or not is_gone(top):
            self.flag("lostRecord", (name, top))
        elif top != name and records[name].has_content():
            self.flag("stuck", (name, top))
        else:
            self.hollow += 1

    def check_counters(self, replica, look, today):
        mine, plain = self.counted(replica.state), self.counted(replica.plain)
        for name in sorted(today.visible()):
            base = replica.plain.records[name].fields.get("n")
            based = self.seen[dot(base[0])] if base else {}
            every = {(r, q): a for (n, r), adds in self.adds.items() if n == name for q, a in adds}
            spec = {d for d in every if covers(replica.vector, d) and not covers(based, d)}
            if spec != plain.get(name, set()):
                self.flag("todaysCounter", name)
            if not look.is_shown(name):
                continue
            base2 = replica.state.records[name].cells.get("n")
            based2, got = self.seen[dot(base2[0])] if base2 else {}, mine.get(name, set())
            for d in spec - got:
                if self.is_purged(name, d):
                    self.purged_adds += 1
                elif base and base2 and base[0] != base2[0] and covers(based2, d) and self.is_purged(name, dot(base[0])):
                    self.rebased += 1   # the winning set is purged, and the one that shows had seen the add
                else:
                    self.flag("lostAdd", (name, d))
            if any(not covers(replica.vector, d) or covers(based2, d) for d in got):
                self.flag("addedTwice", name)
            if base and base2 and base[0] == base2[0] and got - spec:
                self.flag("addedTwice", name)
            if replica.state.records[name].count() != (base2[1][0] if base2 else 0) + sum(every[d] for d in got):
                self.flag("wrongSum", name)
