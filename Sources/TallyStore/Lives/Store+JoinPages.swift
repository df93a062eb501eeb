import GRDB
import TallyCRDT

extension Store {
  private static let joinedKey = "joined"

  /// Joins pages of `tally_hidden` on which little is left because records were emptied, here or by a peer, so that
  /// most of them become free. Does nothing where nothing was removed since the last time.
  ///
  /// SQLite joins pages that are nearly empty when a row is deleted, and not when one gets shorter. So rows are deleted
  /// and inserted again. To join pages SQLite copies rows from one to another, and need not overwrite where they were:
  /// so it is done afterwards, when there is nothing in them any more, and not close to rows that still hold something.
  func joinPages() throws {
    let removed = try removals().all.noted
    guard !removed.isEmpty, try notes(Self.compactionScope).values[Self.joinedKey] != removed else { return }
    var position: Int? = 0
    while let start = position {
      position = try replicate { try $0.joinSlice(from: start) }.value
    }
    try note(NoteBatch(Self.compactionScope, [Self.joinedKey: removed]))
  }
}

extension WriteTransaction {
  /// The number of rows that are left alone on either side of one that holds something: more than are on three pages,
  /// which is as far as SQLite looks when it joins some.
  private static let margin = 400
  /// The most rows that a transaction looks at, and for how long it goes on.
  private static let rowCount = 4096
  private static let milliseconds: UInt64 = 50

  /// Deletes and inserts again rows that hold nothing, behind the one with the number `start`; 0 is the beginning of
  /// the table, beside which there is nothing.
  /// - Returns: where the next slice begins; nil at the end.
  fileprivate func joinSlice(from start: Int) throws -> Int? {
    let end = environment.now().milliseconds + Self.milliseconds
    var run = EmptyRun(margin: Self.margin, length: start == 0 ? Self.margin : 0)
    var (position, seen) = (start, 0)
    while true {
      let rows = try hiddenRows(behind: position)
      guard let last = rows.last else {
        for number in run.takeAll() { try insertAgain(number) }
        return nil
      }
      for row in rows {
        if let number = run.next(row.number, isEmpty: row.isEmpty) { try insertAgain(number) }
      }
      (position, seen) = (last.number, seen + rows.count)
      guard seen >= Self.rowCount || seen > 3 * Self.margin && environment.now().milliseconds > end else { continue }
      // Others may write before the next slice, which looks again at what this one has left.
      return run.start ?? position
    }
  }

  private func hiddenRows(behind position: Int) throws -> [(number: Int, isEmpty: Bool)] {
    let query = try connection.statement("SELECT n, kind, body FROM tally_hidden WHERE n > ? ORDER BY n LIMIT 256")
    query.bind(1, position)
    var rows: [(number: Int, isEmpty: Bool)] = []
    while try query.step() {
      let (number, kind): (Int, KindNumber) = (query.int(0), query.number(1))
      // A link has no values. What cannot be read, or is of a type that only others know, may hold anything.
      let isEmpty =
        catalog.links[kind] != nil
        || catalog.records[kind] != nil
          && query.withBlob(2) { (try? reader.hiddenRecord(number, $0))?.state.hasContent == false }
      rows.append((number, isEmpty))
    }
    return rows
  }

  private func insertAgain(_ number: Int) throws {
    let query = try connection.statement("SELECT kind, key, body FROM tally_hidden WHERE n = ?")
    query.bind(1, number)
    guard try query.step() else { return query.reset() }
    let (kind, key, body): (KindNumber, String?, [UInt8]) = (query.number(0), query.text(1), query.blob(2))
    query.reset()
    guard let key else { return }
    let delete = try connection.statement("DELETE FROM tally_hidden WHERE n = ?")
    delete.bind(1, number)
    try delete.run()
    let insert = try connection.statement("INSERT INTO tally_hidden(n, kind, key, body) VALUES(?, ?, ?, ?)")
    insert.bind(1, number)
    insert.bind(2, kind)
    insert.bind(3, key)
    insert.bind(4, body)
    try insert.run()
  }
}

/// Rows one after the other that hold nothing, of which those may go that have enough others on both sides.
private struct EmptyRun {
  let margin: Int
  /// The number of rows before the waiting ones, and on from the first that there was.
  var length: Int
  /// The last rows of the run, oldest first.
  private var waiting: [Int] = []
  /// As many as a margin before the oldest that waits.
  private var before: [Int] = []

  init(margin: Int, length: Int) { (self.margin, self.length) = (margin, length) }

  /// Takes the next row.
  /// - Returns: an earlier row that has enough on both sides by now.
  mutating func next(_ number: Int, isEmpty: Bool) -> Int? {
    guard isEmpty else {
      (length, waiting, before) = (0, [], [])
      return nil
    }
    waiting.append(number)
    guard waiting.count > margin else { return nil }
    return takeFirst()
  }

  private mutating func takeFirst() -> Int? {
    let first = waiting.removeFirst()
    before.append(first)
    if before.count > margin { before.removeFirst() }
    length += 1
    return length > margin ? first : nil
  }

  /// Those that wait, at the end of the table, behind which there is nothing.
  mutating func takeAll() -> [Int] {
    var all: [Int] = []
    while !waiting.isEmpty { if let next = takeFirst() { all.append(next) } }
    return all
  }

  /// The number behind which somebody who begins anew comes to the oldest that waits with a margin before it; nil if
  /// none waits.
  var start: Int? { (before.first ?? waiting.first).map { $0 - 1 } }
}
