#if Network
  import Foundation
  import TallyNetwork
  import TallySync
  import Testing

  /// A text for a QR code, from which another device knows all that it needs.
  @Suite struct PairingTests {
    private static let secret = SharedSecret(0..<32)

    @Test(arguments: [
      ("192.168.1.7", 7_400, "Ann's Mac & phone #1"), ("mac.local", 1, ""), ("fe80::1", 65_535, "日本"),
      ("a", 80, "+%=?/"), ("xn--mnchen-3ya.de", 443, ""), ("m\u{fc}nchen.de", 443, ""),
    ]) func aCodeIsTheSameAfterItWasRead(_ host: String, _ port: Int, _ name: String) throws {
      let secret = try #require(Self.secret)
      let code = try PairingCode(host: host, port: port, name: name, secret: secret)
      let read = try #require(PairingCode(" \(code.description)\n"))
      #expect(read.host == host && read.port == port && read.name == name && read.secret.bytes == secret.bytes)
      #expect(read.transport().name == (name.isEmpty ? "\(host):\(port)" : name))
    }

    /// The text is a format: what one version shows, another reads.
    @Test func aCodeHasThisText() throws {
      let code = try PairingCode(host: "192.168.1.7", port: 7_400, name: "Ann's Mac", secret: try #require(Self.secret))
      #expect(
        code.description
          == "tally://192.168.1.7:7400/?name=Ann's%20Mac#AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8.muIG")
    }

    @Test(arguments: [("", 7_400), ("a b", 7_400), ("mac.local", 0), ("mac.local", -1), ("mac.local", 65_536)])
    func whatNobodyCouldReadBackIsRefused(_ host: String, _ port: Int) throws {
      let secret = try #require(Self.secret)
      let error = #expect(throws: SyncError.self) {
        try PairingCode(host: host, port: port, name: "Mac", secret: secret)
      }
      #expect(error?.code == .unreachable)
    }

    /// Each letter that is typed wrongly is noticed, wherever it stands.
    @Test func aMistypedTextIsRefused() throws {
      let secret = try #require(Self.secret)
      let text = try PairingCode(host: "mac.local", port: 7_400, name: "Mac", secret: secret).description
      for index in text.indices where text[index] != "/" && text[index] != "?" {
        let other: Character = text[index] == "x" ? "y" : "x"
        let wrong = text.replacingCharacters(in: index...index, with: String(other))
        #expect(PairingCode(wrong) == nil, "\(wrong)")
      }
      for wrong in ["", "tally://", "https://mac.local:7400/#abc", "tally://mac.local:7400/#AAAA.AAAA", "7400"] {
        #expect(PairingCode(wrong) == nil)
      }
    }
  }
#endif
