"""Makes the listing of the public API from symbol graphs: see api.sh. With --check it also looks at what is documented."""
import json
import pathlib
import re
import statistics
import sys

# What `import Tally` brings: where most readers of the documentation begin.
FACE = set(re.findall(r"@_exported import (?:struct|class|enum|protocol) \w+\.(\w+)", pathlib.Path("Sources/Tally/Tally.swift").read_text()))
# The fewest words of a documentation comment, and the fewest lines that half of those at entry points have.
FEWEST_WORDS, MEDIAN_LINES = 5, 4


def line(symbol):
    declaration = "".join(part["spelling"] for part in symbol["declarationFragments"])
    path = ".".join(symbol["pathComponents"])
    return f"{path}  |  {' '.join(declaration.split())}"


def listing(graphs, module):
    lines = set()
    for path in sorted(graphs.glob(f"{module}*.symbols.json")):
        # Module.symbols.json, and Module@Other.symbols.json for what it adds to other modules.
        if path.name.split(".")[0].split("@")[0] != module:
            continue
        for symbol in json.loads(path.read_text())["symbols"]:
            lines.add(line(symbol))
    return "".join(f"{text}\n" for text in sorted(lines))


def check_documentation(graphs):
    """Every public symbol says something, and entry points say more."""
    problems, lengths, count = set(), {}, 0
    for path in sorted(graphs.glob("*.symbols.json")):
        for symbol in json.loads(path.read_text())["symbols"]:
            name, kind = ".".join(symbol["pathComponents"]), symbol["kind"]["identifier"]
            lines = [line["text"] for line in symbol.get("docComment", {}).get("lines", []) if line["text"].strip()]
            count += 1
            # The compiler's own, of enums with raw values and of Codable.
            if not lines and symbol["pathComponents"][-1] in ("init(rawValue:)", "init(from:)", "encode(to:)"):
                continue
            if len(" ".join(lines).split()) < FEWEST_WORDS:
                problems.add(f"{name}: {' '.join(lines) or 'no documentation'}")
            if symbol["pathComponents"][0] in FACE and (len(symbol["pathComponents"]) == 1 or kind in ("swift.method", "swift.type.method", "swift.init")):
                lengths[symbol["identifier"]["precise"]] = len(lines)
    median = statistics.median(lengths.values())
    if median < MEDIAN_LINES:
        problems.add(f"the documentation of half of {len(lengths)} entry points has {median} lines or fewer; {MEDIAN_LINES} is the least")
    if problems:
        sys.exit("Documentation comments with fewer than five words, or none:\n" + "\n".join(sorted(problems)))
    print(f"{count} public symbols are documented; half of {len(lengths)} entry points have {median} lines or more.")


def main():
    graphs, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    modules = sorted({path.name.split(".")[0].split("@")[0] for path in graphs.glob("*.symbols.json")})
    differs = False
    for module in modules:
        file, now = folder / f"{module}.txt", listing(graphs, module)
        if "--check" not in sys.argv:
            folder.mkdir(parents=True, exist_ok=True)
            file.write_text(now)
            continue
        before = file.read_text() if file.exists() else ""
        for sign, one, other in (("-", before, now), ("+", now, before)):
            for text in sorted(set(one.splitlines()) - set(other.splitlines())):
                print(f"{sign} {module}: {text}")
                differs = True
    if "--check" in sys.argv:
        check_documentation(graphs)
    if differs:
        sys.exit("The public API is not what Docs/API says. If that is meant, run `make api` and commit the files.")


main()
