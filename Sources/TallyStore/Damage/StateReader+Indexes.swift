import TallyCRDT

extension StateReader {
  /// Whether what is found by its name is what stands in the tables: of rows, links and hidden states, but for stubs.
  /// The sums of the content are made of the tables alone.
  ///
  /// Cost: reads all names twice, once in the order of their indexes.
  func indexesMatch() throws -> Bool {
    let known = catalog.records.values.filter(\.isKnown).map { (table: $0.type, columns: "id") }
    let links = catalog.knownLinks.map { (table: $0.table, columns: "source, target") }
    for (table, columns) in known + links + [(table: "tally_hidden", columns: "kind, key")] {
      let select = "SELECT rowid, \(columns) FROM main.\"\(table)\""
      // The second is answered from the index, which holds all that it asks for.
      guard try sum(select + " NOT INDEXED") == sum(select + " ORDER BY \(columns)") else { return false }
    }
    // A key that the disk has changed in the table is as it was in the index by the target. SQLite would answer both
    // from the index, were it not for their orders.
    let select = "SELECT 0, kind, source, target FROM main.tally_cut ORDER BY "
    return try sum(select + "kind, source, target") == sum(select + "kind, target, source")
  }

  /// A sum over the rows of a query, in any order.
  private func sum(_ sql: String) throws -> UInt64 {
    let query = try SQLStatement(connection, sql)
    var sum: UInt64 = 0
    while try query.step() {
      var row = UInt64(bitPattern: query.int64(0))
      for column in 1..<query.columnCount { row = (row &* 0x9E37_79B9_7F4A_7C15) ^ query.hash(ofText: column) }
      sum &+= row &* (row | 1)
    }
    return sum
  }
}

extension StoreError {
  /// The description of an index that leads to another row than the one that it names, or to none.
  static let wrongIndex = "an index does not match its table"
}
