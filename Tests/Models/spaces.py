#!/usr/bin/env python3
"""Membership of spaces, and the exchange of sealed files over places, without ciphers.

A state is a vector and cells; each transaction writes one register (which others overwrite) and one item of its own (which nobody
overwrites). A file is readable by who holds its key, and counts if its signer counts. Membership is a set of records, each naming
those that its author had seen; `View` says what a set means, and `Sources/TallySpaces/Records` is the same function in Swift
(`spacesets.py` writes sets for its tests). Histories have devices that are away, lost, restored, copied and removed; places that lag;
and a host that keeps everything, shows anything to anybody at any time, and works together with whoever is out.

    python3 spaces.py sealed --histories 3000                         one role
    python3 spaces.py sealed --histories 500 --start 101000 --steps 200
    python3 spaces.py roles --histories 1000                          reader, writer, admin: a later step
    python3 spaces.py authors --histories 200                         files of one's own transactions only: known to get stuck
    python3 spaces.py faults                                          each rule left out must be found

What a set means:

1. A record counts by what stands before it, and nothing that comes later changes that: its author is present in the meaning of the
   records that it names. A close is by a device that was present before the invitation.
2. A removal is of devices whose joins it has seen. Nothing undoes it, whatever becomes of its author.
3. Whatever else a removed device has said counts only if the removal had seen it: keys, invitations, what it keeps, and the joins by
   its invitations.
4. A close counts whatever becomes of its author. Of the joins by an invitation those count that every close has seen.
5. A device is out if a join of it does not count, or if whoever invited it is out.
6. A device seals under a key only if whoever made it had seen every removal, join and close that it has seen itself.

So who is out by a set is out by every larger one (`backwards` is checked at each step).

What the checks leave out, and why that is right:

- *Lost devices and devices that have seen that they are out do nothing more* (`lost`, `out`). Rule 2 to 5 bring nobody back, so that a
  device that stops has nothing to wait for. With rules that did bring devices back this hid that they had stopped for nothing.
- *Nobody is left.* A removed device and its host can remove whoever was there in its time, and so can who finds a used link: a place
  cannot tell when something was said. Rule 2 bounds it: whoever comes by the words, knowing that they are out, is beyond their reach. What was sealed
  is checked all the same.
- (1) *Forged files may be lost.* Their signers are out, and owed nothing.
- (2) *Only the words open a file.* Every device that was ever given its key, directly or by its invitation, is gone, before a pass in
  which it would have wrapped it. That a pass leaves no known key unwrapped is checked at each pass (`unwrapped`).
- (3) *A file waits.* It builds on what somebody had written who is out, which lies there, does not count, and no removal keeps: exactly
  what it lacks must be in such files, and with them it must be reachable.
- (4) *Forged content is taken.* By who has not heard that its signer is out, and with the best that a host can show them could not have.
  `after` holds all that was forged when nobody was left whom the host could deceive; only a newcomer or a restored device that can be
  deceived again takes its entries out.
- (5) *Nothing.* Whoever was out by what the sealer of a file knew cannot read it: devices with the keys of all their copies and of all
  links that they made or came by, accomplices, and links alone. It does not matter what the file holds or who is in later.
- *Members.* A member can do anything: share keys, keep forged files, make keys for fewer. So forgers are those who are out.
- *The words.* Nothing ends the recovery words, so they are never out, and nobody keeps them.

Earlier rules that fell when the checks were read like this, each a fault that can still be switched on:

- `undoneRemovals`: removals by devices that a close leaves out did not count, against finders of used links. So whoever had removed a
  lost phone could be put out by a close, and the phone was back, with the new keys: it needed no more than its own link, used again.
- `quietCloses`: a key made before a close of a used invitation went on being used. Whoever had come by the link a second time had it,
  or got it from somebody who did not know of the close. The checks had counted such a device neither as in nor as out.
- `countedJoins`: a join that no longer counted asked for no new key. Whoever came by two links and was put out by a close of one made
  the other one look unused again.
- `voidKeeps`: a removed device could say that it removes itself, in its own time, and that its forged files are kept.
- `anyTarget`: a removed device could remove devices that came later by the words, for ever.
- `believesWraps`: a record that says that a key opens with another one was believed, so that nobody wrapped it for newcomers. Only what
  opens counts. And who may know a key is not looked at any more: saying so was enough to make it useless.
"""
import argparse, collections, random, sys

READER, WRITER, ADMIN = 0, 1, 2


def covers(a, b): return all(a.get(r, 0) >= n for r, n in b.items())
def merged(a, b): return {r: max(a.get(r, 0), b.get(r, 0)) for r in a.keys() | b.keys()}


class Record:
    """Something said about membership: op, author, the records that the author had seen."""
    __slots__ = ("id", "op", "author", "past", "d")

    def __init__(self, id, op, author, past, **d): self.id, self.op, self.author, self.past, self.d = id, op, author, frozenset(past), d


class File:
    __slots__ = ("id", "signer", "key", "base", "target", "cells", "evil", "removed_by_signer", "at")

    def __init__(self, id, signer, key, base, target, cells, evil=False):
        self.id, self.signer, self.key, self.base, self.target, self.cells, self.evil = id, signer, key, dict(base), dict(target), dict(cells), evil

    @property
    def full(self): return not self.base


class View:
    """What a set of records means. A function of the set alone: who is out by a set is out by every larger one."""

    def __init__(self, log, world):
        R = {i: world.records[i] for i in sorted(log)}      # what a record names comes before it
        flt = world.faults
        self.world = world
        # A removal is of those whose join its author had seen, and nothing undoes it.
        self.cuts, self.why = collections.defaultdict(list), collections.defaultdict(set)
        removals = []
        lost = set()
        if "undoneRemovals" in flt:
            cs = [r for r in R.values() if r.op == "close" and world.is_valid(r)]
            lost = {j.d["device"] for j in R.values() if j.op == "join" and any(c.d["invite"] == j.d["invite"] and j.id not in c.past for c in cs)}
        for r in R.values():
            if r.op != "remove" or not world.is_valid(r) or r.author in lost: continue
            hit = [d for d in r.d["devices"] if d != "R" and ("anyTarget" in flt or world.joins_of[d] & r.past)]
            if hit: removals.append(r)
            for d in hit: self.cuts[d].append(r); self.why[d].add(r.id)
        self.removed = set(self.cuts)
        def void(r):
            if "noVoid" in flt: return False
            return any(r.id not in m.past for m in self.cuts.get(r.author, ()))
        # An invitation is closed by who was there before it; of its joins those that every close has seen count. Closes stand,
        # whatever becomes of their authors: who came by a used link could remove the closer.
        closes = collections.defaultdict(list)
        for r in R.values():
            if r.op == "close" and world.is_valid(r) and not ("weakCloses" in flt and void(r)): closes[r.d["invite"]].append(r)
        every = all if "anyClose" not in flt else any
        def left_out(j): return j.d["invite"] in closes and not every(j.id in c.past for c in closes[j.d["invite"]])
        self.closed = set(closes)
        self.invites = {r.id: r for r in R.values() if r.op == "invite" and world.is_valid(r) and not void(r)}
        # A device is out if any of its joins is: a close leaves it out, its invitation does not count or ended before it, or
        # whoever invited it is out.
        all_joins = [r for r in R.values() if r.op == "join"]
        def invite(j): return R[j.d["invite"]]
        def is_late(j): return any(j.id not in m.past for m in self.cuts.get(invite(j).author, ())) and "noVoid" not in flt
        self.out = set()
        for r in all_joins:
            d = r.d["device"]
            if left_out(r): self.out.add(d); self.why[d] |= {c.id for c in closes[r.d["invite"]] if r.id not in c.past}
            if invite(r).op == "genesis": continue
            if invite(r).id not in self.invites or is_late(r): self.out.add(d); self.why[d] |= self.why[invite(r).author]
        size = -1
        while size != len(self.out):
            size = len(self.out)
            self.out |= {r.d["device"] for r in all_joins if invite(r).op != "genesis" and invite(r).author in self.out}
        joins = [r for r in all_joins if r.d["device"] not in self.out]
        self.devices, self.role = {"R"}, {"R": ADMIN}
        for r in joins:
            self.devices.add(r.d["device"])
            self.role[r.d["device"]] = ADMIN if invite(r).op == "genesis" else invite(r).d["role"]
        # Whoever never counted said nothing.
        self.invites = {i: r for i, r in self.invites.items() if r.author in self.devices}
        self.present = self.devices - self.removed
        # What a removal keeps is a word like any other: of those whom it removes, and void if its author is out.
        self.kept = collections.defaultdict(set)
        for r in removals:
            if "voidKeeps" in flt or not void(r) and r.author in self.devices:
                for d in r.d["devices"]: self.kept[d] |= r.d["kept"]
        # Roles: the lowest of those that nothing said later has seen.
        for d in list(self.present):
            said = [r for r in R.values() if r.op == "role" and r.d["device"] == d and not void(r) and world.is_valid(r)]
            last = [r for r in said if not any(r.id in s.past for s in said)]
            if last: self.role[d] = min(r.d["role"] for r in last)
            for r in said: self.kept[d] |= r.d["kept"]
        self.open = {i for i, r in self.invites.items() if i not in self.closed and r.author in self.present}
        # Also by a device that is out: it has come by another link as well, and a link does not become unused again.
        self.used = {r.d["invite"] for r in all_joins}
        # What a key must have been made after: whoever has it then knows it too, and hands it to nobody who is out. Closes as well,
        # also of an invitation that was used: who finds its link may have joined already, by what somebody knows who has the key.
        # And joins that do not count: they did for somebody who had not heard of what puts them out.
        self.changes = {r.id for r in removals} | {r.id for r in (joins if "countedJoins" in flt else all_joins)}
        for i, cs in closes.items():
            if "quietCloses" not in flt or i not in self.used: self.changes |= {c.id for c in cs}
        if "noRotationOnJoin" in flt: self.changes = {r.id for r in removals}
        if "quietRemovals" in flt: self.changes -= {r.id for r in removals}
        self.keys, self.has = {}, collections.defaultdict(set)
        for r in R.values():
            if r.op in ("key", "share"): self.has[r.d["key"]] |= r.d["to"]        # who is said to know it
            if r.op == "key" and not void(r) and r.author in self.devices and world.is_valid(r): self.keys[r.d["key"]] = r
        for r in all_joins: self.why["inv%d" % r.d["invite"]].add(r.id)
        for i, cs in closes.items(): self.why["inv%d" % i] |= {c.id for c in cs}
        for i, r in self.invites.items(): self.why["inv%d" % i] |= self.why[r.author]
        self.gone = (self.removed | self.out) - {"R"} | {"inv%d" % i for i in self.closed | {i for i in self.used if R[i].op == "invite"}}
        self.gone |= {"inv%d" % r.id for r in R.values() if r.op == "invite" and r.author not in self.present}

    def counts(self, f):
        if "voidKeeps" in self.world.faults and any(f.id in k for k in self.kept.values()): return True
        return (f.signer in self.present and self.role.get(f.signer, ADMIN) >= WRITER) or f.id in self.kept.get(f.signer, ())

    def usable(self, k):
        if k not in self.keys: return False
        if "anyKey" in self.world.faults: return not (self.has[k] & self.gone) and self.present <= self.has[k]
        return self.changes <= self.keys[k].past

    def missing_only(self, k): return k in self.keys and not (self.has[k] & self.gone)


class Body:
    """A device, or a copy of one: what it stores."""
    n = 0

    def __init__(self, dev, world):
        Body.n += 1
        self.dev, self.world = dev, world
        self.replica = world.new_replica(dev)
        self.vector, self.cells, self.log, self.keys = {}, {}, set(), set()
        self.lost = self.out = False
        self.snapshots = []       # copies to restore from
        self.outbox = []          # authors: own transactions as entries
        self.sealed = 0           # authors: how far own transactions are entries
        self.invs = set()         # the invitation by which it came: keys made meanwhile are sealed to that
        self.must = set()         # what is noted beside the keys: membership that it has seen
        self._view = (None, None)

    def view(self):
        k = frozenset(self.log)
        if self._view[0] != k:
            old, v = self._view, View(self.log, self.world)
            if old[0] is not None and old[0] < k and not old[1].gone <= v.gone: self.world.backwards = True
            self._view = (k, v)
        return self._view[1]

    def write(self, evil=False):
        w = self.world
        w.clock += 1
        seq = self.vector.get(self.replica, 0) + 1
        self.vector[self.replica] = seq
        dot = (self.replica, seq)
        self.cells["k%d" % w.rng.randrange(6)] = (w.clock, dot, evil)
        self.cells[dot] = (w.clock, dot, evil)
        w.writer[dot] = self.dev

    def since(self, base): return {k: c for k, c in self.cells.items() if c[1][1] > base.get(c[1][0], 0)}

    def join(self, cells, target):
        for k, c in cells.items():
            if k not in self.cells or c[:2] > self.cells[k][:2]: self.cells[k] = c
        self.vector = merged(self.vector, target)

    def copy_state(self): return dict(self.vector), dict(self.cells), set(self.log), set(self.keys), list(self.outbox), self.sealed, self.replica


class World:
    def __init__(self, seed, mode, faults=()):
        self.rng, self.mode, self.faults = random.Random(seed), mode, set(faults)
        self.records, self.files, self.clock, self.ids = {}, {}, 0, 0
        self.owner, self.writer, self.prev = {}, {}, {}
        self.accomplices, self.strangers, self.lost_content = {}, {}, False
        self.after = {}           # forged when everybody knew already: by whom
        self.valid, self.seen, self.joins_of = {}, {}, collections.defaultdict(set)
        self.unwrapped = False    # a key that somebody knew was not below the one in use after a pass
        self.backwards = False    # somebody who was out came back in by a larger set
        self.places = [dict(kind=self.rng.choice(["log", "folder"]), files={}, records=set()) for _ in range(self.rng.choice([1, 2, 2]))]
        self.ever = []            # (file, who was out by the sealer's view)
        self.all_files = {}
        self.count = collections.Counter()
        a = Body("d0", self)
        self.bodies = [a]
        g = self.say(a, "genesis", author="R")
        self.say(a, "join", device="d0", invite=g.id)
        self.genesis = g
        self.say(a, "key", key=self.new_id(), to={"d0", "R"}, prev=set())
        self.learn(a)
        self.nd = 1

    def is_valid(self, r):
        """Whether a record counts by the records that it names, which nothing that comes later changes: its author was there, and
        what it is about is among them. A close is by who was there before the invitation."""
        if r.id not in self.valid: self.valid[r.id] = self.judged(r)
        return self.valid[r.id]

    def judged(self, r):
        if r.op in ("genesis", "join"): return True
        past = r.past
        if r.op == "close":
            inv = self.records.get(r.d["invite"])
            if inv is None or inv.id not in past or inv.op != "invite": return False
            past = inv.past
        if r.author == "R": return True
        if past not in self.seen: self.seen[past] = (lambda v: (frozenset(v.present), v.role))(View(past, self))
        present, role = self.seen[past]
        return r.author in present and (self.mode == "sealed" or r.op in ("key", "wrap", "share") or role.get(r.author, 0) >= ADMIN)

    def new_id(self): self.ids += 1; return self.ids
    def new_replica(self, dev): r = "r%03d" % self.new_id(); self.owner[r] = dev; return r

    def say(self, b, op, author=None, past=None, **d):
        r = Record(self.new_id(), op, author or b.dev, b.log if past is None else past, **d)
        self.records[r.id] = r
        if past is None: b.log.add(r.id)
        if op == "join": self.joins_of[d["device"]].add(r.id)
        if op in ("key", "wrap"): self.prev.setdefault(d["key"], set()).update(d["prev"] - d.get("lie", set()))
        return r

    def reach_keys(self, who, extra=()):
        """All keys that somebody can know who sees every record."""
        got = set(extra)
        for r in self.records.values():
            if r.op in ("key", "share") and who in r.d["to"] and not r.d.get("lie"): got.add(r.d["key"])
        return self.down(got)

    def down(self, got):
        todo = list(got)
        while todo:
            for p in self.prev.get(todo.pop(), ()):
                if p not in got: got.add(p); todo.append(p)
        return got

    def learn(self, b, also=()):
        if "dropsInvitation" not in self.faults: b.invs |= set(also)
        who = {b.dev, *also, *b.invs}
        for i in b.log:
            r = self.records[i]
            if r.op in ("key", "share") and r.d["to"] & who and not r.d.get("lie"): b.keys.add(r.d["key"])
        under, todo = collections.defaultdict(set), list(b.keys)
        for i in b.log:
            r = self.records[i]
            if r.op in ("key", "wrap"): under[r.d["key"]] |= r.d["prev"] - r.d.get("lie", set())
        while todo:
            for p in under[todo.pop()] - b.keys: b.keys.add(p); todo.append(p)

    # Membership

    def key_for(self, b):
        """A key under which b may write; made or shared if there is none."""
        v = b.view()
        if "keepsKey" in self.faults:
            mine = [k for k in v.keys if k in b.keys]
            return max(mine) if mine else None
        mine = [k for k in v.keys if k in b.keys and v.usable(k)]
        if mine: return max(mine)
        part = [k for k in v.keys if k in b.keys and v.missing_only(k)] if "anyKey" in self.faults or "noRotationOnJoin" in self.faults else []
        to = set(v.present) | {"inv%d" % i for i in v.open - v.used}
        if "forgetsInvitations" in self.faults: to = set(v.present)
        if part and "neverShares" not in self.faults:
            k = max(part); self.say(b, "share", key=k, to=to); return k
        if self.mode != "sealed" and v.role.get(b.dev, 0) < WRITER: return None
        k = self.new_id()
        prev = set() if "forgetsOldKeys" in self.faults else {x for x in v.keys if x in b.keys}
        self.say(b, "key", key=k, to=to, prev=prev)
        b.keys.add(k)
        self.count["rotations"] += 1
        return k

    def wrap(self, b, k):
        """Every key that b knows can be had by whoever has the key that is in use."""
        if k is None or "neverWraps" in self.faults: return
        below = self.below(b, k)
        known = {self.records[i].d["key"] for i in b.log if self.records[i].op == "key"}
        rest = {x for x in b.keys if x not in below and (x in known or "wrapsUnknown" in self.faults)}
        if rest: self.say(b, "wrap", key=k, prev=rest); self.count["wraps"] += 1
        if not b.keys & known <= {x for x in self.truly_below(b, k)}: self.unwrapped = True

    def below(self, b, k):
        got, todo = {k}, [k]
        under = collections.defaultdict(set)
        for i in b.log:
            r = self.records[i]
            # What is below a key opens with it; whoever knows the key can tell.
            if r.op in ("key", "wrap"): under[r.d["key"]] |= r.d["prev"] - (set() if "believesWraps" in self.faults else r.d.get("lie", set()))
        while todo:
            for p in under[todo.pop()]:
                if p not in got: got.add(p); todo.append(p)
        return got

    def truly_below(self, b, k):
        under = collections.defaultdict(set)
        for i in b.log:
            r = self.records[i]
            if r.op in ("key", "wrap"): under[r.d["key"]] |= r.d["prev"] - r.d.get("lie", set())
        got, todo = {k}, [k]
        while todo:
            new = under[todo.pop()] - got
            got |= new; todo += new
        return got

    def invite(self, b, role):
        k = self.key_for(b)
        if k is None: return None
        r = self.say(b, "invite", role=role)
        self.say(b, "share", key=k, to={"inv%d" % r.id})
        return r

    def join(self, place, inv):
        """A new device with a link: it sees what is in the place."""
        if inv.id not in place["records"]: return None
        dev = "d%d" % self.nd
        b = Body(dev, self)
        self.take_records(b, place, self.rng.random() < 0.3)
        v = b.view()
        if inv.op == "genesis":
            # The words are not kept: nothing ends them.
            self.learn(b, {"R"}); b.invs.discard("R")
        elif inv.id not in v.open: return None
        else: self.learn(b, {"inv%d" % inv.id})
        if not b.keys: self.count["join: no key"] += 1; return None
        self.nd += 1
        self.say(b, "join", author=dev, device=dev, invite=inv.id)
        self.bodies.append(b)
        if self.mode == "sealed" or inv.op == "genesis" or inv.d["role"] >= WRITER:
            k = self.new_id(); v = b.view()
            if "noRotationOnJoin" not in self.faults:
                self.say(b, "key", key=k, to=set(v.present) | {"inv%d" % i for i in v.open - v.used}, prev={x for x in v.keys if x in b.keys})
                b.keys.add(k)
        place["records"] |= b.log
        self.count["joins"] += 1
        self.unaware(b)             # a newcomer may not have heard
        return b

    def take_records(self, b, place, partly=False):
        new = [self.records[i] for i in place["records"] if i not in b.log]
        if partly: new = [r for r in new if self.rng.random() < 0.8]
        moved = True
        while moved:
            moved = False
            for r in new:
                if r.id not in b.log and r.past <= b.log: b.log.add(r.id); moved = True

    # Whoever is out, with the host

    def unaware(self, b):
        """What was forged when everybody knew is no news to b, unless b does not know who is out."""
        for dot in [d for d, (who, shown) in self.after.items() if self.may_trust(b, who, shown)]: del self.after[dot]

    def may_trust(self, b, dev, shown):
        """Whether b would take what somebody seals, with the best that a host can show it."""
        return any(dev in View(b.log | more, self).present for more in (shown, self.own_join(dev)))

    def forge(self, place, links):
        """Somebody who is out, or has only a link, says what they can about a past in which they were not, and seals files under every
        key that they can know. The host helps: it shows anything to anybody, at any time."""
        rng = self.rng
        live = [b for b in self.bodies if not b.lost and not b.out]
        everything = set().union(*(b.log for b in live))
        now = View(everything, self)
        gone = [c for c in self.bodies if c.dev not in now.present and not any(c.dev == b.dev for b in live)]
        used = [i for i in links if i.id not in now.open]
        if gone and (not used or rng.random() < 0.7):
            c = rng.choice(gone)
            dev, log, keys, vector, cells = c.dev, set(c.log), self.secrets_of(c.dev), c.vector, c.cells
        elif used:
            inv = rng.choice(used)
            dev, log, keys, vector, cells = "e%d" % self.new_id(), set(inv.past) | {inv.id}, self.reach_keys("inv%d" % inv.id), {}, {}
            self.strangers[dev] = inv
        else: return
        # A past before they were out, whole.
        past = frozenset(i for i in log if not (self.records[i].op == "remove" and dev in self.records[i].d["devices"]))
        if rng.random() < 0.3 and dev[0] != "e":
            cut = rng.choice(sorted(past)); past = frozenset(i for i in past if i <= cut) | self.own_join(dev)
        past = frozenset(i for i in past if self.records[i].past <= past)
        said = set()
        def say(op, author=dev, **d):
            r = self.say(None, op, author=author, past=past | said, **d); said.add(r.id); return r
        if dev in self.strangers:
            if rng.random() < 0.3: past |= frozenset(i for i in everything if self.records[i].op not in ("close", "remove") and self.records[i].past <= past)
            say("join", device=dev, invite=self.strangers[dev].id)
            # The same device by another link as well.
            other = rng.choice(links)
            if rng.random() < 0.2 and other.id in past: say("join", device=dev, invite=other.id)
        # A file of content that nobody has written.
        rep = self.new_replica(dev); dot = (rep, 1); self.clock += 1
        self.writer[dot] = "evil"
        files = []
        if keys or rng.random() < 0.5:
            k = rng.choice(sorted(keys)) if keys else self.new_id()
            f = File(self.new_id(), dev, k, {}, {**vector, rep: 1}, {**cells, dot: (self.clock, dot, True), "k0": (self.clock, dot, True)}, evil=True)
            place["files"][f.id] = self.all_files[f.id] = f
            files.append(f.id)
            self.count["forged files"] += 1
        x = rng.random()
        if x < 0.35:
            inv = say("invite", role=ADMIN)
            k, acc = self.new_id(), "acc%d" % inv.id
            say("key", key=k, to={dev, acc} | {b.dev for b in self.bodies}, prev=set())
            say("join", author=acc, device=acc, invite=inv.id)
            self.accomplices[acc] = dev
        elif x < 0.45:
            # Nothing undoes a close: it can put out who came by an invitation of its time.
            some = [i for i in past if self.records[i].op == "invite"]
            if some: say("close", invite=rng.choice(sorted(some)))
        elif x < 0.6:
            # It can remove whoever was there in its time; or say that it leaves, and that its file counts.
            say("remove", devices=frozenset({rng.choice(sorted(now.devices - {"R"} | {dev})) if rng.random() < 0.5 else dev}), kept=set(files))
        elif x < 0.8:
            # What it does not have it says to be below what it has not got either; and that it knows the key that is in use.
            ks = sorted(now.keys)
            if len(ks) > 1:
                above, below = rng.sample(ks, 2)
                say("wrap", key=above, prev={below}, lie={below})
                say("share", key=above, to={dev}, lie={above})
        place["records"] |= past | said
        shown = frozenset(past | said)
        if not any(self.may_trust(b, dev, shown) for b in live):
            if files: self.after[dot] = dev, shown
            if dev in self.strangers: self.after[dev] = dev, shown
        # The host has all and shows it; what the forger does not know yet is there as well.
        if said: self.count["forged records"] += len(said)

    def own_join(self, dev): return frozenset().union(*(self.records[j].past | {j} for j in self.joins_of[dev]))

    def secrets_of(self, dev):
        """All keys that a device can know that hides nothing from nobody: its own, by its invitations, by links that it has made."""
        who = {dev} | set().union(*(b.invs for b in self.bodies if b.dev == dev))
        who |= {"inv%d" % r.id for r in self.records.values() if r.op == "invite" and r.author == dev}
        got = set().union(*(b.keys for b in self.bodies if b.dev == dev))
        for r in self.records.values():
            if r.op in ("key", "share") and r.d["to"] & who and not r.d.get("lie"): got.add(r.d["key"])
        return self.down(got)

    def remove(self, b, devs):
        v = b.view()
        kept = {f.id for p in self.places for f in p["files"].values()
                        if f.signer in devs and f.key in b.keys and covers(b.vector, f.target)} if self.rng.random() < 0.5 else set()
        self.say(b, "remove", devices=frozenset(devs), kept=kept)
        self.count["removals"] += 1
        self.key_for(b)

    # A pass

    def tidy_closes(self, b):
        v = b.view()
        for i in list(v.open):
            joins = {r.id for r in (self.records[x] for x in b.log) if r.op == "join" and r.d["invite"] == i}
            then = View(self.records[i].past, self)
            if joins and b.dev in then.present and (self.mode == "sealed" or then.role.get(b.dev, 0) >= ADMIN):
                self.say(b, "close", invite=i)

    def do_pass(self, b, place, whole=False):
        rng = self.rng
        partly = place["kind"] == "folder" and not whole
        self.take_records(b, place, partly and rng.random() < 0.5)
        v = b.view()
        if b.dev not in v.present:
            b.out = True
            return False
        self.learn(b)
        before = (dict(b.vector), len(b.log), set(place["files"]), len(place["records"]))
        if not b.must <= b.log and "forgetsHeads" not in self.faults: return False
        b.must = set(b.log)
        self.tidy_closes(b)
        if self.mode != "sealed" and b.view().role.get(b.dev, 0) < WRITER: key = None
        else: key = self.key_for(b)
        # Readers wrap too: who is a reader now may be the only one that has a key.
        mine = [k for k in b.view().keys if k in b.keys and b.view().usable(k)]
        self.wrap(b, key if key is not None else max(mine, default=None))
        v = b.view()
        place["records"] |= b.log
        seen = [f for f in place["files"].values() if not (partly and rng.random() < 0.25)]
        ok = [f for f in seen if f.key in b.keys and ("acceptsRemoved" in self.faults or v.counts(f))]
        if self.mode == "authors": ok = [f for f in ok if self.author_ok(f, v)]
        if any(f.target.get(b.replica, 0) > b.vector.get(b.replica, 0) for f in ok if f.signer == b.dev): b.replica = self.new_replica(b.dev); b.sealed = 0
        moved = True
        while moved:
            moved = False
            for f in sorted(ok, key=lambda f: (f.full, sum(f.target.values()), f.id)):
                if covers(b.vector, f.base) and not covers(b.vector, f.target):
                    b.join(f.cells, f.target); moved = True
                    break
        reach, rest = {}, list(ok)
        moved = True
        while moved:
            moved = False
            for f in list(rest):
                if covers(reach, f.base): reach = merged(reach, f.target); rest.remove(f); moved = True
        if self.mode != "sealed" and v.role.get(b.dev, 0) < WRITER and whole and "readersKeep" not in self.faults:
            # A reader has nothing of its own: what only somebody wrote who counts no more goes with them.
            more = {r for r, n in b.vector.items() if n > reach.get(r, 0)}
            if more and all(self.owner[r] not in v.present or "dropsDemoted" in self.faults for r in more):
                if any(self.owner[r] in v.present for r in more): self.lost_content = True
                b.vector, b.cells = {}, {}
                moved = True
                while moved:
                    moved = False
                    for f in sorted(ok, key=lambda f: (f.full, sum(f.target.values()), f.id)):
                        if covers(b.vector, f.base) and not covers(b.vector, f.target): b.join(f.cells, f.target); moved = True; break
                self.count["readers rebuilt"] += 1
        if key is not None and not (rng.random() < 0.1 and not whole):
            if self.mode == "authors": self.put_own(b, place, key, reach, v, ok)
            elif not covers(reach, b.vector):
                base = {r: min(n, b.vector.get(r, 0)) for r, n in reach.items() if b.vector.get(r, 0) and n}
                loose = [f for f in ok if not f.full]
                if len(loose) > 5 and rng.random() < 0.7: base = {}
                self.put(b, place, key, base, b.vector, b.since(base))
        self.tidy(b, place, ok, v)
        return before != (dict(b.vector), len(b.log), set(place["files"]), len(place["records"]))

    def put(self, b, place, key, base, target, cells, evil=False):
        f = File(self.new_id(), b.dev, key, base, target, cells, evil)
        place["files"][f.id] = f
        v = b.view()
        self.ever.append((f, frozenset(v.gone))); self.all_files[f.id] = f
        self.count["files"] += 1
        return f

    def tidy(self, b, place, ok, v):
        need = 1 if place["kind"] == "log" else 2
        for f in ok:
            mine = f.signer == b.dev or f.signer not in v.present
            if self.mode == "authors" and v.role.get(b.dev, 0) >= ADMIN: mine = True
            if mine and sum(1 for s in ok if s.full and s.id != f.id and covers(s.target, f.target) and (s.target != f.target or not f.full or s.id > f.id)) >= need:
                place["files"].pop(f.id, None)

    # Authors: a file holds its signer's own transactions only; admins may put snapshots

    def author_ok(self, f, v):
        if v.role.get(f.signer, 0) >= ADMIN: return True
        for r, n in f.target.items():
            if n > f.base.get(r, 0) and self.owner[r] != f.signer: return False
        return all(self.owner[c[1][0]] == f.signer for c in f.cells.values())

    def seal_own(self, b):
        n = b.vector.get(b.replica, 0)
        if n > b.sealed:
            base = dict(b.vector)
            if b.sealed: base[b.replica] = b.sealed
            else: base.pop(b.replica)
            cells = {k: c for k, c in b.since(base).items()}
            b.outbox.append((base, dict(b.vector), cells)); b.sealed = n

    def put_own(self, b, place, key, reach, v, ok):
        self.seal_own(b)
        have = {}
        for f in ok: have = merged(have, {r: n for r, n in f.target.items() if n > f.base.get(r, 0)})
        if v.role.get(b.dev, 0) >= ADMIN and not self.no_snapshots and not covers(reach, b.vector) and self.rng.random() < 0.3:
            self.put(b, place, key, {}, b.vector, b.cells); return
        for base, target, cells in b.outbox:
            own = [r for r in target if target[r] > base.get(r, 0)]
            if any(have.get(r, 0) < target[r] for r in own) and not covers(reach, target):
                f = self.put(b, place, key, base, target, cells)

    no_snapshots = False


def history(seed, mode, faults=(), steps=70, late=False, no_snapshots=False, calm=False):
    w = World(seed, mode, faults)
    w.no_snapshots = no_snapshots
    rng = w.rng
    bad = []
    links, evil_after = [], 0
    place = lambda: rng.choice(w.places)
    for p in w.places: p["records"] |= w.bodies[0].log
    for step in range(steps):
        live = [b for b in w.bodies if not b.lost and not b.out]
        if not live: break
        b = rng.choice(live)
        v = b.view()
        x = rng.random()
        can_write = mode == "sealed" or v.role.get(b.dev, 0) >= WRITER
        is_admin = mode == "sealed" or v.role.get(b.dev, 0) >= ADMIN
        if calm and 0.86 <= x < 0.985: x = 0.0
        if x < 0.34:
            if can_write: b.write()
        elif x < 0.64: w.do_pass(b, place())
        elif x < 0.72 and len(live) > 1:
            o = rng.choice([c for c in live if c is not b])
            # Directly: who holds a key that both may use, by what both know.
            vo = o.view()
            if b.dev in vo.present and o.dev in v.present:
                both = b.log | o.log
                if mode == "authors" and not late: w.seal_own(b); w.seal_own(o)
                b.log, o.log = set(both), set(both)
                w.learn(b); w.learn(o)
                vb = b.view()
                if b.dev in vb.present and o.dev in vb.present:
                    give = (dict(b.vector), dict(b.cells))
                    if mode == "sealed" or mode == "authors" or vb.role.get(o.dev, 0) >= WRITER: b.join(o.cells, o.vector)
                    if mode == "sealed" or mode == "authors" or vb.role.get(b.dev, 0) >= WRITER: o.join(give[1], give[0])
        elif x < 0.78:
            if is_admin and len(w.bodies) < 8:
                inv = w.invite(b, ADMIN if mode == "sealed" else rng.choice([READER, WRITER, WRITER, ADMIN]))
                if inv:
                    p = place(); p["records"] |= b.log; links.append(inv)
        elif x < 0.86:
            if rng.random() < 0.1 and len(w.bodies) < 9: w.join(place(), w.genesis)
            elif links: w.join(place(), rng.choice(links[-3:]))
        elif x < 0.89:
            others = sorted(v.present - {b.dev, "R"})
            if is_admin and others and b.dev in v.present:
                w.remove(b, {rng.choice(others)})
                if rng.random() < 0.7: w.do_pass(b, place())
        elif x < 0.91 and mode != "sealed":
            others = sorted(v.present - {b.dev, "R"})
            if is_admin and others: w.say(b, "role", device=rng.choice(others), role=rng.choice([READER, WRITER, ADMIN]), kept=set())
        elif x < 0.93: b.snapshots.append(b.copy_state())
        elif x < 0.945 and b.snapshots:
            s = rng.choice(b.snapshots)
            b.vector, b.cells, b.log, keys, b.outbox, b.sealed, _ = dict(s[0]), dict(s[1]), set(s[2]), set(s[3]), list(s[4]), s[5], s[6]
            if rng.random() < 0.5: b.keys, b.must = keys, set()
            w.learn(b)
            b.replica = w.new_replica(b.dev); b.sealed = 0
            w.count["restores"] += 1
            w.unaware(b)              # it does not know any more
        elif x < 0.955 and len(w.bodies) < 9:
            c = Body(b.dev, w)
            c.vector, c.cells, c.log, c.keys = dict(b.vector), dict(b.cells), set(b.log), set(b.keys)
            c.invs, c.must = set(b.invs), set(b.must)
            w.bodies.append(c); w.count["copies"] += 1
        elif x < 0.965 and len(live) > 2: b.lost = True; w.count["lost"] += 1
        elif x < 0.985:
            w.forge(place(), links)
        else:
            for _ in range(3): w.do_pass(b, place())
    # The end: everything shows, everybody left comes by until nothing moves.
    for rounds in range(40):
        moved = False
        for b in w.bodies:
            if b.lost or b.out: continue
            for p in w.places: moved = w.do_pass(b, p, whole=True) or moved
        if not moved: break
    else: bad.append("never comes to rest")
    left = [b for b in w.bodies if not b.lost and not b.out]
    if not left: w.count["nobody left"] += 1
    w.count["left"] += len(left)
    if w.lost_content: bad.append("a reader has dropped what a member wrote")
    if left and mode != "sealed" and not any(b.view().role.get(b.dev, 0) >= WRITER for b in left):
        w.count["no writer left"] += 1
        return w, bad
    if left:
        if len({frozenset(b.log) for b in left}) > 1: bad.append("different membership")
        if mode != "sealed":
            # What somebody who is gone gave a reader directly, and nobody else, only that reader shows.
            writers = [b for b in left if b.view().role.get(b.dev, 0) >= WRITER]
            alone = [b for b in left if b not in writers and not covers(writers[0].vector, b.vector)]
            w.count["a reader alone has something"] += len(alone)
            for b in alone:
                more = {r for r, n in b.vector.items() if n > writers[0].vector.get(r, 0)}
                if all(w.owner[r] not in b.view().present for r in more): bad.append("a reader shows what counts no more")
                if any(w.owner[r] == b.dev for r in more): w.count["a demoted device has what nobody took"] += 1
            left = writers + [b for b in left if b not in writers and b not in alone]
        if len({tuple(sorted(b.vector.items())) for b in left}) > 1: bad.append("stuck: different vectors")
        elif len({tuple(sorted(b.cells.items(), key=str)) for b in left}) > 1: bad.append("equal vectors, different states")
        v = left[0].view()
        full = left[0].vector
        # Nothing lost: what a member ever put that still counts is here.
        waits = 0
        for p in w.places:
            for f in p["files"].values():
                # (1) A file that somebody forged who was out is nobody's loss.
                if f.evil: continue
                if f.key not in left[0].keys and not any(f.key in b.keys for b in left):
                    r = next(r for r in w.records.values() if r.op == "key" and r.d["key"] == f.key)
                    # (2) Whoever had the key is lost, before a pass in which it would have been wrapped: `unwrapped` sees to that.
                    if v.counts(f) and not any(b.dev in r.d["to"] or b.invs & r.d["to"] for b in left): w.count["only the words open a file"] += 1
                    elif v.counts(f): bad.append("a member's file that nobody can read")
                elif v.counts(f) and not covers(full, f.target):
                    # (3) It builds on what somebody had written who is out, which lies there and does not count.
                    there, rest = dict(full), [g for g in w.all_files.values() if v.counts(g) and g is not f]
                    for g in w.all_files.values():
                        if not v.counts(g): there = merged(there, g.target)
                    while any(covers(there, g.base) for g in rest):
                        for g in rest:
                            if covers(there, g.base): there = merged(there, g.target)
                        rest = [g for g in rest if not covers(there, g.base)]
                    if mode == "authors" or covers(there, f.base) and not covers(full, f.base): waits += 1
                    else: bad.append("a member's file waits for ever")
                elif not v.counts(f) and not covers(full, f.target): w.count["left behind by who was removed"] += 1
        if waits: w.count["waits for what somebody removed wrote"] += waits
        if mode == "authors" and waits: bad.append("stuck: a file waits")
        # (4) Whoever has not heard that somebody is out takes what they seal; `after` has what was forged when all had heard, but for
        # devices that came or were restored since and do not know it.
        if any(c[1] in w.after for b in left for c in b.cells.values()): bad.append("forged content is taken")
        if any(c[2] for b in left for c in b.cells.values()): w.count["forged and taken before anybody knew"] += 1
        if any(a in v.present and c not in v.present and not all(int(a[3:]) in m.past for m in v.cuts.get(c, ())) for a, c in w.accomplices.items()): bad.append("an accomplice is in")
        if any(d in v.present and d in w.after for d in w.strangers): bad.append("who found a used link is in")
    if any(m.author != "R" and m.author not in View(w.own_join(d), w).present and m.author in View(w.own_join(d), w).gone for d in v.removed for m in v.cuts[d]):
        bad.append("who came later was removed by who was out")
    if w.backwards: bad.append("who was out is in again")
    if w.unwrapped and not w.faults & {"keepsKey"}: bad.append("a key is not below the one in use")
    # (5) Nobody who was out by what the sealer of a file knew can read it: no device, no link, also not those that were back in
    # meanwhile, and whatever the file holds. Only forgers' own files are left out: those they may show to anybody.
    secrets = {}
    for f, gone in w.ever:
        if f.evil: continue
        for who in gone:
            if who not in secrets:
                secrets[who] = w.reach_keys(who) if who[:3] == "inv" else w.secrets_of(who)
                if who in w.strangers: secrets[who] = w.reach_keys("inv%d" % w.strangers[who].id, secrets[who])
            if f.key in secrets[who]: bad.append("who is out reads what was sealed after: " + ("link" if who[:3] == "inv" else "device")); break
    return w, bad


def run(mode, n, start, faults=(), **k):
    total, found = collections.Counter(), collections.Counter()
    first = {}
    for s in range(start, start + n):
        w, bad = history(s, mode, faults, **k)
        total.update(w.count)
        for x in set(bad): found[x] += 1; first.setdefault(x, s)
    return total, found, first


FAULTS = [("sealed", "keepsKey"), ("sealed", "acceptsRemoved"), ("sealed", "noVoid"), ("sealed", "weakCloses"), ("sealed", "anyClose"),
          ("sealed", "anyKey"), ("sealed", "neverWraps"), ("sealed", "believesWraps"), ("sealed", "noRotationOnJoin"), ("sealed", "quietCloses"),
          ("sealed", "quietRemovals"), ("sealed", "undoneRemovals"), ("sealed", "voidKeeps"), ("sealed", "anyTarget")]


if __name__ == "__main__":
    a = argparse.ArgumentParser()
    a.add_argument("mode", choices=["sealed", "roles", "authors", "faults"])
    a.add_argument("--histories", type=int, default=1000); a.add_argument("--start", type=int, default=0)
    a.add_argument("--late", action="store_true", help="give before sealing"); a.add_argument("--nosnapshots", action="store_true")
    a.add_argument("--steps", type=int, default=70)
    a.add_argument("--calm", action="store_true", help="nobody is removed, lost, restored, copied or hostile")
    o = a.parse_args()
    if o.mode == "faults":
        missed = 0
        for mode, fault in FAULTS:
            t, f, first = run(mode, o.histories, o.start, fault.split("+"))
            print(f"{fault:20} {dict(f) or 'NOT FOUND'}  first {first}")
            missed += not f
        sys.exit(missed > 0)
    t, f, first = run(o.mode, o.histories, o.start, late=o.late, no_snapshots=o.nosnapshots, calm=o.calm, steps=o.steps)
    print(f"{o.mode}: {o.histories} histories; " + ", ".join(f"{k} {v}" for k, v in sorted(t.items())))
    print("violations:", dict(f) or "none", "first seeds:", first)
    sys.exit(bool(f))
