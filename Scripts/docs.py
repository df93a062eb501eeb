"""Prepares what docc converts: docs.py GRAPHS OUT_GRAPHS SOURCES OUT_CATALOGUE.

One symbol graph of what `import Tally` brings, put together from those of the modules that it re-exports; and the
catalog with links of DocC's in the place of links to files.
"""

import json
import pathlib
import re
import sys

graphs, out_graphs, sources, out_catalog = map(pathlib.Path, sys.argv[1:])

# The names that Tally.swift re-exports, with all that belongs to them, whichever module declares it.
face = set(re.findall(r"@_exported import (?:struct|class|enum|protocol) \w+\.(\w+)", (sources / "Tally.swift").read_text()))
merged = None
for file in sorted(graphs.glob("*.symbols.json")):
    graph = json.loads(file.read_text())
    if merged is None:
        merged = {**graph, "module": {**graph["module"], "name": "Tally"}, "symbols": [], "relationships": []}
    merged["symbols"] += [symbol for symbol in graph["symbols"] if symbol["pathComponents"][0] in face]
    merged["relationships"] += graph["relationships"]
known = {symbol["identifier"]["precise"] for symbol in merged["symbols"]}
merged["relationships"] = [one for one in merged["relationships"] if one["source"] in known]
missing = face - {symbol["pathComponents"][0] for symbol in merged["symbols"]}
if missing:
    sys.exit(f"no module declares {', '.join(sorted(missing))}")
out_graphs.mkdir(parents=True)
(out_graphs / "Tally.symbols.json").write_text(json.dumps(merged))

out_catalog.mkdir(parents=True)
for page in sorted((sources / "Tally.docc").rglob("*.md")):
    text = page.read_text()
    text = re.sub(r"^- \[[^\]]*\]\((\w+)\.md\)$", r"- <doc:\1>", text, flags=re.M)
    text = re.sub(r"\]\((\w+)\.md(#[^)]*)?\)", r"](doc:\1)", text)
    # The rest of the repository is no part of the site.
    text = re.sub(r"\[([^\]]*)\]\(\.\./\.\./\.\./([^)#]*)(#[^)]*)?\)", r"\1 (`\2` in the repository)", text)
    (out_catalog / page.name).write_text(text)
