"""Stores to look at, and an inspector over them: what the browser tests run beside themselves."""
import fcntl
import json
import os
import pty
import shutil
import socket
import subprocess
import tempfile
import termios
import threading
import urllib.parse


class Tool:
    """The built tool, in a folder of its own."""

    def __init__(self, program):
        self.program = os.path.abspath(program)
        self.folder = tempfile.mkdtemp(prefix="tally-inspected-")

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *arguments, text=None, codes=(0,)):
        done = subprocess.run(
            [self.program, *arguments], cwd=self.folder, input=text, capture_output=True, text=True, encoding="utf-8", check=False)
        if done.returncode not in codes:
            raise AssertionError(f"tally {' '.join(arguments)[:200]}: {done.returncode} {done.stderr[:500]}")
        return done.stdout

    def new(self, name, schema):
        with open(self.path("schema.json"), "w", encoding="utf-8") as file:
            json.dump(schema, file)
        self.run("new", name, "--schema", "schema.json")

    def shell(self, schema, lines):
        """Many commands in one process, which all must succeed."""
        with open(self.path("schema.json"), "w", encoding="utf-8") as file:
            json.dump(schema, file)
        answers = self.run("shell", "--schema", "schema.json", text="\n".join(lines) + "\n").splitlines()
        failed = [(line, answer) for line, answer in zip(lines, answers) if '"error"' in answer]
        if failed or len(answers) != len(lines):
            raise AssertionError(f"tally shell: {failed[:3]}, {len(answers)} answers to {len(lines)} lines")

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class Inspected:
    """An inspector over stores, or another program that prints its address, until it is closed."""

    def __init__(self, tool, *arguments, program=None, has_terminal=False):
        command = [program, *arguments] if program else [tool.program, "inspect", *arguments]
        self.expected = 0 if program else 143
        # A terminal of its own to press Enter at, in whose foreground it is.
        self.terminal, inside = pty.openpty() if has_terminal else (None, subprocess.DEVNULL)
        own = {"start_new_session": True, "preexec_fn": lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)} if has_terminal else {}
        self.process = subprocess.Popen(
            command, cwd=tool.folder, stdin=inside, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **own)
        if has_terminal:
            os.close(inside)
        self.address = self.line()
        if not self.address.startswith("http://127.0.0.1:"):
            self.process.kill()
            raise AssertionError(f"the inspector says: {self.address} {self.process.communicate()[1]}")
        parts = urllib.parse.urlsplit(self.address)
        self.port = parts.port
        self.base = f"http://127.0.0.1:{parts.port}"

    def line(self):
        """The next address that it prints, or another line of it."""
        return self.process.stdout.readline().strip().removeprefix("Open ")

    def press_enter(self):
        os.write(self.terminal, b"\n")

    def close(self):
        """Asks it to end. Returns 0 if it has ended as it should: the tool says by which signal, the show does not."""
        self.process.terminate()
        self.process.communicate(timeout=60)
        if self.terminal is not None:
            os.close(self.terminal)
        return 0 if self.process.returncode == self.expected else self.process.returncode or -1


class Proxy:
    """Stands between a browser and an inspector, under a port of its own, and can be away for a while."""

    def __init__(self, port):
        self.behind = port
        self.port = 0
        self.connections = []
        self.lock = threading.Lock()
        self.open()

    def open(self):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(64)
        self.listener, self.port = listener, listener.getsockname()[1]
        # Ports of as many digits, so that replacing one by the other changes no length.
        assert len(str(self.port)) == len(str(self.behind))
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            gone, self.connections = self.connections, []
        for connection in gone:
            self._end(connection)

    def _accept(self, listener):
        while True:
            try:
                browser, _ = listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.behind))
            with self.lock:
                self.connections += [browser, server]
            threading.Thread(target=self._pass, args=(browser, server, True), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, browser, False), daemon=True).start()

    def _pass(self, one, other, is_request):
        try:
            while piece := one.recv(1 << 16):
                if is_request:
                    piece = piece.replace(f"127.0.0.1:{self.port}".encode(), f"127.0.0.1:{self.behind}".encode())
                other.sendall(piece)
        except OSError:
            pass
        self._end(one)
        self._end(other)

    @staticmethod
    def _end(connection):
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


PANTRY = {"entities": [
    {"type": "List", "fields": {"name": "text"}},
    {"type": "Item", "fields": {"title": "text", "quantity": "integer", "note": "text", "price": "real", "bought": "bool"},
     "references": {"list": {"to": "List", "onDelete": "cascade"}}, "relationships": {"tags": {"to": "Tag"}}},
    {"type": "Tag", "fields": {"name": "text"}}]}
OLDER = {"entities": [{"type": "Item", "fields": {"title": "text", "quantity": "integer"}}]}

HOSTILE = "<script>window.harmed = 1</script><img src=x onerror='window.harmed = 2'>"


def pantry(tool):
    """Phone and tablet, with something of everything: conflicts, deletes, owners, links, and what only one has."""
    lines = ["new phone phone.tally", "new tablet tablet.tally"]
    lines += ["put phone 'List|~|home' name=Home", "put phone 'List|~|party' name=Party", "put phone 'Tag|~|diet' name=Diet"]
    for key, title, amount, owner in (("milk", "Oat milk", 2, "home"), ("bread", "Rye bread", 1, "home"), ("cake", "Birthday cake", 1, "party"), ("tea", "Green tea", 3, "home")):
        lines.append(f"put phone 'Item|~|{key}' 'title={title}' quantity={amount} 'list=List|~|{owner}' price:=2.5")
    lines += ["link phone 'Item|~|milk' tags 'Tag|~|diet'", "sync phone tablet"]
    # Concurrent: two titles, an amount, a delete against an edit, a list that goes with what it owns.
    lines += [
        "put tablet 'Item|~|milk' 'title=Soy milk' quantity=4", "put phone 'Item|~|bread' 'note=from the baker'",
        # The phone's second write since the sync, so it is later than the tablet's first even within one millisecond.
        "put phone 'Item|~|milk' 'title=Oat milk, organic'", "delete tablet 'Item|~|bread'", "delete tablet 'List|~|party'",
        "delete tablet 'Item|~|tea'", "sync phone tablet"]
    # What only one of the two has.
    lines += ["put phone 'Item|~|beans' 'title=Coffee beans' 'list=List|~|home'", "put tablet 'Item|~|milk' quantity=6"]
    tool.shell(PANTRY, lines)


def hostile(tool):
    """Values that want to harm, are very long, or run from right to left; and a type of a thousand columns."""
    wide = {"type": "Wide", "fields": {f"column{number:04}": "text" for number in range(1000)}}
    schema = {"entities": [{"type": "Item", "fields": {"title": "text", "body": "text", "icon": "blob"}}, wide]}
    tool.new("hostile.tally", schema)
    rows = [
        {"name": "Item|~|script", "fields": {"title": HOSTILE, "body": "</textarea></script><svg onload=window.harmed=3>"}},
        {"name": "Item|~|rtl", "fields": {"title": "\u202egnirts desrever\u202c \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627", "body": "\u200bzero\u200b width"}},
        {"name": "Item|~|long", "fields": {"title": "one mebibyte", "body": "x" * (1 << 20)}},
        {"name": "Item|~|nul", "fields": {"title": "before\u0000after\u0007\u001b[31m", "body": "line\nbreak\ttab"}},
        {"name": "Item|~|<b>&'\"`${}", "fields": {"title": "a name like markup"}},
        {"name": "Wide|~|w", "fields": {f"column{number:04}": f"value {number}" for number in range(1000)}},
    ]
    tool.run("import", "hostile.tally", "-", text="\n".join(json.dumps(row) for row in rows))
