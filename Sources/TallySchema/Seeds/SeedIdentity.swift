import Foundation
import TallyCRDT
import TallyWire

/// The identities that seeds have on every device: record names by UUID version 5 (RFC 9562, section 5.5), virtual
/// replicas by hash.
public enum SeedIdentity {
  /// The namespace of the names of seed sets.
  package static let namespace = UUID(
    uuid: (0x5A, 0x11, 0x9D, 0x3E, 0x0C, 0x52, 0x4F, 0x6B, 0x8E, 0x27, 0xB1, 0x04, 0x7A, 0xC9, 0x36, 0xD8))

  /// Returns the UUID that is the namespace of the keys of one seed set.
  public static func uuid(ofSet name: String) -> UUID { version5(namespace, name) }

  /// Returns the UUID in the name of a seeded record.
  public static func uuid(ofKey key: String, set name: String) -> UUID { version5(uuid(ofSet: name), key) }

  static func version5(_ namespace: UUID, _ name: String) -> UUID {
    let input = withUnsafeBytes(of: namespace.uuid) { Array($0) } + Array(name.utf8)
    var bytes = Array(SHA1.hash(input).prefix(16))
    bytes[6] = bytes[6] & 0x0F | 0x50
    bytes[8] = bytes[8] & 0x3F | 0x80
    return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }

  /// Whether a record has a name that a seed can have: a version 5 UUID.
  package static func mayBeSeed(_ name: AnyRecordName) -> Bool {
    let key = Array(name.key.utf8)
    return key.count == 36 && key[14] == UInt8(ascii: "5") && UUID(uuidString: name.key) != nil
  }

  /// The virtual replica whose history has this canonical encoding.
  package static func replica(of bytes: [UInt8]) -> ReplicaID {
    ReplicaID(Array(SHA256.hash(bytes).prefix(16)))
  }
}

extension RecordName {
  /// Creates the name of a seed from its key and the name of its set. It is the same on every device; no database is
  /// needed.
  ///
  /// ```swift
  /// let toast = RecordName<SpeechType>(seed: "toast", of: "speech-types")
  /// try store.write { db in try Speech(title: "To my friends", type: toast).insert(db) }
  /// ```
  ///
  /// Nothing is looked up: a key that occurs in no version of the set gives a name that no record has. The name
  /// contains a version 5 UUID (RFC 9562) of both texts, so neither text may ever change.
  public init(seed key: String, of set: String) { self.init(uuid: SeedIdentity.uuid(ofKey: key, set: set)) }
}
