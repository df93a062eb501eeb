#if Network
  import Crypto
  import Foundation

  /// A secret that two sides share and no third party knows. Each side proves to the other that it knows the secret,
  /// without sending it.
  ///
  /// An attacker who gets either side to connect can test guesses against the received bytes. Therefore use 32 random
  /// bytes, from `SharedSecret.random()` or `head -c 32 /dev/urandom | base64`, not a word.
  public struct SharedSecret: Sendable {
    /// The allowed numbers of bytes of a secret.
    public static let byteCounts = 16...4096
    let key: SymmetricKey

    /// Creates a secret from bytes that both sides have; nil unless there are 16 to 4096.
    ///
    /// Use random bytes, never a password: the bytes that either side sends let an attacker test guesses.
    public init?(_ bytes: some Sequence<UInt8>) {
      let bytes = Array(bytes)
      guard Self.byteCounts.contains(bytes.count) else { return nil }
      key = SymmetricKey(data: bytes)
    }

    /// Returns a secret of 32 random bytes from the system's generator. Store its `bytes` in a keychain.
    public static func random() -> SharedSecret { SharedSecret(key: SymmetricKey(size: .bits256)) }

    private init(key: SymmetricKey) { self.key = key }

    /// The bytes of the secret. Store them where only both sides can read them.
    public var bytes: [UInt8] { key.withUnsafeBytes { Array($0) } }

    /// A code over all the parts; each has its length before it, so that no two lists of parts give the same bytes.
    func code(_ parts: [[UInt8]]) -> [UInt8] {
      Array(HMAC<SHA256>.authenticationCode(for: Self.join(parts), using: key))
    }

    /// Compares in a time that does not depend on the bytes.
    func isValid(_ code: [UInt8], _ parts: [[UInt8]]) -> Bool {
      HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: Self.join(parts), using: key)
    }

    private static func join(_ parts: [[UInt8]]) -> Data {
      var data = Data()
      for part in parts {
        withUnsafeBytes(of: UInt32(part.count).bigEndian) { data.append(contentsOf: $0) }
        data.append(contentsOf: part)
      }
      return data
    }
  }
#endif
