import GRDB
import GRDBSQLite
import TallyCRDT

/// A record or link by its place in the file.
package struct RowAddress: Hashable, Comparable {
  var kind: KindNumber
  /// A record's name, or the text of a `LinkKey`.
  var key: String

  package init(kind: KindNumber, key: String) { (self.kind, self.key) = (kind, key) }

  package static func < (lhs: RowAddress, rhs: RowAddress) -> Bool { (lhs.kind, lhs.key) < (rhs.kind, rhs.key) }
}

/// Rows that SQLite does not let the store write: a UNIQUE index, CHECK, trigger or foreign key of the app's stands in
/// the way.
///
/// The state is kept and goes on to replicate; only this device's view differs from it, and says so. Each such row is
/// tried again with the commits that follow, so that it appears as soon as a person or the schema has cleared the way.
package struct SetAside: Sendable {
  enum Mode: Int, Sendable {
    /// The state says that the app sees it, and it has no row.
    case withheld = 0
    /// It has a row, and the state says that it has none, or one of other values.
    case kept = 1
  }

  package struct Entry: Equatable, Sendable {
    var mode: Mode
    package var reason: String
    /// Whether a unique index is in the way, so that another row may have to go first. Not kept in the file.
    var isUnique = false
    /// Whether SQLite does not take what a unique rule shows instead either. Not kept in the file.
    var refusesOther = false
    /// The values that the row shows for the time being, while its unique values wait for others to move; nil at the
    /// end of any transaction.
    var parked: [Value]?

    /// Whether SQLite does not let go of a row that the state says is not there.
    var isHeld: Bool { mode == .kept && !isUnique && parked == nil }

    /// Of a row that is kept out although it gives way to others: it gets in once they are gone.
    var unique: Entry {
      var entry = self
      if mode == .withheld { (entry.isUnique, entry.refusesOther) = (true, !isUnique) }
      return entry
    }

    package static func == (lhs: Entry, rhs: Entry) -> Bool { lhs.mode == rhs.mode && lhs.reason == rhs.reason }
  }

  private(set) var entries: [RowAddress: Entry] = [:] { didSet { follow() } }
  /// Those that are being tried again.
  private var lifted: [RowAddress: Entry] = [:] { didSet { follow() } }
  /// Rows that are shown with another value than their records have, since another record holds that one.
  package var contested = ContestedValues() { didSet { follow() } }
  /// Whether every row is what its state says. Looked at with each row that is written.
  private(set) var isEmpty = true
  /// Those that this transaction has set aside.
  private(set) var news = Set<RowAddress>()
  /// Those that this transaction has forgotten, as they were before it.
  private var former: [RowAddress: Entry] = [:]
  /// Those that this transaction has set aside and that were not so before, for a person to hear of. A row that only a
  /// deferred key holds goes when it is tried again, and comes back at the end of each transaction.
  var unheard: [RowAddress] { news.filter { former[$0] != entries[$0] }.sorted() }
  /// The position at which the next retries begin.
  private var turn = 0
  package var count: Int { entries.count + lifted.count }

  private mutating func follow() { isEmpty = entries.isEmpty && lifted.isEmpty && contested.isEmpty }

  package subscript(address: RowAddress) -> Entry? { entries[address] }

  /// Whether a row is set aside, or is being tried again, or has to do with a value that several records have.
  func contains(_ address: RowAddress) -> Bool {
    entries[address] != nil || lifted[address] != nil || contested.contains(address)
  }

  init() {}

  /// What the file says; `schema` says whether values can be contested.
  init(_ connection: Connection, _ schema: Schema) throws {
    defer { follow() }
    if schema.hasUniqueRules { contested = try ContestedValues(connection) }
    let query = try connection.statement("SELECT kind, key, mode, reason FROM tally_aside")
    while try query.step() {
      let entry = Entry(mode: Mode(rawValue: query.int(2)) ?? .withheld, reason: query.text(3) ?? "")
      entries[RowAddress(kind: query.number(0), key: query.text(1) ?? "")] = entry
    }
  }

  /// Remembers a row that cannot be written.
  mutating func insert(_ address: RowAddress, _ entry: Entry, _ connection: Connection) throws {
    if lifted.removeValue(forKey: address) == entry {
      entries[address] = entry
      return
    }
    guard entries[address] != entry else { return }
    let insert = try connection.statement(
      "INSERT OR REPLACE INTO tally_aside(kind, key, mode, reason) VALUES(?, ?, ?, ?)")
    insert.bind(1, address.kind)
    insert.bind(2, address.key)
    insert.bind(3, entry.mode.rawValue)
    insert.bind(4, entry.reason)
    try insert.run()
    entries[address] = entry
    news.insert(address)
  }

  /// Counts a row as not set aside while it is tried again.
  /// - Returns: whether it was.
  mutating func lift(_ address: RowAddress) -> Bool {
    guard let entry = entries.removeValue(forKey: address) else { return false }
    lifted[address] = entry
    return true
  }

  /// Forgets a row that is as it should be.
  mutating func remove(_ address: RowAddress, _ connection: Connection) throws {
    let known = [entries.removeValue(forKey: address), lifted.removeValue(forKey: address)].compactMap { $0 }
    guard !known.isEmpty else { return }
    let delete = try connection.statement("DELETE FROM tally_aside WHERE kind = ? AND key = ?")
    delete.bind(1, address.kind)
    delete.bind(2, address.key)
    try delete.run()
    if !news.contains(address), former[address] == nil { former[address] = known.first }
    news.remove(address)
  }

  /// Forgets a row that was tried again, unless it has been set aside once more.
  mutating func land(_ address: RowAddress, _ connection: Connection) throws {
    if lifted[address] != nil { try remove(address, connection) }
  }

  /// The rows to try again now: all, or the next `limit` in turn.
  mutating func retries(atMost limit: Int) -> [RowAddress] {
    guard !entries.isEmpty else { return [] }
    let addresses = entries.keys.sorted()
    guard addresses.count > limit else { return addresses }
    defer { turn = (turn + limit) % addresses.count }
    return (0..<limit).map { addresses[(turn % addresses.count + $0) % addresses.count] }
  }

  /// Ends a transaction.
  mutating func forgetNews() { (news, former) = ([], [:]) }
}

/// SQLite does not take a row as the state says it must be. Never leaves the store: the row is set aside.
struct RowRefusal: Error {
  var reason: String
  /// Whether a unique index is in the way, so that another row may have to go first.
  var isUnique = false
}

extension SQLStatement {
  /// Runs a statement that writes one row of the app's, which the app's own indexes, checks and triggers may refuse.
  /// - Throws: `RowRefusal`; a fault of the disk or of SQLite itself as it is.
  func runOnRow(_ connection: Connection) throws {
    do {
      try run()
    } catch let error as DatabaseError where error.isRefusal(on: connection) {
      throw RowRefusal(error)
    }
    // RAISE(IGNORE) in a trigger of the app's.
    guard connection.changes > 0 else { throw RowRefusal(reason: "a trigger ignores it") }
  }
}

extension RowRefusal {
  init(_ error: DatabaseError) {
    reason = error.message ?? "\(error.extendedResultCode)"
    isUnique = [.SQLITE_CONSTRAINT_UNIQUE, .SQLITE_CONSTRAINT_PRIMARYKEY].contains(error.extendedResultCode)
  }
}

extension DatabaseError {
  /// Whether SQLite refuses this row, and the transaction goes on.
  func isRefusal(on connection: Connection) -> Bool {
    guard connection.isInTransaction else { return false }
    return [.SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_TOOBIG, .SQLITE_ERROR].contains(resultCode)
  }
}
