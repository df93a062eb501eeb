#if Spaces
  import Crypto
  import Foundation

  /// The two private keys of a device, an invitation or the recovery words, for one space.
  package struct MemberKeys: Sendable {
    private let signing: Curve25519.Signing.PrivateKey
    private let sealing: Curve25519.KeyAgreement.PrivateKey

    /// Creates new keys from the system's generator.
    package init() { (signing, sealing) = (.init(), .init()) }

    /// Creates keys from 32 bytes each.
    /// - Throws: `SpaceError.malformed` for another number of bytes.
    package init(signing: [UInt8], sealing: [UInt8]) throws {
      do {
        self.signing = try .init(rawRepresentation: signing)
        self.sealing = try .init(rawRepresentation: sealing)
      } catch {
        throw SpaceError(.malformed, "these are no private keys")
      }
    }

    package var publicKeys: SpaceRecord.PublicKeys {
      guard let signing = SpaceDigest(Array(signing.publicKey.rawRepresentation)),
        let sealing = SpaceDigest(Array(sealing.publicKey.rawRepresentation))
      else { preconditionFailure("a public key has 32 bytes") }
      return SpaceRecord.PublicKeys(signing: signing, sealing: sealing)
    }

    func signature(of bytes: [UInt8]) throws -> [UInt8] { Array(try signing.signature(for: bytes)) }

    // MARK: Keys for receivers

    private static let suite = HPKE.Ciphersuite(
      kem: .Curve25519_HKDF_SHA256, kdf: .HKDF_SHA256, aead: .chaChaPoly)

    /// Seals a key for the owner of a public key.
    static func seal(
      _ key: [UInt8], for receiver: MemberID, _ publicKey: SpaceDigest, info: [UInt8]
    ) throws -> SpaceRecord.SealedKey {
      let publicKey = try Curve25519.KeyAgreement.PublicKey(rawRepresentation: publicKey.bytes)
      var sender = try HPKE.Sender(recipientKey: publicKey, ciphersuite: suite, info: Data(info))
      let sealed = try sender.seal(key)
      return SpaceRecord.SealedKey(
        receiver: receiver, encapsulated: Array(sender.encapsulatedKey), sealed: Array(sealed))
    }

    /// Opens a key that was sealed for this one; nil if it was not.
    func open(_ key: SpaceRecord.SealedKey, info: [UInt8]) -> [UInt8]? {
      guard
        var recipient = try? HPKE.Recipient(
          privateKey: sealing, ciphersuite: Self.suite, info: Data(info), encapsulatedKey: Data(key.encapsulated)),
        let opened = try? recipient.open(key.sealed)
      else { return nil }
      return Array(opened)
    }
  }
#endif
