#!/usr/bin/env python3
"""A second opinion on the replication contract, in another language and with a model of its own (model.py).

Hypothesis (hypothesis.readthedocs.io, stateful testing) makes up histories of several replicas, plays them on stores in `tally shell`,
and compares what the stores show with what the model says. It shrinks a history that differs to the shortest it can find.

    Tests/SecondOpinion/second_opinion.py --tool .build/debug/tally --seconds 60
"""

import argparse
import json
import os
import sys
import time

import hypothesis
import model
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from shell import Refused, Shell

HERE = os.path.dirname(os.path.abspath(__file__))
ALBUMS = ["Album|~|a", "Album|~|0e1d2c3b-4a59-4687-8978-6a5b4c3d2e01"]
SONGS = ["Song|~|x", "Song|~|y", "Song|~|0e1d2c3b-4a59-4687-8978-6a5b4c3d2e02"]
CLOCKS = [0, 1000, 1001, 2_000_000_000_000, 4_070_908_800_000]  # 1970 to 2099

replicas = st.integers(0, 2)
records = st.sampled_from(ALBUMS + SONGS)
texts = st.sampled_from([None, "", "p", "q", "ü '\"\\ \t"])
pairs = st.sampled_from([(0, 1), (0, 2), (1, 2)])
song_fields = st.fixed_dictionaries(
    {"name": texts},
    optional={
        "note": texts,
        "album": st.sampled_from([None] + ALBUMS),
        "friend": st.sampled_from([None] + SONGS),
    },
)
shell = None  # one process for all histories
stats = {"histories": 0, "steps": 0, "events": 0, "conflicts": 0}


class Replicas(RuleBasedStateMachine):
    """Three replicas, what has reached each, and deltas and copies that lie about."""

    @initialize()
    def begin(self):
        shell("reset")
        stats["histories"] += 1
        self.stores = ["s0", "s1", "s2"]  # a copy that takes a replica's place has another name
        self.count = 3
        for store in self.stores:
            shell("new", store)
            shell("clock", store, 0)
        self.seen = [set(), set(), set()]
        self.clock = [0, 0, 0]
        self.deltas, self.backups, self.dots = [], [], set()

    # What a person does

    def perform(self, at, expected, *words):
        """One command, which must do what the model says: the same refusal, no transaction, or one with a fresh identity."""
        try:
            dot = shell(words[0], self.stores[at], *words[1:])
        except Refused as refusal:
            assert refusal.code == expected, f"refused with {refusal.code}, expected {expected}"
            return self.look(at)
        assert not isinstance(expected, str), f"done, although it should be refused with {expected}"
        if not (expected.touched or expected.writes or expected.deleted or expected.added or expected.removed):
            assert dot is None, "a transaction, although nothing changed"
            return
        replica, sequence = dot.split(":")
        expected.dot = (replica, int(sequence))
        assert expected.dot not in self.dots, "an identity was given twice"
        self.dots.add(expected.dot)
        self.seen[at].add(expected)
        stats["events"] += 1
        self.look(at)

    def look(self, at):
        stats["steps"] += 1
        shown = shell("view", self.stores[at])
        assert shown == model.view(self.seen[at]), f"replica {at} shows\n  {shown}\nand should show\n  {model.view(self.seen[at])}"

    @rule(at=replicas, record=st.sampled_from(ALBUMS), name=texts)
    def put_album(self, at, record, name):
        self.put(at, record, {"name": name})

    @rule(at=replicas, record=st.sampled_from(SONGS), fields=song_fields)
    def put_song(self, at, record, fields):
        self.put(at, record, fields)

    def put(self, at, record, fields):
        words = [f"{name}:={json.dumps(new)}" for name, new in fields.items()]
        self.perform(at, model.put(self.seen[at], record, fields, self.clock[at]), "put", record, *words)

    @rule(at=replicas, record=records)
    def delete(self, at, record):
        self.perform(at, model.delete(self.seen[at], record), "delete", record)

    @rule(at=replicas, record=records)
    def restore(self, at, record):
        self.perform(at, model.restore(self.seen[at], record, self.clock[at]), "restore", record)

    @rule(at=replicas, album=st.sampled_from(ALBUMS), song=st.sampled_from(SONGS))
    def link(self, at, album, song):
        self.perform(at, model.link(self.seen[at], album, song), "link", album, "songs", song)

    @rule(at=replicas, album=st.sampled_from(ALBUMS), song=st.sampled_from(SONGS))
    def unlink(self, at, album, song):
        self.perform(at, model.unlink(self.seen[at], album, song), "unlink", album, "songs", song)

    @rule(at=replicas, now=st.sampled_from(CLOCKS))
    def set_clock(self, at, now):
        shell("clock", self.stores[at], now)
        self.clock[at] = now

    def note_lifts(self, at):
        """What a replica says again by itself, because a later life of a record had not seen it, is a transaction in which nobody did
        anything."""
        status = shell("status", self.stores[at])
        replica = status["replica"]
        count = max((sequence for author, sequence in (event.dot for event in self.seen[at]) if author == replica), default=0)
        for sequence in range(count + 1, status["vector"].get(replica, 0) + 1):
            assert (replica, sequence) not in self.dots, "an identity was given twice"
            self.dots.add((replica, sequence))
            self.seen[at].add(model.Event((replica, sequence), frozenset(self.seen[at])))

    # What happens between replicas

    @rule(pair=pairs)
    def sync(self, pair):
        a, b = pair
        lost = self.losers(a, b)
        answer = shell("sync", self.stores[a], self.stores[b])
        assert answer["isConverged"] and not answer["repaired"], answer
        self.seen[a] |= self.seen[b]
        self.seen[b] |= self.seen[a]
        for at in pair:
            self.note_lifts(at)
        self.seen[a] |= self.seen[b]
        self.seen[b] |= self.seen[a]
        self.look(a)
        assert shell("dump", self.stores[a]) == shell("dump", self.stores[b]), "after a sync the two differ"
        journal = shell("conflicts", self.stores[a], "10000") + shell("conflicts", self.stores[b], "10000")
        # A delete that was undone has no value.
        noted = {(c["name"], c["field"], c["loser"]["value"]) for c in journal if "value" in c["loser"]}
        assert lost <= noted, f"written, gone, and in no journal: {lost - noted}"
        stats["conflicts"] += len(lost)

    def losers(self, a, b):
        """What two replicas show that will lose to what the other shows, neither having seen the other's write."""
        lost = set()
        for record in model.known(self.seen[a]) & model.known(self.seen[b]):
            for name in model.FIELDS[record.split("|")[0]]:
                ours, theirs = (model.register(self.seen[at], record, name) for at in (a, b))
                if not ours or not theirs or ours[2] in self.seen[b] or theirs[2] in self.seen[a]:
                    continue
                loser, winner = sorted([ours, theirs], key=lambda write: write[:2])
                values = [write[2].writes[record, name][0] for write in (loser, winner)]
                if values[0] != values[1]:
                    lost.add((record, name, values[0]))
        return lost

    @rule(giver=replicas, taker=replicas)
    def read_delta(self, giver, taker):
        """A delta for somebody, which lies about from now on: it may come late, twice, or to somebody else."""
        delta = shell("delta", self.stores[giver], self.stores[taker])
        self.deltas.append((delta, self.seen[taker] & self.seen[giver], set(self.seen[giver])))

    @precondition(lambda self: self.deltas)
    @rule(at=replicas, data=st.data())
    def apply_delta(self, at, data):
        bytes_, base, target = data.draw(st.sampled_from(self.deltas))
        try:
            shell("apply", self.stores[at], bytes_)
        except Refused as refusal:
            assert refusal.code == "baseNotCovered" and not base <= self.seen[at], f"refused: {refusal}"
        else:
            assert base <= self.seen[at], "a delta was taken that starts after what is here"
            self.seen[at] |= target
            self.note_lifts(at)
        self.look(at)

    @precondition(lambda self: self.deltas)
    @rule(at=replicas, data=st.data(), part=st.floats(0, 1, exclude_max=True))
    def apply_part_of_a_delta(self, at, data, part):
        bytes_ = data.draw(st.sampled_from(self.deltas))[0]
        try:
            shell("apply", self.stores[at], bytes_[: 2 * int(len(bytes_) // 2 * part)])
        except Refused:
            return self.look(at)
        raise AssertionError("part of a delta was taken")

    # Copies and backups

    def copied(self, store):
        name = f"s{self.count}"
        self.count += 1
        shell("copy", store, name)
        return name

    @rule(at=replicas)
    def back_up(self, at):
        self.backups.append((self.copied(self.stores[at]), set(self.seen[at])))

    @precondition(lambda self: self.backups)
    @rule(at=replicas, data=st.data())
    def replace_by_a_backup(self, at, data):
        """A device is restored from a backup, its own or another's: what it alone had is gone, the rest comes back by sync."""
        backup, seen = data.draw(st.sampled_from(self.backups))
        self.stores[at] = self.copied(backup)
        shell("renew", self.stores[at])
        shell("clock", self.stores[at], self.clock[at])
        self.seen[at] = set(seen)
        self.look(at)

    # In the end everybody meets everybody

    def teardown(self):
        if not hasattr(self, "stores"):
            return
        for pair in [(0, 1), (1, 2), (0, 1)]:
            self.sync(pair)
        for at in range(3):
            self.look(at)
            vector = {}
            for replica, sequence in (event.dot for event in self.seen[at]):
                vector[replica] = max(sequence, vector.get(replica, 0))
            said = shell("status", self.stores[at])["vector"]
            assert said == vector, f"the vector says {said}, the history {vector}"
        assert len({str(shell("dump", store)) for store in self.stores}) == 1, "all have met, and two differ"
        problems = shell("verify", self.stores[0])["problems"]
        assert not problems, problems


writes = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from(SONGS), st.sampled_from(["name", "note"]), st.integers(0, 9)), max_size=12
)
syncs = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)).filter(lambda pair: pair[0] != pair[1]), max_size=6)


def copies_that_nobody_noticed(writes, syncs):
    """Two copies of one store go on under one identity, each with songs of its own. Nothing that either wrote is lost."""
    shell("reset")
    stats["histories"] += 1
    shell("new", "s0")
    shell("put", "s0", ALBUMS[0], "name=both")
    shell("copy", "s0", "s1")
    shell("new", "s2")
    expected = {ALBUMS[0]: {"name": "both"}}
    for at, song, field, number in writes:
        record = f"{song}{at}"
        shell("put", f"s{at}", record, f"{field}={number}")
        expected.setdefault(record, {"name": None, "note": None, "album": None, "friend": None})[field] = str(number)
        stats["steps"] += 1
    for a, b in syncs + [(0, 1), (1, 2), (0, 1), (0, 2)]:
        answer = shell("sync", f"s{a}", f"s{b}")
        assert answer["isConverged"], answer
    for store in ("s0", "s1", "s2"):
        shown = {row["name"]: row["fields"] for row in shell("view", store)}
        assert shown == expected, f"{store} shows\n  {shown}\nand should show\n  {expected}"
        assert not shell("verify", store)["problems"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", default=".build/debug/tally")
    parser.add_argument("--seconds", type=float, default=30, help="begin no new round after this time")
    parser.add_argument("--steps", type=int, default=40, help="at most this many steps a history")
    parser.add_argument("--seed", type=int, default=1, help="of the first round; each round adds one")
    parser.add_argument("--planted", type=int, default=0, help="plant a fault in the stores, which must be found")
    parser.add_argument("--no-shrinking", action="store_true", help="show a difference as it was found")
    arguments = parser.parse_args()

    global shell
    options = ["--planted", str(arguments.planted)] if arguments.planted else []
    shell = Shell(arguments.tool, os.path.join(HERE, "schema.json"), *options)
    hypothesis.settings.register_profile(
        "second opinion", max_examples=25, stateful_step_count=arguments.steps, deadline=None, database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[phase for phase in hypothesis.Phase if not arguments.no_shrinking or phase == hypothesis.Phase.generate],
    )
    hypothesis.settings.load_profile("second opinion")
    began = time.monotonic()
    seed = arguments.seed
    while time.monotonic() - began < arguments.seconds:
        try:
            run_state_machine_as_test(hypothesis.seed(seed)(Replicas), settings=hypothesis.settings())
            hypothesis.seed(seed)(hypothesis.given(writes, syncs)(copies_that_nobody_noticed))()
        except BaseException:
            print(f"second opinion: round {seed} failed; --seed {seed} repeats it", file=sys.stderr)
            raise
        seed += 1
    took = time.monotonic() - began
    print(
        f"second opinion: {stats['histories']} histories, {stats['steps']} steps, {stats['events']} transactions, "
        f"{stats['conflicts']} conflicts noted, {shell.lines} lines, {took:.0f} s, {stats['steps'] / took:.0f} steps/s; no difference"
    )
    if shell.close() != 0:
        sys.exit("second opinion: the tool did not end well")


if __name__ == "__main__":
    main()
