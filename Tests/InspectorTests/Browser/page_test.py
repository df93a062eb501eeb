"""What the tests of the pages begin with: stores, an inspector and a page, for each test anew."""
import json
import os
import unittest

import house

LOOKS = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "looks.js"), encoding="utf-8").read()
SCREENS = {
    "search": "#/search", "found": "#/search?q=milk", "data": "#/data?store=0&type=Item", "hidden": "#/data?store=1&type=Item&hidden=1",
    "record": "#/record?name=Item%7C~%7Cmilk", "gone": "#/record?name=Item%7C~%7Ccake", "conflicts": "#/conflicts?store=0", "sql": "#/sql?store=0",
    "peers": "#/peers", "time": "#/time?store=0", "storage": "#/storage?store=0", "log": "#/log", "report": "#/report?store=0",
    "compare": "#/compare?first=0&second=1",
}


class PageTest(unittest.TestCase):
    """Stores, an inspector and a page, for each test anew."""

    # The tool and the browser of a run.
    tool_path = None
    browser = None

    def setUp(self):
        self.tool = house.Tool(self.tool_path)
        self.addCleanup(self.tool.close)

    def inspect(self, *arguments, width=1280, height=900, program=None, has_terminal=False):
        inspected = house.Inspected(self.tool, *arguments, program=program, has_terminal=has_terminal)
        self.addCleanup(lambda: self.assertEqual(inspected.close(), 0))
        page = self.browser.page(width, height)
        self.addCleanup(page.close)
        page.go(inspected.address)
        page.wait("document.querySelector('#main')?.dataset.ready", "the first screen")
        return inspected, page

    def show(self, page, address):
        """Goes to a screen and waits until it is there."""
        page.run("delete document.querySelector('#main').dataset.ready")
        page.run(f"location.hash = {json.dumps(address)}")
        page.wait("document.querySelector('#main').dataset.ready", address)
        if "q=" in address:
            page.wait("document.querySelector('[data-done]')", address)

    def text(self, page, selector="main"):
        return page.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def press(self, page, selector):
        """Clicks as soon as it is there: a page that is told of a change draws itself again, on a busy machine at any moment."""
        page.wait(f"(found => found && (found.click(), true))(document.querySelector({json.dumps(selector)}))", selector)

    def sound(self, page):
        """No script has failed, and nothing was asked of any other host."""
        self.assertEqual(page.complaints(), [])
        for address in page.requested():
            self.assertRegex(address, r"^(http://127\.0\.0\.1:\d+/|about:blank|blob:http://127\.0\.0\.1)")
