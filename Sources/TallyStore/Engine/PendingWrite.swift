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
  /// Nil if there was no row.
  var before: Image?

  /// The `op` of a row that is refused as it stands; see `Engine.refused`. Smaller ones say which trigger wrote the row.
  static let refusal = 4
}

extension Engine {
  /// The rows written since the last capture, in the order of their first write.
  /// - Parameter isForeign: names that no Swift string can hold are refused rather than fail the transaction.
  func pendingWrites(isForeign: Bool) throws -> [PendingWrite] {
    let width = try connection.integer("SELECT count(*) FROM pragma_table_info('tally_pending')") ?? 5
    let query = try connection.statement(
      "SELECT kind, n, key, clock, * FROM tally_pending WHERE op < \(PendingWrite.refusal) ORDER BY n")
    defer { query.reset() }
    var writes: [PendingWrite] = []
    var seen: [Int: Set<String>] = [:]
    var unreadable: [Int] = []
    while try query.step() {
      let kind = query.int(0)
      guard let key = query.text(2) else {
        guard isForeign else { throw StoreError(.invalidName, "a record name is not valid UTF-8") }
        unreadable.append(query.int(1))
        continue
      }
      guard seen[kind, default: []].insert(key).inserted else { continue }
      let clock = query.isNull(3) ? InlineClock.unstamped : try InlineClock(query.blob(3))
      // A row without a clock was never part of the replicated state.
      guard clock != .unstamped else {
        writes.append(PendingWrite(kind: kind, key: key, before: nil))
        continue
      }
      var values: [Value] = []
      let count = catalog.records[kind]?.columns.count ?? 0
      // The values follow the five columns that all rows have; four were selected in front.
      for index in 0..<min(count, width - 5) { values.append(query.value(9 + index)) }
      writes.append(PendingWrite(kind: kind, key: key, before: .init(clock: clock, values: values)))
    }
    for row in unreadable { try refuse(unreadable: row) }
    return writes
  }

  /// Takes what is about to be captured off the list.
  func forgetPendingWrites() throws {
    // Without a condition SQLite empties the table at once (https://www.sqlite.org/lang_delete.html#truncateopt).
    try connection.execute("DELETE FROM tally_pending" + (hasRefusals ? " WHERE op < \(PendingWrite.refusal)" : ""))
  }
}

extension StateReader {
  /// Whether something was written that has not been captured.
  func hasPendingWrites() throws -> Bool {
    try connection.exists("SELECT 1 FROM tally_pending WHERE op < \(PendingWrite.refusal) LIMIT 1")
  }
}
