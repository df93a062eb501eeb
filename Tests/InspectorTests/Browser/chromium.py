"""Drives a headless Chromium by its own protocol, over a pipe, with Python's library alone.

https://chromedevtools.github.io/devtools-protocol/
"""
import base64
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time

# Generous: the machine may be busy with something else. What takes long fails by its own condition.
TIME_LIMIT = 60


def find():
    """The browser's program, or None."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return path
    return None


class ProtocolError(Exception):
    """What the browser answered instead of a result."""


class Browser:
    """A browser with a profile of its own, which goes with it."""

    def __init__(self, program):
        self.profile = tempfile.mkdtemp(prefix="tally-browser-")
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        arguments = [
            program, "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={self.profile}", "--no-first-run",
            "--disable-gpu", "--disable-extensions", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", "--mute-audio", "--hide-scrollbars", "--disable-dev-shm-usage", "--force-color-profile=srgb",
        ]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")

        def descriptors():
            # Chromium reads commands from 3 and writes to 4. The two may lie where the other goes.
            spare = (os.dup(to_browser), os.dup(from_browser))
            os.dup2(spare[0], 3)
            os.dup2(spare[1], 4)

        self.process = subprocess.Popen(
            arguments, preexec_fn=descriptors, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.lock = threading.Lock()
        self.number = 0
        self.answers = {}
        self.events = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        rest = b""
        while True:
            try:
                piece = os.read(self.input, 1 << 16)
            except OSError:
                piece = b""
            if not piece:
                for answer in list(self.answers.values()):
                    answer.put({"error": {"message": "the browser went away"}})
                return
            *messages, rest = (rest + piece).split(b"\0")
            for message in messages:
                content = json.loads(message)
                if "id" in content:
                    self.answers.pop(content["id"]).put(content)
                else:
                    self.events.append(content)

    def ask(self, method, session=None, **parameters):
        answer = queue.Queue()
        with self.lock:
            self.number += 1
            message = {"id": self.number, "method": method, "params": parameters}
            if session:
                message["sessionId"] = session
            self.answers[self.number] = answer
            os.write(self.output, json.dumps(message).encode() + b"\0")
        content = answer.get(timeout=TIME_LIMIT)
        if "error" in content:
            raise ProtocolError(f"{method}: {content['error']['message']}")
        return content["result"]

    def page(self, width=1280, height=900, beside=None):
        """A page in a context of its own, with cookies of its own; or a tab beside another page, in front of it."""
        context = beside.context if beside else self.ask("Target.createBrowserContext")["browserContextId"]
        target = self.ask("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Page(self, context, target, session, width, height)

    def close(self):
        try:
            self.ask("Browser.close")
            self.process.wait(timeout=TIME_LIMIT)
        except (ProtocolError, queue.Empty, BrokenPipeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.output)
        shutil.rmtree(self.profile, ignore_errors=True)


class Page:
    """One page, and what happened in it."""

    def __init__(self, browser, context, target, session, width, height):
        self.browser, self.context, self.target, self.session = browser, context, target, session
        for domain in ("Page", "Runtime", "Log", "Network", "DOM", "Accessibility"):
            self.ask(f"{domain}.enable")
        self.resize(width, height)

    def ask(self, method, **parameters):
        return self.browser.ask(method, self.session, **parameters)

    def close(self):
        self.browser.ask("Target.disposeBrowserContext", browserContextId=self.context)

    def close_tab(self):
        """Closes this tab alone, not those beside it."""
        self.browser.ask("Target.closeTarget", targetId=self.target)

    def come_to_front(self):
        self.ask("Page.bringToFront")

    def resize(self, width, height):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def scheme(self, name):
        """Light or dark."""
        self.ask("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": name}, {"name": "prefers-reduced-motion", "value": "reduce"}])

    def go(self, url):
        self.ask("Page.navigate", url=url)

    def run(self, script):
        """The value of an expression, which may be a promise."""
        answer = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise ProtocolError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait(self, condition, what=None):
        """Waits, in the page itself, until an expression is true. A page that goes on to another is asked anew."""
        script = f"""new Promise((resolve, reject) => {{
          const end = performance.now() + {TIME_LIMIT * 500};
          const look = () => {{
            let value;
            try {{ value = ({condition}); }} catch (error) {{ value = false; }}
            if (value) resolve(true);
            else if (performance.now() > end) reject(new Error("waited in vain"));
            else setTimeout(look, 15);
          }};
          look();
        }})"""
        for attempt in range(20):
            try:
                return self.run(script)
            except ProtocolError as error:
                gone = any(word in str(error) for word in ("navigated", "context was destroyed", "Cannot find context"))
                if not gone or attempt == 19:
                    shown = self.run("document.body?.innerText ?? ''") or ""
                    raise AssertionError(f"{what or condition}: {error}\nThe page shows:\n{shown[:3000]}") from error
        return None

    def wait_for(self, condition, what):
        """Waits for something that the browser tells, asking the page in between."""
        end = time.monotonic() + TIME_LIMIT
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"{what}: waited in vain")
            self.run("new Promise(resolve => setTimeout(resolve, 15))")

    def key(self, key, code=None, text=None):
        parameters = {"key": key, "code": code or key}
        if text:
            parameters["text"] = text
        codes = {"Enter": 13, "Tab": 9, "Escape": 27}
        if key in codes:
            parameters["windowsVirtualKeyCode"] = codes[key]
        if key == "Enter":
            parameters["text"] = "\r"
        self.ask("Input.dispatchKeyEvent", type="keyDown", **parameters)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, code=code or key)

    def type(self, text):
        self.ask("Input.insertText", text=text)

    def picture(self, path, is_whole=False):
        data = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=is_whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def mine(self, method):
        return [event["params"] for event in list(self.browser.events)
                if event.get("sessionId") == self.session and event["method"] == method]

    def complaints(self):
        """Errors of scripts, of the console and of the policy on contents."""
        found = [entry["exceptionDetails"].get("exception", {}).get("description", "?")
                 for entry in self.mine("Runtime.exceptionThrown")]
        found += [f"console: {entry['args']}" for entry in self.mine("Runtime.consoleAPICalled") if entry["type"] in ("error", "warning")]
        found += [f"log: {entry['entry']['text']} {entry['entry'].get('url', '')}"
                  for entry in self.mine("Log.entryAdded") if entry["entry"]["level"] in ("error", "warning")]
        return found

    def requested(self):
        """The addresses of everything that was asked for."""
        return [entry["request"]["url"] for entry in self.mine("Network.requestWillBeSent")]

    def names(self):
        """Role and name of everything that assistive technology is told of."""
        nodes = self.ask("Accessibility.getFullAXTree")["nodes"]
        return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes
                if not node.get("ignored") and "role" in node]
