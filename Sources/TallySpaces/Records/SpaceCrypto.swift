#if Spaces
  import Crypto
  import Foundation

  /// The ciphers of a space, all of them swift-crypto's: SHA-256, HMAC, HKDF, ChaCha20-Poly1305, Ed25519, and HPKE with
  /// X25519. CryptoKit has the same on Apple's systems.
  enum SpaceCrypto {
    static let (tagBytes, nonceBytes, signatureBytes, keyBytes) = (16, 12, 64, 32)

    static func digest(_ parts: [UInt8]...) -> SpaceDigest {
      var hash = RunningDigest()
      for part in parts { hash.add(part) }
      return hash.digest
    }

    /// A SHA-256 of bytes that come piece by piece.
    struct RunningDigest: Sendable {
      private var hash = SHA256()
      mutating func add(_ bytes: some Sequence<UInt8>) { hash.update(data: Data(bytes)) }
      var digest: SpaceDigest {
        guard let digest = SpaceDigest(Array(hash.finalize())) else { preconditionFailure("SHA-256 has 32 bytes") }
        return digest
      }
    }

    static func code(_ parts: [UInt8]..., key: [UInt8]) -> [UInt8] {
      var code = HMAC<SHA256>(key: SymmetricKey(data: key))
      for part in parts { code.update(data: part) }
      return Array(code.finalize())
    }

    static func derive(_ secret: [UInt8], salt: [UInt8] = [], info: [UInt8], count: Int = keyBytes) -> [UInt8] {
      let key = HKDF<SHA256>.deriveKey(
        inputKeyMaterial: SymmetricKey(data: secret), salt: salt, info: info, outputByteCount: count)
      return key.withUnsafeBytes { Array($0) }
    }

    // MARK: Sealing

    /// The ciphertext, and its tag at the end.
    static func seal(
      _ plain: some DataProtocol, key: [UInt8], nonce: [UInt8], authenticating data: [UInt8] = []
    ) throws -> [UInt8] {
      let box = try ChaChaPoly.seal(
        plain, using: SymmetricKey(data: key), nonce: ChaChaPoly.Nonce(data: nonce), authenticating: data)
      return Array(box.ciphertext) + Array(box.tag)
    }

    /// The bytes that were sealed; nil if the bytes, the key, the nonce or the data are others.
    static func open(
      _ sealed: some Collection<UInt8>, key: [UInt8], nonce: [UInt8], authenticating data: [UInt8] = []
    ) -> [UInt8]? {
      guard sealed.count >= tagBytes, let nonce = try? ChaChaPoly.Nonce(data: nonce),
        let box = try? ChaChaPoly.SealedBox(
          nonce: nonce, ciphertext: Data(sealed.dropLast(tagBytes)), tag: Data(sealed.suffix(tagBytes))),
        let plain = try? ChaChaPoly.open(box, using: SymmetricKey(data: key), authenticating: data)
      else { return nil }
      return Array(plain)
    }

    // MARK: Signing

    static func isValid(_ signature: some DataProtocol, of bytes: [UInt8], by key: SpaceDigest) -> Bool {
      guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: key.bytes) else { return false }
      return key.isValidSignature(signature, for: bytes)
    }
  }
#endif
