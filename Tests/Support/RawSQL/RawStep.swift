/// One statement, as the app or an outside connection runs it.
struct RawStatement: Hashable, Sendable {
  var sql: String
  /// The app goes on if it fails.
  var isSwallowed = false

  init(_ sql: String, isSwallowed: Bool = false) { (self.sql, self.isSwallowed) = (sql, isSwallowed) }
}

/// Who runs a transaction.
enum RawWriter: Hashable, Sendable {
  /// The store, in `Store.write`.
  case store
  /// Another store on the same file.
  case secondStore
  /// A connection without Tally, by number.
  case outside(Int)
  /// A connection without Tally that has another file open and attaches this one.
  case attached

  /// Whether the writes are captured as they are made.
  var isStore: Bool { self == .store || self == .secondStore }
}

/// Several statements in one transaction.
struct RawTransaction: Hashable, Sendable {
  var statements: [RawStatement]
  /// What the statements are there for, to count what a history has reached.
  var features: Set<RawFeature> = []
  /// The app changes its mind at the end.
  var isAbandoned = false
}

/// A step of a history of raw SQL.
enum RawStep: Hashable, Sendable {
  case write(device: Int, RawWriter, RawTransaction)
  /// Outside any transaction, by an outside connection.
  case vacuum(device: Int)
  case backUp(device: Int)
  /// Puts the rows of a table back from the backup, by an outside connection that attaches it.
  case bringBack(device: Int, table: String, clause: String)
  case sync(Int, Int)
  /// A pass over the shared folder.
  case visit(device: Int)
  case prepare(slot: Int, from: Int, since: Int?)
  case deliver(slot: Int, to: Int)
  case connect(Int, Int)
  case disconnect
  case restore(device: Int, name: String)
  case seed(device: Int, version: Int)
  case renew(device: Int)
  case close(device: Int)
  case open(device: Int, RawVersion?)
  case clock(device: Int, milliseconds: UInt64)
  /// Drops one of the store's own triggers.
  case dropTrigger(device: Int, RawWriter, number: Int)
  /// Makes a table anew in twelve steps, as https://www.sqlite.org/lang_altertable.html describes.
  case rebuild(device: Int, RawWriter, table: String, hasReferences: Bool)
  /// Drops a table and makes it anew, empty.
  case recreate(device: Int, RawWriter, table: String)
  case addColumn(device: Int, RawWriter, table: String, name: String)
  /// Many transactions, each of one small edit.
  case churn(device: Int, count: Int)
  /// The sum in the file is not that of its content.
  case drift(device: Int)
  case verify(device: Int)
}

extension RawStep: CustomStringConvertible {
  var description: String {
    switch self {
    case .write(let device, let writer, let transaction):
      let lines = transaction.statements.map { "     \($0.sql);\($0.isSwallowed ? "  -- may fail" : "")" }
      return (["store \(device), \(writer):"] + lines + (transaction.isAbandoned ? ["     -- gives up"] : []))
        .joined(separator: "\n")
    case .vacuum(let device): return "store \(device), outside: VACUUM"
    case .backUp(let device): return "store \(device), outside: VACUUM INTO 'backup'"
    case .bringBack(let device, let table, let clause):
      return "store \(device), outside: INSERT \(clause) INTO main.\(table) SELECT * FROM backup.\(table)"
    case .visit(let device): return "store \(device) visits the folder"
    case .recreate(let device, let writer, let table):
      return "store \(device), \(writer): DROP TABLE \(table), CREATE TABLE \(table)"
    case .addColumn(let device, let writer, let table, let name):
      return "store \(device), \(writer): ALTER TABLE \(table) ADD COLUMN \(name) TEXT"
    case .churn(let device, let count): return "store \(device): \(count) times one edit"
    case .drift(let device): return "store \(device): the sum in the file changes"
    case .sync(let one, let other): return "synchronize \(one) and \(other)"
    case .prepare(let slot, let from, let since):
      return "delta \(slot) of \(from) since \(since.map { "what \($0) has" } ?? "the beginning")"
    case .deliver(let slot, let to): return "apply delta \(slot) to \(to)"
    case .connect(let one, let other): return "live session of \(one) and \(other) begins"
    case .disconnect: return "the live session ends"
    case .restore(let device, let name): return "store \(device): restore(\(name))"
    case .seed(let device, let version): return "store \(device): seed, version \(version)"
    case .renew(let device): return "store \(device): renewReplica()"
    case .close(let device): return "store \(device) is closed"
    case .open(let device, let version): return "store \(device) is opened\(version.map { ", \($0)" } ?? "")"
    case .clock(let device, let milliseconds): return "store \(device): the clock says \(milliseconds)"
    case .dropTrigger(let device, let writer, let number):
      return "store \(device), \(writer): DROP TRIGGER number \(number) of the store's"
    case .rebuild(let device, let writer, let table, let hasReferences):
      return "store \(device), \(writer): CREATE TABLE new\(hasReferences ? "" : " without REFERENCES"), "
        + "INSERT INTO new SELECT * FROM \(table), DROP, RENAME"
    case .verify(let device): return "store \(device): verify()"
    }
  }
}

extension RawWriter: CustomStringConvertible {
  var description: String {
    switch self {
    case .store: "write"
    case .secondStore: "write of a second store"
    case .attached: "attached"
    case .outside(let number): "outside \(number)"
    }
  }
}

extension RawVersion: CustomStringConvertible {
  package var description: String { "version \(isLater ? 2 : 1)\(cascades ? " with ownership" : "")" }
}
