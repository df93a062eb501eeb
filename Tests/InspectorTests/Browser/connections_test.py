"""Pages and the server: what is live, tabs, a server that was away, and who is kept out."""
import http.server
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import chromium
import house
from page_test import PageTest


class ConnectionsTest(PageTest):
    """What happens while a page is open."""

    def test_what_another_program_writes_shows_by_itself(self):
        house.pantry(self.tool)
        _, page = self.inspect("phone.tally", "tablet.tally")
        self.show(page, "#/record?name=Item%7C~%7Cmilk")
        page.wait("document.querySelector('#live').textContent === 'live'")
        # The moment is taken inside the page, so that asking costs nothing. The shortest of some times counts, since other
        # programs run beside; each has an upper limit.
        delays = []
        for kind in ["Barley", "Hemp", "Pea", "Soy", "Almond"]:
            page.run("""(() => { window.seen = null; const look = new MutationObserver(() => {
              if (document.querySelector('main').innerText.includes('%s milk')) { window.seen ??= Date.now(); look.disconnect(); } });
              look.observe(document.querySelector('main'), {subtree: true, childList: true, characterData: true}); })()""" % kind)
            self.tool.run("put", "phone.tally", "Item|~|milk", f"title={kind} milk")
            committed = time.time()
            page.wait("window.seen", "the edit is seen")
            delays.append(page.run("window.seen") / 1000 - committed)
        print(f"\nlive edits were seen {', '.join(f'{delay:.3f}' for delay in delays)} s after the tool had ended", file=sys.stderr)
        self.assertLess(min(delays), 0.2)
        self.assertLess(max(delays), 2)
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

    def test_enter_prints_an_address_for_another_browser(self):
        house.pantry(self.tool)
        inspected, _ = self.inspect("phone.tally", has_terminal=True)
        other = self.browser.page()
        self.addCleanup(other.close)
        other.go(inspected.address)
        other.wait("document.body.innerText.includes('this address was opened before') && document.body.innerText.includes('Press Enter')")
        addresses = {inspected.address}
        for _ in range(2):
            inspected.press_enter()
            addresses.add(inspected.line())
        self.assertEqual(len(addresses), 3)
        self.assertEqual({address.split("?")[0] for address in addresses}, {inspected.base + "/"})
        other.go((addresses - {inspected.address}).pop())
        other.wait("document.querySelector('#main')?.dataset.ready", "the other browser is let in")

    def test_what_stands_on_standard_input_of_a_script_is_left_there(self):
        house.pantry(self.tool)
        done = subprocess.run(
            ["sh", "-c", 'exec 3<&0; "$0" inspect phone.tally <&3 >out & until [ -s out ]; do sleep 0.05; done; kill $!; wait $!; cat', self.tool.program],
            cwd=self.tool.folder, input="first\nsecond\n", capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout, "first\nsecond\n", done.stderr)

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
        program = os.path.join(os.path.dirname(os.path.abspath(self.tool_path)), "Scorebook")
        inspected, page = self.inspect("show", program=program)
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
        # A device that somebody has ended is said to be that, and has nothing to switch.
        device = subprocess.check_output(["pgrep", "-P", str(inspected.process.pid), "-f", "device tablet"], text=True)
        os.kill(int(device), signal.SIGKILL)
        self.show(page, "#/peers")
        page.wait("document.querySelector('main').innerText.includes('Its program has ended.')")
        press("tablet edit")
        page.wait("!document.querySelector(\"[data-key='control tablet edit']\")", "its switches go")

    def test_a_tab_that_nobody_sees_gives_up_its_connection(self):
        house.pantry(self.tool)
        inspected, page = self.inspect("phone.tally", "tablet.tally")
        self.show(page, "#/record?name=Item%7C~%7Cmilk")
        page.wait("document.querySelector('#live').textContent === 'live'")
        stream = next(event["requestId"] for event in page.mine("Network.requestWillBeSent") if event["request"]["url"].endswith("/api/events"))
        other = self.browser.page(beside=page)
        other.come_to_front()
        page.wait("document.hidden", "the tab behind is hidden")
        page.wait_for(lambda: any(event["requestId"] == stream for event in page.mine("Network.loadingFailed")), "the stream is given up")
        other.go(inspected.base + "/#/record?name=Item%7C~%7Cmilk")
        other.wait("document.querySelector('#live')?.textContent === 'live' && document.querySelector('#main').innerText.includes('Oat milk, organic')")
        updates = page.run("document.querySelector('#main').dataset.updates")
        self.tool.run("put", "phone.tally", "Item|~|milk", "title=Barley milk")
        other.wait("document.querySelector('#main').innerText.includes('Barley milk')", "the tab in front follows")
        self.assertEqual(page.run("document.querySelector('#main').dataset.updates"), updates)
        self.assertNotIn("Barley milk", self.text(page))
        page.come_to_front()
        page.wait("document.querySelector('#main').innerText.includes('Barley milk')", "the tab has caught up")
        page.wait("document.querySelector('#live').textContent === 'live'")
        other.close_tab()
        self.tool.run("put", "phone.tally", "Item|~|milk", "title=Rice milk")
        page.wait("document.querySelector('#main').innerText.includes('Rice milk')", "the tab follows again")
        self.sound(page)

    def test_many_tabs_answer(self):
        house.pantry(self.tool)
        inspected, page = self.inspect("phone.tally", "tablet.tally")
        tabs = [self.browser.page(beside=page) for _ in range(9)]
        for tab in tabs:
            tab.come_to_front()
            tab.go(inspected.base + "/#/data?store=0&type=Item")
            tab.wait("document.querySelector('#main')?.innerText.includes('Coffee beans')", "a tab answers")
        for tab in tabs:
            tab.close_tab()
        page.come_to_front()
        page.wait("document.querySelector('#live').textContent === 'live'")

    def test_a_page_comes_back_with_the_server(self):
        house.pantry(self.tool)
        inspected = house.Inspected(self.tool, "phone.tally", "tablet.tally")
        self.addCleanup(lambda: self.assertEqual(inspected.close(), 0))
        proxy = house.Proxy(inspected.port)
        page = self.browser.page()
        self.addCleanup(page.close)
        page.go(inspected.address.replace(str(inspected.port), str(proxy.port), 1))
        page.wait("document.querySelector('#live')?.textContent === 'live'")
        self.show(page, "#/record?name=Item%7C~%7Cmilk")
        proxy.close()
        page.wait("document.querySelector('#live').textContent === 'not connected'")
        self.tool.run("put", "phone.tally", "Item|~|milk", "title=Barley milk")
        # What is asked for meanwhile says why there is no answer.
        self.show(page, "#/conflicts?store=0")
        self.assertIn("The inspector does not answer", self.text(page))
        proxy.open()
        self.addCleanup(proxy.close)
        page.wait("document.querySelector('#live').textContent === 'live'", "it is connected again")
        page.wait("document.querySelector('main').innerText.includes('title of Item|~|milk')", "the screen that had failed")
        self.show(page, "#/record?name=Item%7C~%7Cmilk")
        self.assertIn("Barley milk", self.text(page))
        self.tool.run("put", "phone.tally", "Item|~|milk", "title=Rice milk")
        page.wait("document.querySelector('main').innerText.includes('Rice milk')", "it follows again")
        self.assertEqual([line for line in page.complaints() if "net::" not in line], [])

    def test_a_page_says_when_the_inspector_is_gone(self):
        house.pantry(self.tool)
        inspected = house.Inspected(self.tool, "phone.tally")
        page = self.browser.page()
        self.addCleanup(page.close)
        page.go(inspected.address)
        page.wait("document.querySelector('#live')?.textContent === 'live'")
        self.assertEqual(inspected.close(), 0)
        page.wait("document.querySelector('#live').textContent === 'not connected'")

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
        self.assertIn("this address was opened before", refused.exception.read().decode())
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
