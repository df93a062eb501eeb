"""The pages of the inspector in a real browser.

  python3 -B inspector_test.py TOOL [TEST… | --pictures FOLDER]

With pictures it only makes them, for Docs/Inspector.md.
"""
import os
import sys
import unittest

import chromium
import house
from connections_test import ConnectionsTest
from page_test import SCREENS, PageTest
from screens_test import ScreensTest
from stores_test import StoresTest


class Pictures(PageTest):
    """Makes the pictures for the documentation."""

    folder = None
    kept = ("hidden", "record", "gone", "conflicts", "time", "compare", "record-dark")

    def test_pictures(self):
        house.pantry(self.tool)
        _, page = self.inspect("phone.tally", "tablet.tally", "--allow-writes", width=1180, height=760)
        for scheme in ("light", "dark"):
            page.scheme(scheme)
            for name, address in SCREENS.items():
                self.show(page, address)
                name += "" if scheme == "light" else "-dark"
                if name in self.kept:
                    page.picture(os.path.join(self.folder, f"{name}.png"))
        page.scheme("light")
        page.resize(390, 800)
        self.show(page, SCREENS["record"])
        page.picture(os.path.join(self.folder, "narrow.png"))

    def test_picture_of_the_show(self):
        program = os.path.join(os.path.dirname(os.path.abspath(self.tool_path)), "Scorebook")
        _, page = self.inspect("show", width=1180, height=760, program=program)
        page.scheme("light")
        page.wait("document.querySelectorAll('#controls button').length > 12")
        self.show(page, "#/compare?first=0&second=1")
        page.wait("document.querySelector('main').innerText.includes('Both have seen the same and hold the same.')")
        for name in ("phone network", "phone edit", "phone delete", "tablet edit"):
            self.press(page, f"[data-key='control {name}']")
        page.wait("/tablet lacks phone/.test(document.querySelector('main').innerText)")
        self.show(page, "#/peers")
        page.wait("document.querySelector('main').innerText.includes('the network is cut')")
        page.picture(os.path.join(self.folder, "show.png"))


def main():
    arguments = sys.argv[1:]
    if "--pictures" in arguments:
        place = arguments.index("--pictures")
        Pictures.folder = os.path.abspath(arguments[place + 1])
        os.makedirs(Pictures.folder, exist_ok=True)
        del arguments[place:place + 2]
    PageTest.tool_path = arguments.pop(0)
    program = chromium.find()
    if program is None:
        sys.exit("There is no Chromium.")
    PageTest.browser = chromium.Browser(program)
    try:
        tests = unittest.TestLoader()
        suite = unittest.TestSuite()
        for kind in (Pictures,) if Pictures.folder else (ScreensTest, StoresTest, ConnectionsTest):
            names = tests.getTestCaseNames(kind)
            suite.addTests(kind(name) for name in names if not arguments or name in arguments)
        if suite.countTestCases() < max(1, len(arguments)):
            sys.exit(f"There is no test of one of these names: {arguments}")
        result = unittest.TextTestRunner(verbosity=2 if arguments else 1).run(suite)
    finally:
        PageTest.browser.close()
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
