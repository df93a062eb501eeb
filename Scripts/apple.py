#!/usr/bin/env python3
"""What of the sources is compiled only on Apple's systems, and so never here.

  Scripts/apple.py           writes the table in Docs/Apple.md
  Scripts/apple.py --check   fails if it is not what the sources say, or if a simulator would compile a name that iOS lacks
  Scripts/apple.py --lines   prints those lines themselves

A line counts if its conditions hold on a Mac, and do not hold on Linux with the stub of CloudKit.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "Docs/Apple.md"
# Compiled and tested here, against a stub that is a target. Views are only typechecked: Scripts/apple-views.sh.
STUBS = {"CloudKit"}
APPLE = {"Darwin", "SwiftUI", "UIKit", "AppKit", "CloudKit", "Network", "os", "Combine", "BackgroundTasks"}
SYSTEMS = {
    "a Mac": {"macOS", "iOS", "tvOS", "watchOS", "visionOS"},  # with the branches of the other systems
    "iOS": {"iOS"},
    "Linux": {"Linux"},
}
# What the SDK of iOS has not, or what its sandbox refuses, of what is used in this package.
NOT_ON_IOS = re.compile(
    r"(?<![.\w])(Process|fork|popen|system|posix_spawn\w*|proc_\w+|waitpid)\("
    r"|\b(Process\.run|ProcessTransport|homeDirectoryForCurrentUser|Host\.current|NSWorkspace)\b"
)


def holds(condition, system):
    """Whether a condition holds there, with the package's traits or without."""

    def one(match, trait):
        kind, name = match.group(1), match.group(2)
        if kind == "os":
            return str(name in SYSTEMS[system])
        if kind != "canImport":
            return str(trait)
        if name in STUBS:
            return "True"
        if name in ("Glibc", "Musl", "FoundationNetworking"):
            return str(system == "Linux" and name != "Musl")
        return str(name not in APPLE or system == "a Mac" or system == "iOS" and name != "AppKit")

    def value(trait):
        text = re.sub(r"(\w+)\(([^)]*)\)", lambda match: one(match, trait), condition.split("//")[0])
        text = re.sub(r"\b(?!True\b|False\b)[A-Za-z_]\w*\b", str(trait), text)
        text = text.replace("&&", " and ").replace("||", " or ").replace("!", " not ")
        return eval(text, {"__builtins__": {}})  # of our own sources alone

    return value(True) or value(False)


def compiled(path, *systems):
    """The lines of a file that hold code, and for each whether each of the systems compiles it."""
    stack = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        word = line.strip()
        if word.startswith("#if "):
            now = tuple(holds(word[4:], system) for system in systems)
            stack.append([now, now])
        elif word.startswith("#elseif ") and stack:
            past = stack[-1][1]
            now = tuple(holds(word[8:], system) and not before for system, before in zip(systems, past))
            stack[-1] = [now, tuple(a or b for a, b in zip(past, now))]
        elif word == "#else" and stack:
            stack[-1][0] = tuple(not before for before in stack[-1][1])
        elif word == "#endif" and stack:
            stack.pop()
        elif word and not word.startswith("//"):
            yield number, line, tuple(all(now[n] for now, _ in stack) for n in range(len(systems)))


def apple_only(path):
    """The lines of a file that only a Mac compiles."""
    return [(number, line) for number, line, on in compiled(path, "a Mac", "Linux") if on == (True, False)]


def simulator():
    """Lines that `xcodebuild test` would compile for a simulator of iOS and that name what is not there."""
    manifest = subprocess.run(
        ["swift", "package", "dump-package"], cwd=ROOT, capture_output=True, check=True,
        env=os.environ | {"TALLY_SIMULATOR": "1"},
    ).stdout
    for target in json.loads(manifest)["targets"]:
        folder = ROOT / (target.get("path") or ("Tests/" if target["type"] == "test" else "Sources/") + target["name"])
        for path in sorted(folder.rglob("*.swift")):
            for number, line, (on,) in compiled(path, "iOS"):
                if on and NOT_ON_IOS.search(line.split("//")[0]):
                    yield f"{path.relative_to(ROOT)}:{number}: not on iOS: {line.strip()}"


def files():
    names = subprocess.run(
        ["git", "ls-files", "Sources/*.swift", "Examples/*.swift"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    return [(name, apple_only(ROOT / name)) for name in names]


def table(found):
    rows = ["| file | lines |", "| --- | --- |"]
    rows += [f"| `{name}` | {len(lines)} |" for name, lines in found if lines]
    return "\n".join(rows)


def main():
    found = files()
    if "--lines" in sys.argv:
        for name, lines in found:
            for number, line in lines:
                print(f"{name}:{number}:{line}")
        return
    page = PAGE.read_text()
    begin, end = "<!-- apple.py -->\n", "\n<!-- end of apple.py -->"
    start, stop = page.index(begin) + len(begin), page.index(end)
    made = page[:start] + table(found) + page[stop:]
    if "--check" in sys.argv:
        if made != page:
            sys.exit("Docs/Apple.md does not list what only a Mac compiles: run Scripts/apple.py")
        missing = list(simulator())
        if missing:
            sys.exit("\n".join(missing))
    else:
        PAGE.write_text(made)


main()
