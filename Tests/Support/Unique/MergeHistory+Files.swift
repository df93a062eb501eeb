import Foundation
import GRDB
import TallySchema
import TallyStore

/// Histories whose stores are files, which other programs write to as well.
extension MergeHistory {
  /// Starts the app again, or lets another program write to its file.
  func happen(to device: Int) throws {
    switch below(6) {
    case 0: try open(device, devices[device].schema)
    case 1: try open(device, Self.laterSchema)
    default:
      try writeFromOutside(device)
      switch below(4) {
      case 0: try open(device, devices[device].schema)
      case 1: try pull(device, (device + 1) % Self.devices)
      case 2: try mergeUncaptured(device)
      default: break
      }
      // Takes what was written, if nothing has.
      try devices[device].store.write { _ in }
    }
  }

  func open(_ device: Int, _ schema: Schema) throws {
    guard let path = devices[device].path else { return }
    log.append("\(device) starts again\(schema == devices[device].schema ? "" : " with the later schema")")
    try devices[device].store.close()
    if schema != devices[device].schema { devices[device].plain = UniqueOracle.PlainDevice(schema) }
    devices[device].schema = schema
    devices[device].store = try Store(path: path, schema: schema, options: devices[device].options)
    try devices[device].store.write { db in
      try db.execute(sql: "CREATE TABLE IF NOT EXISTS app_log(id, name)")
      try db.execute(
        sql: """
          CREATE TRIGGER IF NOT EXISTS app_audit AFTER UPDATE ON Tag
          BEGIN INSERT INTO app_log VALUES(NEW.id, NEW.name); END
          """)
    }
  }

  /// A transaction of a program that knows nothing of Tally: some statements, or none if one is refused.
  private func writeFromOutside(_ device: Int) throws {
    guard let path = devices[device].path else { return }
    var statements: [(sql: String, values: [DatabaseValue])] = []
    var gone = Set<String>()
    // Another program may not know the index, and give one name twice.
    let isWithoutIndex = others.isNext(20)
    if isWithoutIndex { statements.append(("DROP INDEX IF EXISTS \"tally_unique.Tag.name\"", [])) }
    for _ in 0...below(3) {
      let tag = one(Self.tags)
      let (name, color) = (one(Self.names).databaseValue, someColor())
      switch below(7) {
      case 0: statements.append(("INSERT INTO Tag(id, name) VALUES(?, ?)", [tag.databaseValue, name]))
      case 1: statements.append(("UPDATE Tag SET name = ? WHERE id = ?", [name, tag.databaseValue]))
      case 2: statements.append(("UPDATE Tag SET color = ? WHERE id = ?", [color, tag.databaseValue]))
      case 3:
        statements.append(
          ("INSERT OR IGNORE INTO Note_tags(source, target) SELECT Note.id, Tag.id FROM Note, Tag LIMIT 3", []))
      case 4:
        let sql = "UPDATE Note SET tag = (SELECT id FROM Tag ORDER BY id DESC LIMIT 1) WHERE id = ?"
        statements.append((sql, [one(Self.notes).databaseValue]))
      case 5: statements.append(("DELETE FROM Note_ranked WHERE target = ?", [tag.databaseValue]))
      default:
        gone.formUnion(try Self.tags.filter { try successor(devices[device].store, $0) == tag } + [tag])
        for table in ["Note_tags", "Note_ranked", "Tag_related"] {
          statements.append(("DELETE FROM \(table) WHERE target = ?", [tag.databaseValue]))
        }
        statements.append(("DELETE FROM Tag_related WHERE source = ?", [tag.databaseValue]))
        statements.append(("UPDATE Note SET tag = NULL WHERE tag = ?", [tag.databaseValue]))
        statements.append(("UPDATE Tag SET parent = NULL WHERE parent = ?", [tag.databaseValue]))
        statements.append(("DELETE FROM Icon WHERE tag = ?", [tag.databaseValue]))
        statements.append(("DELETE FROM Tag WHERE id = ?", [tag.databaseValue]))
      }
    }
    if isWithoutIndex {
      let pair = [others.pick(Self.names), others.pick(Self.tags), others.pick(Self.tags)].map(\.databaseValue)
      statements.append(("UPDATE Tag SET name = ? WHERE id IN (?, ?)", pair))
    }
    log.append("\(device) from outside \(statements.map { "\($0.sql) \($0.values)" }.joined(separator: "; "))")
    let queue = try DatabaseQueue(path: path)
    do {
      try queue.write { db in
        for (sql, values) in statements { try db.execute(sql: sql, arguments: StatementArguments(values)) }
      }
      deleted.formUnion(gone)
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
      log[log.count - 1] += " (refused)"
    }
    try queue.close()
  }
}
