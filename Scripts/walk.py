#!/usr/bin/env python3
"""Counts the files that one operation runs through: those of which it calls at least one function, each time.

    walk.py [OPERATION ...]    prints a table, of all OPERATIONS without arguments
    walk.py --files OPERATION  and the files, each with the functions that are called in it

The program is run with two numbers of operations under callgrind; a function is part of the operation if its calls grow with
them, at least one for each two. What the compiler has inlined is in the file that calls it. Needs valgrind, llvm-symbolizer,
which comes with Swift, and a release build of Benchmarks (`make bench` leaves one; BENCHMARKS names another).
"""
import collections
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

OPERATIONS = {  # operation: the workload of Benchmarks, the two numbers of operations
    "one update": ("commit", 20, 60),
    "one synced change": ("change", 20, 60),
    "one delete of an owned record": ("owned-single", 20, 60),
    "opening and closing": ("close", 4, 10),
}
MODULES = ["TallyStore", "TallySchema", "TallyWire", "TallyCRDT"]


def calls(program, workload, count, folder):
    """How often each function is called."""
    out = os.path.join(folder, f"{workload}-{count}")
    subprocess.run(
        ["valgrind", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={out}", program, "--records", str(count), "--count", workload],
        env=dict(os.environ, SWIFT_DETERMINISTIC_HASHING="1"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    names, called, found = {}, None, collections.Counter()
    with open(out) as lines:
        for line in lines:
            if match := re.match(r"c?fn=\((\d+)\)(?: (.*))?$", line):
                number, name = match.groups()
                if name:
                    # A function that calls itself has further entries: name'2.
                    names[number] = re.sub(r"'\d+$", "", name)
                if line.startswith("cfn"):
                    called = names[number]
            elif line.startswith("calls="):
                found[called] += int(line[6:].split()[0])
    return found


def places(program):
    """The file of each function of our modules."""
    symbols = subprocess.run(["llvm-nm", "--defined-only", program], capture_output=True, text=True, check=True).stdout
    addresses = {}
    for line in symbols.splitlines():
        address, kind, name = line.split(maxsplit=2)
        if kind in "tTwW" and "Tally" in name:
            addresses[name] = address
    asked = "".join(f"0x{address}\n" for address in addresses.values())
    answer = subprocess.run(
        ["llvm-symbolizer", f"--obj={program}", "--no-inlines", "--functions=none", "--output-style=GNU"], input=asked,
        capture_output=True, text=True, check=True).stdout
    result = {}
    for name, line in zip(addresses, answer.splitlines(), strict=True):
        if match := re.search(r"/Sources/(.+\.swift):\d+", line):
            result[name] = match[1]
    return result


def main():
    arguments = sys.argv[1:]
    shows_files = arguments[:1] == ["--files"]
    wanted = arguments[shows_files:] or list(OPERATIONS)
    if unknown := set(wanted) - set(OPERATIONS):
        sys.exit(f"no operation {', '.join(sorted(unknown))}: they are {', '.join(OPERATIONS)}")
    # Swift's tools are in one folder, which may not be where programs are looked for.
    os.environ["PATH"] += os.pathsep + os.path.dirname(os.path.realpath(shutil.which("swift") or "swift"))
    for tool in ("valgrind", "llvm-nm", "llvm-symbolizer"):
        if shutil.which(tool) is None:
            print(f"files are not counted: {tool} is missing")
            return
    original = os.environ.get("BENCHMARKS", ".build-bench/release/Benchmarks")
    file_of = places(original)
    with tempfile.TemporaryDirectory() as folder:
        # Without its debug information, which valgrind may not be able to read.
        program = os.path.join(folder, "program")
        subprocess.run(["strip", "--strip-debug", "-o", program, original], check=True)
        runs = {(OPERATIONS[name][0], count) for name in wanted for count in OPERATIONS[name][1:]}
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            counts = dict(zip(runs, pool.map(lambda run: calls(program, *run, folder), runs)))
    print(f"{'files':30}" + "".join(f"{module:>13}" for module in MODULES))
    for name in wanted:
        workload, few, many = OPERATIONS[name]
        large, small = counts[workload, many], counts[workload, few]
        files = collections.defaultdict(set)
        for function, count in large.items():
            if function in file_of and (count - small[function]) * 2 >= many - few:
                files[file_of[function]].add(function)
        print(f"{name:30}" + "".join(f"{sum(file.startswith(module + '/') for file in files):13}" for module in MODULES))
        if shows_files:
            for file, functions in sorted(files.items()):
                done = subprocess.run(["swift", "demangle", "--simplified"], input="\n".join(sorted(functions)), capture_output=True, text=True, check=True)
                print(f"  {file}\n    " + "\n    ".join(done.stdout.splitlines()))


main()
