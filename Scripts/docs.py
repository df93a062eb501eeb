"""Prepares what docc converts.

  docs.py tally GRAPHS OUT_GRAPHS OUT_CATALOG MODULE…   the graph of `import Tally` and its catalog, which leads to these modules
  docs.py module GRAPH OUT_GRAPH                        the graph of one module

The graph of `import Tally` is put together from those of the modules that it re-exports. The catalog has the pages of
Sources/Tally/Tally.docc and those of Docs. They link each other as files, so that they can be read in the repository; here
such links become links of DocC's.
"""

import json
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CATALOG = ROOT / "Sources/Tally/Tally.docc"
DOCS = ROOT / "Docs"
# The documents of the repository, as the front page lists them; one that is in no group is under the last.
GROUPS = {
    "Tools and transports": ["Tool", "Shell", "Inspector", "SharedFolder", "Relay", "CloudKit", "Mailboxes", "Transports"],
    "How it works": ["Architecture", "Pipelines", "Contract", "Seeds", "Triggers", "Glossary"],
    "Formats and protocols": ["WireFormat", "StorageFormat", "SyncProtocol", "RelayProtocol"],
    "How it is tested, measured and decided": [],
}
DECISIONS = "Documents-Decisions"


def identifier(path):
    """The name of a page in the catalog, of which every page needs one of its own."""
    if path.is_relative_to(CATALOG):
        return path.stem
    if path.parent == DOCS / "Decisions":
        return DECISIONS if path.stem == "README" else f"Decision-{path.stem}"
    return f"Documents-{path.stem}"


def pages():
    """All pages, each with its name in the catalog."""
    files = [*sorted(CATALOG.rglob("*.md")), *sorted(DOCS.glob("*.md")), *sorted((DOCS / "Decisions").glob("*.md"))]
    return {path: identifier(path) for path in files}


def slug(heading):
    """A heading's anchor where the repository is read: https://docs.github.com/get-started/writing-on-github."""
    text = re.sub(r"<[^>]*>|[*_`]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(text):
    """The anchors of a page and the headings that they stand at."""
    found, heading = {}, None
    for line in outside_of_code(text):
        named = re.findall(r'<a (?:id|name)="([^"]+)"></a>', line)
        if match := re.match(r"#{2,6} (.*)", line):
            heading = re.sub(r"<[^>]*>", "", match[1]).strip()
            found.setdefault(slug(match[1]), heading)
        for name in named:
            found[name] = heading
    return found


def outside_of_code(text):
    """The lines of a page that are no code."""
    is_code = False
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield line


def fragment(heading):
    """The anchor that DocC gives a heading."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w.~!$&'()+,;=:@/-]+", "-", plain).strip("-")


class Pages:
    """Turns pages of the repository into pages of the catalog."""

    def __init__(self, out):
        self.out, self.names, self.images = out, pages(), set()
        self.anchors = {path: anchors(path.read_text()) for path in self.names}

    def converted(self, path):
        """The text of a page with links of DocC's."""
        result, is_code = [], False
        for line in path.read_text().split("\n"):
            if line.lstrip().startswith("```"):
                is_code = not is_code
            result.append(line if is_code else self.line(path, line))
        return "\n".join(result)

    def line(self, path, line):
        line = re.sub(r'<a (?:id|name)="[^"]*"></a>', "", line)
        # Code in a line stays as it is.
        pieces = re.split(r"(`+[^`]*`+(?!\]))", line)
        for place in range(0, len(pieces), 2):
            pieces[place] = re.sub(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)", lambda match: self.link(path, *match.groups()), pieces[place])
        return self.whole(path, "".join(pieces))

    def whole(self, path, line):
        """Links whose words have code in them."""
        return re.sub(r"()\[([^\[\]]*`[^\[\]]*)\]\(([^)\s]+)\)", lambda match: self.link(path, *match.groups()), line)

    def link(self, path, mark, words, target):
        if re.match(r"[a-z]+:", target):
            return f"{mark}[{words}]({target})"
        name, _, anchor = target.partition("#")
        place = (path.parent / name).resolve() if name else path
        if mark:
            return f"![{words}]({self.image(place)})"
        if place not in self.names:
            if not place.exists():
                sys.exit(f"{path.relative_to(ROOT)}: a link to {target}, which is not there")
            # The rest of the repository is no part of the site.
            return f"{words} (`{place.relative_to(ROOT)}` in the repository)"
        where = ""
        if anchor:
            if anchor not in self.anchors[place]:
                sys.exit(f"{path.relative_to(ROOT)}: a link to {target}, where no heading is called so")
            heading = self.anchors[place][anchor]
            where = f"#{fragment(heading)}" if heading else ""
        page = f"doc:{self.names[place]}{where}"
        # As one of a list of topics a page goes by its own title.
        return f"[{words}]({page})"

    def image(self, place):
        name = "-".join(place.relative_to(DOCS).parts)
        if name not in self.images:
            self.images.add(name)
            shutil.copyfile(place, self.out / name)
        return name

    def write(self, modules):
        self.out.mkdir(parents=True)
        for path, name in self.names.items():
            text = self.converted(path)
            if name == "Tally":
                text = text.rstrip() + "\n" + self.topics(modules)
            elif name == DECISIONS:
                decisions = [name for name in self.names.values() if name.startswith("Decision-")]
                text = text.rstrip() + "\n\n## Topics\n\n### All decisions\n\n" + "".join(f"- <doc:{one}>\n" for one in decisions)
            # A list of topics takes links without words of their own.
            text = re.sub(r"^- \[[^\]]*\]\((doc:[\w-]+)\)$", r"- <\1>", text, flags=re.M)
            (self.out / f"{name}.md").write_text(text)

    def topics(self, modules):
        """What the front page leads to besides what it names itself."""
        documents = {name.removeprefix("Documents-") for name in self.names.values() if name.startswith("Documents-")}
        text, listed = "", {one for group in GROUPS.values() for one in group}
        if missing := listed - documents:
            sys.exit(f"Scripts/docs.py lists documents that are not there: {', '.join(sorted(missing))}")
        for title, names in GROUPS.items():
            names = names or sorted(documents - listed)
            text += f"\n### {title}\n\n" + "".join(f"- <doc:Documents-{name}>\n" for name in names)
        if modules:
            text += "\n### All modules\n\n" + "".join(f"- ``/{name}``\n" for name in modules)
        return text


def tally(graphs, out_graphs, out_catalog, *modules):
    # The names that Tally.swift re-exports, with all that belongs to them, whichever module declares it.
    face = set(re.findall(r"@_exported import (?:struct|class|enum|protocol) \w+\.(\w+)", (ROOT / "Sources/Tally/Tally.swift").read_text()))
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
    Pages(out_catalog).write(modules)


def module(folder, out):
    """A module's graphs, in which a symbol of another module is code and no link."""
    graphs = {file: json.loads(file.read_text()) for file in sorted(folder.glob("*.symbols.json"))}
    # What a module adds to a type of another has its page below that other's name.
    paths = {}
    for file, graph in graphs.items():
        extended = file.name.removesuffix(".symbols.json").partition("@")[2]
        for symbol in graph["symbols"]:
            path = tuple(symbol["pathComponents"])
            if paths.get(path) != "":
                paths[path] = extended

    def written(link, near):
        parts = tuple(re.sub(r"-\w+$", "", part) for part in link.split("/"))
        for count in range(len(near), -1, -1):
            path = near[:count] + parts
            if path in paths:
                return f"``{paths[path]}/{'/'.join(path[:count])}{'/' if count else ''}{link}``" if paths[path] else f"``{link}``"
        return f"`{link}`"

    out.mkdir(parents=True)
    for file, graph in graphs.items():
        for symbol in graph["symbols"]:
            near = tuple(symbol["pathComponents"])
            for line in symbol.get("docComment", {}).get("lines", []):
                line["text"] = re.sub(r"``([^`]+)``", lambda match: written(match[1], near), line["text"])
        (out / file.name).write_text(json.dumps(graph))


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    if what == "tally":
        tally(*map(pathlib.Path, arguments[:3]), *arguments[3:])
    else:
        module(*map(pathlib.Path, arguments))
