"""Makes the listing of the public API from symbol graphs: see api.sh."""
import json
import pathlib
import sys


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
    if differs:
        sys.exit("The public API is not what Docs/API says. If that is meant, run `make api` and commit the files.")


main()
