import GRDB
import TallyCRDT

/// Local facts about something outside the store, such as what a mailbox holds: what one place has noted is a scope.
///
/// Nothing in the store follows from them, and nothing of them replicates. They are in the file so that they are
/// committed together with content, and so that a file which is copied or set back has those that fit it.
package struct NoteBatch: Sendable {
  /// How the scopes of mailboxes begin.
  package static let mailboxes = "mailbox "
  /// The scope of the notes.
  package var scope: String
  /// The value to note under each key from now on; nil for nothing. No key is empty.
  package var values: [String: [UInt8]?]
  /// Whether all that was noted in the scope goes first.
  package var isReplacing: Bool

  package init(_ scope: String, _ values: [String: [UInt8]?], isReplacing: Bool = false) {
    (self.scope, self.values, self.isReplacing) = (scope, values, isReplacing)
  }
}

/// The table `tally_note`.
///
/// Under the empty key each scope has a sum of its other rows, so that a row that is gone or altered is noticed: a
/// reader that noted how far a list was read must not rely on that if an entry of the list is lost.
struct NoteTable {
  /// The most mailboxes of which anything is noted; with one more, the oldest goes.
  static let scopes = 32
  private let connection: Connection

  init(_ connection: Connection) { self.connection = connection }

  // MARK: Reading

  /// Returns the notes of a scope; nil if the checksum does not match, so that nothing of it is to be relied on.
  func read(_ scope: String) throws -> [String: [UInt8]]? {
    let query = try connection.statement("SELECT key, value FROM tally_note WHERE scope = ?")
    defer { query.reset() }
    query.bind(1, scope)
    var (values, sum, kept): ([String: [UInt8]], UInt64, Head?) = ([:], 0, nil)
    while try query.step() {
      guard let key = query.text(0) else { return nil }
      if key.isEmpty {
        kept = Head(query.blob(1))
      } else {
        values[key] = query.blob(1)
        sum &+= Self.check(scope, key, query.blob(1))
      }
    }
    if kept == nil, values.isEmpty { return [:] }
    return kept?.sum == sum ? values : nil
  }

  // MARK: Writing

  func write(_ batch: NoteBatch) throws {
    if batch.isReplacing { try remove(batch.scope) }
    var head = try value(batch.scope, "").flatMap(Head.init) ?? Head(sum: 0, number: try nextNumber(for: batch.scope))
    for (key, new) in batch.values.sorted(by: { $0.key < $1.key }) {
      if let old = try value(batch.scope, key) { head.sum &-= Self.check(batch.scope, key, old) }
      guard let new else {
        try remove(batch.scope, key)
        continue
      }
      head.sum &+= Self.check(batch.scope, key, new)
      try put(batch.scope, key, new)
    }
    try put(batch.scope, "", head.bytes)
  }

  func value(_ scope: String, _ key: String) throws -> [UInt8]? {
    let query = try connection.statement("SELECT value FROM tally_note WHERE scope = ? AND key = ?")
    defer { query.reset() }
    query.bind(1, scope)
    query.bind(2, key)
    return try query.step() ? query.blob(0) : nil
  }

  private func put(_ scope: String, _ key: String, _ value: [UInt8]) throws {
    let insert = try connection.statement("INSERT OR REPLACE INTO tally_note(scope, key, value) VALUES(?, ?, ?)")
    insert.bind(1, scope)
    insert.bind(2, key)
    insert.bind(3, value)
    try insert.run()
  }

  private func remove(_ scope: String, _ key: String) throws {
    let delete = try connection.statement("DELETE FROM tally_note WHERE scope = ? AND key = ?")
    delete.bind(1, scope)
    delete.bind(2, key)
    try delete.run()
  }

  private func remove(_ scope: String) throws {
    let delete = try connection.statement("DELETE FROM tally_note WHERE scope = ?")
    delete.bind(1, scope)
    try delete.run()
  }

  /// Makes room for one more scope.
  /// - Returns: its number; later ones are larger.
  private func nextNumber(for scope: String) throws -> UInt64 {
    let query = try connection.statement("SELECT scope, value FROM tally_note WHERE key = ''")
    defer { query.reset() }
    var known: [(number: UInt64, scope: String)] = []
    while try query.step() { known.append((Head(query.blob(1))?.number ?? 0, query.text(0) ?? "")) }
    known.sort { ($0.number, $0.scope) < ($1.number, $1.scope) }
    if scope.hasPrefix(NoteBatch.mailboxes) {
      let mailboxes = known.filter { $0.scope.hasPrefix(NoteBatch.mailboxes) }
      for (_, scope) in mailboxes.dropLast(Self.scopes - 1) { try remove(scope) }
    }
    return (known.last?.number ?? 0) &+ 1
  }

  // MARK: The sum

  /// The row under the empty key: the checksum of the other rows, and a number that grows from scope to scope.
  private struct Head {
    var sum: UInt64
    var number: UInt64

    init(sum: UInt64, number: UInt64) { (self.sum, self.number) = (sum, number) }

    init?(_ bytes: [UInt8]) {
      guard bytes.count == 16 else { return nil }
      func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
      self.init(sum: word(bytes[..<8]), number: word(bytes[8...]))
    }

    var bytes: [UInt8] { [sum, number].flatMap { word in withUnsafeBytes(of: word.bigEndian) { Array($0) } } }
  }

  /// Returns the contribution of a row to the checksum.
  private static func check(_ scope: String, _ key: String, _ value: [UInt8]) -> UInt64 {
    var hash = SipHash()
    for bytes in [Array(scope.utf8), Array(key.utf8), value] {
      hash.combine(word: UInt64(bytes.count))
      bytes.withUnsafeBytes { hash.combine(bytes: $0) }
    }
    return hash.finalized()
  }
}
