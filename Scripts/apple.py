#!/usr/bin/env python3
"""What of the sources is compiled only on Apple's systems, and so never here.

  Scripts/apple.py           writes the table in Docs/Apple.md
  Scripts/apple.py --check   fails if it is not what the sources say
  Scripts/apple.py --lines   prints those lines themselves

A line counts if its conditions hold on a Mac, and do not hold on Linux with the stub of CloudKit.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "Docs/Apple.md"
# Compiled and tested here, against a stub that is a target. Views are only typechecked: Scripts/apple-views.sh.
STUBS = {"CloudKit"}
APPLE = {"Darwin", "SwiftUI", "UIKit", "AppKit", "CloudKit", "Network", "os", "Combine", "BackgroundTasks"}
SYSTEMS = {"macOS", "iOS", "tvOS", "watchOS", "visionOS"}


def holds(condition, on_apple):
    """Whether a condition holds, with the package's traits or without."""

    def one(match, trait):
        kind, name = match.group(1), match.group(2)
        if kind == "os":
            return str((name in SYSTEMS) if on_apple else name == "Linux")
        if kind != "canImport":
            return str(trait)
        if name in STUBS:
            return "True"
        if name in ("Glibc", "Musl", "FoundationNetworking"):
            return str(not on_apple and name != "Musl")
        return str(name not in APPLE or on_apple)

    def value(trait):
        text = re.sub(r"(\w+)\(([^)]*)\)", lambda match: one(match, trait), condition.split("//")[0])
        text = re.sub(r"\b(?!True\b|False\b)[A-Za-z_]\w*\b", str(trait), text)
        text = text.replace("&&", " and ").replace("||", " or ").replace("!", " not ")
        return eval(text, {"__builtins__": {}})  # of our own sources alone

    return value(True) or value(False)


def apple_only(path):
    """The lines of a file that only a Mac compiles."""
    stack, lines = [], []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        word = line.strip()
        if word.startswith("#if "):
            now = (holds(word[4:], True), holds(word[4:], False))
            stack.append([now, now])
        elif word.startswith("#elseif ") and stack:
            past = stack[-1][1]
            now = tuple(holds(word[8:], on) and not before for on, before in zip((True, False), past))
            stack[-1] = [now, tuple(a or b for a, b in zip(past, now))]
        elif word == "#else" and stack:
            stack[-1][0] = tuple(not before for before in stack[-1][1])
        elif word == "#endif" and stack:
            stack.pop()
        elif stack and all(now[0] for now, _ in stack) and not all(now[1] for now, _ in stack):
            if word and not word.startswith("//"):
                lines.append((number, line))
    return lines


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
    else:
        PAGE.write_text(made)


main()
