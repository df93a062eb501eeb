"""The screens: what they tell, for everybody."""
import json
import os
import urllib.request

import house
from page_test import LOOKS, SCREENS, PageTest


class ScreensTest(PageTest):
    """What each screen answers, and that everybody can read and use it."""

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

    def test_arrows_lead_into_what_proves_what_it_had_seen(self):
        house.pantry(self.tool)
        self.tool.run("sync", "phone.tally", "tablet.tally")
        self.tool.run("unlink", "tablet.tally", "Item|~|milk", "tags", "Tag|~|diet")
        _, page = self.inspect("phone.tally", "tablet.tally")
        arrows = "document.querySelectorAll('svg.lanes path.seen').length"
        # Two edits after each other say nothing; the tablet's removal says that it had seen the phone's link.
        self.show(page, "#/record?name=Item%7C~%7Cmilk")
        self.assertEqual(page.run(arrows), 1)
        self.assertIn("tags −", page.run("document.querySelector('svg.lanes').getAttribute('aria-label')"))
        self.assertIn("1 was seen by a delete or removal", page.run("document.querySelector('svg.lanes').getAttribute('aria-label')"))
        # The tablet's delete had seen what the phone wrote.
        self.show(page, "#/record?name=Item%7C~%7Ctea")
        self.assertEqual(page.run(arrows), 1)
        self.sound(page)

    def test_a_removal_of_content_has_a_dot(self):
        house.pantry(self.tool)
        self.tool.run("purge", "tablet.tally", "List|~|party")
        self.tool.run("sync", "phone.tally", "tablet.tally")
        _, page = self.inspect("phone.tally", "tablet.tally", "--allow-writes")
        for name in ("List%7C~%7Cparty", "Item%7C~%7Ccake"):
            self.show(page, f"#/record?name={name}")
            self.assertIn("purge", page.run("document.querySelector('svg.lanes').getAttribute('aria-label')"))
            self.assertIn("It cannot be restored.", self.text(page))
            self.assertFalse(page.run("document.querySelector(\"button[data-key='restore 0']\") !== null"), name)
        self.show(page, "#/time?store=0")
        self.assertIn("content removed for good", self.text(page))
        self.sound(page)

    def test_broken_lines_are_drawn_where_neither_had_seen_the_other(self):
        house.pantry(self.tool)
        self.tool.run("sync", "phone.tally", "tablet.tally")
        for store in ("phone.tally", "tablet.tally"):
            self.tool.run("delete", store, "Item|~|beans")
        self.tool.run("sync", "phone.tally", "tablet.tally")
        _, page = self.inspect("phone.tally", "tablet.tally")
        broken = "document.querySelectorAll('svg.lanes path.unseen').length"
        # Two titles were written at the same time: the journal says so.
        self.show(page, "#/record?name=Item%7C~%7Cmilk")
        self.assertEqual(page.run(broken), 1)
        # Two deletes, each with what its author had seen.
        self.show(page, "#/record?name=Item%7C~%7Cbeans")
        self.assertEqual(page.run(broken), 1)
        # A delete that had seen all there was.
        self.show(page, "#/record?name=Item%7C~%7Ctea")
        self.assertEqual(page.run(broken), 0)
        self.sound(page)

    def test_a_slow_clock_breaks_no_line(self):
        program = os.path.join(os.path.dirname(os.path.abspath(self.tool_path)), "Scorebook")
        _, page = self.inspect("show", program=program)
        ask = lambda path: page.run(f"fetch({json.dumps(path)}).then(answer => answer.json())")
        press = lambda name: self.press(page, f"[data-key='control {name}']")
        page.wait("document.querySelectorAll('#controls button').length > 12")
        for name, on in (("phone edits", "false"), ("tablet edits", "false"), ("tablet clock", "true")):
            press(name)
            page.wait(f"document.querySelector(\"[data-key='control {name}']\").getAttribute('aria-checked') === '{on}'", name)
        self.show(page, "#/compare?first=0&second=1")
        page.wait("document.querySelector('main').innerText.includes('Both have seen the same and hold the same.')")
        tablet = next(number for number, store in enumerate(ask("/api/stores")["stores"]) if store["name"] == "tablet")
        # The tablet, two hours ahead, deletes a game and brings it back. Then the phone, which has seen both, edits it.
        hidden = lambda: ask(f"/api/rows?store={1 - tablet}&type=SBGame&hidden=1")["rows"]
        press("tablet delete")
        page.wait_for(hidden, "the phone has the delete")
        name = hidden()[0]["name"]
        press("tablet undelete")
        page.wait_for(lambda: not hidden(), "the phone has the game again")
        address = urllib.request.quote(name)

        def edits():
            """The phone's edits, by its clock from before the delete that it had seen."""
            press("phone edit")
            report = ask(f"/api/record?name={address}")["stores"][1 - tablet]
            delete, = report["deletes"]
            others = [field["written"] for field in report["fields"] if field["written"]["by"] != delete["written"]["by"]]
            return [edit for edit in others if edit["sequence"] > delete["context"].get(edit["by"], 0) and edit["at"] < delete["written"]["at"]]

        page.wait_for(edits, "an edit of the game")
        self.show(page, f"#/record?name={address}")
        self.assertIn("delete", page.run("document.querySelector('svg.lanes').getAttribute('aria-label')"))
        self.assertEqual(page.run("document.querySelectorAll('svg.lanes path.unseen').length"), 0)
        self.sound(page)

    def test_a_search_follows_what_happens(self):
        house.pantry(self.tool)
        _, page = self.inspect("phone.tally", "tablet.tally")
        page.wait("document.querySelector('#live').textContent === 'live'")
        self.show(page, "#/search?q=Latecomer")
        page.wait("document.querySelector('main').innerText.includes('Nothing of that name')")
        self.tool.run("put", "tablet.tally", "Item|~|late", "title=Latecomer")
        page.wait("/Latecomer[\\s\\S]*tablet: shown/.test(document.querySelector('[aria-label=Results]').innerText)", "the record is found")
        self.tool.run("delete", "tablet.tally", "Item|~|late")
        page.wait("document.querySelector('[aria-label=Results]').innerText.includes('tablet: not shown')", "the record is gone")
        self.sound(page)

    def test_what_goes_with_its_owner_is_compared(self):
        house.pantry(self.tool)
        self.tool.run("put", "phone.tally", "List|~|trip", "name=Trip")
        self.tool.run("put", "phone.tally", "Item|~|tent", "title=Tent", "list=List|~|trip")
        self.tool.run("sync", "phone.tally", "tablet.tally")
        self.tool.run("delete", "tablet.tally", "List|~|trip")
        _, page = self.inspect("phone.tally", "tablet.tally")
        self.show(page, "#/compare?first=0&second=1")
        self.assertIn("With it phone shows, and tablet does not: Item|~|tent", self.text(page))
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
        # The way to a query of one's own.
        self.show(page, "#/data?store=0&type=Item")
        self.press(page, "[data-key=ask]")
        page.wait("document.querySelector('#sql')?.value === 'SELECT * FROM \"Item\" LIMIT 50'")
        self.press(page, "#ask button")
        page.wait("document.querySelector('[aria-label=\"Result of the query\"]')?.innerText.includes('Coffee beans')")
        self.assertIn("id, bought, note, price, quantity, title, list", self.text(page, "[aria-label='Tables of phone']"))
        for sql, words in (("SELECT count(*) AS n FROM Item", "Result of the query"), ("DELETE FROM Item", "only SELECT"), ("SELECT missing", "no such column")):
            page.run(f"document.querySelector('#sql').value = {json.dumps(sql)}")
            self.press(page, "#ask button")
            page.wait(f"document.querySelector('main').textContent.includes({json.dumps(words)})", sql)
        # A query that is refused is an answer of 400, which the browser notes as such.
        self.assertEqual([line for line in page.complaints() if "Failed to load resource" not in line], [])

    def test_rows_are_sorted_by_a_column(self):
        house.pantry(self.tool)
        _, page = self.inspect("phone.tally", "tablet.tally")
        self.show(page, "#/data?store=0&type=Item")
        names = lambda: page.run("[...document.querySelectorAll('tbody th')].map(e => e.innerText.slice(7)).join()")
        newest = names()
        for key, order, expected in (("title", "ascending", "beans,milk,bread"), ("title", "descending", "bread,milk,beans"), ("title", "none", newest),
                                     ("quantity", "ascending", "bread,milk,beans"), ("id", "ascending", "beans,bread,milk"), ("id", "descending", "milk,bread,beans")):
            self.press(page, f"[data-key='sort {key}']")
            page.wait(f"(document.querySelector('th[aria-sort]')?.getAttribute('aria-sort') ?? 'none') === '{order}' && [...document.querySelectorAll('tbody th')].map(e => e.innerText.slice(7)).join() === '{expected}'", f"{key} {order}: {names()}")
        # What is written meanwhile takes its place.
        self.tool.run("put", "phone.tally", "Item|~|zest", "title=Lemon zest")
        page.wait("document.querySelector('tbody th').innerText === 'Item|~|zest'")
        self.press(page, "[data-key=hidden]")
        page.wait("document.querySelector('main').innerText.includes('hidden by its owner')")
        self.assertEqual(page.run("document.querySelectorAll('th button').length"), 0)
        self.sound(page)

    def test_one_store_alone_prints_nothing_for_what_there_is_not(self):
        house.pantry(self.tool)
        _, page = self.inspect("phone.tally", "--allow-writes")
        words = """(() => { const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
            while (walker.nextNode()) if (!walker.currentNode.parentElement.closest('.value, pre, textarea') && /^(null|undefined|NaN|\\[object.*)$/.test(walker.currentNode.data.trim())) found.push(walker.currentNode.data);
            return found; })()"""
        for name, address in SCREENS.items():
            if name != "compare":
                self.show(page, address.replace("store=1", "store=0"))
                self.assertEqual(page.run(words), [], name)
        page.run("document.querySelector('main').append(null)")
        self.assertEqual(page.run(words), ["null"])
        self.sound(page)

    def test_a_conflict_of_two_stores_is_counted_and_offered_once(self):
        house.pantry(self.tool)
        self.tool.run("sync", "phone.tally", "tablet.tally")
        _, page = self.inspect("phone.tally", "tablet.tally", "--allow-writes")
        counts = page.run("fetch('/api/stores').then(answer => answer.json()).then(answer => answer.stores.map(store => store.overview.conflicts))")
        ids = set()
        for store in (0, 1):
            ids.update(page.run(f"fetch('/api/conflicts?store={store}').then(answer => answer.json()).then(answer => answer.conflicts.map(conflict => conflict.id))"))
        self.assertLess(len(ids), sum(counts))
        self.assertEqual(page.run("document.querySelector('nav .count').innerText"), str(len(ids)))
        self.show(page, "#/record?name=Item%7C~%7Cmilk")
        offers = lambda: page.run("[...document.querySelectorAll('tbody tr')].find(e => e.querySelector('th').innerText === 'title').querySelectorAll('button').length")
        self.assertEqual(offers(), 1)
        self.assertIn("phone, tablet: Soy milk", self.text(page))
        self.press(page, "button[aria-label='Take back the lost value of title']")
        page.wait("/^title\\tSoy milk/m.test(document.querySelector('main').innerText)", "it is taken back")
        self.sound(page)

    def test_a_query_that_was_given_up_makes_room_for_the_next(self):
        house.pantry(self.tool)
        _, page = self.inspect("phone.tally", "tablet.tally")
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

        def ask(sql):
            page.run(f"document.querySelector('#sql').value = {json.dumps(sql)}")
            self.press(page, "#ask button")

        self.show(page, "#/sql?store=0")
        asked = lambda count: page.wait_for(lambda: sum(event["request"]["url"].endswith("/api/query") for event in page.mine("Network.requestWillBeSent")) == count, "a query is on its way")
        ask(endless)
        asked(1)
        ask("SELECT 'the second'")
        page.wait("document.querySelector('[aria-label=\"Result of the query\"]')?.innerText.includes('the second')")
        # Whoever goes to another screen gives up the query, too.
        ask(endless)
        asked(3)
        self.show(page, "#/time?store=0")
        self.show(page, "#/sql?store=0")
        ask("SELECT 'the fourth'")
        page.wait("document.querySelector('[aria-label=\"Result of the query\"]')?.innerText.includes('the fourth')")
        self.sound(page)

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

    def test_what_took_several_steps_offers_no_page_too_many(self):
        house.pantry(self.tool)
        _, page = self.inspect("phone.tally", "tablet.tally")
        # The server is too fast for this: the first of two steps is made to end early, with a place to go on from.
        page.run("""(() => { const ask = window.fetch; window.steps = 0; window.fetch = async (path, options) => {
          const response = await ask(path, options), address = new URL(path, location);
          if (!(address.pathname === '/api/rows' && address.searchParams.get('text') || address.pathname === '/api/diff' && !(address.searchParams.get('limit') === '1'))) return response;
          const answer = await response.json();
          window.steps += 1;
          if (window.steps === 1) Object.assign(answer, address.pathname === '/api/rows' ? { rows: [], next: '1000000' } : { next: '2:' });
          return new Response(JSON.stringify(answer)); }; })()""")
        for address, words in (("#/data?store=0&type=Item&text=milk", "Item|~|milk"), ("#/compare?first=0&second=1", "Item|~|beans")):
            page.run("window.steps = 0")
            self.show(page, address)
            self.assertEqual(page.run("window.steps"), 2, address)
            self.assertIn(words, self.text(page))
            self.assertEqual(page.run("[...document.querySelectorAll('main button')].filter(e => ['older', 'more'].includes(e.dataset.key)).length"), 0, address)
        # Where the last step has more, a page is offered.
        page.run("window.steps = -1000")
        page.run("""(() => { const ask = window.fetch; window.fetch = async (path, options) => {
          const response = await ask(path, options);
          if (!String(path).startsWith('/api/rows')) return response;
          const answer = await response.json();
          return new Response(JSON.stringify({ ...answer, rows: Array(50).fill(answer.rows[0]), next: '7' })); }; })()""")
        self.show(page, "#/data?store=0&type=Item&text=beans")
        self.assertTrue(page.run("document.querySelector('[data-key=older]') !== null"))
        self.sound(page)

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
