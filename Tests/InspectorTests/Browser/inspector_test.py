"""The pages of the inspector in a real browser.

  python3 -B inspector_test.py TOOL [--pictures FOLDER]

With pictures it only makes them, for Docs/Inspector.md.
"""
import http.server
import json
import os
import sqlite3
import sys
import threading
import time
import unittest
import urllib.error
import urllib.request

import chromium
import house

LOOKS = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "looks.js"), encoding="utf-8").read()
SCREENS = {
    "search": "#/search", "found": "#/search?q=milk", "data": "#/data?store=0&type=Item", "hidden": "#/data?store=1&type=Item&hidden=1",
    "record": "#/record?name=Item%7C~%7Cmilk", "gone": "#/record?name=Item%7C~%7Ccake", "conflicts": "#/conflicts?store=0",
    "peers": "#/peers", "time": "#/time?store=0", "storage": "#/storage?store=0", "log": "#/log", "report": "#/report?store=0",
    "compare": "#/compare?first=0&second=1",
}
TOOL = None
BROWSER = None


class InspectorTest(unittest.TestCase):
    """Stores, an inspector and a page, for each test anew."""

    def setUp(self):
        self.tool = house.Tool(TOOL)
        self.addCleanup(self.tool.close)

    def inspect(self, *arguments, width=1280, height=900, program=None):
        inspected = house.Inspected(self.tool, *arguments, program=program)
        self.addCleanup(lambda: self.assertEqual(inspected.close(), 0))
        page = BROWSER.page(width, height)
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
        page.run(f"document.querySelector({json.dumps(selector)}).click()")

    def sound(self, page):
        """No script has failed, and nothing was asked of any other host."""
        self.assertEqual(page.complaints(), [])
        for address in page.requested():
            self.assertRegex(address, r"^(http://127\.0\.0\.1:\d+/|about:blank|blob:http://127\.0\.0\.1)")

    # The screens

    def test_a_record_is_found_and_its_life_is_told(self):
        house.pantry(self.tool)
        _, page = self.inspect("phone.tally", "tablet.tally")
        page.key("/", "Slash", "/")
        page.type("oat milk")
        page.wait("document.querySelector('[data-done=\"oat milk\"]')")
        self.assertIn("Item|~|milk", self.text(page))
        page.run("document.querySelector('.hits a').focus()")
        page.key("Enter")
        page.wait("document.querySelector('svg.lanes')", "the record's lanes")
        told = self.text(page)
        self.assertIn("The app sees it.", told)
        self.assertRegex(page.run("document.querySelector('svg.lanes').getAttribute('aria-label')"), r"phone #\d+: .*tablet #\d+: ")
        # What only the tablet has is marked as different.
        self.assertIn("quantity", page.run("[...document.querySelectorAll('tr.differs th')].map(e => e.innerText).join()"))
        self.sound(page)

    def test_a_record_that_does_not_show_says_why(self):
        house.pantry(self.tool)
        self.tool.new("old.tally", house.OLDER)
        self.tool.run("sync", "old.tally", "tablet.tally")
        _, page = self.inspect("phone.tally", "tablet.tally", "old.tally")
        reasons = {
            "Item|~|tea": "was deleted by tablet #", "Item|~|cake": "List|~|party, which owns it, was deleted by tablet #",
            "Item|~|beans": "has not arrived here: phone has it, written by phone #", "Lisst|~|x": "No schema here has the type Lisst",
            "List|~|home": "this version of the app does not have the type List", "Item|~|nobody": "Nothing of it has arrived here",
        }
        for name, words in reasons.items():
            self.show(page, "#/record?name=" + urllib.request.quote(name))
            self.assertIn(words, self.text(page), name)
        self.sound(page)

    def test_rows_are_shown_filtered_and_queried(self):
        house.pantry(self.tool)
        _, page = self.inspect("phone.tally", "tablet.tally")
        self.show(page, "#/data?store=0&type=Item")
        self.assertIn("Coffee beans", self.text(page))
        # The tablet lacks the beans.
        self.assertIn("tablet", page.run("[...document.querySelectorAll('tr')].find(e => e.innerText.includes('beans')).querySelector('.mark')?.innerText"))
        self.show(page, "#/data?store=0&type=Item&hidden=1")
        self.assertIn("hidden by its owner", self.text(page))
        self.assertNotIn("Coffee beans", self.text(page))
        self.show(page, "#/data?store=0&type=Item&text=MILK")
        self.assertIn("Item|~|milk", self.text(page))
        self.assertNotIn("Rye bread", self.text(page))
        page.run("document.querySelector('details').open = true")
        for sql, words in (("SELECT count(*) AS n FROM Item", "Result of the query"), ("DELETE FROM Item", "only SELECT"), ("SELECT missing", "no such column")):
            page.run(f"document.querySelector('#sql').value = {json.dumps(sql)}")
            self.press(page, "details button")
            page.wait(f"document.querySelector('details').textContent.includes({json.dumps(words)})", sql)
        # A query that is refused is an answer of 400, which the browser notes as such.
        self.assertEqual([line for line in page.complaints() if "Failed to load resource" not in line], [])

    def test_what_was_lost_is_taken_back(self):
        house.pantry(self.tool)
        _, page = self.inspect("phone.tally", "tablet.tally", "--allow-writes")
        self.show(page, "#/conflicts?store=0")
        self.assertIn("title of Item|~|milk", self.text(page).replace("\n", " "))
        self.assertIn("Deletes that an edit has undone", self.text(page))
        before = page.run("document.querySelectorAll('article').length")
        self.press(page, "article button[aria-label^='Take back the lost value of title']")
        page.wait(f"document.querySelectorAll('article').length === {before - 1}", "the conflict is gone")
        self.assertIn('"title":"Soy milk"', self.tool.run("get", "phone.tally", "Item|~|milk", "--json"))
        self.show(page, "#/conflicts?store=1")
        count = page.run("document.querySelectorAll('article').length")
        if count:
            self.press(page, "article button[aria-label^='Dismiss']")
            page.wait(f"document.querySelectorAll('article').length === {count - 1}")
        # Delete and undelete.
        self.show(page, "#/record?name=Item%7C~%7Cbeans")
        self.press(page, "button[data-key='delete 0']")
        page.wait("document.querySelector('main').innerText.includes('It was deleted by phone')")
        self.press(page, "button[data-key='restore 0']")
        page.wait("document.querySelector('main').innerText.includes('The app sees it.')")
        self.sound(page)

    def test_an_inspector_that_only_reads_offers_no_change(self):
        house.pantry(self.tool)
        _, page = self.inspect("phone.tally", "tablet.tally")
        for address in ("#/conflicts?store=0", "#/record?name=Item%7C~%7Cmilk"):
            self.show(page, address)
            self.assertEqual(page.run("[...document.querySelectorAll('main button')].filter(e => /take back|dismiss|delete|restore/i.test(e.textContent)).length"), 0)
        status = page.run("fetch('/api/record/delete', {method: 'POST', body: JSON.stringify({store: 0, name: 'Item|~|milk'})}).then(r => r.status)")
        self.assertEqual(status, 403)
        self.assertIn("Item|~|milk", self.tool.run("list", "phone.tally", "Item"))

    def test_peers_time_storage_log_report_and_comparison(self):
        house.pantry(self.tool)
        _, page = self.inspect("phone.tally", "tablet.tally")
        self.show(page, "#/peers")
        self.assertRegex(self.text(page), r"lacks #\d+")
        self.press(page, "button[data-key='verify 0']")
        page.wait("document.querySelector('main').innerText.includes('Sound:')")
        self.show(page, "#/time?store=1")
        self.assertIn("deleted", self.text(page))
        self.show(page, "#/storage?store=0")
        self.press(page, "button[data-key='measure']")
        page.wait("document.querySelector('[aria-label=\"Largest records\"]')")
        self.assertIn("Item|~|", self.text(page, "[aria-label='Measured']"))
        self.show(page, "#/log")
        self.assertIn("Nothing has happened", self.text(page))
        self.show(page, "#/report?store=0")
        report = self.text(page, "pre")
        self.assertNotIn("Oat milk", report)
        self.assertIn('"vector"', report)
        self.show(page, "#/report?store=0&values=1")
        self.assertIn("Oat milk", self.text(page, "pre"))
        other = self.tool.path("tablet.json")
        with open(other, "w", encoding="utf-8") as file:
            file.write(self.tool.run("report", "tablet.tally"))
        self.choose(page, other)
        page.wait("document.querySelector('[aria-label=\"Compare reports\"]').innerText.includes('store lacks')")
        other = self.tool.path("other.json")
        with open(other, "w", encoding="utf-8") as file:
            file.write("no report")
        self.choose(page, other)
        page.wait("document.querySelector('[aria-label=\"Compare reports\"]').innerText.includes('The file is no report')")
        self.show(page, "#/compare?first=0&second=1")
        self.assertRegex(self.text(page), r"phone lacks tablet #\d+\. tablet lacks phone #\d+\.")
        self.assertIn("Item|~|beans", self.text(page))
        self.sound(page)

    def choose(self, page, path):
        root = page.ask("DOM.getDocument")["root"]["nodeId"]
        node = page.ask("DOM.querySelector", nodeId=root, selector="input[type=file]")["nodeId"]
        page.ask("DOM.setFileInputFiles", nodeId=node, files=[path])

    # Live

    def test_what_another_program_writes_shows_by_itself(self):
        house.pantry(self.tool)
        _, page = self.inspect("phone.tally", "tablet.tally")
        self.show(page, "#/record?name=Item%7C~%7Cmilk")
        page.wait("document.querySelector('#live').textContent === 'live'")
        # The moment is taken inside the page, so that asking costs nothing.
        page.run("""(() => { const look = new MutationObserver(() => {
          if (document.querySelector('main').innerText.includes('Barley milk')) { window.seen ??= Date.now(); look.disconnect(); } });
          look.observe(document.querySelector('main'), {subtree: true, childList: true, characterData: true}); })()""")
        self.tool.run("put", "phone.tally", "Item|~|milk", "title=Barley milk")
        committed = time.time()
        page.wait("window.seen", "the edit is seen")
        print(f"\na live edit was seen {page.run('window.seen') / 1000 - committed:.3f} s after the tool had ended", file=sys.stderr)
        # Other screens follow too, and the focus stays where it is.
        self.show(page, "#/time?store=0")
        page.run("document.querySelector('select').focus()")
        self.tool.run("put", "phone.tally", "Item|~|milk", "title=Rice milk")
        page.wait("document.querySelector('tr.fresh')", "the new transaction")
        self.assertEqual(page.run("document.activeElement.tagName"), "SELECT")
        self.show(page, "#/compare?first=0&second=1")
        self.tool.run("sync", "phone.tally", "tablet.tally")
        page.wait("document.querySelector('main').innerText.includes('Both have seen the same and hold the same.')")
        self.sound(page)

    def test_plain_sql_of_another_program_is_said_to_wait(self):
        house.pantry(self.tool)
        _, page = self.inspect("phone.tally")
        self.show(page, "#/record?name=Item%7C~%7Cmilk")
        page.wait("document.querySelector('#live').textContent === 'live'")
        connection = sqlite3.connect(self.tool.path("phone.tally"))
        connection.execute("UPDATE Item SET quantity = 9 WHERE id = 'Item|~|milk'")
        connection.commit()
        connection.close()
        page.wait("document.querySelector('main').innerText.includes('another program has written to the file')")
        # Whoever opens the store next captures it.
        self.tool.run("status", "phone.tally")
        page.wait("[...document.querySelectorAll('tr')].some(e => /^quantity\\s+9\\s/.test(e.innerText))", "the captured value")

    def test_the_show_goes_on(self):
        program = os.path.join(os.path.dirname(os.path.abspath(TOOL)), "Scorebook")
        _, page = self.inspect("show", program=program)
        press = lambda name: self.press(page, f"[data-key='control {name}']")
        is_on = lambda name, on: page.wait(f"document.querySelector(\"[data-key='control {name}']\").getAttribute('aria-checked') === '{on}'", name)
        page.wait("document.querySelectorAll('#controls button').length > 12")
        for name in ("phone edits", "tablet edits"):
            press(name)
            is_on(name, "false")
        self.show(page, "#/compare?first=0&second=1")
        equal = "document.querySelector('main').innerText.includes('Both have seen the same and hold the same.')"
        page.wait(equal, "both are equal at first")
        press("phone network")
        is_on("phone network", "false")
        press("phone delete")
        page.wait("/tablet lacks phone #\\d+/.test(document.querySelector('main').innerText)", "the phone is cut off")
        self.show(page, "#/peers")
        page.wait("document.querySelector('main').innerText.includes('the network is cut')")
        self.show(page, "#/compare?first=0&second=1")
        press("phone undelete")
        press("phone network")
        page.wait(equal, "both are equal again")
        press("relay")
        is_on("relay", "false")
        press("tablet delete")
        page.wait("/phone lacks tablet #\\d+/.test(document.querySelector('main').innerText)", "the relay is gone")
        press("relay")
        page.wait(equal, "both are equal with the relay")
        self.sound(page)

    def test_a_page_says_when_the_inspector_is_gone(self):
        house.pantry(self.tool)
        inspected = house.Inspected(self.tool, "phone.tally")
        page = BROWSER.page()
        self.addCleanup(page.close)
        page.go(inspected.address)
        page.wait("document.querySelector('#live')?.textContent === 'live'")
        self.assertEqual(inspected.close(), 0)
        page.wait("document.querySelector('#live').textContent === 'not connected'")

    # What stores may hold

    def test_hostile_values_are_text(self):
        house.hostile(self.tool)
        _, page = self.inspect("hostile.tally")
        for address in ("#/data?store=0&type=Item", "#/search?q=script", "#/record?name=Item%7C~%7Cscript", "#/record?name=Item%7C~%7Crtl", "#/record?name=Item%7C~%7Cnul",
                        "#/record?name=Item%7C~%7Clong", "#/record?name=" + urllib.request.quote("Item|~|<b>&'\"`${}"), "#/record?name=" + urllib.request.quote("<img src=x onerror=window.harmed=4>"),
                        "#/time?store=0", "#/search?q=" + urllib.request.quote(house.HOSTILE), "#/data?store=0&type=Wide", "#/data?store=0&type=Wide&column=990", "#/record?name=Wide%7C~%7Cw"):
            self.show(page, address)
            self.assertEqual(page.run("[window.harmed ?? 0, document.querySelectorAll('main img, main script, main iframe').length]"), [0, 0], address)
        self.show(page, "#/record?name=Item%7C~%7Cscript")
        self.assertIn(house.HOSTILE, self.text(page))
        self.show(page, "#/record?name=Item%7C~%7Crtl")
        self.assertIn("⟨U+202E⟩gnirts desrever⟨U+202C⟩ שלום", self.text(page))
        self.show(page, "#/record?name=Item%7C~%7Cnul")
        self.assertIn("before␀after␇␛[31m", self.text(page))
        self.show(page, "#/record?name=Item%7C~%7Clong")
        self.assertIn("(1.0 MiB)", self.text(page))
        self.assertLess(len(self.text(page)), 20_000)
        self.show(page, "#/data?store=0&type=Wide&column=990")
        self.assertIn("Columns 991 to 1000 of 1000", self.text(page))
        self.assertIn("value 999", self.text(page))
        self.assertEqual([line for line in page.complaints() if "Failed to load resource" not in line], [])

    def test_empty_and_broken_stores(self):
        self.tool.new("empty.tally", house.PANTRY)
        house.pantry(self.tool)
        self.damage("tablet.tally")
        _, page = self.inspect("empty.tally", "tablet.tally")
        for name, address in SCREENS.items():
            self.show(page, address)
            self.assertTrue(self.text(page).strip(), name)
        self.show(page, "#/peers")
        self.press(page, "button[data-key='verify 1']")
        page.wait("/problems in|cannot|malformed|damage/i.test(document.querySelector('main').innerText)", "damage is told")
        self.assertEqual([line for line in page.complaints() if "Failed to load resource" not in line], [])

    def test_a_type_of_a_newer_schema_opens_with_what_is_hidden(self):
        house.pantry(self.tool)
        self.tool.new("old.tally", house.OLDER)
        self.tool.run("sync", "phone.tally", "old.tally")
        _, page = self.inspect("phone.tally", "old.tally")
        self.show(page, "#/data?store=1&type=List")
        self.assertIn("List|~|home", self.text(page))
        self.assertIn("of a newer schema", self.text(page))
        self.show(page, "#/data?store=1&type=Nothing")
        self.assertTrue(page.run("document.querySelector('main select') !== null"))

    def damage(self, name):
        """Writes nonsense over one page of the type's table, where rows are."""
        self.tool.run("verify", name)
        connection = sqlite3.connect(self.tool.path(name))
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        page_size = connection.execute("PRAGMA page_size").fetchone()[0]
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'Item'").fetchone()[0]
        connection.close()
        with open(self.tool.path(name), "r+b") as file:
            file.seek((root - 1) * page_size + page_size // 2)
            file.write(b"\xa5" * (page_size // 2))

    # For everybody

    def test_every_screen_can_be_read_and_used_by_everybody(self):
        house.pantry(self.tool)
        _, page = self.inspect("phone.tally", "tablet.tally", "--allow-writes")
        for scheme in ("light", "dark"):
            page.scheme(scheme)
            for width in (1280, 360):
                page.resize(width, 900)
                for name, address in SCREENS.items():
                    self.show(page, address)
                    self.assertEqual(page.run(LOOKS), [], f"{name}, {scheme}, {width}")
        roles = ("button", "link", "textbox", "searchbox", "combobox", "checkbox", "switch", "table", "region", "navigation", "image", "main")
        for name, address in SCREENS.items():
            self.show(page, address)
            nameless = [role for role, title in page.names() if role in roles[:-1] and not title.strip()]
            self.assertEqual(nameless, [], name)
        self.sound(page)

    def test_the_keyboard_reaches_everything(self):
        house.pantry(self.tool)
        _, page = self.inspect("phone.tally", "tablet.tally", "--allow-writes")
        self.show(page, "#/conflicts?store=0")
        page.run("document.activeElement.blur(); window.getSelection().removeAllRanges()")
        reached = []
        for _ in range(60):
            page.key("Tab")
            reached.append(page.run("document.activeElement.dataset.key ?? document.activeElement.id ?? document.activeElement.className"))
        for wanted in ("query", "tab data", "tab compare", "store 1"):
            self.assertIn(wanted, reached)
        self.assertTrue(any(key.startswith("back ") for key in reached) and any(key.startswith("dismiss ") for key in reached), reached)
        self.assertTrue(page.run("getComputedStyle(document.activeElement).outlineStyle !== 'none' || document.activeElement === document.body"))

    # Others

    def test_another_site_learns_and_changes_nothing(self):
        house.pantry(self.tool)
        inspected, page = self.inspect("phone.tally", "--allow-writes")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        page.go(f"http://localhost:{server.server_port}/")
        page.wait("document.title === 'elsewhere'")
        base = inspected.base
        for script in (f"fetch('{base}/api/stores', {{credentials: 'include'}}).then(r => r.text())",
                       f"fetch('{base}/api/stores', {{credentials: 'include', mode: 'no-cors'}}).then(r => r.type === 'opaque' ? Promise.reject('opaque') : r.text())",
                       f"fetch('{base}/api/record/delete', {{method: 'POST', credentials: 'include', body: JSON.stringify({{store: 0, name: 'Item|~|milk'}})}}).then(r => r.text())",
                       f"import('{base}/api.js')"):
            self.assertEqual(page.run(f"({script}).then(() => 'let in', () => 'kept out')"), "kept out", script)
        framed = page.run(f"""new Promise(resolve => {{ const frame = document.createElement('iframe'); frame.src = '{base}/';
          frame.onload = () => {{ try {{ resolve(frame.contentDocument ? 'readable' : 'closed'); }} catch {{ resolve('closed'); }} }}; document.body.append(frame); }})""")
        self.assertEqual(framed, "closed")
        self.assertIn("Item|~|milk", self.tool.run("list", "phone.tally", "Item"))

    def test_the_address_counts_once_and_no_path_leads_out(self):
        house.pantry(self.tool)
        inspected, page = self.inspect("phone.tally")
        self.assertNotIn("token", page.run("location.href"))
        self.assertEqual(page.run("document.cookie"), "")
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(inspected.address, timeout=chromium.TIME_LIMIT)
        self.assertEqual(refused.exception.code, 403)
        self.assertIn("used already", refused.exception.read().decode())
        request = urllib.request.Request(inspected.base + "/", headers={"Host": f"evil.example:{inspected.port}"})
        with self.assertRaises(urllib.error.HTTPError) as rebound:
            urllib.request.urlopen(request, timeout=chromium.TIME_LIMIT)
        self.assertEqual(rebound.exception.code, 403)
        for path in ("/%2e%2e/%2e%2e/etc/passwd", "/index.html", "/api/none", "/..%2fapp.js"):
            self.assertEqual(page.run(f"fetch({json.dumps(path)}).then(r => r.status)"), 404, path)


class Elsewhere(http.server.BaseHTTPRequestHandler):
    """A page of some other site."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>elsewhere</title>")

    def log_message(self, *arguments):
        pass


class Pictures(InspectorTest):
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
        program = os.path.join(os.path.dirname(os.path.abspath(TOOL)), "Scorebook")
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
    global TOOL, BROWSER
    arguments = sys.argv[1:]
    if "--pictures" in arguments:
        place = arguments.index("--pictures")
        Pictures.folder = os.path.abspath(arguments[place + 1])
        os.makedirs(Pictures.folder, exist_ok=True)
        del arguments[place:place + 2]
    TOOL = arguments.pop(0)
    program = chromium.find()
    if program is None:
        sys.exit("There is no Chromium.")
    BROWSER = chromium.Browser(program)
    try:
        tests = unittest.TestLoader()
        suite = unittest.TestSuite([Pictures("test_pictures"), Pictures("test_picture_of_the_show")]) if Pictures.folder else None
        if suite is None:
            names = arguments or tests.getTestCaseNames(InspectorTest)
            suite = unittest.TestSuite(InspectorTest(name) for name in names)
        result = unittest.TextTestRunner(verbosity=2 if arguments else 1).run(suite)
    finally:
        BROWSER.close()
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
