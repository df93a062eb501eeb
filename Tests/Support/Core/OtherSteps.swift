import GRDB
import TallyStore
import TallyTesting

/// What is played between the steps of histories of values: other ways to write, in every second block of 32 seeds.
///
/// They are drawn from random numbers of their own, so a seed draws the same steps with and without them, and histories
/// that consist of these steps alone are still played as often as all others.
struct OtherSteps {
  /// What they are drawn from.
  var random: SplitMix64
  private let arePlayed: Bool

  init(_ seed: UInt64) {
    random = SplitMix64(seed: seed ^ 0x6f74_6865_7273)
    arePlayed = seed / 32 % 2 == 1
  }

  /// Whether one comes now, which happens so many times in a hundred.
  mutating func isNext(_ percent: Int) -> Bool { arePlayed && random.chance(percent) }

  mutating func below(_ bound: Int) -> Int { random.below(bound) }
  mutating func chance(_ percent: Int) -> Bool { random.chance(percent) }
  mutating func pick<Element>(_ choices: [Element]) -> Element { random.pick(choices) }

  /// A change that writes to no row.
  enum Setting {
    /// The file or its connection has been changed; how, for the log.
    case changed(String)
    /// The app's trigger is to be made, if it is not there, or to be dropped: the statement.
    case trigger(String)
  }

  /// Has SQLite write the file anew, turns recursive triggers on or off, or says what becomes of the app's trigger,
  /// which is given as SQL: when it runs, and what it does; nil if there may be none.
  mutating func changeSetting(of store: Store, trigger: String?) throws -> Setting {
    let choice = below(4)
    if choice < 2 { return .changed(try changeFile(of: store, vacuums: choice == 0)) }
    guard choice == 2, let trigger else { return .trigger("DROP TRIGGER IF EXISTS app_follow") }
    return .trigger("CREATE TRIGGER IF NOT EXISTS app_follow \(trigger)")
  }

  /// Has SQLite write the file anew, or turns recursive triggers on or off.
  /// - Returns: the statement, for the log.
  mutating func changeFile(of store: Store, vacuums: Bool) throws -> String {
    let sql = vacuums ? "VACUUM" : "PRAGMA recursive_triggers = \(chance(70) ? "ON" : "OFF")"
    try store.writeWithoutTransaction { try $0.execute(sql: sql) }
    return sql
  }

  /// Runs the statements of a transaction as an app does that ignores those that SQLite refuses.
  /// - Returns: the places of those that were refused.
  static func run(_ statements: [String], in db: Database) throws -> [Int] {
    var refused: [Int] = []
    for (place, sql) in statements.enumerated() {
      do {
        try db.execute(sql: sql)
      } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
        refused.append(place)
      }
    }
    return refused
  }

  /// Such a transaction, for the log.
  static func text(_ statements: [String], refused: [Int]) -> String {
    "\(statements.joined(separator: "; "))\(refused.isEmpty ? "" : ", refused: \(refused)")"
  }

  /// Statements by which two rows get each other's ids, one of them by way of a third.
  static func exchange(_ a: String, _ b: String, in table: String) -> [String] {
    let other = "'\(table)|~|other'"
    return [
      "UPDATE \(table) SET id = \(other) WHERE id = \(a)", "UPDATE \(table) SET id = \(a) WHERE id = \(b)",
      "UPDATE \(table) SET id = \(b) WHERE id = \(other)",
    ]
  }
}
