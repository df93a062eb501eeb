import TallyCRDT
import TallyWire

/// Identifies a seed set without generating it, so that a later launch knows the one that the store has applied: a hash
/// of the app's declaration and of the schema in the file, which together determine the set's content.
///
/// Wide SipHash-1-3 of `"SeedDigest"`, the version of the generator, the set's name and version, the JSON of the schema
/// as it is stored, and each record and retired key in the order of declaration. Of a record's fields, references and
/// relationships, which have no order, the sums of their hashes count. Another order of records only makes another
/// digest: the set is then generated as before, and found to be known.
package struct SeedDigest: Equatable {
  package let high: UInt64
  package let low: UInt64

  /// The 32 hexadecimal digits in the file.
  package var text: String { ReplicaID(high: high, low: low).description }

  package init?(_ text: Substring) {
    guard let id = ReplicaID(String(text)) else { return nil }
    (high, low) = (id.high, id.low)
  }

  package init(_ set: SeedSet, schema: [UInt8]) {
    var hash = SipHash13(wide: true)
    hash.combine(sized: "SeedDigest")
    hash.combine(word: UInt64(SeedHistory.generator))
    hash.combine(sized: set.name)
    hash.combine(word: UInt64(bitPattern: Int64(set.version)))
    hash.combine(word: UInt64(schema.count))
    schema.withUnsafeBytes { hash.combine(bytes: $0) }
    hash.combine(word: UInt64(set.records.count))
    for record in set.records {
      hash.combine(sized: record.key)
      hash.combine(sized: record.type)
      Self.add(record.fields, to: &hash) { $1.combine($0) }
      Self.add(record.references, to: &hash) { $1.combine(sized: $0) }
      Self.add(record.relationships, to: &hash) { keys, hash in
        hash.combine(word: UInt64(keys.count))
        for key in keys { hash.combine(sized: key) }
      }
    }
    hash.combine(word: UInt64(set.retired.count))
    for key in set.retired {
      hash.combine(sized: key.key)
      hash.combine(sized: key.type)
    }
    (high, low) = hash.finalizedWide()
  }

  private static func add<V>(
    _ entries: [String: V], to hash: inout SipHash13, _ combine: (V, inout SipHash13) -> Void
  ) {
    var (high, low): (UInt64, UInt64) = (0, 0)
    for (name, value) in entries {
      var entry = SipHash13(wide: true)
      entry.combine(sized: name)
      combine(value, &entry)
      let part = entry.finalizedWide()
      high &+= part.0
      low &+= part.1
    }
    hash.combine(word: UInt64(entries.count))
    hash.combine(word: high)
    hash.combine(word: low)
  }
}

extension SipHash13 {
  fileprivate mutating func combine(sized text: String) {
    combine(word: UInt64(text.utf8.count))
    combine(text: text)
  }

  fileprivate mutating func combine(_ value: Value) {
    switch value {
    case .null: combine(byte: 0)
    case .integer(let number):
      combine(byte: 1)
      combine(word: UInt64(bitPattern: number))
    case .real(let number):
      combine(byte: 2)
      combine(word: number.bitPattern)
    case .text(let text):
      combine(byte: 3)
      combine(sized: text)
    case .blob(let bytes):
      combine(byte: 4)
      combine(word: UInt64(bytes.count))
      bytes.withUnsafeBytes { combine(bytes: $0) }
    }
  }
}

/// The note of a seed set that the store's own app has applied.
package struct AppliedSeed {
  package var version: Int
  package var replica: ReplicaID
  /// Nil for a set with adoptions, and where an earlier version of Tally has noted it.
  package var digest: SeedDigest?

  /// The text in the file: version, virtual replica and digest.
  package var text: String { "\(version) \(replica)" + (digest.map { " \($0.text)" } ?? "") }

  package init(version: Int, replica: ReplicaID, digest: SeedDigest?) {
    (self.version, self.replica, self.digest) = (version, replica, digest)
  }

  package init(_ text: String) throws(StoreError) {
    let parts = text.split(separator: " ")
    guard (2...3).contains(parts.count), let version = Int(parts[0]), let replica = ReplicaID(String(parts[1])) else {
      throw StoreError(.corrupt, "the note of a seed set is malformed")
    }
    // A digest that the disk has changed fits nothing; then the set is generated.
    self.init(version: version, replica: replica, digest: parts.count == 3 ? SeedDigest(parts[2]) : nil)
  }
}
