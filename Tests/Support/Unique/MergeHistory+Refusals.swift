import GRDB
import TallyStore
import TallyTesting

/// Histories in which the database of one device refuses rows: by triggers, by a CHECK, and by a table of the app's
/// that does not let rows go.
///
/// Until it admits them again, that device need only be sound. What it merges meanwhile, and what others merge, must
/// have lost nothing once it does.
extension MergeHistory {
  /// What a database refuses.
  struct Refusals: OptionSet {
    let rawValue: Int
    /// Another color of a row that is there.
    static let colors = Refusals(rawValue: 1)
    /// Names as renamed records show them.
    static let letters = Refusals(rawValue: 2)
    /// Names and colors that are too long, by a CHECK of a column.
    static let length = Refusals(rawValue: 4)
    /// To remove rows that a table of the app's refers to.
    static let removals = Refusals(rawValue: 8)
    static let all: [Refusals] = [.colors, .letters, .length, .removals]
  }

  func refuses(_ device: Int) -> Bool { device == refusing && !refusals.isEmpty }

  /// Whether an error says that a database has refused something: a constraint of any device, or the consequence of a
  /// write that a trigger or table of this device does not admit.
  func isRefusal(_ error: any Error, on device: Int) -> Bool {
    if let error = error as? DatabaseError { return error.resultCode == .SQLITE_CONSTRAINT }
    return refuses(device) && (error as? StoreError)?.code == .deleteDenied
  }

  /// A device begins to refuse something, or admits everything.
  func changeRefusals(on device: Int) throws {
    if !refusals.isEmpty, others.chance(35) { return try admit(on: device) }
    let new = others.pick(Refusals.all)
    guard !refusals.contains(new) else { return }
    let statements: [String]
    switch new {
    case .colors:
      statements = [
        "CREATE TRIGGER app_colors BEFORE UPDATE OF color ON Tag BEGIN SELECT RAISE(ABORT, 'no color'); END"
      ]
    case .letters:
      statements = ["INSERT", "UPDATE OF name"].enumerated().map { place, event in
        """
        CREATE TRIGGER app_letters\(place) BEFORE \(event) ON Tag WHEN NEW.name GLOB '*~*'
        BEGIN SELECT RAISE(ABORT, 'no letters'); END
        """
      }
    case .length:
      let check = "length(ifnull(name, '')) + length(ifnull(color, '')) < \(6 + others.below(6))"
      statements = ["ALTER TABLE Tag ADD COLUMN own TEXT CHECK(\(check))"]
    default:
      statements = [
        "CREATE TABLE app_favorite(tag TEXT REFERENCES Tag(id))",
        "INSERT INTO app_favorite SELECT id FROM Tag WHERE id <> '\(others.pick(Self.tags))'",
      ]
    }
    log.append("\(device) refuses: \(statements.joined(separator: "; "))")
    do {
      try devices[device].store.write { db in for sql in statements { try db.execute(sql: sql) } }
      refusals.insert(new)
    } catch is DatabaseError {
      // A CHECK is not taken where a row violates it already.
      log[log.count - 1] += " (refused)"
      guard new == .length else { throw MergeFailure("\(statements) failed") }
    }
  }

  /// A device admits all rows again; each commit tries those that were set aside.
  func admit(on device: Int) throws {
    var statements: [String] = []
    if refusals.contains(.colors) { statements.append("DROP TRIGGER app_colors") }
    if refusals.contains(.letters) { statements += ["DROP TRIGGER app_letters0", "DROP TRIGGER app_letters1"] }
    if refusals.contains(.removals) { statements.append("DROP TABLE app_favorite") }
    let store = devices[device].store
    log.append("\(device) admits all rows")
    try store.write { [statements] db in for sql in statements { try db.execute(sql: sql) } }
    if refusals.contains(.length) { try store.write { try $0.execute(sql: "ALTER TABLE Tag DROP COLUMN own") } }
    refusals = []
    try store.write { try $0.execute(sql: "INSERT OR IGNORE INTO Note(id, text) VALUES('Note|~|admitted', 'x')") }
    try check(device)
  }

  /// A merge where the database refuses rows. Where that concerns the merge itself, it fails and changes nothing.
  /// - Returns: its report; nil if it failed.
  func mergeRefusing(_ device: Int) throws -> DuplicateReport? {
    let store = devices[device].store
    let vector = try store.vector
    do {
      let report = try store.mergeDuplicates()
      log.append("\(device) merges \(report.merged.map { "\($0) into \($1)" }.sorted()), restores \(report.restored)")
      try check(device)
      return report
    } catch let error where isRefusal(error, on: device) {
      log.append("\(device) merges nothing: \(error)")
      guard try store.vector == vector else { throw MergeFailure("a merge that failed has changed something") }
      return nil
    }
  }
}
