"""What a person must see: the replication contract as functions of a history.

Written from the contract alone. Nothing here merges: an event knows which events its author had seen, a replica is the set of
events that have reached it, and everything a person sees follows from that set by looking through all of it.
"""

from dataclasses import dataclass, field

EXISTENCE = "is there"  # written by inserts and restores; not shown
OWNER, FRIEND = "album", "friend"  # an owner takes what it owns with it; a friend that is gone reads as null
FIELDS = {"Album": ["name"], "Song": ["name", "note", OWNER, FRIEND]}


@dataclass(eq=False)
class Event:
    """One acknowledged transaction: who, after what, and what it did."""

    dot: tuple  # (replica, sequence): its identity
    seen: frozenset = frozenset()
    touched: set = field(default_factory=set)  # records that it inserted, restored or edited
    writes: dict = field(default_factory=dict)  # (record, field) -> (value, time)
    deleted: set = field(default_factory=set)
    added: set = field(default_factory=set)  # (source, target)
    removed: set = field(default_factory=set)
    begun: dict = field(default_factory=dict)  # record that it brought back -> when the new life begins

    def covers(self, other):
        return other is self or other in self.seen


def register(seen, record, name):
    """The write that a field shows: the latest by time, then by the author's identity. None if nobody wrote it."""
    writes = [(e.writes[record, name][1], e.dot, e) for e in seen if (record, name) in e.writes]
    return max(writes, default=None, key=lambda write: write[:2])


def value(seen, record, name):
    """What a field holds, whether or not it shows."""
    last = register(seen, record, name)
    return last and last[2].writes[record, name][0]


def beginning(seen, record):
    """When the latest life of a record began that is not its first; None if it has had one life only."""
    return max((event.begun[record] for event in seen if record in event.begun), default=None)


def said(record):
    """The fields that belong to a life: what a record refers to is not among them."""
    return [name for name in FIELDS[record.split("|")[0]] if name not in (OWNER, FRIEND)]


def time_of_write(seen, record, name, clock):
    """A write is later than what it overwrites, and than the beginning of the life that it is said in, whatever the clocks say."""
    last, begun = register(seen, record, name), beginning(seen, record) if name in said(record) else None
    return max(clock, last[0] + 1 if last else clock, begun + 1 if begun is not None else clock)


def close(seen, event):
    """What a transaction brings back into view begins a life that is later than all that is known of it."""
    before, after = frozenset(seen), frozenset(seen) | {event}
    for record in (visible(after) - visible(before)) & known(before):
        times = [last[0] + 1 for name in said(record) if (last := register(after, record, name))]
        begun = beginning(before, record)
        event.begun[record] = max(times + ([begun + 1] if begun is not None else []), default=0)
    return event


def members(seen):
    """The links, each with the events that added it and that no removal had in front of it: a concurrent add wins."""
    links = {}
    for event in seen:
        for link in event.added:
            if not any(link in other.removed and other.covers(event) for other in seen):
                links.setdefault(link, set()).add(event)
    return links


def living(seen, record):
    """What keeps a record alive: edits of it, members it has, and what keeps alive what it owns, that no delete had seen."""
    reasons = {event for event in seen if record in event.touched}
    for (source, _), adds in members(seen).items():
        if source == record:
            reasons |= adds
    for song in known(seen):
        if song.startswith("Song") and value(seen, song, OWNER) == record:
            reasons |= living(seen, song)
    return {e for e in reasons if not any(record in other.deleted and other.covers(e) for other in seen)}


def known(seen):
    return {record for event in seen for record in event.touched}


def visible(seen):
    """The records that a person sees: alive, and owned by nothing that is not."""
    alive = {record for record in known(seen) if living(seen, record)}
    return {r for r in alive if (owner := value(seen, r, OWNER)) is None or owner in alive}


def view(seen):
    """Every record that shows, with its fields and members, as the tool prints it."""
    there, links, rows = visible(seen), members(seen), []
    for record in sorted(there):
        kind = record.split("|")[0]
        fields = {name: value(seen, record, name) for name in FIELDS[kind]}
        for name in (OWNER, FRIEND):
            if fields.get(name) not in there and name in fields:
                fields[name] = None
        songs = sorted(t for s, t in links if s == record and t in there)
        rows.append({"fields": fields, "links": {"songs": songs} if kind == "Album" else {}, "name": record})
    return rows


# What a person does. Each returns what the transaction will say, or a refusal; nothing happens if nothing changes.


def put(seen, record, fields, clock):
    there = visible(seen)
    if any(fields.get(name) and fields[name] not in there | {record} for name in (OWNER, FRIEND)):
        return "danglingReference"
    event = Event(dot=None, seen=frozenset(seen))
    if record in there:
        shown = next(row["fields"] for row in view(seen) if row["name"] == record)
        written = {name: new for name, new in fields.items() if new != shown[name]}
    else:  # a new life: nothing of an earlier one shows
        event.touched = {record}
        everything = {name: fields.get(name) for name in FIELDS[record.split("|")[0]]}
        every = said(record) if beginning(seen, record) is not None else []  # nobody knows what of it was removed
        written = {n: new for n, new in everything.items() if new is not None or value(seen, record, n) is not None or n in every}
        event.removed = {link for link in members(seen) if record in link}
        event.writes[record, EXISTENCE] = (True, time_of_write(seen, record, EXISTENCE, clock))
    for name, new in written.items():
        # What a new life says of a field that nobody had written is, like the life itself, later than the life before.
        is_first = record not in there and not register(seen, record, name) and name not in every
        time = time_of_write(seen, record, EXISTENCE if is_first else name, clock)
        event.writes[record, name] = (new, time)
    event.touched |= {record} if written else set()
    return close(seen, event)


def delete(seen, record):
    return Event(None, frozenset(seen), deleted={record}) if record in visible(seen) else "noSuchRecord"


def restore(seen, record, clock):
    if record not in known(seen):
        return "noSuchRecord"
    if record in visible(seen):
        return "notDeleted"
    writes = {(record, EXISTENCE): (True, time_of_write(seen, record, EXISTENCE, clock))}
    return close(seen, Event(None, frozenset(seen), touched={record}, writes=writes))


def link(seen, source, target):
    if not {source, target} <= visible(seen):
        return "danglingReference"
    return Event(None, frozenset(seen), added={(source, target)} - members(seen).keys())


def unlink(seen, source, target):
    shown = {(source, target)} & members(seen).keys() if {source, target} <= visible(seen) else set()
    return Event(None, frozenset(seen), removed=shown)
