"""Finishes the documentation's site, and follows all of its links: docs_site.py FOLDER.

The root of the site leads to the front page. Fails if a link, an anchor or a
picture leads nowhere, or if a link leads to a file of the repository as it stood in a page's source.
"""

import json
import pathlib
import re
import sys

FRONT = "documentation/tally"


def finish(site):
    # DocC's page for the root knows no such address.
    (site / "index.html").write_text(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Tally</title><meta http-equiv="refresh" content="0;url={FRONT}/">'
        f'</head><body><a href="{FRONT}/">The documentation of Tally</a></body></html>\n')


class Site:
    """The pages of a site, as the data that the browser makes them of."""

    def __init__(self, folder):
        self.folder = folder
        self.pages = {}
        for file in (folder / "data").rglob("*.json"):
            address = "/" + str(file.relative_to(folder / "data").with_suffix("")).lower()
            self.pages[address] = json.loads(file.read_text())
        self.complaints, self.links = [], 0

    @staticmethod
    def anchors(page):
        """The anchors of a page's headings."""
        found, open_nodes = set(), [page.get("primaryContentSections", []), page.get("topicSections", []), page.get("sections", [])]
        while open_nodes:
            node = open_nodes.pop()
            if isinstance(node, dict):
                found |= {node["anchor"]} if isinstance(node.get("anchor"), str) else set()
                open_nodes += node.values()
            elif isinstance(node, list):
                open_nodes += node
        return {anchor.lower() for anchor in found}

    def complain(self, page, words):
        self.complaints.append(f"{page}: {words}")

    def follow(self, address, url):
        """One link of a page."""
        self.links += 1
        if re.match(r"[a-z][a-z+.-]*:", url):
            if not url.startswith(("https://", "http://", "mailto:")):
                self.complain(address, f"a link to {url}")
            return
        path, _, anchor = url.partition("#")
        path = path.lower().rstrip("/") or address
        if path not in self.pages:
            return self.complain(address, f"a link to {url}, where no page is")
        if not (self.folder / path.lstrip("/") / "index.html").exists():
            self.complain(address, f"a link to {url}, which has data and no page")
        if anchor and anchor.lower() not in self.anchors(self.pages[path]):
            self.complain(address, f"a link to {url}, where no heading is called so")

    def crawl(self):
        reached, waiting = set(), ["/" + FRONT]
        while waiting:
            address = waiting.pop()
            if address in reached or address not in self.pages:
                continue
            reached.add(address)
            for reference in self.pages[address].get("references", {}).values():
                kind, url = reference.get("type"), reference.get("url")
                if kind in ("topic", "link", "section") and url:
                    self.follow(address, url)
                    waiting.append(url.partition("#")[0].lower().rstrip("/"))
                for variant in reference.get("variants", []) if kind in ("image", "video") else []:
                    if not (self.folder / variant["url"].lstrip("/")).exists():
                        self.complain(address, f"a picture {variant['url']}, which is not there")
            text = json.dumps(self.pages[address])
            for found in re.findall(r"\]\([^)\s]*\.(?:md|swift)[^)\s]*\)|doc:[A-Z][\w-]*", text):
                self.complain(address, f"{found} was left as it is in the source")
        # DocC itself leads to symbols.
        for address in sorted(set(self.pages) - reached):
            if self.pages[address].get("metadata", {}).get("role") in ("article", "collectionGroup"):
                self.complain(address, "no link leads to this page")
        return len(reached)


def main():
    folder = pathlib.Path(sys.argv[1])
    finish(folder)
    front = re.search(r"url=([^\"]+)", (folder / "index.html").read_text())[1]
    if not (folder / front / "index.html").exists():
        sys.exit(f"the root leads to {front}, where no page is")
    site = Site(folder)
    count = site.crawl()
    if site.complaints:
        sys.exit("\n".join(site.complaints[:50]) + f"\n{len(site.complaints)} links of {site.links} on {count} pages lead nowhere")
    print(f"{count} pages, {site.links} links, all of which lead somewhere")


if __name__ == "__main__":
    main()
