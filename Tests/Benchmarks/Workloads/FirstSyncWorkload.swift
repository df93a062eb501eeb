import GRDB
import Tally

/// W3, W4, W5: the delta of everything, applied to an empty store, and applied again.
enum FirstSyncWorkload {
  static func runDelta(_ round: Round) throws {
    let pair = try round.filled()
    let file = try DeltaFile(round.newPath())
    let figure = Figure("W3", "full delta", against: "reading the rows", target: .ratio(2), accepted: 4)
    try round.compare(figure) {
      try pair.plain.reading(readRows)
    } tally: {
      try file.write(pair.store)
    }
    let lower = Figure(
      "W3", "full delta", against: "reading the rows through SQLite's C API", target: .ratio(2), accepted: 5)
    try round.compare(lower) {
      try pair.plain.reading(readRowsThroughC)
    } tally: {
      try file.write(pair.store)
    }
    let bare = try BareRows.compressedBytes(round.rows.items)
    round.note(
      Figure("W3", "full delta", against: "the bare rows, compressed alike", .bytes, target: .ratio(1.05)),
      bytes: Double(try file.byteCount), plain: Double(bare))
  }

  static func runApply(_ round: Round) throws {
    let first = try round.filled()
    let file = try DeltaFile(round.newPath())
    try file.write(first.store)
    let second = Pair(plain: try PlainDatabase.create(round.newPath()), store: try round.emptyStore())
    let figure = Figure("W4", "apply to an empty store", against: "plain inserts in arrival order", target: .ratio(1.5))
    try round.compare(figure) {
      try second.plain.insertOwners(round.rows.owners)
      try second.plain.insert(round.rows.items)
    } tally: {
      try file.apply(to: second.store)
    }
    round.keep(replicas: second)
  }

  static func runAgain(_ round: Round) throws {
    let (first, second) = (try round.filled(), try round.replicas())
    let file = try DeltaFile(round.newPath())
    try file.write(first.store)
    let figure = Figure("W5", "apply again", against: "INSERT OR IGNORE of the same rows", target: .ratio(1.2))
    try round.compare(figure) {
      try second.plain.insert(round.rows.items, or: "OR IGNORE")
    } tally: {
      try file.apply(to: second.store)
    }
  }

  private static let sql = "SELECT id, name, notes, count, price, day, owner FROM Item"

  /// Makes a Swift value of each column, as `readRows` does.
  static func readRowsThroughC(_ db: Database) throws {
    let statement = try PreparedStatement(db, sql)
    var sum = 0
    while try statement.step() {
      for index: Int32 in [0, 1, 2, 5, 6] { sum &+= statement.text(index).utf8.count }
      sum &+= statement.integer(3) &+ Int(statement.real(4))
    }
    guard sum > 0 else { throw Mistake("there are no rows to read") }
  }

  /// Touches every value, so that none stays unread.
  private static func readRows(_ db: Database) throws {
    let rows = try Row.fetchCursor(db, sql: sql)
    var sum = 0
    while let row = try rows.next() {
      for index in [0, 1, 2, 5, 6] { sum &+= (row[index] as String).utf8.count }
      sum &+= (row[3] as Int) &+ Int(row[4] as Double)
    }
    guard sum > 0 else { throw Mistake("there are no rows to read") }
  }
}
