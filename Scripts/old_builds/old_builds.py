"""Stores of an older build and of this one exchange in every order, by every way that both have.

What the older build knows reaches everybody, and nothing is lost. What it does not know it refuses by version, and
stays as it was until this build opens its file. Each writer has fields, records and links of its own, so what every
store must show in the end is known. A history follows from the seed, but for the times of its writes.
"""

import argparse
import concurrent.futures
import itertools
import json
import os
import random
import shlex
import shutil
import subprocess
import time

from stores import NEWER, SCHEMAS, SEEDS, TIMEOUT, WRITERS, Fault, History, check

PAIRS = list(itertools.combinations(range(4), 2))


def orders(history, order, way):
    """Four exchanges around a ring, in each order, by each way, with writes in between."""
    ring = [(0, 2), (2, 1), (1, 3), (3, 0)]
    for index in order:
        a, b = (history.stores[place] for place in ring[index])
        history.write(a)
        history.write(b)
        history.exchange(a, b, way)
    history.settle()


def chance(history, index):
    """An app that uses nothing new, with any writes and exchanges; in every other history its new release has grown."""
    target, step = "plain" if index % 2 else "grown", history.random.randrange(20)
    for now in range(20):
        if target == "grown" and now == step:
            history.upgrade(history.stores[3], "grown")
            if history.random.random() < 0.5:
                history.upgrade(history.stores[2], "grown")
        history.write(history.random.choice(history.stores))
        if history.random.random() < 0.5:
            history.exchange(*history.random.sample(history.stores, 2))
        if history.random.random() < 0.1:
            history.refused(history.random.choice(history.stores[2:]))
    if target == "grown":
        history.put(history.stores[3], "Game|~|0", {"motto": "on"})
        history.put(history.stores[3], "Label|~|l", {"text": "new", "game": "Game|~|0"})
    history.settle()
    for build, store in ((history.old, history.stores[3]), (history.new, history.stores[0])):
        cloned(history, build, store)
    for store in history.random.sample(history.stores[:2], 2):
        history.handed(store, target)
        history.write(history.random.choice(history.stores))
        history.settle()
    if target == "grown":
        view = history.view(history.stores[0])
        shown = view["Game|~|0"]["fields"]["motto"], view["Label|~|l"]["fields"]["game"]
        check(shown == ("on", "Game|~|0"), f"what the older build forwarded without knowing it shows as {shown}")


def cloned(history, build, store):
    """A second device is made with one build from a store of the other: from a peer, or from the folder."""
    place = shlex.join([store.build.path, "serve", store.file, "--stdio"])
    if history.random.random() < 0.5:
        place = f"folder:{history.box}"
        history.tool(store, "sync", store.file, "--via", place)
    name = f"{build.word}.tally"
    history.run(build, "clone", place, name, "--schema", "plain.json")
    check(history.run(build, "dump", name)[0] == history.dump(store), f"{name} is not what {store.name} is")
    history.count("cloned")


def updates(history, order):
    """The app's new release uses what the older build does not know; devices are updated one by one, in each order."""
    for store in history.stores:
        for _ in range(3):
            history.write(store)
    history.settle()
    for index in order:
        store = history.stores[index]
        history.write(store)
        if store.build.is_old:
            history.handed(store, "rich")
        else:
            history.upgrade(store, "rich")
            history.begin(store)
        for writer in history.stores:
            history.write(writer)
        for pair in history.random.sample(PAIRS, 6):
            history.exchange(*(history.stores[place] for place in pair))
            history.write(history.random.choice(history.stores))
        for old in history.stores:
            if old.build.is_old:
                history.model.check(old.name, history.view(old), False, writer=old.name)
                check(history.format(old) == 6, f"{old.name} has format {history.format(old)}")
    history.settle()


def opened(history, index):
    """The older build has a file open when this one raises it: its next transaction is refused, and nothing is lost."""
    store = history.stores[0]
    history.write_field(store, "Game|~|0")
    with subprocess.Popen([history.old.path, "shell", "--schema", "plain.json"], cwd=history.folder, text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shell:
        def ask(line):
            history.trail.append(f"OLD shell: {line}")
            shell.stdin.write(line + "\n")
            shell.stdin.flush()
            return json.loads(shell.stdout.readline() or "{}")

        check("ok" in ask(f"open a {store.file}"), "the older build does not open its own file")
        check(ask("put a 'Game|~|0' title=mine").get("ok"), "the older build does not write to its own file")
        history.model.fields["Game|~|0", "title"] = store.name, "mine"
        store.build = history.new
        history.upgrade(store, "rich" if index % 2 else "plain")
        history.begin(store)
        for line in ("put a 'Game|~|0' title=lost", "delete a 'Game|~|0'", "vector a", "dump a", "delta a"):
            answer = ask(line)
            status = answer.get("error", {}).get("status")
            check(status == NEWER, f"the file was raised, and the older build answers {line} with {answer}")
        shell.stdin.close()
        check(shell.wait(TIMEOUT) == 0, "the older build's shell fails")
    history.refused(store)
    history.handed(history.stores[1], "plain")
    history.settle()


def live(history, index):
    """A live session between both builds; then something new reaches this one's side, which must not send it."""
    old, source, new = history.stores[0], history.stores[2], history.stores[3]
    client, server = (old, new) if index % 2 else (new, old)
    history.write_field(old, "Game|~|0")
    serving = shlex.join([server.build.path, "serve", server.file, "--stdio"])
    arguments = ["sync", client.file, "--watch", "--via", serving]
    history.trail.append(f"{client.build.word} {shlex.join(arguments)} &")
    with subprocess.Popen([client.build.path, *arguments], cwd=history.folder, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as session:
        try:
            for writer, reader in ((new, old), (old, new), (new, old)):
                history.write_field(writer, "Game|~|0")
                words = f"a live change of {writer.name} does not reach {reader.name}"
                until(lambda: history.covers(reader, writer), words)
            history.exchange(source, new, "direct")
            until(lambda: history.covers(old, new), f"what {new.name} took does not reach {old.name}")
            before = history.dump(old)
            history.upgrade(source, "rich")
            history.begin(source)
            history.exchange(source, new, "direct")
            until(lambda: session.poll() is not None, "a live session goes on with what one side cannot read")
        finally:
            if session.poll() is None:
                session.kill()
        output, complaint = session.communicate()
    history.trail[-1] += f"; the live session has ended with {session.returncode}: {output} {complaint}"
    check(session.returncode == NEWER, f"the live session ends with {session.returncode}: {output} {complaint}")
    check("tally: " in complaint, f"the live session ends without a word: {output}")
    check(history.dump(old) == before, "the older build has taken something of what it cannot read")
    for store in history.stores[:2]:
        history.write_field(store, "Game|~|0")
        history.handed(store, "rich")
    history.upgrade(new, "rich")
    history.begin(new)
    history.settle()


def until(condition, words):
    end = time.monotonic() + TIMEOUT / 2
    while not condition():
        check(time.monotonic() < end, words)
        time.sleep(0.05)


class Shell:
    """One process of a build, with any number of stores in memory."""

    def __init__(self, build, seed, folder):
        self.build = build
        command = [build, "shell", "--schema", os.path.join(folder, "plain.json"), "--seed", str(seed)]
        self.process = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, trail, *words, statuses=()):
        trail.append(f"{self.build} shell: {shlex.join(words)[:300]}")
        self.process.stdin.write(shlex.join(words) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or "{}")
        status = answer.get("error", {}).get("status")
        check("ok" in answer or status in statuses, f"the answer is {answer}")
        return answer.get("ok")


class Memory:
    """A history of four stores in memory, where each exchange is a delta in both directions."""

    def __init__(self, name, options, shells):
        self.random, self.trail, self.shells = random.Random(f"{options.seed}:{name}"), [], shells
        for shell in shells.values():
            shell.ask(self.trail, "reset")
        for store in WRITERS:
            self.ask(store, "new")
        self.fields, self.number = {}, 0
        # The devices' clocks differ by up to a day.
        self.skews = {store: self.random.choice((0, self.random.randrange(86_400_000))) for store in WRITERS}

    def ask(self, store, command, *words, statuses=()):
        return self.shells[store[0]].ask(self.trail, command, store, *words, statuses=statuses)

    def write(self, store):
        self.number += 1
        self.ask(store, "clock", str(1_800_000_000_000 + self.number * 1000 + self.skews[store]))
        game, person = f"Game|~|{self.random.randrange(2)}", f"Person|~|{self.random.randrange(2)}"
        chaos, other = (f"Chaos|~|{index}" for index in self.random.sample(range(2), 2))
        self.ask(store, "put", game, f"of_{store}={self.number}", f"contested={store}")
        self.fields[game, f"of_{store}"] = self.number
        for _ in range(2):
            self.ask(store, *self.random.choice([
                ("put", chaos, f"a={self.number}"), ("put", chaos, f"b={self.number}"), ("delete", chaos),
                ("put", chaos, f"parent={other}"), ("put", chaos, "parent:=null"), ("restore", chaos),
                ("put", person, f"name={store}"), ("delete", chaos), ("delete", person), ("restore", person),
                ("link", chaos, "mates", person), ("unlink", chaos, "mates", person),
                ("link", game, "players", person), ("unlink", game, "players", person),
                ("seed", json.dumps(SEEDS[0])), ("seed", json.dumps(SEEDS[1])), ("put", "Kind|~|x", f"label={store}"),
            ]), statuses=(65, 66))

    def exchange(self, a, b):
        if a[0] == b[0]:
            self.shells[a[0]].ask(self.trail, "sync", a, b)
            return
        for sender, taker in self.random.sample([(a, b), (b, a)], 2):
            vector = self.ask(taker, "vector")
            delta = self.ask(sender, "delta", *([vector] if vector and self.random.random() < 0.8 else []))
            check(delta.startswith("544c02"), f"a delta of {sender} begins with {delta[:6]}")
            check(not self.ask(taker, "apply", delta)["mismatch"], f"contents of {a} and {b} differ at equal vectors")

    def settle(self):
        for index in (1, 2, 3, 1, 2):
            self.exchange(WRITERS[0], WRITERS[index])
        dumps = [self.ask(store, "dump") for store in WRITERS]
        views = [self.ask(store, "view") for store in WRITERS]
        for store, dump, view in zip(WRITERS, dumps, views):
            check(dump == dumps[0], f"{store} and {WRITERS[0]} differ in the end:\n{dump}\n{dumps[0]}")
            check(view == views[0], f"{store} and {WRITERS[0]} show different things:\n{view}\n{views[0]}")
            check(not self.ask(store, "verify")["problems"], f"{store} is not sound")
        rows = {row["name"]: row["fields"] for row in views[0]}
        for (name, field), value in self.fields.items():
            check(rows[name][field] == value, f"{name} has {field} {rows[name][field]} in place of {value}")


def memory(options, first, trail):
    """Every order of four exchanges that one pair of stores begins. No pair exchanges twice in a row."""
    folder = os.path.join(options.folder, f"memory-{first}")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "plain.json"), "w", encoding="utf-8") as file:
        json.dump(SCHEMAS["plain"], file)
    # The seeds are the replica ids': no two stores have one.
    shells = {name: Shell(build, options.seed % 2**32 * 2 + is_new, folder)
              for name, build, is_new in (("o", options.old, 0), ("n", options.new, 1))}
    try:
        for rest in itertools.product(PAIRS, repeat=3):
            pairs = PAIRS[first], *rest
            if any(pair == next_one for pair, next_one in itertools.pairwise(pairs)):
                continue
            history = Memory(f"memory {first} {rest}", options, shells)
            trail[:] = [f"-- {rest}"]
            history.trail = trail
            for pair in pairs:
                a, b = (WRITERS[index] for index in pair)
                history.write(a)
                history.write(b)
                history.exchange(a, b)
            history.settle()
            History.count("orders in memory")
        for shell in shells.values():
            shell.process.stdin.close()
            check(shell.process.wait(TIMEOUT) == 0, f"{shell.build} shell fails")
    finally:
        for shell in shells.values():
            shell.process.kill()
    shutil.rmtree(folder)


def plans(options):
    """The name of each history, what plays it, and with which arguments. Those that take longest come first."""
    result = [(f"memory {first}", memory, (first,)) for first in range(len(PAIRS))]
    words = ["".join(map(str, order)) for order in itertools.permutations(range(4))]
    result += [(f"updates {word}", updates, (list(map(int, word)),)) for word in words]
    # Which of two begins is left to chance.
    ways = ("served by the second", "folder", "delta")
    result += [(f"order {word} {way}", orders, (list(map(int, word)), way)) for word in words for way in ways]
    result += [(f"chance {index}", chance, (index,)) for index in range(options.histories)]
    result += [(f"live {index}", live, (index,)) for index in range(4)]
    result += [(f"opened {index}", opened, (index,)) for index in range(4)]
    return [plan for plan in result if plan[0].startswith(options.only)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--old", required=True)
    parser.add_argument("--new", required=True)
    parser.add_argument("--folder", required=True, help="where the stores of a history that fails are kept")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--histories", type=int, default=20, help="how many random ones")
    parser.add_argument("--only", default="", help="the histories whose names begin so")
    options = parser.parse_args()
    options.old, options.new, options.folder = map(os.path.abspath, (options.old, options.new, options.folder))
    began, faults, todo, spent = time.monotonic(), [], plans(options), {}

    def play(plan):
        name, body, arguments = plan
        trail, start = [], time.monotonic()
        if faults:
            return
        try:
            if body is memory:
                memory(options, *arguments, trail)
            else:
                history = History(name, options)
                trail = history.trail
                body(history, *arguments)
                shutil.rmtree(history.folder)
        except Exception as fault:  # an error of this program is one of the history, too
            faults.append((name, trail, fault))
        kind = name.split()[0]
        spent[kind] = spent.get(kind, 0) + time.monotonic() - start

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(play, todo))
    for name, trail, fault in faults:
        print(*trail[-300:], fault if isinstance(fault, Fault) else repr(fault), sep="\n")
        print(f"old builds: {name!r} failed; make old-builds SEED={options.seed} ONLY={name!r} plays it again")
    if faults:
        return 1
    for what, count in sorted(History.counts.items()):
        print(f"{count:6d} {what}")
    print("seconds:", ", ".join(f"{name} {seconds:.0f}" for name, seconds in spent.items()))
    print(f"old builds: {len(todo)} passed, 0 failed, in {time.monotonic() - began:.0f} s, seed {options.seed}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
