"""Mergeable texts: the tree of runs (the order of Fugue, in runs), deltas by dots, and edits found by comparing whole strings.

    texts.py run FIRST COUNT [RULE ...]      random histories, against an order that knows elements alone
    texts.py intent COUNT [endsOnly]         what comparing whole strings keeps of two concurrent changes
    texts.py copies COUNT [RULE]             two copies of one store that type under one id
    texts.py gate                            some of each, and rules left out, each of which must be noticed

A run is what one replica types on at one place. Its id is (replica, sequence, number). It hangs at an element (run, offset), or stands by
itself, on a side, and has elements 0, 1, 2 and so on, each with the dot that wrote it. Order: what hangs left of an element, the element,
what hangs right of it, then the next of its run; several at one place by id. A deletion is an element and a dot; of several the least
stays, and the character goes.

Rules that can be left out: `orderByTime` (insertions stand by their time, the newest first), `extendOthersRun`, `skipsDeleted` (an
insertion looks at neighbours that are not deleted), `lastDelete` (the later deletion stays), `endsOnly` (a change is what lies between
the ends that are the same), `noJoin` (changes that are close are not one), `noSlide`, `noSalt`.
"""
import functools
import random
import sys
import time

RULES = set()
WITHOUT = ("orderByTime", "extendOthersRun", "skipsDeleted")


def covers(vector, dot):
    return vector.get(dot[0], 0) >= dot[1]


class Run:
    def __init__(self, id, parent, side):
        self.id, self.parent, self.side, self.dots, self.chars = id, parent, side, [], []


class Text:
    """The state. `mine` are the runs that this opening has begun, `salt` is the number that it has drawn."""

    def __init__(self, salt=1):
        self.runs, self.dead, self.hanging, self.mine, self.salt = {}, {}, {}, set(), salt

    def add(self, id, parent, side, first, dots, chars):
        run = self.runs.get(id)
        if run is None:
            run = self.runs[id] = Run(id, parent, side)
            self.hanging.setdefault((parent, side), []).append(id)
        while len(run.dots) < first + len(dots):
            run.dots.append(None)
            run.chars.append(None)
        for i, (dot, char) in enumerate(zip(dots, chars)):
            if run.dots[first + i] is None:
                run.dots[first + i], run.chars[first + i] = dot, char

    def kill(self, element, dot):
        old = self.dead.get(element)
        if old is None or ("lastDelete" not in RULES and dot < old):
            self.dead[element] = dot

    def order(self):
        """All elements, deleted ones too."""
        result = []
        stack = [("run", id) for id in sorted(self.hanging.get((None, 1), ()), reverse=True)]
        while stack:
            kind, what = stack.pop()
            if kind == "element":
                result.append(what)
                continue
            run = self.runs[what]
            for i in range(len(run.dots) - 1, -1, -1):
                stack += [("run", id) for id in sorted(self.hanging.get(((what, i), 1), ()), reverse=True)]
                if run.dots[i] is not None:
                    stack.append(("element", (what, i)))
                stack += [("run", id) for id in sorted(self.hanging.get(((what, i), 0), ()), reverse=True)]
        return result

    def live(self):
        return [e for e in self.order() if e not in self.dead]

    def text(self):
        return "".join(self.runs[run].chars[i] for run, i in self.live())

    def insert(self, at, chars, dot, count):
        """Inserts before the element that is shown at `at`; returns how many runs were begun, and the new elements."""
        live, full = self.live(), self.order()
        if "skipsDeleted" in RULES:
            full = live
        left = live[at - 1] if at else None
        place = full.index(left) + 1 if left else 0
        right = full[place] if place < len(full) else None
        has = right is not None
        if left:
            run = self.runs[left[0]]
            has = left[1] < len(run.dots) - 1 or (left, 1) in self.hanging
            if not has and (run.id in self.mine or "extendOthersRun" in RULES) and "orderByTime" not in RULES:
                first = len(run.dots)
                self.add(run.id, run.parent, run.side, first, [dot] * len(chars), chars)
                return 0, [(run.id, first + i) for i in range(len(chars))]
        if "orderByTime" in RULES:
            parent, side = left, 1
            id = (-1 - max([-run[0] for run in self.runs], default=0), dot[0], count)
        else:
            parent, side = (right, 0) if has else (left, 1)
            id = (dot[0], dot[1], self.salt << 16 | count)
        self.mine.add(id)
        self.add(id, parent, side, 0, [dot] * len(chars), chars)
        return 1, [(id, i) for i in range(len(chars))]

    def delta(self, vector):
        """Pieces and deletions that a vector does not cover; of deleted characters only that they were there."""
        pieces = []
        for run in self.runs.values():
            i = 0
            while i < len(run.dots):
                if run.dots[i] is None or covers(vector, run.dots[i]):
                    i += 1
                    continue
                j = i
                while j < len(run.dots) and run.dots[j] is not None and not covers(vector, run.dots[j]):
                    j += 1
                chars = [None if (run.id, x) in self.dead else run.chars[x] for x in range(i, j)]
                pieces.append((run.id, run.parent, run.side, i, run.dots[i:j], chars))
                i = j
        return pieces, [(e, d) for e, d in self.dead.items() if not covers(vector, d)]

    def apply(self, delta):
        for piece in delta[0]:
            self.add(*piece)
        for element, dot in delta[1]:
            self.kill(element, dot)
        for run, i in self.dead:
            if run in self.runs and i < len(self.runs[run].chars):
                self.runs[run].chars[i] = None

    def key(self):
        runs = sorted((r.id, r.parent, r.side, tuple(r.dots), tuple(r.chars)) for r in self.runs.values())
        return tuple(runs), tuple(sorted(self.dead.items()))


# Comparing strings

def script(old, new):
    """Myers' shortest script, as hunks [place, deleted, inserted]."""
    n, m = len(old), len(new)
    reached, trace = {1: 0}, []
    for length in range(n + m + 1):
        trace.append(dict(reached))
        for k in range(-length, length + 1, 2):
            down = k == -length or (k != length and reached[k - 1] < reached[k + 1])
            i = reached[k + 1] if down else reached[k - 1] + 1
            while i < n and i - k < m and old[i] == new[i - k]:
                i += 1
            reached[k] = i
            if i >= n and i - k >= m:
                break
        else:
            continue
        break
    k, steps = n - m, []
    for length in range(len(trace) - 1, 0, -1):
        before = trace[length]
        down = k == -length or (k != length and before.get(k - 1, -1) < before.get(k + 1, -1))
        k += 1 if down else -1
        i = before[k]
        steps.append(("insert", i, new[i - k]) if down else ("delete", i, ""))
    hunks = []
    for kind, at, char in reversed(steps):
        if not hunks or hunks[-1][0] + hunks[-1][1] != at:
            hunks.append([at, 0, ""])
        hunks[-1][1] += kind == "delete"
        hunks[-1][2] += char
    return hunks


def difference(old, new):
    """Hunks (place, deleted, inserted), from right to left. What both begin and end with is left out first."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    x, y = old[start:len(old) - end], new[start:len(new) - end]
    if not x or not y or "endsOnly" in RULES:
        return [(start, len(x), y)] if x or y else []
    joined = []
    for at, gone, inserted in script(x, y):
        # People write words, not subsequences: with less than three characters between them two changes are one.
        if joined and at - joined[-1][0] - joined[-1][1] < (0 if "noJoin" in RULES else 3):
            last = joined[-1]
            last[2] += x[last[0] + last[1]:at] + inserted
            last[1] = at + gone - last[0]
        else:
            joined.append([at, gone, inserted])
    return [(start + at, gone, inserted) for at, gone, inserted in reversed(joined)]


def slide(hunks, old, place):
    """An insertion that could stand at several places stands at `place`, if it can: "owl|start" becomes "owls|start"."""
    for n, (at, gone, inserted) in enumerate(hunks):
        p, q = at, inserted
        while not gone and q and p > place and old[p - 1] == q[-1]:
            q, p = q[-1] + q[:-1], p - 1
        if p == place and p != at and all(x[0] + x[1] < p for x in hunks[n + 1:]):
            hunks[n] = (p, gone, q)


class Replica:
    def __init__(self, name):
        self.name, self.vector, self.text, self.last = name, {}, Text(), None

    def write(self, new, world=None):
        old = self.text.text()
        hunks = difference(old, new)
        if not hunks:
            return []
        live = self.text.live()
        if self.last in live and "noSlide" not in RULES:
            slide(hunks, old, live.index(self.last) + 1)
        dot, count, made = (self.name, self.vector.get(self.name, 0) + 1), 0, []
        for at, gone, inserted in hunks:
            killed = self.text.live()[at:at + gone]
            if inserted:
                begun, ids = self.text.insert(at, list(inserted), dot, count)
                count, made, self.last = count + begun, ids + made, ids[-1]
                if world is not None:
                    world.all.update(zip(ids, inserted))
            for element in killed:
                self.text.kill(element, dot)
                self.text.runs[element[0]].chars[element[1]] = None
                if world is not None:
                    world.dead.add(element)
        self.vector[self.name] = dot[1]
        assert self.text.text() == new, (old, new, hunks)
        return made

    def pull(self, other, base=None):
        self.text.apply(other.text.delta(self.vector if base is None else base))
        for replica, number in other.vector.items():
            self.vector[replica] = max(number, self.vector.get(replica, 0))


# Histories

class World:
    """Replicas that type, delete, change several places at once, and pull from one another, also since older bases."""
    replica_type = Replica

    def __init__(self, seed, steps=None):
        self.rng = random.Random(seed)
        self.replicas = [self.replica_type(c) for c in "ABCD"[:self.rng.choice([2, 3, 4])]]
        self.all, self.dead, self.bursts, self.orders, self.flags = {}, set(), [], [], set()
        self.steps = steps or self.rng.choice([20, 40, 60])

    def chars(self, count):
        return "".join(chr(0x4e00 + self.rng.randrange(20000)) for _ in range(count))

    def step(self):
        rng, draw = self.rng, self.rng.random()
        replica = rng.choice(self.replicas)
        text = replica.text.text()
        if draw < .42:
            self.burst(replica, text)
        elif draw < .55 and text:
            for place in sorted(rng.sample(range(len(text)), min(len(text), rng.choice([1, 2, 3]))), reverse=True):
                text = text[:place] + self.chars(rng.choice([0, 1, 3])) + text[place + rng.choice([0, 1, 2]):]
            replica.write(text, self)
        elif draw < .65 and text:
            place = rng.randrange(len(text))
            replica.write(text[:place] + text[place + rng.choice([1, 2, 5]):], self)
        elif draw < .97:
            other = rng.choice(self.replicas)
            if other is not replica:
                known = {p: min(n, replica.vector.get(p, 0)) for p, n in other.vector.items()}
                other.pull(replica, rng.choice([None, None, None, {}, known]))
        self.orders.append(replica.text.order())

    def burst(self, replica, text):
        """Typing, forwards or backwards, over several transactions."""
        at, live = self.rng.randrange(len(text) + 1), replica.text.live()
        backwards, elements, seen = self.rng.random() < .4, [], dict(replica.vector)
        for _ in range(self.rng.choice([1, 2, 3])):
            typed, text = self.chars(self.rng.choice([1, 2, 4])), replica.text.text()
            made = replica.write(text[:at] + typed + text[at:], self)
            elements = made + elements if backwards else elements + made
            at += 0 if backwards else len(typed)
        self.bursts.append((replica.name, elements, seen))

    def run(self):
        for _ in range(self.steps):
            self.step()
        self.settle()
        return self.check()

    def settle(self):
        for _ in range(2):
            for one in self.replicas:
                for other in self.replicas:
                    if one is not other:
                        one.pull(other)

    def check(self):
        text = self.replicas[0].text
        if any(r.text.key() != text.key() for r in self.replicas):
            self.flags.add("diverged")
        order = text.order()
        rank = {e: i for i, e in enumerate(order)}
        if any(a > b for places in ([rank[e] for e in o] for o in self.orders) for a, b in zip(places, places[1:])):
            self.flags.add("reordered")
        live = text.live()
        if set(live) != set(self.all) - self.dead:
            self.flags.add("elements")
        if text.text() != "".join(self.all[e] for e in live):
            self.flags.add("characters")
        self.pairs = 0
        for i, (name, elements, seen) in enumerate(self.bursts):
            places = [rank[e] for e in elements]
            if places != sorted(places):
                self.flags.add("order")
            for other, others, their_seen in self.bursts[:i]:
                knew = seen.get(other, 0) > their_seen.get(other, 0) or their_seen.get(name, 0) > seen.get(name, 0)
                if name == other or knew:
                    continue
                theirs = [rank[e] for e in others]
                self.pairs += 1
                if not (max(places) < min(theirs) or max(theirs) < min(places)):
                    self.flags.add("interleaved")
        if sorted(order, key=functools.cmp_to_key(Paths(text).compare)) != order:
            self.flags.add("oracle")
        return self.flags


class Paths:
    """The order once more, of elements without runs: by the way from the root to each."""

    def __init__(self, text):
        self.text, self.known = text, {}

    def path(self, element):
        if element not in self.known:
            run, i = self.text.runs[element[0]], element[1]
            if i:
                self.known[element] = self.path((element[0], i - 1)) + ((2, (1, "~")),)
            else:
                above = self.path(run.parent) if run.parent else ()
                self.known[element] = above + ((0 if run.side == 0 else 2, (0, run.id)),)
        return self.known[element]

    def compare(self, one, other):
        a, b = self.path(one), self.path(other)
        for x, y in zip(a, b):
            if x != y:
                return -1 if x < y else 1
        if len(a) == len(b):
            return 0
        if len(a) < len(b):
            return 1 if b[len(a)][0] == 0 else -1
        return -1 if a[len(b)][0] == 0 else 1


def run(first, count):
    start, flags, failed, pairs = time.time(), {}, 0, 0
    for seed in range(first, first + count):
        world = World(seed)
        try:
            found = world.run()
        except AssertionError:
            found, world.pairs = {"capture"}, 0
        failed, pairs = failed + bool(found), pairs + world.pairs
        for flag in found:
            flags.setdefault(flag, []).append(seed)
    kinds = {f: (len(s), s[:3]) for f, s in flags.items()}
    print("texts", " ".join(sorted(RULES)), f"{first}..{first + count - 1}: {failed} failed, {pairs} pairs of concurrent bursts", kinds,
          f"{time.time() - start:.0f} s", flush=True)
    return failed


WORDS = ("the quick brown fox jumps over a lazy dog while seven wise owls watch from tall old trees and count passing "
         "clouds").split()


def intent(count):
    """Of two concurrent changes of words: how often both are there, and nothing else."""
    kept = 0
    for seed in range(count):
        rng = random.Random(seed)
        words = [rng.choice(WORDS) for _ in range(rng.choice([12, 40, 120]))]
        a, b = Replica("A"), Replica("B")
        a.write(" ".join(words))
        b.pull(a)
        spots = rng.sample(range(len(words)), rng.choice([2, 3, 4]) + 1)
        mine, theirs, both = list(words), list(words), list(words)
        for spot in spots[:-1]:
            mine[spot] = both[spot] = changed(rng, words[spot], "A")
        theirs[spots[-1]] = both[spots[-1]] = changed(rng, words[spots[-1]], "B")
        a.write(" ".join(mine))
        b.write(" ".join(theirs))
        a.pull(b)
        b.pull(a)
        assert a.text.text() == b.text.text()
        kept += a.text.text() == " ".join(both)
    print("intent", " ".join(sorted(RULES)), f"{kept} of {count} kept both", flush=True)
    return kept


def changed(rng, word, who):
    return rng.choice([who + word[1:], word + " " + who + "new", who + "other", word[:-1] or who])


def copies(count):
    """Two copies of one store type under one id; then both states are joined. Are both words there, each in one piece?"""
    whole = 0
    for seed in range(count):
        rng = random.Random(seed)
        a, b = Replica("A"), Replica("A")
        a.write("start ")
        b.text.apply(a.text.delta({}))
        b.vector = dict(a.vector)
        for copy in (a, b):
            copy.text.salt = 0 if "noSalt" in RULES else rng.randrange(1, 2 ** 24)
            copy.text.mine = set(a.text.runs) if "noSalt" in RULES else set()
        at, words = rng.randrange(len("start ") + 1), rng.sample(WORDS, 2)
        for copy, word in zip((a, b), words):
            for i, char in enumerate(word):
                text = copy.text.text()
                copy.write(text[:at + i] + char + text[at + i:])
        mine, theirs = a.text.delta({}), b.text.delta({})
        a.text.apply(theirs)
        b.text.apply(mine)
        whole += a.text.text() == b.text.text() and all(word in a.text.text() for word in words)
    print("copies", " ".join(sorted(RULES)), f"{whole} of {count} have both words whole", flush=True)
    return whole


def gate():
    assert run(1, 60) == 0 and intent(100) > 95 and copies(100) == 100
    for rules, check in [*(({rule}, lambda: run(1, 60) > 0) for rule in WITHOUT), ({"lastDelete"}, lambda: run(1, 60) > 0),
                         ({"endsOnly"}, lambda: intent(100) < 80), ({"noSlide"}, lambda: copies(100) < 100),
                         ({"noSalt"}, lambda: copies(100) < 100)]:
        RULES.update(rules)
        assert check(), rules
        RULES.clear()


if __name__ == "__main__":
    what, rest = sys.argv[1], sys.argv[2:]
    if what == "gate":
        gate()
    else:
        counts = [int(word) for word in rest if word.isdigit()]
        RULES.update(rest[len(counts):])
        found = {"run": run, "intent": intent, "copies": copies}[what](*counts)
        sys.exit(what == "run" and found > 0)
