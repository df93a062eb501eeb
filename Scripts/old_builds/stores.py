"""Four stores of two builds in a folder, what is written to them, how they exchange, and what they must show."""

import contextlib
import hashlib
import json
import os
import random
import shlex
import shutil
import sqlite3
import subprocess
import threading

NEWER, TIMEOUT = 78, 120
WRITERS = ("o1", "o2", "n1", "n2")
WAYS = ("served by the second", "served by the first", "folder", "delta", "whole delta")


def schema(grown=False, rich=False):
    """The app's first release; grown: one with more of what the older build knows; rich: one with what it does not."""
    own = {f"of_{writer}": "integer" for writer in WRITERS}
    game = {"type": "Game", "fields": {"title": "text", "contested": "text", **own},
            "relationships": {"players": {"to": "Person"}}}
    item = {"type": "Item", "fields": {"title": "text"}, "references": {"box": {"to": "Box", "onDelete": "cascade"}}}
    entities = [
        {"type": "Person", "fields": {"name": "text"}}, game, item,
        {"type": "Box", "fields": {"title": "text"}},
        {"type": "Note", "fields": {"text": {"kind": "text", "default": ""}, "number": "real"},
         "references": {"game": {"to": "Game", "onDelete": "nullify"}}},
        {"type": "Kind", "fields": {"label": "text", "sort": {"kind": "integer", "default": 1}}},
        # What everybody writes, deletes and restores: no more is known of it than that all see the same.
        {"type": "Chaos", "fields": {"a": "text", "b": "integer"},
         "references": {"parent": {"to": "Chaos", "onDelete": "cascade"}},
         "relationships": {"mates": {"to": "Person"}}}]
    if grown:
        game["fields"]["motto"] = {"kind": "text", "default": "none"}
        item["fields"]["place"] = {"kind": "position", "within": "box"}
        entities.append({"type": "Label", "fields": {"text": "text"}, "references": {"game": {"to": "Game"}}})
    if rich:
        game["fields"] |= {"goals": "counter", "best": {"kind": "integer", "default": 0, "keep": "greatest"},
                           "quickest": {"kind": "real", "keep": "least"}}
        game["relationships"]["bench"] = {"to": "Person", "ordered": True}
        # One that the first release had becomes ordered.
        game["relationships"]["players"]["ordered"] = True
    return {"entities": entities}


SCHEMAS = {"plain": schema(), "grown": schema(grown=True), "rich": schema(grown=True, rich=True)}
SEEDS = [{"name": "kinds", "version": version, "retired": [], "adoptions": [], "records": [
    {"key": key, "type": "Kind", "fields": {"label": f"{key}{version}"}, "references": {}, "relationships": {}}
    for key in keys]} for version, keys in ((1, "ab"), (2, "abc"))]


class Fault(Exception):
    pass


def check(condition, words):
    if not condition:
        raise Fault(words)


class Build:
    """A tool, and how old it is."""

    def __init__(self, path, is_old):
        self.path, self.is_old, self.word = path, is_old, "OLD" if is_old else "NEW"


class Store:
    def __init__(self, name, build):
        self.name, self.build, self.file, self.schema = name, build, f"{name}.tally", "plain"
        # Whether it has what the older build cannot read: from then on, all that it sends is of version 3.
        self.is_beyond = False


class Model:
    """What all stores must show once all have exchanged."""

    def __init__(self):
        # Of each field, record, item and link, the writer ("*" for all) and what it wrote last.
        self.fields, self.records, self.items, self.links = {}, {}, {}, {}
        self.numbers, self.boxes, self.seeded = {}, {}, 0

    def check(self, where, view, is_rich, writer=None):
        """Compares with what a store shows; before the exchanges only with what its own writer wrote."""
        def of(dictionary):
            return ((key, value) for key, (by, value) in dictionary.items() if writer in (None, by))

        for (name, field), value in of(self.fields):
            shown = view.get(name, {}).get("fields", {}).get(field)
            check(shown == value, f"{where}: {name} has {field} {shown!r} in place of {value!r}")
        for name, fields in of(self.records):
            shown = view.get(name, {}).get("fields")
            check((shown is None) == (fields is None), f"{where}: {name} is {shown}, and should be {fields}")
            for field, value in (fields or {}).items():
                check(shown[field] == value, f"{where}: {name} has {field} {shown[field]!r} in place of {value!r}")
        for item, box in of(self.items):
            check((item in view) == self.boxes[box], f"{where}: {item} shows: {item in view}, {box}: {self.boxes[box]}")
        for (game, relationship, person), is_there in of(self.links):
            if relationship != "bench" or is_rich:
                members = view.get(game, {}).get("links", {}).get(relationship, [])
                check((person in members) == is_there, f"{where}: {game} {relationship} {members}: {person} {is_there}")
        if writer is None:
            self.check_all(where, view, is_rich)

    def check_all(self, where, view, is_rich):
        shown = sorted(row["fields"]["label"] for name, row in view.items() if name.startswith("Kind|~|"))
        wanted = sorted(row["fields"]["label"] for row in (SEEDS[self.seeded - 1]["records"] if self.seeded else ()))
        check(shown == wanted, f"{where}: the default data is {shown} in place of {wanted}")
        for game in {name for name, _ in self.fields} if is_rich else ():
            shown = {field: view[game]["fields"][field] for field in ("goals", "best", "quickest")}
            goals, best, quickest = (self.numbers.get((game, field), []) for field in shown)
            wanted = {"goals": sum(goals), "best": max([0, *best]), "quickest": min(quickest, default=None)}
            check(shown == wanted, f"{where}: {game} shows {shown} in place of {wanted}")


class History:
    """Four stores in a folder of their own."""

    counts, lock = {}, threading.Lock()

    def __init__(self, name, options):
        self.random = random.Random(f"{options.seed}:{name}")
        self.folder = os.path.join(options.folder, name.replace(" ", "-"))
        shutil.rmtree(self.folder, ignore_errors=True)
        self.box = os.path.join(self.folder, "box")
        os.makedirs(self.box)
        self.old, self.new = Build(options.old, True), Build(options.new, False)
        self.trail, self.model, self.number = [], Model(), 0
        for word, value in SCHEMAS.items():
            self.save(f"{word}.json", value)
        for value in SEEDS:
            self.save(f"seeds{value['version']}.json", value)
        self.stores = [Store(word, self.old if word[0] == "o" else self.new) for word in WRITERS]
        for store in self.stores:
            self.tool(store, "new", store.file, "--schema", "plain.json")
            people = [{"name": f"Person|~|{store.name}-{index}", "fields": {"name": store.name}, "links": {}}
                      for index in range(2)]
            self.save("people.jsonl", *people)
            self.tool(store, "import", store.file, "people.jsonl")

    def save(self, name, *lines):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)

    @classmethod
    def count(cls, what):
        with cls.lock:
            cls.counts[what] = cls.counts.get(what, 0) + 1

    def run(self, build, *arguments, status=0):
        """Runs a tool, and returns its output and its complaints. It must end with the status, or one of them."""
        self.trail.append(f"{build.word} {shlex.join(arguments)}")
        self.count(f"commands of the {'older' if build.is_old else 'newer'} build")
        done = subprocess.run([build.path, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=TIMEOUT, check=False)
        if done.returncode:
            self.trail[-1] += f" -> {done.returncode} {done.stderr.strip()}"
        wanted = (status,) if isinstance(status, int) else status
        check(done.returncode in wanted, f"{self.trail[-1]}: the exit code should be {wanted}")
        return done.stdout, done.stderr

    def tool(self, store, *arguments, status=0):
        return self.run(store.build, *arguments, status=status)[0]

    def sql(self, store, statement, *values):
        """What another program writes, which knows nothing of Tally."""
        self.trail.append(f"SQL {store.file} {statement} {values}")
        with contextlib.closing(sqlite3.connect(os.path.join(self.folder, store.file), timeout=30)) as db, db:
            db.execute(statement, values)

    def dump(self, store, *arguments):
        return self.tool(store, "dump", store.file, *arguments)

    def view(self, store):
        return {row["name"]: row for row in map(json.loads, self.dump(store, "--view").splitlines())}

    def vector(self, store):
        pairs = (pair.split(":") for pair in self.tool(store, "vector", store.file).replace(",", " ").split())
        return {replica: int(sequence) for replica, sequence in pairs}

    def covers(self, store, other):
        has = self.vector(store)
        return all(has.get(replica, 0) >= sequence for replica, sequence in self.vector(other).items())

    def bytes(self, store):
        """A sum of the file and its log; an empty log is none."""
        content = b""
        for suffix in ("", "-wal"):
            path = os.path.join(self.folder, store.file + suffix)
            with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
                content += file.read()
        return hashlib.sha256(content).hexdigest()

    def format(self, store):
        with contextlib.closing(sqlite3.connect(os.path.join(self.folder, store.file))) as db:
            return db.execute("PRAGMA user_version").fetchone()[0]

    # Writes.

    def put(self, store, name, fields):
        words = (f"{key}:={json.dumps(value)}" for key, value in fields.items())
        self.tool(store, "put", store.file, name, *words)

    def write(self, store):
        """Some write of the store's own, as the app makes it, or another program."""
        kinds = [self.write_field] * 3 + [self.write_contested] * 2 + [self.write_note] * 4 + [self.write_box] * 2
        kinds += [self.write_link] * 4 + [self.write_seed] + [self.write_chaos] * 3
        if store.schema == "rich":
            kinds += [self.write_rich] * len(kinds)
        self.random.choice(kinds)(store)

    def game(self, store):
        """A record that all write to; the store has it."""
        name = f"Game|~|{self.random.randrange(2)}"
        if (name, f"of_{store.name}") not in self.model.fields:
            self.write_field(store, name)
        return name

    def write_field(self, store, name=None):
        self.number += 1
        name, field = name or f"Game|~|{self.random.randrange(2)}", f"of_{store.name}"
        if self.random.random() < 0.6:
            self.put(store, name, {field: self.number})
        else:
            self.sql(store, f"INSERT INTO Game(id, {field}) VALUES(?1, ?2) ON CONFLICT(id) DO UPDATE SET {field} = ?2",
                     name, self.number)
        self.model.fields[name, field] = store.name, self.number

    def write_contested(self, store):
        # All devices have one clock here, so the later write wins.
        self.number += 1
        name, value = self.game(store), f"{store.name} {self.number}"
        self.put(store, name, {"contested": value})
        self.model.fields[name, "contested"] = "*", value

    def write_note(self, store):
        self.number += 1
        name = f"Note|~|{store.name}-{self.random.randrange(3)}"
        fields = self.model.records.get(name, (None, None))[1]
        text, number, by_sql = f"{self.number} <ä€𝄞>", self.number / 8, self.random.random() < 0.4
        values = {"text": text, "number": number}
        if fields is not None and self.random.random() < 0.4:
            values = None
            if by_sql:
                self.sql(store, "DELETE FROM Note WHERE id = ?", name)
            else:
                self.tool(store, "delete", store.file, name)
        elif by_sql and fields is None:
            self.sql(store, "INSERT INTO Note(id, text, number) VALUES(?, ?, ?)", name, text, number)
        elif by_sql:
            self.sql(store, "UPDATE Note SET text = ?, number = ? WHERE id = ?", text, number, name)
        else:
            if name in self.model.records and fields is None and self.random.random() < 0.5:
                # What another program inserted and deleted before a store looked has never been a record.
                self.tool(store, "restore", store.file, name, status=(0, 66))
            self.put(store, name, values)
        self.model.records[name] = store.name, values

    def write_box(self, store):
        """A delete or a restore takes with it what the record owns."""
        box, boxes = f"Box|~|{store.name}", self.model.boxes
        if box not in boxes:
            self.put(store, box, {"title": "x"})
            for index in range(2):
                item = f"Item|~|{store.name}-{index}"
                self.put(store, item, {"title": str(index), "box": box})
                self.model.items[item] = store.name, box
        else:
            self.tool(store, "delete" if boxes[box] else "restore", store.file, box)
        boxes[box] = not boxes.get(box, False)
        self.model.records[box] = store.name, {"title": "x"} if boxes[box] else None

    def write_link(self, store, relationship="players"):
        game, person = self.game(store), f"Person|~|{store.name}-{self.random.randrange(2)}"
        is_there = self.model.links.get((game, relationship, person), (None, False))[1]
        if self.random.random() < 0.3:
            delete = f"DELETE FROM Game_{relationship} WHERE source = ? AND target = ?"
            insert = f"INSERT INTO Game_{relationship}(source, target) VALUES(?, ?)"
            self.sql(store, delete if is_there else insert, game, person)
            is_there = not is_there
        elif store.schema == "rich" and self.random.random() < 0.6:
            place = self.random.choice(("first", "last"))
            self.tool(store, "link", store.file, game, relationship, person, "--at", place)
            is_there = True
        else:
            self.tool(store, "unlink" if is_there else "link", store.file, game, relationship, person)
            is_there = not is_there
        self.model.links[game, relationship, person] = store.name, is_there

    def write_seed(self, store):
        # A store refuses an older version than it has seeded.
        version = self.random.choice((1, 2))
        self.tool(store, "seed", store.file, "--set", f"seeds{version}.json", status=(0, 65) if version == 1 else 0)
        self.model.seeded = max(self.model.seeded, version)

    def write_chaos(self, store):
        self.number += 1
        name, other = (f"Chaos|~|{index}" for index in self.random.sample(range(3), 2))
        person = f"Person|~|{store.name}-0"
        command, *words = self.random.choice([
            ("put", name, f"a={self.number}"), ("put", name, f"b={self.number}"), ("put", name, f"parent={other}"),
            ("put", name, "parent:=null"), ("delete", name), ("delete", name), ("restore", name),
            ("link", name, "mates", person), ("unlink", name, "mates", person)])
        # The record or the parent need not be there.
        self.tool(store, command, store.file, *words, status=(0, 65, 66))

    def write_rich(self, store, kind=None):
        game, number = self.game(store), self.random.randint(-9, 99) or 100
        kind = kind or self.random.choice(("goals", "best", "quickest", "bench"))
        if kind == "bench":
            return self.write_link(store, kind)
        if self.random.random() < 0.4:
            # With an insert of the record, if that is not captured yet, it would be a set and no addition.
            self.vector(store)
            change = "goals + ?" if kind == "goals" else "?"
            self.sql(store, f"UPDATE Game SET {kind} = {change} WHERE id = ?", number, game)
        else:
            self.tool(store, "put", store.file, game, *(["--add"] if kind == "goals" else []), f"{kind}={number}")
        self.model.numbers.setdefault((game, kind), []).append(number)

    # Exchanges.

    def exchange(self, a, b, way=None):
        """Two stores exchange. What one of them cannot read it refuses by version, and changes nothing."""
        if self.random.random() < 0.5:
            a, b = b, a
        way = way or self.random.choice([*WAYS, *(["direct"] * 2 if a.build is b.build else [])])
        self.trail.append(f"-- {a.name} and {b.name}, {way}")
        self.count(way)
        refusing = self.refusing(a, b)
        # A dump captures what other programs wrote, so it is the same afterwards if nothing is taken.
        before = refusing and self.dump(refusing)
        if way == "folder":
            self.by_folder(a, b)
            # What others have put there may be new to both. And the older build takes what its like have put there.
            refusing, before = self.refusing(a, b), None
        elif "delta" in way:
            self.by_delta(a, b, way)
        elif way == "direct":
            self.tool(a, "sync", a.file, b.file)
        else:
            client, server = (a, b) if way == WAYS[0] else (b, a)
            serving = shlex.join([server.build.path, "serve", server.file, "--stdio"])
            status = NEWER if refusing else 0
            _, complaint = self.run(client.build, "sync", client.file, "--via", serving, status=status)
            self.check_complaint(complaint, refusing)
        if refusing:
            self.count("refused")
            check(before in (None, self.dump(refusing)), f"{refusing.name} refused, and has changed")
            return
        if a.is_beyond or b.is_beyond:
            a.is_beyond = b.is_beyond = True
        check(self.dump(a) == self.dump(b), f"{a.name} and {b.name} differ after they have exchanged, {way}")

    @staticmethod
    def refusing(a, b):
        """Which of two stores cannot read what the other has; none in most cases."""
        return next((old for old, other in ((a, b), (b, a)) if old.build.is_old and other.is_beyond), None)

    def by_folder(self, a, b):
        for store in (a, b, a):
            # What the older build cannot read it skips and reports; the rest it takes.
            has_newer = 3 in self.versions()
            status = NEWER if store.build.is_old and has_newer else 0
            _, complaint = self.run(store.build, "sync", store.file, "--via", f"folder:{self.box}", status=status)
            self.check_complaint(complaint, status)
            store.is_beyond |= not store.build.is_old and has_newer
        if not any(store.is_beyond for store in self.stores):
            check(self.versions() == {2}, "a file in the folder is of a newer version than it must be")
        for taker, other in ((a, b), (b, a)):
            if not taker.build.is_old:
                check(self.covers(taker, other), f"{taker.name} has not taken what {other.name} put into the folder")

    def by_delta(self, a, b, way):
        path = os.path.join(self.folder, "news.delta")
        for sender, taker in ((a, b), (b, a)):
            since = ["--since", self.tool(taker, "vector", taker.file).strip()] if way == "delta" else []
            self.tool(sender, "delta", sender.file, *since, "-o", "news.delta")
            version = self.version(path)
            check(version == (3 if sender.is_beyond else 2), f"a delta of {sender.name} is of version {version}")
            refuses = taker.build.is_old and version == 3
            _, complaint = self.run(taker.build, "apply", taker.file, "news.delta", status=NEWER if refuses else 0)
            self.check_complaint(complaint, refuses)
            taker.is_beyond |= version == 3 and not refuses
            os.remove(path)

    @staticmethod
    def version(path):
        with open(path, "rb") as file:
            head = file.read(3)
        check(head[:2] == b"TL", f"{path} is no delta")
        return head[2]

    def versions(self):
        return {self.version(os.path.join(self.box, name)) for name in os.listdir(self.box)}

    @staticmethod
    def check_complaint(complaint, is_refused):
        if is_refused:
            lines = complaint.splitlines()
            check(lines and all(line.startswith("tally:") for line in lines), f"it was refused, and says {complaint!r}")

    # Ends.

    def settle(self):
        """Everybody gets everything, in some order."""
        order = self.random.sample(self.stores, 4)
        for index in (1, 2, 3, 1, 2):
            self.exchange(order[0], order[index])
        dumps = {store.name: self.dump(store) for store in self.stores}
        check(len(set(dumps.values())) == 1, self.saved("the stores differ in the end", dumps))
        views = {}
        for store in self.stores:
            answer = self.tool(store, "verify", store.file)
            check(answer.startswith("ok "), f"verify says of {store.name}: {answer}")
            view = self.view(store)
            self.model.check(store.name, view, store.schema == "rich")
            views.setdefault(store.schema, {})[store.name] = json.dumps(view, sort_keys=True, indent=1)
        for same in views.values():
            check(len(set(same.values())) == 1, self.saved("the stores show different things", same))
        self.run(self.new, "diff", self.stores[2].file, self.stores[0].file)

    def saved(self, words, texts):
        for name, text in texts.items():
            with open(os.path.join(self.folder, f"{name}.text"), "w", encoding="utf-8") as file:
                file.write(text)
        return f"{words}: see *.text in {self.folder}"

    def handed(self, store, target):
        """This build opens the file for writing, as an app's update does: from then on the older one refuses it."""
        before, dump = self.view(store), self.dump(store)
        check(self.format(store) == 6, f"{store.name} has format {self.format(store)}; only the older build wrote it")
        check(self.run(self.new, "dump", store.file)[0] == dump, f"this build reads {store.name} otherwise")
        check(self.format(store) == 6 and self.dump(store) == dump, f"{store.name} was only read, and has changed")
        # What another program has written since, only this build can capture.
        name, text = f"Note|~|{store.name}-late", f"late {self.number}"
        self.sql(store, "INSERT INTO Note(id, text) VALUES(?, ?)", name, text)
        self.model.records[name] = store.name, {"text": text}
        store.build = self.new
        self.upgrade(store, target)
        check(self.format(store) == 7, f"{store.name} has format {self.format(store)}, and this build has opened it")
        after = self.view(store)
        for name, row in before.items():
            for part in ("fields", "links"):
                kept = {key: after.get(name, {}).get(part, {}).get(key) for key in row[part]}
                check(kept == row[part], f"{store.name}: {name} was {row[part]}, and is {kept}")
        self.model.check(store.name, after, False, writer=store.name)
        self.begin(store)
        self.refused(store)
        self.count("files handed over")

    def upgrade(self, store, target):
        """The app's new release opens the file: with more entities and fields, or with those that it has."""
        if target == "plain":
            self.put(store, f"Game|~|{store.name}", {"title": "handed over"})
        else:
            self.tool(store, "schema", "upgrade", store.file, f"{target}.json")
        store.schema, store.is_beyond = target, store.is_beyond or target == "rich"

    def begin(self, store):
        """The new release uses what is new in it."""
        if store.schema == "rich":
            self.write_rich(store, "goals")

    def refused(self, store):
        """Whatever the older build is asked to do with a file of this one, it refuses, and changes nothing."""
        file, dump = store.file, self.dump(store)
        before = self.bytes(store)
        self.save("line.jsonl", {"name": "Game|~|0", "fields": {"title": "x"}, "links": {}})
        commands = [
            ("get", file, "Game|~|0"), ("list", file, "Game"), ("dump", file), ("verify", file), ("conflicts", file),
            ("verify", file, "--repair"), ("status", file), ("vector", file), ("put", file, "Game|~|0", "title=x"),
            ("delete", file, "Game|~|0"), ("link", file, "Game|~|0", "players", "Person|~|o1-0"), ("compact", file),
            ("delta", file, "-o", "-"), ("schema", "upgrade", file, "plain.json"), ("clone", file, "none.tally"),
            ("seed", file, "--set", "seeds2.json"), ("serve", file, "--stdio"), ("import", file, "line.jsonl"),
            ("sync", file, "--via", f"folder:{self.box}"), ("purge", file, "Note|~|none")]
        commands += [("sync", other.file, file) for other in self.stores if other.build.is_old]
        for command in self.random.sample(commands, 5):
            _, complaint = self.run(self.old, *command, status=NEWER)
            self.check_complaint(complaint, True)
            self.count("commands refused")
        check(self.bytes(store) == before, f"the older build has refused {file}, and the file has changed")
        check(self.dump(store) == dump, f"the older build has refused {file}, and its content has changed")
