import Foundation
import TallyCRDT
import TallyWire

/// The result of the last look at all tables, indexes and triggers of a file, with a digest of their SQL. As long as
/// the digest fits, nothing has to be looked at again, which would cost a third of what it takes to open a store.
///
/// It is kept in `tally_meta` under `shape`: Docs/StorageFormat.md.
struct KnownShape {
  /// Raise it with every change of what an opening store makes or demands of tables, indexes and triggers.
  static let version: UInt8 = 5

  var digest: UInt64
  var objects: AppObjects

  /// Reads what is known, with the files that are attached at present; nil unless the digest fits the file.
  static func load(_ connection: Connection) throws -> KnownShape? {
    guard connection.hasColumn(nil, "tally_meta"),
      let bytes = try connection.meta("shape", { $0.blob(0) }), var known = KnownShape(bytes),
      known.digest == (try digest(connection))
    else { return nil }
    try known.objects.noteAttached(connection)
    return known
  }

  /// Notes what was found in the file, whose tables, indexes and triggers are as they should be.
  static func note(_ objects: AppObjects, _ connection: Connection) throws {
    var objects = objects
    // Of this connection's attached files nothing is kept.
    objects.hasTriggers = try connection.exists(
      "SELECT 1 FROM main.sqlite_master WHERE type = 'trigger' AND name NOT GLOB 'tally_*' LIMIT 1")
    let insert = try connection.statement("INSERT OR REPLACE INTO tally_meta VALUES('shape', ?)")
    insert.bind(1, KnownShape(digest: try digest(connection), objects: objects).bytes)
    try insert.run()
  }

  /// A hash of all SQL in the file's schema and of the catalog's version, which says what it should be.
  private static func digest(_ connection: Connection) throws -> UInt64 {
    var hash = SipHash13()
    hash.combine(byte: version)
    hash.combine(word: UInt64(bitPattern: try connection.meta("catalog") { $0.int64(0) } ?? 0))
    let query = try connection.statement("SELECT name, sql FROM main.sqlite_master")
    defer { query.reset() }
    while try query.step() {
      for column in 0..<2 {
        query.withBytes(ofText: column) { bytes in
          hash.combine(word: UInt64(bytes.count))
          hash.combine(bytes: UnsafeRawBufferPointer(bytes))
        }
      }
    }
    return hash.finalized()
  }
}

// MARK: - Bytes

extension KnownShape {
  /// The version, the digest and what was found; then a hash of all that.
  var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.byte(Self.version)
    writer.fixed(digest)
    writer.byte(objects.hasTriggers ? 1 : 0)
    writer.indexes(objects.uniqueIndexes)
    writer.indexes(objects.wholeUniqueIndexes)
    for tables in [
      objects.tablesWithOpaqueUniqueIndexes, objects.tablesWithExpressionIndexes, objects.tablesWithVirtualColumns,
      objects.tablesWithConflictClauses, objects.tablesWithImmediateKeys,
    ] {
      writer.texts(tables.sorted())
    }
    writer.entries(objects.checkedColumns) { writer, targets in
      writer.entries(targets) { $0.text($1) }
    }
    writer.entries(objects.columns) { $0.texts($1) }
    writer.fixed(writer.bytes.withUnsafeBytes(SipHash13.hash))
    return writer.bytes
  }

  /// Returns nil for bytes of another version, and for any that are not what was written.
  init?(_ bytes: [UInt8]) {
    guard bytes.first == Self.version, bytes.count > 8 else { return nil }
    let known: KnownShape? = bytes.withUnsafeBytes { raw in
      let content = UnsafeRawBufferPointer(rebasing: raw[..<(raw.count - 8)])
      var sum = ByteReader(UnsafeRawBufferPointer(rebasing: raw[(raw.count - 8)...]))
      guard let kept = try? sum.fixed(), kept == SipHash13.hash(content) else { return nil }
      var reader = ByteReader(content)
      return try? KnownShape(&reader)
    }
    guard let known else { return nil }
    self = known
  }

  private init(_ reader: inout ByteReader) throws(WireError) {
    _ = try reader.byte()
    digest = try reader.fixed()
    objects = AppObjects()
    objects.hasTriggers = try reader.byte() == 1
    objects.uniqueIndexes = try reader.indexes()
    objects.wholeUniqueIndexes = try reader.indexes()
    objects.tablesWithOpaqueUniqueIndexes = Set(try reader.texts())
    objects.tablesWithExpressionIndexes = Set(try reader.texts())
    objects.tablesWithVirtualColumns = Set(try reader.texts())
    objects.tablesWithConflictClauses = Set(try reader.texts())
    objects.tablesWithImmediateKeys = Set(try reader.texts())
    objects.checkedColumns = try reader.entries { reader throws(WireError) in
      try reader.entries { reader throws(WireError) in try reader.name() }
    }
    objects.columns = try reader.entries { reader throws(WireError) in try reader.texts() }
  }
}

extension ByteWriter {
  fileprivate mutating func texts(_ texts: [String]) {
    varint(texts.count)
    for text in texts { self.text(text) }
  }

  /// In the order of the keys.
  fileprivate mutating func entries<Value>(_ entries: [String: Value], _ write: (inout ByteWriter, Value) -> Void) {
    varint(entries.count)
    for (key, value) in entries.sorted(by: { $0.key < $1.key }) {
      text(key)
      write(&self, value)
    }
  }

  fileprivate mutating func indexes(_ indexes: [String: [AppObjects.UniqueIndex]]) {
    entries(indexes) { writer, indexes in
      writer.varint(indexes.count)
      for index in indexes {
        writer.varint(index.count)
        for (column, collation) in index {
          writer.text(column)
          writer.text(collation)
        }
      }
    }
  }
}

extension ByteReader {
  fileprivate mutating func name() throws(WireError) -> String { try text(limit: remaining, "a name") }

  fileprivate mutating func texts() throws(WireError) -> [String] {
    var texts: [String] = []
    for _ in 0..<(try count(ofElementsWithAtLeast: 1, "names")) { texts.append(try name()) }
    return texts
  }

  fileprivate mutating func entries<Value>(
    _ read: (inout ByteReader) throws(WireError) -> Value
  ) throws(WireError) -> [String: Value] {
    var entries: [String: Value] = [:]
    for _ in 0..<(try count(ofElementsWithAtLeast: 2, "tables")) {
      let key = try name()
      entries[key] = try read(&self)
    }
    return entries
  }

  fileprivate mutating func indexes() throws(WireError) -> [String: [AppObjects.UniqueIndex]] {
    try entries { reader throws(WireError) in
      var indexes: [AppObjects.UniqueIndex] = []
      for _ in 0..<(try reader.count(ofElementsWithAtLeast: 1, "indexes")) {
        var index: AppObjects.UniqueIndex = []
        for _ in 0..<(try reader.count(ofElementsWithAtLeast: 2, "columns")) {
          index.append((try reader.name(), try reader.name()))
        }
        indexes.append(index)
      }
      return indexes
    }
  }
}
