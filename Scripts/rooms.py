#!/usr/bin/env python3
"""The rooms of the store: which folder may name types of which, and how large types and files may be.

    rooms.py              fails on what is worse than Scripts/rooms.txt says
    rooms.py --update     lowers the numbers of Scripts/rooms.txt to what is there; it raises none
    rooms.py --arrows     prints what each pair of rooms names of each other
    rooms.py --types      prints the largest types
    rooms.py --self-test  fails if the check no longer sees what it is for

Scripts/rooms.txt lists the rooms from the innermost out. A room may name types of itself and of rooms above it in that
list. What breaks a rule today stands there as a debt with a count, and a count may only fall.

It reads tokens, not types. It sees each name that begins with a capital and is a type of the store, resolved from the
innermost type around it outwards, through `A.B`, and past generic parameters. It does not see a type that is inferred
(`let reader = session.reader`), a member that an extension in another room adds, a function outside of types, a name
behind `Self` or a typealias of another module, nor what a macro makes. Both sides of an `#if` count.
"""
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MEMBERS, STORED, LINES = 40, 12, 400
SOURCES, RULES = pathlib.Path("Sources"), pathlib.Path("Scripts/rooms.txt")

TOKEN = re.compile(r"""
    (?P<space>[ \t\r]+) | (?P<line>\n) | (?P<comment>//[^\n]*) | (?P<block>/\*) | (?P<string>\#*\"\"\"|\#*\")
  | (?P<name>`[A-Za-z_]\w*`|[A-Za-z_]\w*|\$\d+) | (?P<hash>\#[A-Za-z]+) | (?P<number>\d[\w.]*)
  | (?P<arrow>->) | (?P<other>.)""", re.X)
TYPES = {"struct", "class", "enum", "actor", "protocol", "extension"}


class Token:
    __slots__ = ("text", "line", "is_name")

    def __init__(self, text, line, is_name):
        self.text, self.line, self.is_name = text, line, is_name


def tokens(text):
    """The tokens of Swift text without comments and texts; what is interpolated into a text counts."""
    found, line, at = [], 1, 0
    # What is open: a parenthesis of code, or a text with its quotes, whose interpolation ends at that parenthesis.
    inside = []
    while at < len(text):
        if inside and inside[-1] != "(":
            quotes = inside[-1]
            hashes = quotes.count("#")
            end, escape = quotes.lstrip("#") + "#" * hashes, "\\" + "#" * hashes
            while at < len(text):
                if text.startswith(escape, at):
                    at += len(escape)
                    if text.startswith("(", at):
                        inside.append("(")
                        at += 1
                        break
                    line += text.startswith("\n", at)
                    at += 1
                elif text.startswith(end, at):
                    at += len(end)
                    inside.pop()
                    break
                else:
                    line += text[at] == "\n"
                    at += 1
            continue
        match = TOKEN.match(text, at)
        kind, word = match.lastgroup, match.group()
        at = match.end()
        if kind == "line":
            line += 1
        elif kind == "block":
            depth = 1
            while depth and at < len(text):
                if text.startswith("/*", at) or text.startswith("*/", at):
                    depth += 1 if text[at] == "/" else -1
                    at += 2
                else:
                    line += text[at] == "\n"
                    at += 1
        elif kind == "string":
            # An empty text is a pair of quotes.
            inside.append(word)
        elif kind not in ("space", "comment"):
            if inside and word == "(":
                inside.append("(")
            elif inside and word == ")":
                inside.pop()
                if inside and inside[-1] != "(":
                    continue
            found.append(Token(word.strip("`"), line, kind == "name"))
    return found


class Type:
    """A type of the store: where it is declared, and the members that it has anywhere."""

    def __init__(self, path, file, line, keyword):
        self.path, self.file, self.line, self.keyword = path, file, line, keyword
        self.members, self.stored = [], []


class Scope:
    """A brace: of a type with its path, or of anything else; with the names of generic parameters that hide types."""

    def __init__(self, path, kind, hidden=()):
        self.path, self.kind, self.hidden = path, kind, frozenset(hidden)


class File:
    """One file of tokens, read twice: for what it declares, and for what it names."""

    def __init__(self, name, text):
        self.name, self.tokens, self.lines = name, tokens(text), text.count("\n")

    def text(self, at):
        return self.tokens[at].text if 0 <= at < len(self.tokens) else ""

    def skip(self, at, opening, closing):
        """The place behind what is closed."""
        depth = 0
        while at < len(self.tokens):
            depth += (self.text(at) == opening) - (self.text(at) == closing)
            at += 1
            if depth == 0:
                break
        return at

    def generics(self, at):
        """The parameters of `<A, B: C>`, and the place behind."""
        names, end = [], at
        if self.text(at) != "<":
            return names, at
        end = self.skip(at, "<", ">")
        depth, expects = 0, True
        for place in range(at, end):
            word = self.text(place)
            depth += (word == "<") - (word == ">")
            if depth == 1 and word in ("<", ","):
                expects = True
            elif expects and word not in ("each", "let"):
                names.append(word)
                expects = False
        return names, end

    def name_of_type(self, at):
        """`A.B<C>.D`: its parts, and the place behind."""
        parts = [self.text(at)]
        at += 1
        while True:
            if self.text(at) == "<":
                at = self.skip(at, "<", ">")
            elif self.text(at) == "." and self.text(at + 1)[:1].isupper():
                parts.append(self.text(at + 1))
                at += 2
            else:
                return tuple(parts), at

    def is_declaration(self, at):
        word, after, before = self.text(at), self.text(at + 1), self.text(at - 1)
        if word not in TYPES or before == "." or not (self.tokens[at + 1].is_name if at + 1 < len(self.tokens) else False):
            return False
        # `class func` and `class var` are members; `Foo: class` of old is none of ours.
        return after not in ("func", "var", "let", "init", "subscript", "private", "override", "final")

    def walk(self, visit):
        """Calls `visit(place, scopes)` for each token; scopes are the braces around it. It follows types and functions
        with generic parameters."""
        scopes, waiting, at = [], None, 0
        while at < len(self.tokens):
            word = self.text(at)
            # A requirement of a protocol ends without a brace.
            if waiting is not None and waiting.kind == "function" and scopes and scopes[-1].kind == "protocol" \
                    and word in ("func", "var", "init", "static", "}"):
                waiting = None
            around = scopes[-1].path if scopes else ()
            visit(at, scopes if waiting is None else scopes + [Scope(around, "code", waiting.hidden)])
            if self.is_declaration(at):
                parts, _ = self.name_of_type(at + 1) if word == "extension" else ((self.text(at + 1),), at + 2)
                hidden, _ = self.generics(at + 2) if word != "extension" else ([], 0)
                path = parts if word == "extension" else around + parts
                waiting = Scope(path, word, hidden)
            elif word in ("func", "init", "subscript") and self.text(at - 1) != "." and waiting is None:
                place = at + 2 if word == "func" else at + 1
                # An operator's name is one or more marks.
                while word == "func" and self.text(place) not in ("(", "<", "") and not self.tokens[place].is_name:
                    place += 1
                hidden, _ = self.generics(place)
                if hidden:
                    waiting = Scope(around, "function", hidden)
            elif word == "{" and waiting is not None:
                scopes.append(waiting if waiting.kind != "function" else Scope(around, "code", waiting.hidden))
                waiting = None
            elif word == "{":
                scopes.append(Scope(around, "code"))
            elif word == "}" and scopes:
                scopes.pop()
            at += 1

    def declared_variables(self, at):
        """The names that `var` or `let` at a place declares, and whether each is stored."""
        place, found = at + 1, []
        while True:
            if self.text(place) == "(":
                end = self.skip(place, "(", ")")
                names = [self.text(p) for p in range(place, end) if self.tokens[p].is_name]
                place = end
            else:
                names = [self.text(place)]
                place += 1
            depth, is_stored, goes_on = 0, True, False
            while place < len(self.tokens):
                word, is_new_line = self.text(place), self.tokens[place].line > self.tokens[place - 1].line
                if depth == 0 and word == "{" and not is_new_line or depth == 0 and word == "{" and self.text(place - 1) != ")":
                    is_stored = self.text(place + 1) in ("willSet", "didSet")
                    break
                if depth == 0 and word == "=":
                    break
                if depth == 0 and word == ",":
                    goes_on = True
                    place += 1
                    break
                if depth == 0 and is_new_line and word not in ("->", "&", ".", ":", "?") \
                        and self.text(place - 1) not in ("->", "&", ":", "any", "some"):
                    break
                if depth == 0 and word in ("}", ";"):
                    break
                depth += (word in "([<") - (word in ")]>")
                place += 1
            found += [(name, is_stored) for name in names]
            if not goes_on:
                return found


class Source:
    """The files of the store's modules with all that they declare."""

    def __init__(self, folder, modules):
        self.files = [File(path.relative_to(folder).as_posix(), path.read_text())
                      for module in modules for path in sorted((folder / module).rglob("*.swift"))]
        self.types = {}
        for file in self.files:
            self._declare(file)
        for file in self.files:
            self._count(file)

    def _declare(self, file):
        def visit(at, scopes):
            word = file.text(at)
            around = scopes[-1] if scopes else None
            if around is not None and around.kind == "code":
                return
            if file.is_declaration(at) and word != "extension" or word == "typealias":
                path = (around.path if around else ()) + (file.text(at + 1),)
                self.types.setdefault(path, Type(path, file.name, file.tokens[at].line, word))
        file.walk(visit)

    def _count(self, file):
        def visit(at, scopes):
            if not scopes or scopes[-1].kind == "code" or scopes[-1].path not in self.types:
                return
            kind, word, line = self.types[scopes[-1].path], file.text(at), file.tokens[at].line
            if file.text(at - 1) in (".", "(") or file.text(at + 1) == ":":
                return
            if word in ("func", "init", "subscript") and (word == "func" or file.text(at + 1) in ("(", "<", "?", "!")):
                name = file.text(at + 1) if word == "func" else word
                kind.members.append((name, file.name, line))
            elif word in ("var", "let"):
                is_own = not any(file.text(p) in ("static", "class") for p in range(max(0, at - 3), at)
                                 if file.tokens[p].line == line or file.text(p) == "static")
                for name, is_stored in file.declared_variables(at):
                    kind.members.append((name, file.name, line))
                    if is_stored and is_own and word == "var":
                        kind.stored.append((name, file.name, line))
            elif word == "case" and scopes[-1].kind == "enum":
                place, depth = at + 1, 0
                kind.members.append((file.text(place), file.name, line))
                while place < len(file.tokens) and not (depth == 0 and file.text(place) in ("case", "}", "func", "var")):
                    depth += (file.text(place) in "([{") - (file.text(place) in ")]}")
                    if depth == 0 and file.text(place) == "," and file.tokens[place + 1].is_name:
                        kind.members.append((file.text(place + 1), file.name, line))
                    if depth == 0 and file.tokens[place].line > file.tokens[place - 1].line and file.text(place - 1) != ",":
                        break
                    place += 1
        file.walk(visit)

    def resolve(self, name, scopes):
        """The type that a name means, from the innermost type around it outwards; nil for those of other modules."""
        for scope in reversed(scopes):
            if name in scope.hidden:
                return None
            for depth in range(len(scope.path), 0, -1):
                found = scope.path[:depth] + (name,)
                if found in self.types:
                    return found
        return (name,) if (name,) in self.types else None

    def references(self):
        """Each name of a type: the file, the line, the type."""
        for file in self.files:
            found = []

            def visit(at, scopes):
                token = file.tokens[at]
                if not token.is_name or not token.text[:1].isupper() or file.text(at - 1) in (".", "import"):
                    return
                # A label, or a parameter of a declaration, is no type.
                if file.text(at + 1) == ":" and file.text(at - 1) in ("(", ",", "<"):
                    return
                path = self.resolve(token.text, scopes)
                if path is None:
                    return
                place = at
                while file.text(place + 1) == "." and path + (file.text(place + 2),) in self.types:
                    path += (file.text(place + 2),)
                    place += 2
                found.append((file.name, token.line, path))

            file.walk(visit)
            yield from found


class Rules:
    """Scripts/rooms.txt: rooms in their order, and debts."""

    def __init__(self, path):
        self.path, self.rooms, self.room_of, self.debts = path, [], {}, {}
        for number, text in enumerate(path.read_text().splitlines(), 1):
            words = text.split()
            if not words or words[0].startswith("#"):
                continue
            if words[0] == "room" and len(words) >= 3:
                if words[1] not in self.rooms:
                    self.rooms.append(words[1])
                self.room_of.update((folder, words[1]) for folder in words[2:])
            elif words[0] in WHAT and len(words) >= 3 and words[-1].isdigit():
                self.debts[tuple(words[:-1])] = int(words[-1])
            else:
                sys.exit(f"{path}:{number} is no rule: {text}")

    @property
    def modules(self):
        return sorted({folder.split("/")[0] for folder in self.room_of})

    def room(self, file):
        """The room of a file: that of its folder, or one that is named for the file alone."""
        parts = file.split("/")
        for count in range(len(parts), 0, -1):
            found = self.room_of.get("/".join(parts[:count]))
            if found is not None:
                return found
        return None

    def lower(self, found):
        """Writes what is there where that is less; a debt that is paid goes."""
        lines = []
        for text in self.path.read_text().splitlines():
            key = tuple(text.split()[:-1])
            if key in self.debts:
                now = min(self.debts[key], len(found.get(key, ())))
                if now == 0:
                    continue
                text = " ".join(key) + f" {now}"
            lines.append(text)
        self.path.write_text("\n".join(lines) + "\n")


WHAT = {
    "arrow": "a name of a room below", "members": f"members of one type; {MEMBERS} are the most",
    "stored": f"stored variables of one type; {STORED} are the most", "lines": f"lines; of one file {LINES} are the most",
}


def findings(source, rules):
    """What breaks a rule: for each debt the places that make it."""
    found = {}
    order = {room: index for index, room in enumerate(rules.rooms)}
    for file, line, path in source.references():
        there = source.types[path].file
        one, other = rules.room(file), rules.room(there)
        if one is None or other is None or order[other] <= order[one]:
            continue
        places = found.setdefault(("arrow", one, file.split("/")[-1], other, ".".join(path)), [])
        places.append(f"{file}:{line} names {'.'.join(path)}, of {other}")
    for path, kind in source.types.items():
        name = ".".join(path)
        for rule, places, most in (("members", kind.members, MEMBERS), ("stored", kind.stored, STORED)):
            if len(places) > most:
                found[(rule, name)] = [f"{file}:{line} {name}.{member}" for member, file, line in places]
    for file in source.files:
        if file.lines > LINES:
            found[("lines", file.name.split("/")[-1])] = [file.name] * file.lines
        found.setdefault(("lines", file.name.split("/")[0]), []).extend([file.name] * file.lines)
    return found


def name_of(place):
    """A place without its line, which other changes move."""
    return re.sub(r":\d+ ", " ", place)


def accepted_then(rules):
    """What was there when the rules were last changed, by Git; nothing without it."""
    try:
        commit = subprocess.run(["git", "log", "-1", "--format=%H", "--", str(rules.path)], capture_output=True, check=True)
        commit = commit.stdout.decode().strip()
        with tempfile.TemporaryDirectory() as folder:
            paths = [str(SOURCES / module) for module in rules.modules]
            archive = subprocess.run(["git", "archive", commit, *paths], capture_output=True, check=True).stdout
            subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
            return findings(Source(pathlib.Path(folder) / SOURCES, rules.modules), rules)
    except (OSError, subprocess.CalledProcessError):
        return {}


def check(folder, rules, then=accepted_then):
    """What is worse than the debts say, the debts that have fallen, and all that was found."""
    source = Source(folder, rules.modules)
    found = findings(source, rules)
    worse = [f"{file.name} is in no room: {rules.path} lists their folders"
             for file in source.files if rules.room(file.name) is None]
    before = None
    for key, places in sorted(found.items()):
        accepted = rules.debts.get(key, 0)
        if len(places) <= accepted:
            continue
        worse.append(f"{' '.join(key)} {len(places)}, and {accepted} is accepted: {WHAT[key[0]]}")
        if key[0] == "lines":
            continue
        before = then(rules) if before is None else before
        known, new = collections.Counter(map(name_of, before.get(key, ()))), []
        for place in places:
            known[name_of(place)] -= 1
            if known[name_of(place)] < 0:
                new.append(place)
        worse += [f"  {place}" for place in new or places]
    fallen = {key: (accepted, len(found.get(key, ()))) for key, accepted in rules.debts.items()
              if len(found.get(key, ())) < accepted}
    return worse, fallen, found


def repeated(text, count):
    return "".join(text.replace("#", str(number)) for number in range(count))


# What the self-test puts into a copy as a file of TallyStore in which NAME is a name of its own, and how the complaint begins.
PLANTED = [
    ("State", "struct NAME { var session: WritingSession? }", "arrow State NAME.swift Store WritingSession 1"),
    ("State", "struct NAME { var all: [Int: Set<WritingSession>] }", "arrow State NAME.swift Store WritingSession 1"),
    ("State", 'let a = """\n  a "b" \\(WritingSession.self) \\("}")\n  """', "arrow State NAME.swift Store WritingSession 1"),
    ("State", "extension WritingSession { struct NAME {} }", "arrow State NAME.swift Store WritingSession 1"),
    ("Store", "struct NAME {\n" + repeated("  func f#() {}\n", MEMBERS + 1) + "}", f"members NAME {MEMBERS + 1}"),
    ("Store", "enum NAME { case " + repeated("a#(Int), ", MEMBERS) + "z }", f"members NAME {MEMBERS + 1}"),
    ("Store", "struct NAME {}\n" + repeated("extension NAME { var a#: Int { 1 } }\n", MEMBERS + 1), f"members NAME {MEMBERS + 1}"),
    ("Store", "final class NAME {\n  private(set) var (a, b), c: Int\n"
     + repeated("  lazy var a# = [1, 2] {\n    didSet { b = 1 }\n  }\n", STORED - 2) + "}", f"stored NAME {STORED + 1}"),
    ("Store", repeated("// #\n", LINES + 1), f"lines NAME.swift {LINES + 1}"),
    ("Nowhere", "struct NAME {}", "TallyStore/Nowhere/NAME.swift is in no room"),
]
# What it must not complain of.
INNOCENT = [
    ("State", "// WritingSession\n/* a /* nested */ WritingSession */\n"),
    ("State", 'let a = "WritingSession \\("a") \\\\(WritingSession)" + #"\\(WritingSession) " "#\n'),
    ("State", "struct NAME<WritingSession> { var one: WritingSession }\n"),
    ("State", "struct NAME { func f<WritingSession>(_ one: WritingSession) { print(one as WritingSession) } }\n"),
    ("State", "struct NAME {\n  struct WritingSession {}\n  var one: WritingSession\n}\n"),
    ("State", "struct NAME { func f() -> Int { NAME.WritingSession } }\n"),
    ("Store", "struct NAME {\n" + repeated("  var a#: Int { get { 1 } set {} }\n", STORED + 1) + "}"),
    ("Store", "struct NAME {\n" + repeated("  let a#: [Int]\n  static var b# = 1\n", STORED + 1) + "}"),
    ("Store", "struct NAME {\n  func f() {\n" + repeated("    var a# = 1\n", MEMBERS + 1) + "  }\n}"),
]


def self_test(rules):
    """Puts what the check is for into a copy of the store, and what only looks like it; returns what is wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for module in rules.modules:
            shutil.copytree(SOURCES / module, folder / module)
        sound, fallen, found = check(folder, rules, lambda _: {})

        def said(files):
            paths = []
            for number, (room, text, *_) in enumerate(files):
                paths.append(folder / "TallyStore" / room / f"Planted{number}.swift")
                paths[-1].parent.mkdir(exist_ok=True)
                paths[-1].write_text(text.replace("NAME", f"Planted{number}"))
            worse, _, _ = check(folder, rules, lambda _: {})
            for path in paths:
                path.unlink()
            # That the store's lines have become more is no wonder.
            return [line for line in worse if line not in sound and not line.startswith("lines TallyStore ")]
        lines = said(PLANTED)
        wrong = [f"not seen: {wanted} by\n{text[:200]}" for number, (_, text, wanted) in enumerate(PLANTED)
                 if not any(line.startswith(wanted.replace("NAME", f"Planted{number}")) for line in lines)]
        wrong += [f"seen without reason: {line}" for line in said(INNOCENT)]
        key = max(found, key=lambda key: len(found[key]))
        rules.debts[key] = len(found[key]) + 1
        if key not in check(folder, rules, lambda _: {})[1]:
            wrong.append(f"not seen: that {' '.join(key)} has fallen")
    return wrong


def print_arrows(source, rules):
    """How many types each room names of each other one, in how many files."""
    pairs, order = {}, {room: index for index, room in enumerate(rules.rooms)}
    for file, _, path in source.references():
        pair = rules.room(file), rules.room(source.types[path].file)
        if None not in pair and pair[0] != pair[1]:
            pairs.setdefault(pair, set()).add((file, path))
    for (one, other), names in sorted(pairs.items(), key=lambda item: (order[item[0][0]], order[item[0][1]])):
        print(f"{one:12} -> {other:12} {len(names):4}" + ("  back" if order[other] > order[one] else ""))
    back = [pair for pair in pairs if order[pair[1]] > order[pair[0]]]
    print(f"{len(pairs)} arrows, {len(back)} of them back")


def print_types(source):
    print("members  var  files  type")
    for kind in sorted(source.types.values(), key=lambda kind: -len(kind.members))[:20]:
        files = len({file for _, file, _ in kind.members})
        print(f"{len(kind.members):7} {len(kind.stored):4} {files:6}  {'.'.join(kind.path)}")


def main():
    rules, asked = Rules(RULES), sys.argv[1:]
    if asked == ["--self-test"]:
        wrong = self_test(rules)
        if wrong:
            sys.exit("Scripts/rooms.py no longer sees what it is for:\n" + "\n".join(wrong))
        return
    if asked not in ([], ["--update"], ["--arrows"], ["--types"]):
        sys.exit(__doc__)
    worse, fallen, found = check(SOURCES, rules)
    if asked == ["--arrows"]:
        return print_arrows(Source(SOURCES, rules.modules), rules)
    if asked == ["--types"]:
        return print_types(Source(SOURCES, rules.modules))
    if worse:
        print("\n".join(worse), file=sys.stderr)
    if fallen and asked == ["--update"]:
        rules.lower(found)
    elif fallen:
        for key, (accepted, now) in sorted(fallen.items()):
            print(f"{' '.join(key)} {accepted}: there are {now} now")
        print(f"Lower these numbers of {RULES}, or have Scripts/rooms.py --update do it.")
    sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
