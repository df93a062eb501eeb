"""A relay behind proxies, with the configurations that people copy: relay_proxies.py TOOL [NAME…].

Each proxy that is installed is started with its file of Examples/Relay/Hosting, in which only ports, certificates and names of files
are replaced, and must let through what the protocol needs. All at the same time, since most of it is waiting.
"""

import base64
import hashlib
import http.client
import os
import pathlib
import random
import re
import shutil
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time

root = pathlib.Path(__file__).resolve().parents[1]
hosting = root / "Examples/Relay/Hosting"
certificates = root / "Tests/TransportTests/Certificates"
tool = str(pathlib.Path(sys.argv[1]).resolve())
patience = 120
# What HAProxy adds to an event without `option http-no-delay` is more, in seconds.
longest_delay = 0.15
# How often a stream says something, in seconds: a proxy that hears of a device's end only by writing needs longer.
heartbeat = 20
is_long = int(os.environ.get("TALLY_EFFORT") or 1) > 1


# Below those that systems hand out to whoever asks for any port, as the tests do that run beside this.
ports = iter(random.sample(range(20_000, 32_000), 12_000))


def free_port():
    for port in ports:
        with socket.socket() as it:
            try:
                it.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError("no port is free")


def run(*arguments, status=0, cwd=None):
    done = subprocess.run([tool, *arguments], capture_output=True, text=True, cwd=cwd, stdin=subprocess.DEVNULL)
    assert done.returncode == status, f"tally {' '.join(arguments)}: {done}"
    return done


def until(what, condition):
    end = time.monotonic() + patience
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"not within {patience} seconds: {what}"
        time.sleep(0.05)


class Relay:
    """A relay with a token for one space."""

    def __init__(self, folder):
        self.folder = folder
        self.process = subprocess.Popen(
            [tool, "relay", "--data", "relay.sqlite", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--rate", "10000"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True, cwd=folder)
        ports = {}
        for line in self.process.stdout:
            ports["admin" if line.startswith("health") else "main"] = int(line.rsplit(":", 1)[1])
            if len(ports) == 2:
                break
        self.port, self.admin = ports["main"], ports["admin"]
        run("relay", "token", "--data", "relay.sqlite", "--output", "token", cwd=folder)
        self.address, self.token = (folder / "token").read_text().split()
        self.space = self.address.rsplit("/", 1)[1]

    def metric(self, name):
        connection = http.client.HTTPConnection("127.0.0.1", self.admin, timeout=patience)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return float(re.search(rf"^{name} (\S+)$", text, re.M).group(1))

    def end(self):
        self.process.terminate()
        assert self.process.wait(patience) == 0


class Client:
    """Asks a relay through a proxy that speaks TLS."""

    def __init__(self, relay, port):
        self.relay, self.port = relay, port
        self.context = ssl.create_default_context(cafile=certificates / "authority.pem")
        self.context.set_alpn_protocols(["http/1.1"])

    def connection(self):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=patience, context=self.context)

    def fields(self, token=None):
        return {"Authorization": f"Bearer {token or self.relay.token}"}

    def ask(self, method, path, body=None, token=None, **further):
        fields = self.fields(token) | {name.replace("_", "-"): value for name, value in further.items()}
        if body is not None:
            fields["Content-Digest"] = f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"
        connection = self.connection()
        connection.request(method, f"/v1/spaces/{self.relay.space}{path}", body, fields)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer, content

    def is_up(self):
        try:
            return self.ask("GET", "")[0].status == 200
        except (OSError, http.client.HTTPException):
            return False


def check(name, relay, port):
    """What the protocol needs of a proxy."""
    client = Client(relay, port)
    until(f"{name} passes requests on", client.is_up)
    # The largest body in one request, and parts of it.
    large = os.urandom(4 << 20)
    answer, _ = client.ask("PUT", "/entries/large", large)
    assert answer.status == 201 and answer.headers["Tally-Position"] == "1", (name, answer.status)
    answer, part = client.ask("GET", "/entries/large", Range="bytes=1000000-2000000")
    assert answer.status == 206 and part == large[1000000:2000001], (name, answer.status, len(part))
    # Larger ones in pieces.
    whole = os.urandom(9 << 20)
    for offset in range(0, len(whole), 4 << 20):
        piece = whole[offset:offset + (4 << 20)]
        answer, _ = client.ask("PATCH", "/uploads/larger", piece, Upload_Offset=str(offset), Upload_Length=str(len(whole)))
        assert answer.status == (201 if offset + len(piece) == len(whole) else 204), (name, offset, answer.status)
    answer, content = client.ask("GET", "/entries/larger")
    assert answer.status == 200 and content == whole, (name, answer.status, len(content))
    # Refusals are the relay's own.
    answer, content = client.ask("PUT", "/entries/refused", b"x", token="tally1_" + "A" * 43)
    assert answer.status == 401 and answer.headers["Tally-Problem"] == "unauthenticated" and b"code" in content, (name, answer.status)
    # News while a device waits for it, and none.
    cursor = re.search(rb'"head":"([^"]+)"', client.ask("GET", "")[1]).group(1).decode()
    wait = 60 if is_long else 2
    answer, _ = client.ask("GET", f"/changes?limit=0&wait={wait}&after={cursor}")
    assert answer.status == 204, (name, answer.status)
    late = threading.Timer(0.5, lambda: client.ask("PUT", "/entries/late", b"late"))
    late.start()
    answer, _ = client.ask("GET", f"/changes?limit=0&wait=60&after={cursor}")
    late.join()
    assert answer.status == 200, (name, answer.status)
    # A stream of events: each as it comes.
    connection = client.connection()
    connection.request("GET", f"/v1/spaces/{relay.space}/events?after={cursor}", headers=client.fields() | {"Accept": "text/event-stream"})
    stream = connection.getresponse()
    assert stream.status == 200 and stream.headers["Content-Type"].startswith("text/event-stream"), (name, stream.status)
    delays = []

    def event():
        while True:
            line = stream.readline()
            assert line, f"{name} ends the stream"
            if line.startswith(b"data:"):
                return

    event()
    for number in range(9):
        begin = time.monotonic()
        client.ask("PUT", f"/entries/n{number}", b"x")
        event()
        delays.append(time.monotonic() - begin)
    # A proxy that holds events back does so with each of them; a machine that is busy, with some.
    assert min(delays) < longest_delay, (name, delays)
    # When the device has gone, the relay hears of it: at once, or from Apache when it has written to the device twice in vain.
    assert relay.metric("tally_relay_streams") >= 1
    connection.close()
    stream.close()
    begin = time.monotonic()
    until(f"{name} ends the stream of a device that has gone", lambda: relay.metric("tally_relay_streams") == 0)
    end = time.monotonic() - begin
    assert name == "apache" or end < heartbeat, (name, end)
    return f"an event came {statistics.median(delays) * 1000:.0f} ms after its put began; a stream ended {end:.1f} s after its device had gone"


class Proxy:
    def __init__(self, name, folder, relay):
        self.name, self.folder, self.relay = name, folder, relay
        self.port = free_port()
        self.key, self.certificate, self.both = folder / "key.pem", folder / "certificate.pem", folder / "both.pem"
        self.certificate.write_text((certificates / "server.pem").read_text())
        self.key.write_text((certificates / "server.key").read_text())
        self.both.write_text(self.certificate.read_text() + self.key.read_text())

    def sample(self, file, replacements):
        text = (hosting / file).read_text()
        for old, new in replacements:
            assert old in text, f"{file} has no {old!r}"
            text = text.replace(old, str(new))
        return text.replace("127.0.0.1:8480", f"127.0.0.1:{self.relay.port}").replace("9464", str(self.relay.admin))

    def write(self, text):
        path = self.folder / "configuration"
        path.write_text(text)
        return str(path)

    def paths(self, folder):
        return [(f"{folder}/fullchain.pem", self.certificate), (f"{folder}/privkey.pem", self.key)]

    def nginx(self):
        site = self.sample("nginx.conf", [("listen 443 ssl", f"listen 127.0.0.1:{self.port} ssl"), *self.paths("/etc/ssl/relay.example")])
        return ["nginx", "-p", str(self.folder), "-c", self.write(nginx_frame(self.folder, site))]

    def haproxy(self):
        return ["haproxy", "-db", "-f", self.write(self.sample("haproxy.cfg", [
            ("bind :443", f"bind 127.0.0.1:{self.port}"), ("/etc/haproxy/relay.example.pem", self.both), ("maxconn 20000", "maxconn 200")]))]

    def caddy(self):
        site = self.sample("Caddyfile", [("relay.example {", f"https://127.0.0.1:{self.port} {{\n\ttls {self.certificate} {self.key}")])
        return ["caddy", "run", "--adapter", "caddyfile", "--config", self.write("{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + site)]

    def apache(self):
        site = self.sample("apache.conf", [("*:443", f"127.0.0.1:{self.port}"), *self.paths("/etc/ssl/relay.example")])
        modules = "mpm_event authz_core socache_shmcb ssl proxy proxy_http reqtimeout".split()
        places = ["/usr/lib/apache2/modules", "/usr/lib64/httpd/modules"]
        place = next(place for place in places if pathlib.Path(place).is_dir())
        # Not all of them are modules everywhere.
        loads = [f"LoadModule {module}_module {place}/mod_{module}.so" for module in modules if pathlib.Path(f"{place}/mod_{module}.so").exists()]
        frame = [
            f"ServerRoot {self.folder}", f"DefaultRuntimeDir {self.folder}", f"PidFile {self.folder}/pid", f"ErrorLog {self.folder}/errors",
            "ServerName relay.example", f"Listen 127.0.0.1:{self.port}", *loads]
        if os.getuid() == 0:
            frame += ["User nobody", "Group #65534"]
        return [program("apache"), "-D", "FOREGROUND", "-f", self.write("\n".join(frame) + "\n" + site)]

    def start(self):
        log = open(self.folder / "log", "w")
        environment = os.environ | {"XDG_DATA_HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder), "HOME": str(self.folder)}
        self.process = subprocess.Popen(
            getattr(self, self.name)(), stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.folder, env=environment)

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def log(self):
        texts = [path.read_text(errors="replace")[-2000:] for path in (self.folder / "log", self.folder / "errors") if path.exists()]
        return "\n".join(texts)


def nginx_frame(folder, site):
    places = "".join(f"  {kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    return f"daemon off;\npid {folder}/pid;\nerror_log stderr;\nevents {{ }}\nhttp {{\n  access_log off;\n{places}{site}}}\n"


def program(name):
    candidates = {"apache": ["apache2", "httpd"], "limit": ["nginx"]}.get(name, [name])
    return next((found for candidate in candidates if (found := shutil.which(candidate))), None)


def limit(folder, relay):
    """nginx with its usual limit for bodies, and the tool: it goes on in smaller pieces, and says why."""
    port = free_port()
    site = f"""  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass http://127.0.0.1:{relay.port}; }}
  }}
"""
    path = folder / "configuration"
    path.write_text(nginx_frame(folder, site))
    with open(folder / "log", "w") as log:
        process = subprocess.Popen([program("limit"), "-p", str(folder), "-c", str(path)], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        until("nginx answers", lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0)
        (folder / "schema.json").write_text('{"entities":[{"type":"Note","fields":{"text":"text"}}]}')
        for store in "ab":
            run("new", store, "--schema", "schema.json", cwd=folder)
        for number in range(40):
            # What does not compress.
            run("put", "a", f"Note|~|{number}", f"text={base64.b64encode(os.urandom(75_000)).decode()}", cwd=folder)
        via = ["--via", f"http://127.0.0.1:{port}/s/{relay.space}", "--token-file", str(relay.folder / "token")]
        done = run("sync", "a", *via, cwd=folder)
        assert "client_max_body_size" in done.stderr and "1048576 bytes" in done.stderr, done
        done = run("sync", "b", *via, cwd=folder)
        assert run("dump", "a", cwd=folder).stdout == run("dump", "b", cwd=folder).stdout
    finally:
        process.terminate()
        process.wait()
    return "2 stores synced, in pieces of 1 MiB"


def test(name, outcomes):
    with tempfile.TemporaryDirectory(prefix=f"tally-{name}-") as folder:
        folder = pathlib.Path(folder)
        # Proxies that are started by root read as another user.
        folder.chmod(0o755)
        (folder / "relay").mkdir(mode=0o700)
        relay = Relay(folder / "relay")
        proxy = None if name == "limit" else Proxy(name, folder, relay)
        try:
            if proxy:
                proxy.start()
                outcomes[name] = (True, check(name, relay, proxy.port))
            else:
                outcomes[name] = (True, limit(folder, relay))
        except BaseException as error:
            outcomes[name] = (False, f"{type(error).__name__}: {error}\n{proxy.log() if proxy else ''}")
        finally:
            if proxy:
                proxy.end()
            relay.end()


names = sys.argv[2:] or ["nginx", "haproxy", "caddy", "apache", "limit"]
outcomes, threads = {}, []
for name in names:
    if not program(name):
        print(f"proxies: {name} is not tested; it is not installed")
        continue
    threads.append(threading.Thread(target=test, args=(name, outcomes)))
    threads[-1].start()
for thread in threads:
    thread.join()
for name, (is_good, text) in sorted(outcomes.items()):
    print(f"{'passed' if is_good else 'FAILED'}: {name}: {text}")
passed = sum(is_good for is_good, _ in outcomes.values())
print(f"proxies: {passed} passed, {len(outcomes) - passed} failed")
sys.exit(0 if passed == len(outcomes) else 1)
