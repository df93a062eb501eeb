"""Looks at the documentation's site in a real browser: docs_browser.py FOLDER. Does nothing where there is no Chromium.

The root shows the front page, a page of Docs and one of a module are drawn, and code that is wider than its box scrolls.
"""

import functools
import http.server
import pathlib
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Tests/InspectorTests/Browser"))
import chromium  # noqa: E402

# The texts that say that a page is there.
PAGES = {
    "/": "Every device has a full copy of the data",
    "/documentation/tally/gettingstarted/": "Declare an entity",
    "/documentation/tally/documents-inspector/": "The screens",
    "/documentation/tallystore/": "StoreOptions",
}
WIDE = """[...document.querySelectorAll('pre')].filter(pre => pre.scrollWidth > pre.clientWidth + 1
  && !['auto', 'scroll'].includes(getComputedStyle(pre).overflowX)).length"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server that says nothing."""

    def log_message(self, *arguments):
        pass


def main():
    program = chromium.find()
    if program is None:
        print("The documentation was not looked at in a browser: there is no Chromium.")
        return
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=sys.argv[1]))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    browser = chromium.Browser(program)
    try:
        page = browser.page(width=900)
        for path, text in PAGES.items():
            page.go(f"http://127.0.0.1:{server.server_port}{path}")
            page.wait(f"document.querySelector('main')?.innerText.includes({text!r})", path)
            if wide := page.run(WIDE):
                sys.exit(f"{path}: {wide} pieces of code are wider than their box and cut off")
        print(f"Looked at {len(PAGES)} pages in a browser; no code is cut off.")
    finally:
        browser.close()
        server.shutdown()


if __name__ == "__main__":
    main()
