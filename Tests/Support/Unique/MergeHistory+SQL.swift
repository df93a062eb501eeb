import GRDB
import TallySchema
import TallyStore
import TallyTesting

/// What is played between the steps of a history: any SQL that an app may write to records that are merged, and clocks
/// that are set back while records begin other lives.
extension MergeHistory {
  func another() throws {
    time.value += 1000
    let device = others.below(Self.devices)
    if let refusing, others.chance(40) { return try changeRefusals(on: refusing) }
    switch others.below(8) {
    case 0..<4: try play(device, statements())
    case 4, 5: try beginAgain(device)
    case 6: try changeTable(device)
    default: try settings(device)
    }
    if others.chance(30) { try check(device) }
  }

  private func statements() -> [String] {
    let (a, b) = ("'\(others.pick(Self.tags))'", "'\(others.pick(Self.tags))'")
    let name = others.pick(["'Work'", "'Home'", "'work'", "'Work '", "'Home ~' || 'abcd'", "NULL"])
    let color = "'c\(log.count)'"
    switch others.below(11) {
    case 0: return ["INSERT OR REPLACE INTO Tag(id, name, color) VALUES(\(a), \(name), \(color))"]
    case 1: return ["UPDATE OR REPLACE Tag SET name = \(name) WHERE id = \(a)"]
    case 2: return ["INSERT INTO Tag(id, name) VALUES(\(a), \(name)) ON CONFLICT DO UPDATE SET color = \(color)"]
    case 3: return ["UPDATE OR IGNORE Tag SET name = \(name), color = \(color)"]
    case 4: return ["UPDATE Tag SET color = o.name, parent = o.id FROM Tag AS o WHERE o.id = \(a) AND Tag.id = \(b)"]
    case 5:
      return [
        "SAVEPOINT app", "UPDATE Tag SET name = NULL", "UPDATE Tag SET name = \(name) WHERE id = \(a)",
        "ROLLBACK TO app", "RELEASE app", "UPDATE Tag SET color = \(color) WHERE id = \(b)",
      ]
    case 6:
      return [
        """
        UPDATE Tag SET name = CASE id WHEN \(a) THEN (SELECT name FROM Tag WHERE id = \(b))
          ELSE (SELECT name FROM Tag WHERE id = \(a)) END WHERE id IN (\(a), \(b))
        """
      ]
    case 7:
      // A name goes from one to the other, by none.
      return ["UPDATE Tag SET name = NULL WHERE id = \(a)", "UPDATE OR IGNORE Tag SET name = \(name) WHERE id = \(b)"]
    case 8:
      // Another name for a record that nothing refers to.
      let references = [
        "Note WHERE tag", "Icon WHERE tag", "Tag WHERE parent", "Note_tags WHERE target", "Note_ranked WHERE target",
        "Tag_related WHERE source", "Tag_related WHERE target",
      ]
      let isFree = references.map { "NOT EXISTS(SELECT 1 FROM \($0) = \(a))" }.joined(separator: " AND ")
      return ["UPDATE Tag SET id = \(b) WHERE id = \(a) AND parent IS NULL AND \(isFree)"]
    case 9: return ["UPDATE Tag SET name = x'576f726b' WHERE id = \(a)", "UPDATE Tag SET code = 'no' WHERE id = \(b)"]
    default:
      return [
        "UPDATE Note SET tag = (SELECT id FROM Tag WHERE id = \(a))",
        "INSERT OR IGNORE INTO Note_tags(source, target) SELECT Note.id, Tag.id FROM Note, Tag WHERE Tag.id = \(a)",
      ]
    }
  }

  /// One transaction, in which an app ignores statements that SQLite refuses. Rows that are gone at its end are
  /// deleted.
  private func play(_ device: Int, _ statements: [String]) throws {
    let store = devices[device].store
    let before = Set(try shown(device, "Tag"))
    var followers: [String: Set<String>] = [:]
    for tag in Self.tags { followers[try successor(store, tag), default: []].insert(tag) }
    let known = try Set(Self.tags.filter { try knowsMerge(store, $0) })
    var after = before
    log.append("\(device) \(statements.joined(separator: "; "))")
    do {
      try store.write { db in
        let refused = try OtherSteps.run(statements, in: db)
        log[log.count - 1] = "\(device) \(OtherSteps.text(statements, refused: refused))"
        after = Set(try String.fetchAll(db, sql: "SELECT id FROM Tag"))
      }
    } catch let error where isRefusal(error, on: device) {
      // What a reference or a table of the app's does not admit is known at the end.
      log[log.count - 1] += " (refused)"
      guard Set(try shown(device, "Tag")) == before else { throw MergeFailure("what was refused has changed rows") }
      return
    }
    for tag in before.subtracting(after) {
      deleted.formUnion(followers[tag, default: []].union([tag]))
      knownMerges[tag, default: []].formUnion(known)
    }
  }

  /// A record goes and comes back, by a clock that has been set back meanwhile, and gets a name that others may have.
  private func beginAgain(_ device: Int) throws {
    let tag = others.pick(Self.tags)
    if others.chance(60) { try delete(device, tag) }
    devices[device].clock.value = Int64(others.below(9)) * 10_000 - 60_000
    log.append("\(device)'s clock is \(devices[device].clock.value) ms ahead")
    if others.chance(50) { try restore(device, tag) }
    let name = others.pick(Self.names).databaseValue
    try write(device, "INSERT INTO Tag(id, name) VALUES(?, ?)", [tag.databaseValue, name])
    if others.chance(50) { try claimAgain(device, tag) }
    if others.chance(40) { try merge(device) }
  }

  private func changeTable(_ device: Int) throws {
    // A CHECK that refuses has a column of this name.
    guard !(refuses(device) && refusals.contains(.length)) else { return }
    try play(device, ["ALTER TABLE Tag ADD COLUMN app TEXT", "UPDATE Tag SET app = name"])
    try play(device, ["UPDATE Tag SET color = 'c\(log.count)'", "ALTER TABLE Tag RENAME COLUMN app TO mine"])
    try play(device, ["ALTER TABLE Tag DROP COLUMN mine"])
  }

  private func settings(_ device: Int) throws {
    let vacuums = others.chance(50)
    log.append("\(device) \(try others.changeFile(of: devices[device].store, vacuums: vacuums))")
  }
}
