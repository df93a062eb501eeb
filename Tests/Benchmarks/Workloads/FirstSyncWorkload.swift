import GRDB
import Tally

/// W3, W4: the delta of everything, and its application to an empty store.
enum FirstSyncWorkload {
  static func runDelta(_ round: Round) throws {
    let pair = try round.filled()
    let file = try DeltaFile(round.newPath())
    let name = "full delta, into a compressed file"
    try round.compare([
      (
        Figure("W3.c", name, against: "reading the rows through SQLite's C API"),
        { try pair.plain.reading { try readThroughC($0) } }
      ),
      (Figure("W3.grdb", name, against: "reading the rows through GRDB"), { try pair.plain.reading(read) }),
    ]) {
      try file.write(pair.store)
    }
    round.note(
      Figure("W3.bytes", "full delta", against: "the bare rows, compressed alike", .bytes),
      bytes: Double(try file.byteCount), plain: Double(try BareRows.compressedBytes(round.rows.items)))
  }

  static func runApply(_ round: Round) throws {
    let (first, rows) = (try round.filled(), round.rows)
    let file = try DeltaFile(round.newPath())
    try file.write(first.store)
    let second = Pair(plain: try PlainDatabase.create(round.newPath()), store: try round.emptyStore())
    let (atOnce, ordered) = (try PlainDatabase.create(round.newPath()), try PlainDatabase.create(round.newPath()))
    let sorted = rows.items.sorted { $0.id < $1.id }
    let (name, baseline) = ("apply to an empty store", "plain inserts, C API, one transaction")
    try round.compare([
      (
        Figure("W4.one", name, against: "\(baseline), in arrival order"),
        { try atOnce.insertAtOnceThroughC(rows.owners, rows.items) }
      ),
      (
        Figure("W4.sorted", name, against: "\(baseline), sorted by key"),
        { try ordered.insertAtOnceThroughC(rows.owners, sorted) }
      ),
      (
        Figure(
          "W4.thousands", name, against: "plain inserts, GRDB, a thousand in a transaction: another way of writing"),
        {
          try second.plain.insertOwners(rows.owners)
          try second.plain.insert(rows.items)
        }
      ),
    ]) {
      try file.apply(to: second.store)
    }
    round.keep(replicas: second)
  }

  private static let sql = "SELECT id, name, notes, count, price, day, owner FROM Item"

  /// Makes a Swift value of each column, as `read` does.
  static func readThroughC(_ db: Database, where condition: String = "TRUE") throws {
    let statement = try PreparedStatement(db, "\(sql) WHERE \(condition)")
    var sum = 0
    while try statement.step() {
      for index: Int32 in [0, 1, 2, 5, 6] { sum &+= statement.text(index).utf8.count }
      sum &+= statement.integer(3) &+ Int(statement.real(4))
    }
    guard sum > 0 else { throw Mistake("there are no rows to read") }
  }

  /// Touches every value, so that none stays unread.
  private static func read(_ db: Database) throws {
    let rows = try Row.fetchCursor(db, sql: sql)
    var sum = 0
    while let row = try rows.next() {
      for index in [0, 1, 2, 5, 6] { sum &+= (row[index] as String).utf8.count }
      sum &+= (row[3] as Int) &+ Int(row[4] as Double)
    }
    guard sum > 0 else { throw Mistake("there are no rows to read") }
  }
}
