import TallyCRDT

/// What stood in a row before the transaction's first write to it. What stands there now is in the row.
///
/// Comparing the two, rather than following each statement, gives the net effect of the transaction: rolled-back savepoints,
/// values set back, upserts, `INSERT OR REPLACE` and rows deleted and inserted again need no cases of their own.
struct PendingWrite {
  /// A row before it was written.
  struct Image {
    var clock: InlineClock
    var values: [Value]
  }

  var kind: Int
  var key: String
  /// The number of the row that was written, if the trigger knew it. Another row may have it by now.
  var row: Int?
  /// Nil if there was no row.
  var before: Image?

  /// The `op` of a row that is refused as it stands; see `Engine.refused`. Smaller ones say which trigger wrote the row.
  static let refusal = 4
  /// How many columns of `tally_pending` stand before those of the values.
  static let fixedColumns = 6
}

/// The rows written since the last capture, each kind in the order of their first write.
struct PendingWrites {
  private(set) var records: [PendingWrite] = []
  private(set) var links: [PendingWrite] = []
  private var seen = Set<Address>()

  private struct Address: Hashable {
    var kind: Int
    var key: String
  }

  /// Of several notes of one row the first counts.
  fileprivate mutating func isFirst(_ kind: Int, _ key: String) -> Bool {
    seen.insert(Address(kind: kind, key: key)).inserted
  }

  fileprivate mutating func append(_ write: PendingWrite, isLink: Bool) {
    if isLink { links.append(write) } else { records.append(write) }
  }
}

extension Engine {
  /// The rows written since the last capture.
  /// - Parameter isForeign: names that no Swift string can hold are refused rather than fail the transaction.
  func pendingWrites(isForeign: Bool) throws -> PendingWrites {
    // SQLite makes the names of what `*` stands for anew when the table has got more columns.
    let query = try connection.statement(
      "SELECT kind, n, key, clock, number, * FROM tally_pending WHERE op < 4 ORDER BY n")
    defer { query.reset() }
    var writes = PendingWrites()
    var unreadable: [Int] = []
    while try query.step() {
      let kind = query.int(0)
      guard let key = query.text(2) else {
        guard isForeign else { throw StoreError(.invalidName, "a record name is not valid UTF-8") }
        unreadable.append(query.int(1))
        continue
      }
      guard writes.isFirst(kind, key) else { continue }
      let row = query.isNull(4) ? nil : query.int(4)
      let record = catalog.records[kind]
      let write = PendingWrite(kind: kind, key: key, row: row, before: try image(in: query, record))
      writes.append(write, isLink: record == nil && catalog.links[kind] != nil)
    }
    for row in unreadable { try refuse(unreadable: row) }
    return writes
  }

  /// The row as it was; nil if there was none. A row without a clock was never part of the replicated state.
  private func image(in query: SQLStatement, _ kind: RecordKind?) throws -> PendingWrite.Image? {
    guard !query.isNull(3) else { return nil }
    let clock = try query.clock(3)
    guard clock != .unstamped else { return nil }
    let first = 5 + PendingWrite.fixedColumns
    let count = min(kind?.columns.count ?? 0, query.columnCount - first)
    return .init(clock: clock, values: query.values(first..<first + count))
  }

  /// Takes what is about to be captured off the list.
  func forgetPendingWrites() throws {
    // Without a condition SQLite empties the table at once (https://www.sqlite.org/lang_delete.html#truncateopt).
    let delete =
      hasRefusals
      ? try connection.statement("DELETE FROM tally_pending WHERE op < 4")
      : try connection.statement("DELETE FROM tally_pending")
    try delete.run()
  }
}

extension StateReader {
  /// Whether something was written that has not been captured.
  func hasPendingWrites() throws -> Bool {
    try connection.exists("SELECT 1 FROM tally_pending WHERE op < 4 LIMIT 1")
  }
}
