import Foundation
import GRDB
import TallyCRDT
import TallyStore

/// Draws writes that fit a schema: few records and few values, so that they collide.
struct RandomEdits {
  let schema: Schema

  /// Writes something to one replica; what the app may not do, it does not.
  func edit(_ replica: SimulatedReplica, _ random: inout SplitMix64) throws {
    guard !schema.entities.isEmpty else { return }
    if random.chance(6) { return try restore(replica, &random) }
    let count = random.chance(70) ? 1 : 2 + random.below(2)
    do {
      try replica.write { db in for _ in 0..<count { try change(db, &random) } }
    } catch let error as StoreError where error.code == .deleteDenied || error.code == .danglingReference {
      replica.world.note("replica \(replica.index) may not: \(error.code.rawValue)")
    } catch let error as DatabaseError where error.extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE {
      replica.world.note("replica \(replica.index) may not: another record has the value")
    }
  }

  private func restore(_ replica: SimulatedReplica, _ random: inout SplitMix64) throws {
    let name = name(random.pick(schema.entities).type, &random)
    do {
      try replica.restore(try AnyRecordName(name))
    } catch let error as StoreError where [.noSuchRecord, .notDeleted, .purged].contains(error.code) {}
  }

  private func change(_ db: Database, _ random: inout SplitMix64) throws {
    let entity = random.pick(schema.entities)
    // Now and then anything that is there, seeds included.
    let any = random.chance(15) ? try target(entity.type, db, &random) : .null
    let name = String.fromDatabaseValue(any) ?? name(entity.type, &random)
    let isThere = try exists(name, entity.type, db)
    switch random.below(100) {
    case 0..<14 where isThere: try db.execute(sql: "DELETE FROM \"\(entity.type)\" WHERE id = ?", arguments: [name])
    case 14..<40 where isThere && !entity.relationships.isEmpty: try link(name, entity, db, &random)
    default: try isThere ? update(name, entity, db, &random) : insert(name, entity, db, &random)
    }
  }

  private func name(_ type: String, _ random: inout SplitMix64) -> String {
    "\(type)|~|\(random.pick(["a", "b", "c", "386c1919-5f25-4be2-975f-5b34506c51db"]))"
  }

  private func exists(_ name: String, _ type: String, _ db: Database) throws -> Bool {
    try Bool.fetchOne(db, sql: "SELECT EXISTS(SELECT 1 FROM \"\(type)\" WHERE id = ?)", arguments: [name]) ?? false
  }

  private func insert(_ name: String, _ entity: EntitySchema, _ db: Database, _ random: inout SplitMix64) throws {
    var (columns, values): ([String], [DatabaseValue]) = ([], [])
    for field in entity.fields where random.chance(60) {
      columns.append(field.name)
      values.append(value(field, &random))
    }
    for reference in entity.references where random.chance(40) {
      columns.append(reference.name)
      values.append(try target(reference.to, db, &random))
    }
    let list = columns.map { ", \"\($0)\"" }.joined()
    let marks = String(repeating: ", ?", count: columns.count)
    try db.execute(
      sql: "INSERT INTO \"\(entity.type)\"(id\(list)) VALUES(?\(marks))",
      arguments: StatementArguments([name.databaseValue] + values))
  }

  private func update(_ name: String, _ entity: EntitySchema, _ db: Database, _ random: inout SplitMix64) throws {
    let count = entity.fields.count + entity.references.count
    guard count > 0 else { return }
    let index = random.below(count)
    let (column, new): (String, DatabaseValue)
    if index < entity.fields.count {
      (column, new) = (entity.fields[index].name, value(entity.fields[index], &random))
    } else {
      let reference = entity.references[index - entity.fields.count]
      (column, new) = (reference.name, try target(reference.to, db, &random))
    }
    try db.execute(sql: "UPDATE \"\(entity.type)\" SET \"\(column)\" = ? WHERE id = ?", arguments: [new, name])
  }

  private func link(_ name: String, _ entity: EntitySchema, _ db: Database, _ random: inout SplitMix64) throws {
    let relationship = random.pick(entity.relationships)
    let table = Schema.joinTable(entity.type, relationship.name)
    let target = try target(relationship.to, db, &random)
    guard !target.isNull else { return }
    if relationship.isOrdered, random.chance(40) {
      let move = "UPDATE \"\(table)\" SET position = tally_last(source, '\(table)') WHERE source = ? AND target = ?"
      return try db.execute(sql: move, arguments: [name, target])
    }
    let sql =
      random.chance(60)
      ? "INSERT OR IGNORE INTO \"\(table)\"(source, target) VALUES(?, ?)"
      : "DELETE FROM \"\(table)\" WHERE source = ? AND target = ?"
    try db.execute(sql: sql, arguments: [name, target])
  }

  /// The name of a record that is there, or null.
  private func target(_ type: String, _ db: Database, _ random: inout SplitMix64) throws -> DatabaseValue {
    let names = try String.fetchAll(db, sql: "SELECT id FROM \"\(type)\" ORDER BY id")
    return names.isEmpty || random.chance(10) ? .null : random.pick(names).databaseValue
  }

  private func value(_ field: FieldSchema, _ random: inout SplitMix64) -> DatabaseValue {
    // Columns with a default are NOT NULL.
    if random.chance(15), field.defaultValue.isNull { return .null }
    if random.chance(10) { return field.defaultValue.databaseValue }
    let number = random.below(4)
    switch field.kind {
    case .text: return ["", "a", "ä€𝄞", "b\u{0}c"][number].databaseValue
    case .json: return ["{}", "[1]", "\"a\"", "null"][number].databaseValue
    case .date: return "2026-0\(number + 1)-01 12:00:00.000".databaseValue
    case .integer: return [0, 1, Int64.max, Int64.min][number].databaseValue
    // What is written is a difference, and no number of additions here comes near what 64 bits hold.
    case .counter: return [0, 1, -3, 40][number].databaseValue
    case .bool: return (number % 2 == 0).databaseValue
    case .real: return [0, 1.5, -1.5, Double.greatestFiniteMagnitude][number].databaseValue
    case .blob: return Data(repeating: UInt8(number), count: number).databaseValue
    case .asset:
      return AssetName(hash: String(repeating: "\(number)", count: 64), byteCount: number, type: "bin").databaseValue
    case .position: return Data(repeating: UInt8(number + 1), count: number + 1).databaseValue
    case .uuid: return Data(repeating: UInt8(number), count: 16).databaseValue
    }
  }
}
