#!/usr/bin/env python3
"""Writes sealed files and a record as Docs/Decisions/0055 describes them, with another implementation of the ciphers, for
SealedGoldenTests. Needs the package `cryptography`:

    python3 sealed.py >sealed.json
"""
import base64
import hashlib
import hmac
import json

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

PIECE = 1 << 16


def derive(secret, info, salt=b"", count=32):
    return HKDF(hashes.SHA256(), count, salt or None, info).derive(secret)


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def raw(key):
    return key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)


def base32(data):
    return base64.b32encode(data).decode().lower().rstrip("=")


def padded(count):
    exponent = count.bit_length() - 1
    mask = (1 << max(0, exponent - exponent.bit_length())) - 1
    return (count + mask) & ~mask


def age(key, plain):
    """The payload of age: STREAM over pieces of 64 KiB."""
    pieces = [plain[i:i + PIECE] for i in range(0, len(plain), PIECE)]
    return b"".join(
        ChaCha20Poly1305(key).encrypt(bytes(3) + i.to_bytes(8, "big") + bytes([i == len(pieces) - 1]), piece, None)
        for i, piece in enumerate(pieces))


def keys(seed):
    return Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32), X25519PrivateKey.from_private_bytes(bytes([seed + 1]) * 32)


def member(space, pair):
    return sha(b"tally device 1", space, raw(pair[0]), raw(pair[1]))[:16]


recovery, device = keys(1), keys(3)
space = sha(b"tally space 1", raw(recovery[0]))[:16]
log, key = bytes([5]) * 32, bytes([6]) * 32
tag = derive(log, b"tally place 1", count=4)


def sealed(content, replica=bytes(range(16)), sequence=7, kind=0):
    check = int.from_bytes(content[-8:], "big") if len(content) >= 8 else 0
    entry = bytes([kind]) + replica + sequence.to_bytes(6, "big") + check.to_bytes(8, "big") + len(content).to_bytes(6, "big")
    name_key = derive(key, b"tally name 1" + space)
    me = member(space, device)
    is_short = padded(69 + len(content)) <= PIECE
    first = content if is_short else content[:PIECE - 101]
    signed = b"tally seal 1" + space + sha(key) + entry + sha(first) + (b"" if is_short else sha(content))
    signature = device[0].sign(signed)
    nonce = hmac.new(name_key, me + entry + sha(content) + signature, hashlib.sha256).digest()[:12]
    name = nonce + ChaCha20Poly1305(name_key).encrypt(nonce, entry, space)
    both = derive(key, b"tally file 1" + space, name)
    piece_key = derive(both[:16], b"payload", both[16:])
    plain = me[:4] + b"\0" + signature + (b"" if is_short else sha(content)) + content
    body = age(piece_key, plain + bytes(padded(len(plain)) - len(plain)))
    text = f"tally2-{tag.hex()}-{sha(key)[:4].hex()}-{base32(name)}.s"
    inner = "tally1-default-%s-%012d-%016x.%s" % (replica.hex(), sequence, check, ["delta", "snapshot", "repair"][kind])
    result = {"name": text, "inner": inner, "count": len(content), "content": sha(content).hex(), "body": sha(body).hex()}
    if len(body) < 1000:
        result["bytes"] = body.hex()
    return result


def genesis():
    body = b"\1\1" + member(space, recovery) + b"\0" + b"\1" + raw(recovery[0]) + raw(recovery[1]) + b"\6Family"
    record = body + recovery[0].sign(b"tally record 1" + space + body)
    name = hmac.new(log, sha(record), hashlib.sha256).digest()[:20]
    content = ChaCha20Poly1305(derive(log, b"tally member 1", name)).encrypt(bytes(12), record, None)
    return {"record": record.hex(), "name": f"tally2-{tag.hex()}-m-{base32(name)}.m", "content": content.hex()}


def noise(count):
    """What SealedGoldenTests makes as well."""
    return bytes((i * 7 + i // 251) % 256 for i in range(count))


print(json.dumps({
    "space": space.hex(), "device": member(space, device).hex(), "genesis": genesis(),
    "files": [sealed(noise(n), kind=n % 3) for n in (0, 1, 100, 300, 65_000, 65_467, 65_468, 131_000, 300_000)],
}, indent=1))
