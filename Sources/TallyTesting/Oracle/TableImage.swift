import Foundation
import GRDB
import TallyCRDT
import TallyStore

/// An app's tables as they are: what it sees, and, from two of them, what it did.
struct TableImage {
  var rows: [String: ShownRow<SchemaField>] = [:]
  /// All links, also those of records that the transaction under way has deleted.
  private var links: Set<Link> = []
  /// Where members of ordered relationships stand, as far as their rows say so.
  private var places: [Link: Data] = [:]

  /// Reads all tables of a schema. Where a row shows something else than a unique value that its record has, the image
  /// has the value.
  init(_ db: Database, _ schema: Schema) throws {
    for entity in schema.entities {
      let fields = entity.fields.map { SchemaField(entity.type, $0) }
      let references = entity.references.map { SchemaField(entity.type, $0) }
      let columns = (fields + references).map { ", \"\($0.column)\"" }.joined()
      let all = try Row.fetchCursor(db, sql: "SELECT id\(columns) FROM \"\(entity.type)\"")
      while let row = try all.next() {
        var shown = ShownRow<SchemaField>()
        for (index, field) in (fields + references).enumerated() {
          let value = Value(row[index + 1] as DatabaseValue)
          if case .text(let name) = value, field.isReference {
            shown.fields[field] = name
          } else {
            shown.fields[field] = value.specified
          }
        }
        rows[row[0]] = shown
      }
    }
    if schema.hasUniqueRules {
      for contested in try ContestedValue.fetchAll(db) {
        let type = contested.name.prefix { $0 != "|" }
        guard let entity = schema.entities.first(where: { $0.type == type }),
          let field = entity.fields.first(where: { $0.name == contested.field }).map({ SchemaField(entity.type, $0) }),
          // Otherwise the app has just written another.
          rows[contested.name]?.fields[field] == contested.shown.specified
        else { continue }
        rows[contested.name]?.fields[field] = contested.wanted.specified
      }
    }
    for entity in schema.entities {
      for relationship in entity.relationships {
        let table = Schema.joinTable(entity.type, relationship.name)
        let place = relationship.isOrdered ? ", position" : ""
        let all = try Row.fetchCursor(db, sql: "SELECT source, target\(place) FROM \"\(table)\"")
        while let row = try all.next() {
          let link = Link(row[0], relationship.name, row[1])
          if relationship.isOrdered, let position = row[2] as Data?, !position.isEmpty { places[link] = position }
          rows[link.source]?.links.insert(link)
          links.insert(link)
        }
      }
    }
  }

  /// Returns the operations of an app that lead from `earlier` to these tables.
  func operations(since earlier: TableImage) -> [SpecifiedOperation<SchemaField>] {
    var deletes: [SpecifiedOperation<SchemaField>] = []
    var inserts: [SpecifiedOperation<SchemaField>] = []
    var updates: [SpecifiedOperation<SchemaField>] = []
    for (name, row) in earlier.rows.sorted(by: { $0.key < $1.key }) {
      guard let now = rows[name] else {
        deletes.append(.delete(name))
        continue
      }
      let fields = Set(row.fields.keys).union(now.fields.keys).sorted { $0.name < $1.name }
      for field in fields where row.fields[field] != now.fields[field] {
        if field.isCounter, let old = row.number(field), let new = now.number(field) {
          updates.append(.count(name, field, new - old))
        } else {
          updates.append(.update(name, field, now.fields[field]))
        }
      }
    }
    for (name, row) in rows.sorted(by: { $0.key < $1.key }) where earlier.rows[name] == nil {
      inserts.append(.insert(name, row.fields))
    }
    let gone = Self.sorted(earlier.links.subtracting(links)).map { SpecifiedOperation<SchemaField>.unlink($0) }
    let come = Self.sorted(links.subtracting(earlier.links)).map { SpecifiedOperation<SchemaField>.link($0) }
    let moved = places.filter { earlier.links.contains($0.key) && earlier.places[$0.key] != $0.value }.keys
    let moves = Self.sorted(Set(moved)).map { SpecifiedOperation<SchemaField>.move($0) }
    return gone + deletes + inserts + updates + come + moves
  }

  private static func sorted(_ links: Set<Link>) -> [Link] {
    links.sorted { ($0.source, $0.relationship, $0.target) < ($1.source, $1.relationship, $1.target) }
  }
}

extension ShownRow<SchemaField> {
  /// What the row shows of a counter.
  fileprivate func number(_ field: SchemaField) -> Int64? {
    fields[field].flatMap { Int64($0.dropFirst("integer ".count)) }
  }
}
