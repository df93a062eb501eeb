"""A client of a relay that knows nothing but Docs/RelayProtocol.md.

It puts, reads and removes entries, several in one request, and checks every byte of what it is answered:

    relay.py ADDRESS put NAME=FILE...      relay.py ADDRESS get NAME...
    relay.py ADDRESS remove NAME...        relay.py ADDRESS list
    relay.py ADDRESS parts NAME BYTES      one entry, in parts of so many bytes
    relay.py bytes                         the values that Tests/RelayTests/BatchBytesTests.swift has

ADDRESS is http://HOST:PORT/s/ID; the token is in the environment, as TALLY_TOKEN. Prints a line of JSON for each result.
"""
import base64
import hashlib
import http.client
import json
import os
import sys
from urllib.parse import urlsplit

from peer import Reader, siphash, varint

MOST_ENTRIES, MOST_BYTES = 256, 4 << 20


class Strict(Reader):
    """Numbers in as few bytes as possible, and nothing after the end."""

    def varint(self):
        start = self.at
        number = super().varint()
        if varint(number) != self.data[start : self.at]:
            raise ValueError("a number has more bytes than it needs")
        return number

    def name(self):
        return self.take(self.byte()).decode("ascii")

    def end(self):
        if self.at != len(self.data):
            raise ValueError("something comes after the end")


def head(kind, count):
    if not 1 <= count <= MOST_ENTRIES:
        raise ValueError("one request takes 1 to 256 entries")
    return b"TR" + kind + b"\x01" + varint(count)


def named(name):
    return bytes([len(name)]) + name.encode("ascii")


def writes(items):
    """The body of POST entries; a content of None removes."""
    body = head(b"W", len(items))
    for name, content in items:
        body += b"\x03" + named(name) if content is None else b"\x02" + named(name) + varint(len(content)) + content
    return body


def wanted(names):
    return head(b"N", len(names)) + b"".join(named(name) for name in names)


def sealed(data):
    return data + siphash(data).to_bytes(8, "big")


def opened(data, kind):
    if data[-8:] != siphash(data[:-8]).to_bytes(8, "big"):
        raise ValueError("the check is that of other bytes")
    reader = Strict(data[:-8])
    if reader.take(4) != b"TR" + kind + b"\x01":
        raise ValueError("not an answer of version 1")
    return reader


def results(data):
    reader = opened(data, b"R")
    found = []
    for _ in range(reader.varint()):
        kind = reader.byte()
        if kind in (1, 2):
            found.append({"is": "put" if kind == 1 else "known", "position": reader.varint()})
        elif kind == 3:
            found.append({"is": "removed"})
        elif kind == 4:
            found.append({"is": "refused", "code": reader.name(), "retryAfter": reader.varint()})
        else:
            raise ValueError("there is no result %d" % kind)
    reader.end()
    return found


def contents(data):
    reader = opened(data, b"C")
    found = []
    for _ in range(reader.varint()):
        kind = reader.byte()
        if kind == 2:
            found.append({"is": "whole", "content": reader.take(reader.varint()).hex()})
        elif kind == 1:
            found.append({"is": "elsewhere", "size": reader.varint()})
        elif kind == 3:
            found.append({"is": "missing"})
        else:
            raise ValueError("there is no content %d" % kind)
    reader.end()
    return found


def page(data):
    reader = opened(data, b"P")
    flags, position, _, frames = reader.byte(), reader.varint(), reader.take(16), []
    for _ in range(reader.varint()):
        kind = reader.byte()
        frame = {"kind": kind, "position": reader.varint(), "name": reader.name()}
        if kind in (1, 2):
            frame["size"] = reader.varint()
        if kind == 2:
            frame["content"] = reader.take(frame["size"]).hex()
        frames.append(frame)
    reader.end()
    assert not flags & ~3 and all(frame["position"] <= position for frame in frames)
    return frames


class Client:
    def __init__(self, address, token):
        parts = urlsplit(address)
        space = parts.path.rsplit("/s/", 1)[1]
        self.path, self.token = "/v1/spaces/" + space, token
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port)

    def parts(self, name, size):
        """An entry in parts of one tag; then once more from its second byte on, of an entry that there was before."""
        content, total, tag = b"", None, None
        while total is None or len(content) < total:
            fields = {"Range": "bytes=%d-%d" % (len(content), len(content) + size - 1)}
            if tag:
                fields["If-Range"] = tag
            answer, data = self.request("GET", "/entries/" + name, None, fields)
            unit, part, total = answer.headers["Content-Range"].replace("/", " ").split()
            total = int(total)
            assert answer.status == 206 and unit == "bytes"
            assert part == "%d-%d" % (len(content), len(content) + len(data) - 1) and (not tag or tag == answer.headers["ETag"])
            content, tag = content + data, answer.headers["ETag"]
        answer, data = self.request("GET", "/entries/" + name, None, {"Range": "bytes=1-", "If-Range": '"0.%s"' % name})
        assert answer.status == 200 and answer.headers["Content-Range"] is None and data == content
        return {"content": content.hex(), "tag": tag}

    def request(self, method, path, body, fields):
        fields["Authorization"] = "Bearer " + self.token
        self.connection.request(method, self.path + path, body, fields)
        answer = self.connection.getresponse()
        return answer, answer.read()

    def ask(self, method, path, body=None):
        fields = {}
        if body is not None:
            digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
            fields["Content-Digest"] = "sha-256=:%s:" % digest
        answer, data = self.request(method, path, body, fields)
        if answer.status != 200:
            sys.exit("%d %s" % (answer.status, answer.headers.get("Tally-Problem")))
        return data


def check_values():
    answer = b"TRR\x01\x05" + b"\x01\xac\x02" + b"\x02\x02" + b"\x03" + b"\x04\x04busy\x05" + b"\x04\x0bnoSuchEntry\x00"
    parts = b"TRC\x01\x03" + b"\x02\x02\x07\x08" + b"\x01\xf0\xa2\x04" + b"\x03"
    yield "writes", writes([("a", b"\x07\x08"), ("b-c", None), ("d", b"")])
    yield "results", sealed(answer)
    yield "wanted", wanted(["a", "b-c"])
    yield "contents", sealed(parts)
    assert len(results(sealed(answer))) == 5 and len(contents(sealed(parts))) == 3


def main(arguments):
    if arguments == ["bytes"]:
        for name, value in check_values():
            print(name, value.hex())
        return
    client, verb, rest = Client(arguments[0], os.environ["TALLY_TOKEN"]), arguments[1], arguments[2:]
    if verb == "put":
        items = [item.split("=", 1) for item in rest]
        found = results(client.ask("POST", "/entries", writes([(name, open(file, "rb").read()) for name, file in items])))
    elif verb == "remove":
        found = results(client.ask("POST", "/entries", writes([(name, None) for name in rest])))
    elif verb == "get":
        found = contents(client.ask("POST", "/contents", wanted(rest)))
    elif verb == "parts":
        found = [client.parts(rest[0], int(rest[1]))]
    else:
        found = page(client.ask("GET", "/changes"))
    for line in found:
        print(json.dumps(line, sort_keys=True))


if __name__ == "__main__":
    main(sys.argv[1:])
