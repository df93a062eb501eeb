import TallyCRDT
import TallyWire

/// `tally_stub`: what is left of records that were deleted and emptied (`StubCoding`). In a file that has none nothing
/// is looked up, which the catalog says.
extension StateReader {
  /// A stub by its name; nil if the record is not a stub.
  func record(stub name: AnyRecordName, _ kind: RecordKind) throws -> StoredRecord? {
    guard catalog.hasStubs else { return nil }
    let query = try connection.statement("SELECT body FROM tally_stub WHERE kind = ? AND key = ?")
    defer { query.reset() }
    query.bind(1, kind.number)
    query.bind(2, key: RecordKey(name))
    guard try query.step() else { return nil }
    return try query.withBlob(0) { try stub($0) }
  }

  /// Whether a record is a stub.
  func isStub(_ key: RecordKey, _ kind: KindNumber) throws -> Bool {
    guard catalog.hasStubs else { return false }
    let query = try connection.statement("SELECT 1 FROM tally_stub WHERE kind = ? AND key = ?")
    defer { query.reset() }
    query.bind(1, kind)
    query.bind(2, key: key)
    return try query.step()
  }

  /// Whether a record has a row, or is hidden and no stub.
  func isBesidesStubs(_ name: AnyRecordName, _ kind: RecordKind) throws -> Bool {
    if try kind.isKnown && hasRow(name) { return true }
    let query = try connection.statement("SELECT 1 FROM tally_hidden WHERE kind = ? AND key = ?")
    defer { query.reset() }
    query.bind(1, kind.number)
    query.bind(2, name.text)
    return try query.step()
  }

  /// The record of a stub's bytes.
  package func stub(_ body: UnsafeRawBufferPointer) throws -> StoredRecord {
    let (state, sum) = try StubCoding.decode(body, self)
    return StoredRecord(state: state, place: .stub, sum: sum)
  }

  /// Each stub of a kind.
  func forEachStub(_ kind: RecordKind, _ body: (AnyRecordName, StoredRecord) throws -> Void) throws {
    guard catalog.hasStubs else { return }
    let query = try connection.loop("SELECT key, body FROM tally_stub WHERE kind = ? ORDER BY key")
    query.bind(1, kind.number)
    defer { query.reset() }
    while try query.step() {
      guard let name = query.name(0, kind.type) else { throw StoreError(.corrupt, "a stub's key is malformed") }
      try body(name, try query.withBlob(1) { try stub($0) })
    }
  }

  /// The names of the next stubs of a kind, at most `limit`, after one of them or from the first.
  func stubs(of kind: RecordKind, after name: AnyRecordName?, limit: Int) throws -> [AnyRecordName] {
    guard catalog.hasStubs else { return [] }
    // SQLite orders texts before blobs, and every text after the empty one.
    let query = try connection.statement("SELECT key FROM tally_stub WHERE kind = ? AND key > ? ORDER BY key LIMIT ?")
    defer { query.reset() }
    query.bind(1, kind.number)
    query.bind(2, key: name.map(RecordKey.init) ?? .text(""))
    query.bind(3, limit)
    var names: [AnyRecordName] = []
    while try query.step() {
      guard let name = query.name(0, kind.type) else { throw StoreError(.corrupt, "a stub's key is malformed") }
      names.append(name)
    }
    return names
  }
}

/// Stubs for `TallyInspection`.
extension StateReader {
  /// Each stub of a kind after the first `count`, with how many bytes it has, until the body returns false.
  /// - Returns: whether there are no more.
  package func forEachStub(
    _ kind: RecordKind, from count: Int, _ body: (AnyRecordName, RecordState, Int) throws -> Bool
  ) throws -> Bool {
    guard catalog.hasStubs else { return true }
    let query = try SQLStatement(
      connection,
      "SELECT key, body FROM tally_stub WHERE kind = \(kind.number) ORDER BY key LIMIT -1 OFFSET \(count)")
    while try query.step() {
      guard let name = query.name(0, kind.type) else { throw StoreError(.corrupt, "a stub's key is malformed") }
      guard try body(name, try query.withBlob(1) { try stub($0).state }, query.byteCount(1)) else { return false }
    }
    return true
  }

  /// The names of stubs that begin with a text, which begins with their type, at most `limit`.
  package func stubs(of kind: RecordKind, withName text: String, limit: Int) throws -> [AnyRecordName] {
    guard catalog.hasStubs else { return [] }
    let key = String(text.dropFirst(kind.type.count + AnyRecordName.delimiter.count))
    let query = try SQLStatement(
      connection,
      """
      SELECT key FROM tally_stub WHERE kind = \(kind.number) AND
      (typeof(key) = 'text' AND key >= ?1 AND key < ?2 OR typeof(key) = 'blob' AND key BETWEEN ?3 AND ?4) LIMIT ?5
      """)
    query.bind(1, key)
    query.bind(2, key + "\u{7F}")
    let first = UUIDPrefix(key)
    query.bind(3, first?.least ?? [0xFF])
    query.bind(4, first?.greatest ?? [])
    query.bind(5, limit)
    var names: [AnyRecordName] = []
    while try query.step() { if let name = query.name(0, kind.type), name.text.hasPrefix(text) { names.append(name) } }
    return names.sorted()
  }
}

/// The least and the greatest UUID, in sixteen bytes, whose text begins with a text.
private struct UUIDPrefix {
  let least: [UInt8]
  let greatest: [UInt8]

  /// - Returns: nil if no UUID begins so.
  init?(_ text: String) {
    let form = Array("00000000-0000-0000-0000-000000000000".utf8)
    let bytes = Array(text.utf8)
    guard bytes.count <= form.count else { return nil }
    func id(filledWith digit: UInt8) -> [UInt8]? {
      let rest = form[bytes.count...].map { $0 == 0x2D ? $0 : digit }
      guard let (high, low) = (bytes + rest).withUnsafeBufferPointer({ RecordKey.uuid($0) }) else { return nil }
      return ReplicaID(high: high, low: low).bytes
    }
    guard let least = id(filledWith: 0x30), let greatest = id(filledWith: 0x66) else { return nil }
    (self.least, self.greatest) = (least, greatest)
  }
}

extension Connection {
  /// Whether the file has stubs, or has had some. A table that cannot be read may have some.
  func hasStubs() throws -> Bool {
    guard try exists("SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = 'tally_stub'") else {
      return false
    }
    do {
      return try hasMeta("stubs") || exists("SELECT 1 FROM tally_stub LIMIT 1")
    } catch let error where StoreError.isDamage(error) {
      return true
    }
  }
}
