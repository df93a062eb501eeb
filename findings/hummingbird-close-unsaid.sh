#!/usr/bin/env bash
# Hummingbird 2.28.1 (hummingbird-project/hummingbird, HTTP/1.1). A request with "Connection: close" is answered without "Connection: close",
# and then the server closes. RFC 9112, section 9.6: a server should send the option with the last answer of a connection. A proxy that
# opens a connection for each request and passes answers on as they are lets its clients keep a connection that is about to end.
# Needs Swift 6 and python3; builds for some minutes.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$folder"' EXIT
mkdir -p "$folder/Sources/Server"
cat >"$folder/Package.swift" <<'SWIFT'
// swift-tools-version:6.1
import PackageDescription
let package = Package(
  name: "Server", platforms: [.macOS(.v14)],
  dependencies: [.package(url: "https://github.com/hummingbird-project/hummingbird", exact: "VERSION")],
  targets: [
    .executableTarget(name: "Server", dependencies: [.product(name: "Hummingbird", package: "hummingbird")])
  ])
SWIFT
sed -i "s/VERSION/2.28.1/" "$folder/Package.swift"
cat >"$folder/Sources/Server/main.swift" <<'SWIFT'
import Foundation
import Hummingbird

let router = Router()
router.get("/") { _, _ in "hello" }
let app = Application(
  router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
  onServerRunning: { channel in
    FileHandle.standardOutput.write(Data("port \(channel.localAddress?.port ?? 0)\n".utf8))
  })
try await app.runService()
SWIFT
swift build --package-path "$folder" >"$folder/log" 2>&1 || { tail -n 20 "$folder/log" >&2; exit 1; }
"$folder/.build/debug/Server" >"$folder/out" 2>"$folder/errors" &
server=$!
for _ in $(seq 100); do grep -q '^port' "$folder/out" && break; sleep 0.1; done
python3 - "$(awk '/^port/ { print $2 }' "$folder/out")" <<'PYTHON'
import socket, sys

def exchange(fields):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=5) as connection:
        connection.sendall(f"GET / HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n".encode())
        answer = b""
        try:
            while piece := connection.recv(65536):
                answer += piece
            return answer, "the server closed"
        except TimeoutError:
            return answer, "the connection stays open"

for fields in ("", "Connection: close\r\n"):
    answer, end = exchange(fields)
    head = answer.split(b"\r\n\r\n")[0].decode().lower()
    says = "connection: close" in head
    print(f"asked {'to close' if fields else 'for nothing'}: {end}, and the answer {'says' if says else 'does not say'} so")
    if says or (end == "the server closed") != bool(fields):
        sys.exit("the behaviour has changed")
PYTHON
