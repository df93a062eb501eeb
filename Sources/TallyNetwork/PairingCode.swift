#if Network
  import Crypto
  import Foundation
  import TallySync

  /// A code that one device shows and another one scans or types in. It contains the address on which the first device
  /// listens, its name, and the secret that both share from then on.
  ///
  /// ```swift
  /// let code = try PairingCode(host: "192.168.1.7", port: 7_400, name: "Ann's Mac", secret: .random())
  /// let text = code.description                      // tally://192.168.1.7:7400/?name=Ann's%20Mac#…
  /// if let scanned = PairingCode(text) { await engine.add(scanned.transport()) }
  /// ```
  ///
  /// Anyone who sees the text can sync. Show it only for as long as it is needed, and store the secret, not the text,
  /// in a keychain. A mistyped text is refused: it has a checksum of 24 bits.
  public struct PairingCode: Sendable, LosslessStringConvertible {
    private static let scheme = "tally"
    /// The host on which the device listens: a name or an address.
    public let host: String
    /// The TCP port on which that device listens.
    public let port: Int
    /// The name that people gave the device.
    public let name: String
    /// The secret that both sides share.
    public let secret: SharedSecret

    /// Creates the code of a listening device, to show to the other device.
    /// - Parameters:
    ///   - host: a name or an address at which the other device reaches this one.
    ///   - port: the port of its listener, `TCPListener.port`.
    ///   - name: the name that people give the device; control characters are removed, and a name that is too long is
    ///     cut.
    ///   - secret: the shared secret. Use a new one for each pairing, `.random()`, so a single device can be shut out.
    /// - Throws: `SyncError.unreachable` for a host or a port that cannot be reached, such as a host with a blank, or
    ///   port 0: use the listener's `port`, which the system has assigned.
    public init(host: String, port: Int, name: String, secret: SharedSecret) throws {
      self.init(checked: host, port, name, secret)
      guard (1...65_535).contains(port) else {
        throw SyncError(.unreachable, "\(port) is no port that another device can reach: 1 to 65535")
      }
      guard PairingCode(description) != nil else {
        throw SyncError(.unreachable, "'\(host)' is no host: a name such as mac.local, or an address")
      }
    }

    private init(checked host: String, _ port: Int, _ name: String, _ secret: SharedSecret) {
      (self.host, self.port, self.secret) = (host, port, secret)
      self.name = SyncDevice(name: name).name
    }

    /// Reads a code from its text; nil if the text is not a code or was mistyped. Blanks around it are ignored.
    public init?(_ text: String) {
      guard let parts = URLComponents(string: text.trimmingCharacters(in: .whitespacesAndNewlines)),
        parts.scheme?.lowercased() == Self.scheme, let host = parts.host, !host.isEmpty, let port = parts.port,
        (1...65_535).contains(port), let fragment = parts.fragment
      else { return nil }
      // A name that is in ASCII by Punycode is shown in letters, and the check is that of what was given.
      let hosts = [host, parts.encodedHost ?? host]
      let halves = fragment.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      guard halves.count == 2, let secret = Self.bytes(halves[0]).flatMap({ SharedSecret($0) }) else { return nil }
      let name = parts.queryItems?.first { $0.name == "name" }?.value ?? ""
      let codes = hosts.map { host in
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        return Self(checked: isBracketed ? String(host.dropFirst().dropLast()) : host, port, name, secret)
      }
      guard let code = codes.first(where: { $0.check == halves[1] }) else { return nil }
      self = code
    }

    /// The code's text, which `init(_:)` reads: `tally://host:port/?name=…#secret.check`, with the secret and the
    /// checksum in base64url (RFC 4648).
    public var description: String {
      var parts = URLComponents()
      (parts.scheme, parts.port, parts.path) = (Self.scheme, port, "/")
      // An address of IPv6.
      parts.host = host.contains(":") ? "[\(host)]" : host
      if !name.isEmpty { parts.queryItems = [URLQueryItem(name: "name", value: name)] }
      parts.fragment = "\(Self.text(secret.bytes)).\(check)"
      return parts.string ?? ""
    }

    /// Returns a transport to the device, under the device's name, or under host and port if it has none.
    /// - Parameter tls: encryption, which a secret alone does not provide; nil for plain TCP.
    /// - Returns: a transport for `SyncEngine.add(_:)`.
    public func transport(tls: TLSSettings? = nil) -> TCPTransport {
      TCPTransport(
        host: host, port: port, security: NetworkSecurity(secret: secret, tls: tls), name: name.isEmpty ? nil : name)
    }

    private var check: String {
      let whole = Array("\(host) \(port) \(name) ".utf8) + secret.bytes
      return Self.text(SHA256.hash(data: whole).prefix(3))
    }

    private static func text(_ bytes: some Sequence<UInt8>) -> String {
      Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
        .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }

    private static func bytes(_ text: String) -> [UInt8]? {
      let plain = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
      let padding = String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)
      return Data(base64Encoded: plain + padding).map { Array($0) }
    }
  }
#endif
