"""What stores may hold, and what may have become of them."""
import base64
import hashlib
import json
import os
import re
import sqlite3
import urllib.request

import house
from page_test import LOOKS, SCREENS, PageTest


class StoresTest(PageTest):
    """Hostile, empty, broken and replaced stores."""

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

    def test_a_picture_is_shown_and_what_only_begins_like_one_is_not(self):
        self.tool.new("album.tally", {"entities": [{"type": "Photo", "fields": {"name": "text", "image": "blob"}}]})
        # A transparent pixel, its first bytes alone with a page behind them, and a drawing that holds a script.
        pixel = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
        values = {"pixel": pixel, "false": pixel[:6] + b"<script>window.harmed = 5</script>", "drawing": b"<svg xmlns='http://www.w3.org/2000/svg' onload='window.harmed = 6'/>"}
        for name, value in values.items():
            self.tool.run("put", "album.tally", f"Photo|~|{name}", f"name={name}", f"image={value.hex()}")
        _, page = self.inspect("album.tally")
        drawn = "[...document.querySelectorAll('main img')].map(image => [image.naturalWidth, image.alt]).join()"
        bytes_of = lambda value: f"{value[:32].hex()}"
        for address in ("#/data?store=0&type=Photo", "#/record?name=Photo%7C~%7Cpixel"):
            self.show(page, address)
            page.wait(f"{drawn} === '1,image/gif, {len(pixel)} B'", address)
        for name in ("false", "drawing"):
            self.show(page, f"#/record?name=Photo%7C~%7C{name}")
            page.wait(f"document.querySelector('main').innerText.includes('{bytes_of(values[name])}')", name)
            self.assertEqual(page.run("document.querySelectorAll('main img').length"), 0)
        self.assertEqual(page.run("window.harmed ?? 0"), 0)
        self.sound(page)

    def test_the_file_of_an_asset_is_shown_if_it_is_a_picture_and_sound(self):
        self.tool.new("album.tally", {"entities": [{"type": "Photo", "fields": {"name": "text", "image": "asset"}}]})
        pixel = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
        drawing = b"<svg xmlns='http://www.w3.org/2000/svg' onload='window.harmed = 7'/>"
        # The same picture with other bytes behind it is another file.
        files = {"pixel.gif": pixel, "damaged.gif": pixel + b"1", "gone.gif": pixel + b"12", "half.gif": pixel[:6] + b"<script>window.harmed = 8</script>", "drawing.svg": drawing}
        for name, value in files.items():
            with open(self.tool.path(name), "wb") as file:
                file.write(value)
            self.tool.run("put", "album.tally", f"Photo|~|{name[:-4]}", f"name={name}", f"image=@{name}")

        def path(name):
            digits = hashlib.sha256(files[name]).hexdigest()
            return self.tool.path(f"album.tally-assets/{digits[:2]}/{digits}{name[-4:]}")

        with open(path("damaged.gif"), "r+b") as file:
            file.write(b"GIF87a")
        os.remove(path("gone.gif"))
        _, page = self.inspect("album.tally")
        drawn = "[...document.querySelectorAll('main img')].map(image => [image.naturalWidth, image.alt]).join()"
        said = lambda words: f"document.querySelector('main').innerText.includes({json.dumps(words)})"
        self.show(page, "#/record?name=Photo%7C~%7Cpixel")
        page.wait(f"{drawn} === '1,picture, {len(pixel)} B'", "the picture")
        self.assertTrue(page.run(said(f"the file is here, {len(pixel)} B")))
        self.assertEqual(page.run(LOOKS), [])
        for name, words in {"damaged": "the file is damaged", "half": "it cannot be drawn", "gone": f"the file is not here, {len(files['gone.gif'])} B",
                            "drawing": f"the file is here, {len(drawing)} B"}.items():
            self.show(page, f"#/record?name=Photo%7C~%7C{name}")
            page.wait(said(words), name)
            self.assertEqual(page.run("document.querySelectorAll('main img').length"), 0, name)
        self.assertEqual(page.run("window.harmed ?? 0"), 0)
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

    def test_any_query_ends(self):
        """SQLite cannot be ended while it compiles a query or calls a function; its process can."""
        self.tool.new("it's.tally", house.PANTRY)
        self.tool.run("put", "it's.tally", "List|~|a", "name=Emma")
        _, page = self.inspect("it's.tally")

        def ask(sql):
            """The status, the answer, and how many seconds it took."""
            return page.run("""(async () => { const began = performance.now();
                const answer = await fetch('/api/query', {method: 'POST', headers: {'Content-Type': 'application/json'},
                    body: JSON.stringify({store: 0, sql: %s})});
                return [answer.status, await answer.json(), (performance.now() - began) / 1000]; })()""" % json.dumps(sql))

        many, doubled = range(1, 41), "t{0}(v) AS (SELECT x.v FROM t{1} x, t{1} y)"
        tables = ", ".join(doubled.format(n, n - 1) for n in many)
        endless = {
            "tables of WITH": "WITH t0 AS (SELECT 1 AS v), %s SELECT count(*) FROM t40" % tables,
            "aliases": "SELECT 1 IN (%s) AS x FROM List WHERE 1 IN (%s)" % (",".join(["1"] * 6000), ",".join(["x"] * 6000)),
            "a function": "SELECT instr(zeroblob(80000000), zeroblob(40000000) || x'01')",
            "rows": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
        }
        for name, sql in endless.items():
            status, answer, seconds = ask(sql)
            self.assertEqual(status, 400, f"{name}: {answer}")
            self.assertIn(answer["error"]["code"], ("tookTooLong", "tooLarge"), name)
            self.assertLess(seconds, 5, name)
        status, answer, _ = ask("SELECT name, length(zeroblob(300000000)) FROM List WHERE name NOT LIKE '%" + "x" * 100 + "'")
        self.assertEqual((status, [value["text"] for value in answer["rows"][0]]), (200, ["Emma", "300000000"]))
        self.assertEqual(ask("SELECT * FROM nowhere")[1]["error"], {"code": "sql", "message": "no such table: nowhere"})
        self.assertEqual(ask("DELETE FROM List")[1]["error"]["code"], "notAQuery")
        self.assertEqual(ask("SELECT count(*) FROM List")[1]["rows"][0][0]["text"], "1")

    def test_many_stores_stand_beside_the_first(self):
        house.pantry(self.tool)
        names = [f"copy{number}.tally" for number in range(4)]
        for name in names:
            self.tool.new(name, house.PANTRY)
        self.tool.run("sync", "phone.tally", names[1])
        _, page = self.inspect("phone.tally", "tablet.tally", *names)
        told = self.text(page, "[aria-label=Results]")
        self.assertIn("Each beside phone.", told)
        self.assertEqual(page.run("document.querySelectorAll('[aria-label=Results] .notice').length"), 5)
        self.assertIn("phone and copy1: Both have seen the same and hold the same.", told)
        self.sound(page)

    def test_a_store_that_cannot_be_read_beside_one_that_can(self):
        house.pantry(self.tool)
        with open(self.tool.path("tablet.tally"), "r+b") as file:
            file.truncate(6000)
        for end in ("-wal", "-shm"):
            if os.path.exists(self.tool.path("tablet.tally" + end)):
                os.remove(self.tool.path("tablet.tally" + end))
        _, page = self.inspect("phone.tally", "tablet.tally", "nobody.tally")
        self.assertIn("nobody.tally", self.text(page))
        for name, address in SCREENS.items():
            for store in (0, 1) if "store=" in address else (None,):
                self.show(page, address if store is None else re.sub("store=\\d", f"store={store}", address))
                told = self.text(page)
                # Each screen says so, except one of the healthy store alone, and the log, in which nothing has happened.
                self.assertEqual("cannot be" in told, store != 0 and name != "log", f"{name} {store}: {told}")
                self.assertNotIn("This cannot be shown", told)
                self.assertTrue(name != "record" or "The app sees it." in told and "Oat milk, organic" in told)
                self.assertEqual(page.run(LOOKS), [], f"{name} {store}")
        self.show(page, "#/data?store=0&type=Item")
        self.assertIn("Coffee beans", self.text(page))
        # From the one to the other with its button.
        self.show(page, "#/conflicts?store=1")
        self.press(page, "[data-key='store 0']")
        page.wait("document.querySelector('main').innerText.includes('title of Item|~|milk')")
        self.sound(page)

    def test_a_store_that_breaks_and_is_mended_is_followed(self):
        house.pantry(self.tool)
        _, page = self.inspect("phone.tally", "tablet.tally")
        self.show(page, "#/conflicts?store=1")
        page.wait("document.querySelector('#live').textContent === 'live'")
        told = self.text(page)
        with open(self.tool.path("tablet.tally"), "r+b") as file:
            whole = file.read()
            file.truncate(6000)
        page.wait("document.querySelector('main').innerText.includes('tablet cannot be read')", "damage is told by itself")
        with open(self.tool.path("tablet.tally"), "r+b") as file:
            file.write(whole)
        page.wait("!document.querySelector('main').innerText.includes('cannot be read')", "it is looked at again by itself")
        self.assertEqual(self.text(page), told)
        # What is written from then on shows.
        self.show(page, "#/record?name=Item%7C~%7Cmilk")
        self.tool.run("put", "tablet.tally", "Item|~|milk", "title=Rice milk")
        page.wait("document.querySelector('main').innerText.includes('Rice milk')")
        self.sound(page)

    def test_a_file_that_was_replaced_is_not_written_to(self):
        house.pantry(self.tool)
        _, page = self.inspect("phone.tally", "--allow-writes")
        self.show(page, "#/record?name=Item%7C~%7Cbeans")
        os.rename(self.tool.path("phone.tally"), self.tool.path("away.tally"))
        self.press(page, "button[data-key='delete 0']")
        page.wait("document.querySelector('[aria-live=assertive]').innerText.includes('somebody has deleted, renamed or replaced it')")
        answer = page.run("""fetch('/api/record/delete', {method: 'POST', body: JSON.stringify({store: 0, name: 'Item|~|beans'})})
          .then(async response => [response.status, (await response.json()).error.code])""")
        self.assertEqual(answer, [409, "gone"])
        self.show(page, "#/data?store=0&type=Item")
        page.wait("document.querySelector('main').innerText.includes('Careful: the file that is open')")
        self.assertIn("Coffee beans", self.text(page))
        os.rename(self.tool.path("away.tally"), self.tool.path("phone.tally"))
        self.show(page, "#/record?name=Item%7C~%7Cbeans")
        self.press(page, "button[data-key='delete 0']")
        page.wait("document.querySelector('main').innerText.includes('It was deleted by phone')")

    def test_a_file_that_gets_another_format_is_not_read_as_before(self):
        house.pantry(self.tool)
        _, page = self.inspect("phone.tally", "tablet.tally", "--allow-writes")
        self.show(page, "#/record?name=Item%7C~%7Cmilk")
        page.wait("document.querySelector('#live').textContent === 'live'")
        told = self.text(page)
        for version, words in ((99, "has format 99; this version knows up to"), (1, "has format 1, from before the first release")):
            before = self.format(version)
            page.wait(f"document.querySelector('main').innerText.includes({json.dumps(words)})", "the format is told by itself")
            # The store beside it answers as ever, and nothing is written to this one.
            self.assertIn("tablet", self.text(page))
            answer = page.run("""fetch('/api/record/delete', {method: 'POST', body: JSON.stringify({store: 0, name: 'Item|~|milk'})})
              .then(async response => [response.status, (await response.json()).error.code])""")
            self.assertEqual(answer, [422, "newerFormat" if version == 99 else "olderFormat"])
            for name, address in SCREENS.items():
                self.show(page, address)
                self.assertNotIn("This cannot be shown", self.text(page), name)
                self.assertTrue(name in ("log", "hidden") or words in self.text(page), f"{name}: {self.text(page)}")
            self.show(page, "#/record?name=Item%7C~%7Cmilk")
            self.format(before)
            page.wait(f"!document.querySelector('main').innerText.includes({json.dumps(words)})", "it is read again by itself")
        self.assertEqual(self.text(page), told)
        self.assertEqual([line for line in page.complaints() if "Failed to load resource" not in line], [])

    def format(self, version):
        """Sets the version of the file's format, as another program does. Returns the one before."""
        connection = sqlite3.connect(self.tool.path("phone.tally"))
        before = connection.execute("PRAGMA user_version").fetchone()[0]
        connection.execute(f"PRAGMA user_version = {version}")
        connection.commit()
        connection.close()
        return before

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
