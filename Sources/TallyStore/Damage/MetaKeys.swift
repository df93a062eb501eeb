import TallyCRDT

/// The keys of `tally_meta`. A key that the disk has changed hides its row, and rows beside it, from a statement that
/// looks one up; nothing that is stored under it has a sum.
package enum MetaKeys {
  private static let names: Set<String> = [
    "catalog", "schema", "self", "incarnation", "doubt", "lost", "renewal", "echo", "retired", "marks",
    "imports", "lives", "log", "needless", "shape", "stubs", "tables",
  ]
  private static let prefixes = ["mark ", "rows ", "seeds ", "numbers "]

  private static func isKnown(_ key: [UInt8]) -> Bool { isKnown(String(decoding: key, as: UTF8.self)) }

  /// Whether a store uses the key.
  package static func isKnown(_ text: String) -> Bool {
    names.contains(text) || prefixes.contains { text.hasPrefix($0) && text.utf8.count > $0.utf8.count }
  }

  /// The key that one bit has made another; nil if there is none.
  private static func original(of key: [UInt8]) -> [UInt8]? {
    for bit in 0..<8 * key.count {
      var other = key
      other[bit / 8] ^= 1 << UInt8(bit % 8)
      if isKnown(other) { return other }
    }
    return nil
  }

  private struct Row {
    var key: [UInt8]
    var value: Value
  }

  /// In the order in which they stand in the file.
  private static func rows(_ connection: Connection) throws -> [Row] {
    // The table is its own index, so nothing is sorted. Without ORDER BY a pragma of the app's may turn it around.
    let query = try connection.statement("SELECT CAST(key AS BLOB), value FROM tally_meta ORDER BY tally_meta.key")
    defer { query.reset() }
    var rows: [Row] = []
    while try query.step() { rows.append(Row(key: query.blob(0), value: query.value(1))) }
    return rows
  }

  /// Puts keys right of which one bit was changed, and their order. A key that no bit explains stays, for `verify` to
  /// report, unless `removesUnknown` asks for rows that nothing reads to be removed.
  static func putRight(_ connection: Connection, removesUnknown: Bool = false) throws {
    let before = try rows(connection)
    var taken = Set(before.map(\.key).filter(isKnown))
    var after: [Row] = []
    for var row in before {
      if !isKnown(row.key) {
        if let original = original(of: row.key), taken.insert(original).inserted {
          row.key = original
        } else if removesUnknown {
          continue
        }
      }
      after.append(row)
    }
    let isOrdered = zip(before, before.dropFirst()).allSatisfy { $0.key.lexicographicallyPrecedes($1.key) }
    guard !isOrdered || before.map(\.key) != after.map(\.key) else { return }
    try connection.execute("DELETE FROM tally_meta")
    for row in after {
      try connection.run("INSERT OR IGNORE INTO tally_meta VALUES(CAST(? AS TEXT), ?)", row.key, row.value)
    }
  }

  /// One line for each row that nothing reads.
  static func problems(_ connection: Connection) throws -> [String] {
    let keys = try rows(connection).map(\.key)
    var problems = keys.filter { !isKnown($0) }.map { key in
      "tally_meta has a row that nothing reads, \(printable(String(decoding: key, as: UTF8.self)))"
    }
    if !zip(keys, keys.dropFirst()).allSatisfy({ $0.lexicographicallyPrecedes($1) }) {
      problems.append("the keys of tally_meta are out of order")
    }
    return problems
  }
}
