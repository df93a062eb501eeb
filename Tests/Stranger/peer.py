"""A peer of Tally's that knows nothing but Docs/SyncProtocol.md and Docs/WireFormat.md.

It is a relay: it keeps what it is given, delta by delta, and passes it on. It understands of a delta only the header, so it needs no
zstd, no schema and no database. It speaks version 1 of the protocol, over the standard input and output of a command:

    peer.py STATE COMMAND...        e.g.  peer.py relay.json tally serve scores.tally --stdio

STATE is a JSON file. Prints what it sent and took; the exit code is 1 if the two did not end equal.
"""
import json
import os
import subprocess
import sys

MASK = (1 << 64) - 1
HELLO, VECTOR, CHUNK, LAST, RECEIVED, APPLIED = 1, 2, 3, 4, 5, 6
DONE, PING, FAILURE = 10, 11, 12
CHUNK_BYTES, WINDOW_BYTES = 1 << 16, 1 << 20


# --- Primitives: WireFormat, section 2


def varint(number):
    result = bytearray()
    while number >= 0x80:
        result.append(number & 0x7F | 0x80)
        number >>= 7
    result.append(number)
    return bytes(result)


def fixed(word):
    return word.to_bytes(8, "big")


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        if self.at + count > len(self.data):
            raise ValueError("the bytes end too early")
        self.at += count
        return self.data[self.at - count : self.at]

    def byte(self):
        return self.take(1)[0]

    def varint(self):
        result = shift = 0
        while True:
            byte = self.byte()
            result |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return result

    def fixed(self):
        return int.from_bytes(self.take(8), "big")

    def text(self):
        return self.take(self.varint()).decode()

    def rest(self):
        return self.take(len(self.data) - self.at)


def siphash(data):
    """SipHash-2-4 with the key 00 01 … 0F."""
    k0, k1 = 0x0706050403020100, 0x0F0E0D0C0B0A0908
    v = [0x736F6D6570736575 ^ k0, 0x646F72616E646F6D ^ k1, 0x6C7967656E657261 ^ k0, 0x7465646279746573 ^ k1]

    def rotated(x, by):
        return (x << by | x >> 64 - by) & MASK

    def rounds(count):
        a, b, c, d = v
        for _ in range(count):
            a, c = (a + b) & MASK, (c + d) & MASK
            b, d = rotated(b, 13) ^ a, rotated(d, 16) ^ c
            a = rotated(a, 32)
            c, a = (c + b) & MASK, (a + d) & MASK
            b, d = rotated(b, 17) ^ c, rotated(d, 21) ^ a
            c = rotated(c, 32)
        v[:] = a, b, c, d

    padded = data + bytes(-(len(data) + 1) % 8) + bytes([len(data) & 0xFF])
    for start in range(0, len(padded), 8):
        word = int.from_bytes(padded[start : start + 8], "little")
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


# --- Vectors, digests, headers


def covers(one, other):
    return all(one.get(replica, 0) >= sequence for replica, sequence in other.items())


def merged(one, other):
    return {replica: max(one.get(replica, 0), other.get(replica, 0)) for replica in {**one, **other}}


def vector_hash(vector):
    data = b""
    for replica in sorted(vector):
        identity = bytes.fromhex(replica)
        for word in (identity[:8][::-1], identity[8:][::-1], vector[replica].to_bytes(8, "little")):
            data += word
    return siphash(data)


def digest(vector, fingerprint):
    return fixed(vector_hash(vector)) + bytes.fromhex(fingerprint)


def header(delta):
    """Base, target and fingerprint of a delta: WireFormat, section 3."""
    reader = Reader(delta)
    if reader.take(3) != b"TL\x02":
        raise ValueError("not a delta of version 2")
    flags, base, target = reader.byte(), {}, {}
    for _ in range(reader.varint()):
        replica = reader.take(16).hex()
        start = reader.varint()
        target[replica] = start + reader.varint()
        if start:
            base[replica] = start
    if flags & 2:
        reader.take(16)
    return base, target, reader.take(16).hex() if flags & 1 else None


# --- The stream: SyncProtocol, section 1


class Stream:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(self, tag, body=b""):
        message = bytes([tag]) + body
        self.process.stdin.write(varint(len(message)) + message)
        self.process.stdin.flush()

    def read(self, count):
        data = self.process.stdout.read(count)
        if len(data) < count:
            raise EOFError("the peer has gone")
        return data

    def receive(self):
        """The next message; None at the orderly end. Pings are nothing."""
        while True:
            length = shift = 0
            while True:
                byte = self.read(1)[0]
                length |= (byte & 0x7F) << shift
                shift += 7
                if byte < 0x80:
                    break
            if length == 0:
                return None
            reader = Reader(self.read(length))
            tag = reader.byte()
            if tag == FAILURE:
                raise RuntimeError("the peer says: %s, %s" % (reader.text(), reader.text()))
            if tag != PING:
                return tag, reader

    def close(self):
        try:
            self.process.stdin.write(b"\x00")
            self.process.stdin.close()
        except BrokenPipeError:
            pass  # It has closed already.
        self.process.stdout.read()
        return self.process.wait()


# --- A session


class Relay:
    def __init__(self, path):
        self.path = path
        self.vector, self.fingerprint, self.deltas = {}, "00" * 16, []
        if os.path.exists(path):
            with open(path) as file:
                state = json.load(file)
            self.vector, self.fingerprint = state["vector"], state["fingerprint"]
            self.deltas = [bytes.fromhex(delta) for delta in state["deltas"]]

    def save(self):
        with open(self.path + ".new", "w") as file:
            deltas = [delta.hex() for delta in self.deltas]
            json.dump({"vector": self.vector, "fingerprint": self.fingerprint, "deltas": deltas}, file)
        os.replace(self.path + ".new", self.path)

    def sync(self, stream):
        sent = taken = 0
        own = digest(self.vector, self.fingerprint)
        # Versions 1 to 1, no flags: no zone, no replica, not live.
        stream.send(HELLO, b"TS\x01\x01\x00" + varint(1 << 20) + own)
        hello = self.expect(stream, HELLO)[1]
        if hello.take(2) != b"TS" or not hello.byte() <= 1 <= hello.byte():
            raise ValueError("no version in common")
        flags = hello.byte()
        hello.varint()
        hello.take(16 * (flags & 1) + 16 * (flags >> 1 & 1))
        theirs = hello.rest()
        if theirs == own:
            return sent, taken
        if theirs[:8] == own[:8]:
            raise ValueError("the same vector and other content: a relay cannot repair that")
        entries = b"".join(bytes.fromhex(replica) + varint(self.vector[replica]) for replica in sorted(self.vector))
        stream.send(VECTOR, varint(len(self.vector)) + entries)
        body = self.expect(stream, VECTOR)[1]
        peer = {}
        for _ in range(body.varint()):
            replica = body.take(16).hex()
            peer[replica] = body.varint()
        # What it lacks goes out one delta after the other; what it has comes whenever it likes.
        waiting = [delta for delta in self.deltas if not covers(peer, header(delta)[1])]
        self.incoming, self.peer_done = b"", None
        for number, delta in enumerate(waiting, 1):
            taken += self.transfer(stream, number, delta)
            sent += 1
        while self.peer_done is None or self.peer_done[:8] != fixed(vector_hash(self.vector)):
            taken += self.handle(stream, *self.expect(stream))
        # Whoever keeps no states learns from the peer what both hold.
        self.fingerprint = self.peer_done[8:].hex()
        stream.send(DONE, self.peer_done)
        return sent, taken

    def expect(self, stream, tag=None):
        message = stream.receive()
        if message is None or tag is not None and message[0] != tag:
            raise ValueError("the peer says %s" % (message and message[0]))
        return message

    def transfer(self, stream, number, delta):
        """Sends a delta in chunks, of which so much may be under way; True if one has come meanwhile."""
        acknowledged, at, taken = 0, 0, 0
        while True:
            while at < len(delta) and at - acknowledged < WINDOW_BYTES:
                chunk = delta[at : at + CHUNK_BYTES]
                is_last = at + len(chunk) == len(delta)
                stream.send(LAST if is_last else CHUNK, varint(number) + varint(at) + chunk)
                at += len(chunk)
            tag, body = self.expect(stream)
            if tag == RECEIVED:
                body.varint()
                acknowledged = body.varint()
            elif tag == APPLIED:
                # What it said before that does not count any more.
                self.peer_done = None
                return taken
            else:
                taken += self.handle(stream, tag, body)

    def handle(self, stream, tag, body):
        """Deals with what the peer does by itself. Returns how many deltas were taken."""
        if tag == DONE:
            self.peer_done = body.rest()
        elif tag in (CHUNK, LAST):
            number, offset = body.varint(), body.varint()
            if offset != len(self.incoming):
                raise ValueError("a chunk came out of its order")
            self.incoming += body.rest()
            if tag == CHUNK:
                stream.send(RECEIVED, varint(number) + varint(len(self.incoming)))
                return 0
            base, target, fingerprint = header(self.incoming)
            assert covers(self.vector, base), "the delta starts after what is here"
            self.deltas.append(self.incoming)
            self.vector, self.incoming, self.peer_done = merged(self.vector, target), b"", None
            self.fingerprint = fingerprint or self.fingerprint
            stream.send(APPLIED, varint(number) + digest(self.vector, self.fingerprint))
            return 1
        else:
            raise ValueError("there is no message %d" % tag)
        return 0


def main():
    relay, stream = Relay(sys.argv[1]), Stream(sys.argv[2:])
    sent, taken = relay.sync(stream)
    relay.save()
    print("sent %d, took %d" % (sent, taken))
    sys.exit(min(1, stream.close()))


if __name__ == "__main__":
    main()
