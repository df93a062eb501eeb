import Foundation
import GRDB
import TallyStore

extension ImportMap {
  /// A map that was made by comparing names, and what it lacks.
  public struct Draft: Sendable, Equatable {
    /// The map, with everything that was found.
    public var map: ImportMap
    /// The types, fields, references and relationships for which nothing was found, such as `Item.tags`.
    public var unmatched: [String]
  }

  /// Proposes a map by comparing names: of tables with types, of columns with fields and references. Case and
  /// underscores do not count, nor does Core Data's `Z`, an `ID` at the end of a reference, or the plural of a table.
  /// Join tables are found by their foreign keys, or as Core Data names them. A column that is called `id`, `uuid` or
  /// `identifier` names the records.
  ///
  /// ```swift
  /// let draft = try ImportMap.draft(of: url, for: schema)
  /// print(draft.unmatched)
  /// ```
  /// - Parameters:
  ///   - url: the file of the database, of which only the definitions are read.
  ///   - schema: the schema of the store.
  /// - Returns: the map with everything that was found, and a list of what was not.
  /// - Throws: `StoreError.notADatabase`; GRDB's `DatabaseError`.
  public static func draft(of url: URL, for schema: Schema) throws -> Draft {
    try ForeignDatabase.read(url, patience: StoreOptions().busyTimeout) { try ImportDrafting($0, schema).draft() }
  }
}

/// The comparison of names.
private struct ImportDrafting {
  let source: ForeignDatabase
  let schema: Schema
  /// Core Data's entities; nil if Core Data did not make the file.
  let entities: [(name: String, number: Int, parent: Int)]?

  init(_ source: ForeignDatabase, _ schema: Schema) throws {
    (self.source, self.schema) = (source, schema)
    entities = try source.coreDataEntities()
  }

  /// A name without what does not count.
  private func bare(_ name: String) -> String { name.lowercased().filter { $0 != "_" } }

  /// The same of a column, without Core Data's `Z`; nil for a column that only Core Data knows.
  private func plain(column name: String) -> String? {
    guard entities != nil else { return bare(name) }
    return name.hasPrefix("Z") && !name.hasPrefix("Z_") ? bare(String(name.dropFirst())) : nil
  }

  /// The names that a type may have had, the likeliest first: with and without a prefix of capitals, one or many.
  private func names(for type: String) -> [String] {
    let capitals = type.prefix { $0.isUppercase }.count
    let rest = capitals > 1 ? String(type.dropFirst(capitals - 1)) : type
    return [bare(type), bare(rest)].flatMap { (name: String) -> [String] in
      let ending: String = name.hasSuffix("y") ? "\(name.dropLast())ies" : name
      return [name, "\(name)s", "\(name)es", ending]
    }
  }

  /// The table of a type, and for one of several entities in one table of Core Data's the condition for its rows.
  private func table(for type: String) -> (name: String, condition: String?)? {
    let names = names(for: type)
    guard let entities else {
      for name in names { if let table = source.tableNames.first(where: { bare($0) == name }) { return (table, nil) } }
      return nil
    }
    guard let entity = names.lazy.compactMap({ name in entities.first { bare($0.name) == name } }).first else {
      return nil
    }
    // An entity that inherits has its rows in the table of the first.
    var (root, rest) = (entity, entities.count)
    while let parent = entities.first(where: { $0.number == root.parent && root.parent != 0 }), rest > 0 {
      (root, rest) = (parent, rest - 1)
    }
    let isShared = entity.parent != 0 || entities.contains { $0.parent == entity.number }
    let table = "Z" + root.name.uppercased()
    return source.tableNames.contains(table) ? (table, isShared ? "Z_ENT = \(entity.number)" : nil) : nil
  }

  func draft() throws -> ImportMap.Draft {
    var (map, unmatched) = (ImportMap(tables: []), [String]())
    var tables: [String: String] = [:]
    for entity in schema.entities {
      guard let (table, condition) = table(for: entity.type),
        condition != nil || !map.tables.contains(where: { $0.from == table })
      else {
        unmatched.append(entity.type)
        continue
      }
      tables[entity.type] = table
      map.tables.append(try draft(entity, table, condition, &unmatched))
    }
    for entity in schema.entities {
      for relationship in entity.relationships {
        let used = Set(map.links.map(\.from))
        if let links = try links(entity, relationship, tables), !used.contains(links.from) {
          map.links.append(links)
        } else {
          unmatched.append("\(entity.type).\(relationship.name)")
        }
      }
    }
    return ImportMap.Draft(map: map, unmatched: unmatched)
  }

  private func draft(
    _ entity: EntitySchema, _ table: String, _ condition: String?, _ unmatched: inout [String]
  ) throws -> ImportMap.Table {
    let columns = try source.columns(of: table) ?? []
    var result = ImportMap.Table(from: table, to: entity.type, where: condition, fields: [:])
    for field in entity.fields {
      guard let column = columns.first(where: { plain(column: $0.name) == bare(field.name) }) else {
        unmatched.append("\(entity.type).\(field.name)")
        continue
      }
      let isNumber = ["INTEGER", "REAL", "TIMESTAMP", "NUMERIC", "DOUBLE"].contains(column.type.uppercased())
      let isCoreDataDate = field.kind == .date && entities != nil && isNumber
      result.fields[field.name] = ImportColumn(column: column.name, as: isCoreDataDate ? .coreDataSeconds : nil)
    }
    for reference in entity.references {
      let names = [bare(reference.name), bare(reference.name) + "id"]
      guard let column = columns.first(where: { plain(column: $0.name).map(names.contains) ?? false }) else {
        unmatched.append("\(entity.type).\(reference.name)")
        continue
      }
      result.fields[reference.name] = ImportColumn(column: column.name)
    }
    // Where the primary key is no number, it names the record already.
    let primary = columns.filter { $0.keyPlace > 0 }
    if primary.count != 1 || primary[0].type.uppercased() == "INTEGER" {
      let ids: Set<String> = ["id", "uuid", "identifier"]
      let column = columns.first { $0.keyPlace == 0 && plain(column: $0.name).map(ids.contains) ?? false }
      result.id = column.map { ImportColumn(column: $0.name) }
    }
    return result
  }

  private func links(
    _ entity: EntitySchema, _ relationship: RelationshipSchema, _ tables: [String: String]
  ) throws -> ImportMap.Links? {
    guard let from = tables[entity.type], let to = tables[relationship.to] else { return nil }
    let name = "\(entity.type).\(relationship.name)"
    if let entities {
      // Core Data: of Item (1) to Tag (3) the table is Z_1TAGS, and Z_3TAGS holds the tags.
      func numbers(_ table: String) -> [Int] {
        entities.filter { "Z" + $0.name.uppercased() == table }.map(\.number)
      }
      guard let source = numbers(from).first, let target = numbers(to).first else { return nil }
      let relation = relationship.name.uppercased()
      let table = "Z_\(source)\(relation)"
      let columns = try self.source.columns(of: table)?.map(\.name).filter { !$0.hasPrefix("Z_FOK") } ?? []
      guard columns.count == 2, let member = columns.firstIndex(where: { $0.hasPrefix("Z_\(target)\(relation)") })
      else { return nil }
      return ImportMap.Links(
        from: table, to: name, source: ImportColumn(column: columns[1 - member]),
        target: ImportColumn(column: columns[member]))
    }
    func isKey(_ key: ForeignDatabase.ForeignKey, of table: String) throws -> Bool {
      guard key.table.caseInsensitiveCompare(table) == .orderedSame else { return false }
      let primary = try source.columns(of: table)?.filter { $0.keyPlace > 0 }.map(\.name) ?? []
      return key.target.map { [$0] == primary } ?? true
    }
    var found: [ImportMap.Links] = []
    for table in source.tableNames where table != from && table != to {
      let keys = try source.foreignKeys(of: table)
      let (sources, targets) = (try keys.filter { try isKey($0, of: from) }, try keys.filter { try isKey($0, of: to) })
      guard sources.count == 1, targets.count == 1, keys.count == 2 else { continue }
      found.append(
        ImportMap.Links(
          from: table, to: name, source: ImportColumn(column: sources[0].column),
          target: ImportColumn(column: targets[0].column)))
    }
    if found.count > 1 { found = found.filter { bare($0.from).hasSuffix(bare(relationship.name)) } }
    return found.count == 1 ? found[0] : nil
  }
}
