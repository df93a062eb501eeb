import Foundation
import TallyCRDT
import TallyWire

/// The result of the last look at all tables, indexes and triggers of a file, with a digest of their SQL. As long as
/// the digest fits, nothing has to be looked at again, which would cost a third of what it takes to open a store.
///
/// It is kept in `tally_meta` under `shape`: Docs/StorageFormat.md.
struct KnownShape {
  /// Raise it with every change of what an opening store makes or demands of tables, indexes and triggers.
  static let version: UInt8 = 7

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
    try connection.run(
      "INSERT OR REPLACE INTO tally_meta VALUES('shape', ?)",
      KnownShape(digest: try digest(connection), objects: objects).bytes)
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
  /// The version, the digest and what was found.
  var bytes: [UInt8] {
    SealedBytes.seal { writer in
      writer.byte(Self.version)
      writer.fixed(digest)
      writer.byte(objects.hasTriggers ? 1 : 0)
      writer.varint(objects.tables.count)
      for (name, table) in objects.tables.sorted(by: { $0.key < $1.key }) {
        writer.text(name)
        writer.byte(table.traits.rawValue)
        writer.texts(table.columns)
        for indexes in [table.wholeIndexes, table.partialIndexes] {
          writer.varint(indexes.count)
          for index in indexes { writer.texts(index.flatMap { [$0.column, $0.collation] }) }
        }
        writer.texts(table.checkedColumns.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] })
      }
    }
  }

  /// Returns nil for bytes of another version, and for any that are not what was written.
  init?(_ bytes: [UInt8]) {
    guard bytes.first == Self.version,
      let known = SealedBytes.open(bytes, { reader throws(WireError) in try KnownShape(&reader) })
    else { return nil }
    self = known
  }

  private init(_ reader: inout ByteReader) throws(WireError) {
    _ = try reader.byte()
    digest = try reader.fixed()
    objects = AppObjects()
    objects.hasTriggers = try reader.byte() == 1
    for _ in 0..<(try reader.count(ofElementsWithAtLeast: 6, "tables")) {
      let name = try reader.text(limit: reader.remaining, "a name")
      var table = AppObjects.Table(traits: AppObjects.Traits(rawValue: try reader.byte()))
      table.columns = try reader.texts()
      table.wholeIndexes = try reader.indexes()
      table.partialIndexes = try reader.indexes()
      for (column, target) in try reader.pairs() { table.checkedColumns[column] = target }
      objects.tables[name] = table
    }
  }
}

extension ByteWriter {
  /// A list of texts.
  mutating func texts(_ texts: [String]) {
    varint(texts.count)
    for text in texts { self.text(text) }
  }
}

extension ByteReader {
  mutating func texts() throws(WireError) -> [String] {
    var texts: [String] = []
    for _ in 0..<(try count(ofElementsWithAtLeast: 1, "names")) { texts.append(try text(limit: remaining, "a name")) }
    return texts
  }

  fileprivate mutating func pairs() throws(WireError) -> [(String, String)] {
    let texts = try texts()
    guard texts.count.isMultiple(of: 2) else { throw WireError(.malformed, "a list of pairs") }
    return stride(from: 0, to: texts.count, by: 2).map { (texts[$0], texts[$0 + 1]) }
  }

  fileprivate mutating func indexes() throws(WireError) -> [AppObjects.UniqueIndex] {
    var indexes: [AppObjects.UniqueIndex] = []
    for _ in 0..<(try count(ofElementsWithAtLeast: 1, "indexes")) {
      indexes.append(try pairs().map { (column: $0, collation: $1) })
    }
    return indexes
  }
}
