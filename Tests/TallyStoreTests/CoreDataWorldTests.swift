import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyImport
import TallyStore
import TallyTesting
import TestEffort
import Testing

/// Whatever the model looks like, a draft brings every value, reference and member to where the schema has a place.
@Suite(.timeLimit(.minutes(30))) struct CoreDataWorldTests {
  @Test(arguments: Effort.seeds(20)) func everyValueOfARandomModelComesIn(_ seed: UInt64) throws {
    let scratch = try Scratch()
    var world = CoreDataWorld(seed: seed)
    let old = scratch.url.appendingPathComponent("old.sqlite")
    try DatabaseQueue(path: old.path).write { try world.write($0) }
    let folder = scratch.url.appendingPathComponent(".old_SUPPORT/_EXTERNAL_DATA")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for (name, bytes) in world.files { try Data(bytes).write(to: folder.appendingPathComponent(name)) }

    let draft = try ImportMap.draft(of: old, for: world.schema)
    let store = try scratch.store(schema: world.schema)
    let report = try store.importDatabase(at: old, map: draft.map, batchSize: 3)
    #expect(try store.read(contents(world)) == expected(world), "unmatched: \(draft.unmatched)")
    #expect(report.leftOut == draft.leftOut)
    for (place, entity) in world.entities.enumerated() {
      let count = world.rows.filter { $0.entity == place }.count
      let isTaken = world.type(of: place) != nil || count == 0
      #expect(report.leftOut[entity.name] == (isTaken ? nil : count))
    }
    // What is unmatched is what several columns may be, or a relationship of which the file has no table.
    for entity in world.schema.entities {
      for name in entity.columnNames {
        #expect(!draft.unmatched.contains("\(entity.type).\(name)"))
      }
    }
  }

  private func expected(_ world: CoreDataWorld) -> Set<String> {
    var lines = Set<String>()
    for row in world.rows {
      guard let type = world.type(of: row.entity), let entity = world.schema[world.entities[type].name] else {
        continue
      }
      lines.insert("\(entity.type) \(row.mark)")
      for field in entity.fields where field.name != "mark" {
        guard let value = row.values[field.name] else { continue }
        lines.insert("\(row.mark).\(field.name) = \(text(value, field.kind))")
      }
      for reference in entity.references {
        guard let target = row.references[reference.name] else { continue }
        lines.insert("\(row.mark).\(reference.name) = \(world.rows[target].mark)")
      }
    }
    for join in world.joins {
      for (source, target) in join.pairs {
        let ends = [world.rows[source], world.rows[target]]
        for (relationship, one, other) in [(join.name, ends[0], ends[1]), (join.inverse, ends[1], ends[0])] {
          guard let type = world.type(of: one.entity),
            world.schema[world.entities[type].name]?.relationships.contains(where: { $0.name == relationship }) == true
          else { continue }
          lines.insert("\(one.mark).\(relationship) -> \(other.mark)")
        }
      }
    }
    return lines
  }

  private func text(_ value: Value, _ kind: FieldKind) -> String {
    guard kind == .date, case .real(let seconds) = value else { return text(value.databaseValue) }
    return text(Date(timeIntervalSinceReferenceDate: seconds).databaseValue)
  }

  private func text(_ value: DatabaseValue) -> String {
    if case .blob(let bytes) = value.storage { Hexadecimal.text(Array(bytes)) } else { "\(value)" }
  }

  private func contents(_ world: CoreDataWorld) -> (Database) throws -> Set<String> {
    { db in
      var (lines, marks) = (Set<String>(), [String: String]())
      for entity in world.schema.entities {
        for row in try Row.fetchAll(db, sql: "SELECT id, mark FROM \"\(entity.type)\"") { marks[row[0]] = row[1] }
      }
      for entity in world.schema.entities {
        for row in try Row.fetchAll(db, sql: "SELECT * FROM \"\(entity.type)\"") {
          let mark: String = row["mark"]
          lines.insert("\(entity.type) \(mark)")
          for field in entity.fields where field.name != "mark" {
            let value: DatabaseValue = row[field.name]
            if !value.isNull { lines.insert("\(mark).\(field.name) = \(text(value))") }
          }
          for reference in entity.references {
            guard let target = row[reference.name] as String? else { continue }
            lines.insert("\(mark).\(reference.name) = \(marks[target] ?? "nothing")")
          }
        }
        for relationship in entity.relationships {
          let table = Schema.joinTable(entity.type, relationship.name)
          for row in try Row.fetchAll(db, sql: "SELECT source, target FROM \"\(table)\"") {
            lines.insert("\(marks[row[0]] ?? "nothing").\(relationship.name) -> \(marks[row[1]] ?? "nothing")")
          }
        }
      }
      return lines
    }
  }
}
