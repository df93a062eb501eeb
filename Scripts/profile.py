#!/usr/bin/env python3
"""Writes where the instructions of a row go: the functions that take most of them themselves, by callgrind.

    profile.py [WORKLOAD ...]    writes Docs/Benchmarks/profiles.txt; all of WORKLOADS without arguments

The program is run with two numbers of rows, and what starting takes falls out of the difference. What a workload does
before what is counted (making rows, inserting them) is run alone and subtracted. Needs valgrind and a release build of
Benchmarks (`make bench` leaves one; BENCHMARKS names another).
"""
import os
import re
import subprocess
import sys
import tempfile

WORKLOADS = {  # workload: what comes before it, the two numbers of rows
    "insert": ("rows", 1000, 4000),
    "update": ("rows", 1000, 4000),
    "delete": ("insert", 1000, 4000),
    "apply": ("delta", 1000, 4000),
    "change": ("rows", 300, 900),
}
SHOWN = 20


def self_costs(program, workload, rows, folder):
    """Instructions of each function itself, by (function, library)."""
    out = os.path.join(folder, f"{workload}-{rows}")
    side = ["--plain"] if workload == "rows" else []
    if not os.path.exists(out):
        subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", program, "--records", str(rows), "--count",
             workload] + side,
            env=dict(os.environ, SWIFT_DETERMINISTIC_HASHING="1"), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, check=True)
    text = subprocess.run(["callgrind_annotate", "--threshold=100", "--auto=no", out], capture_output=True, text=True,
                          check=True).stdout
    costs = {}
    for line in text.splitlines():
        match = re.match(r"\s*([\d,]+) \([^)]*\)\s+\S*?:(.+?)(?:'\d+)?(?: \[(.*)\])?$", line)
        if not match:
            continue
        count, function, library = match.groups()
        library = os.path.basename(library or "").split(".so")[0]
        if re.fullmatch(r"0x[0-9a-f]+", function):
            function = "(functions without a name)"
        key = (function, library)
        costs[key] = costs.get(key, 0) + int(count.replace(",", ""))
    return costs


def for_each_row(program, workload, few, many, folder):
    large, small = (self_costs(program, workload, rows, folder) for rows in (many, few))
    return {key: (large.get(key, 0) - small.get(key, 0)) / (many - few) for key in large.keys() | small.keys()}


def demangled(names):
    done = subprocess.run(["swift", "demangle", "--simplified"], input="\n".join(names), capture_output=True, text=True,
                          check=True)
    return done.stdout.splitlines()


def main():
    chosen = sys.argv[1:] or list(WORKLOADS)
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    built = os.environ.get("BENCHMARKS", os.path.join(root, ".build-bench/release/Benchmarks"))
    sections = []
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "program")
        # Debug information that valgrind may not be able to read.
        subprocess.run(["objcopy", "--remove-section=.debug_*", built, program], check=True)
        for workload in chosen:
            before, few, many = WORKLOADS[workload]
            costs = for_each_row(program, workload, few, many, folder)
            for key, cost in for_each_row(program, before, few, many, folder).items():
                costs[key] = costs.get(key, 0) - cost
            top = sorted(costs.items(), key=lambda item: -item[1])[:SHOWN]
            names = demangled([function for (function, _), _ in top])
            total = sum(costs.values())
            lines = [f"{workload}: {total:,.0f} instructions a row", ""]
            for ((_, library), cost), name in zip(top, names):
                short = name if len(name) <= 84 else name[:81] + "..."
                lines.append(f"{cost:9,.0f}  {100 * cost / total:4.1f} %  {short}" + (f"  [{library}]" if library and
                                                                                       library != "program" else ""))
            sections.append("\n".join(lines))
    with open(os.path.join(root, "Docs/Benchmarks/profiles.txt"), "w", encoding="utf-8") as file:
        file.write("Made by Scripts/profile.py: the functions that take most instructions themselves, for each row.\n\n")
        file.write("\n\n".join(sections) + "\n")


if __name__ == "__main__":
    main()
