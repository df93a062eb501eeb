import Foundation
import GRDB
import TallyStore

extension ImportMap {
  /// A map that was made by comparing names, and what it lacks.
  public struct Draft: Sendable, Equatable {
    /// The map, with everything that was found.
    public var map: ImportMap
    /// The types, fields, references and relationships for which nothing was found, such as `Item.tags`. Where several
    /// columns or tables may be meant, they follow in parentheses: `Item.title (ZTITLE, ZTITLE1)`.
    public var unmatched: [String]
    /// The number of rows that nothing in the map takes, by table, or by entity in a file of Core Data's. An import
    /// reports the same; name in `ImportMap.leavesOut` those that are meant to stay behind.
    public var leftOut: [String: Int]
    /// The columns with values that no field takes, such as `ZITEM.ZNOTES`, in the tables of the map. A column that
    /// begins with `Z_FOK_` is the order of a relationship of Core Data's; it is used where the relationship is an
    /// ordered one (`toMany(…, ordered: true)`).
    public var unused: [String]
  }

  /// Proposes a map by comparing names: of tables with types, of columns with fields and references. Case and
  /// underscores do not count, nor does Core Data's `Z`, an `ID` at the end of a reference, or the plural of a table.
  /// Join tables are found by their foreign keys, or by Core Data's names of their columns. A column that is called
  /// `id`, `uuid` or `identifier` names the records.
  ///
  /// In a file of Core Data's a type also takes the rows of entities that inherit from its own, unless those have a
  /// type themselves; of columns that differ only by a number it takes the one that has values in these rows; and blobs
  /// that look as if they may be in files beside the database are read as `coreDataBlob`.
  ///
  /// A field of kind `asset` takes blobs as they are, those of Core Data's external storage as `coreDataBlob`, and
  /// texts that name no assets as `path`; then set ``folder`` before the import.
  ///
  /// ```swift
  /// let draft = try ImportMap.draft(of: url, for: schema)
  /// print(draft.unmatched, draft.leftOut, draft.unused)
  /// ```
  ///
  /// Cost: the rows of the file are counted, and columns looked through for a first value.
  /// - Parameters:
  ///   - url: the file of the database, which is only read.
  ///   - schema: the schema of the store.
  /// - Returns: the map with everything that was found, and lists of what was not.
  /// - Throws: `StoreError.notADatabase`; GRDB's `DatabaseError`.
  public static func draft(of url: URL, for schema: Schema) throws -> Draft {
    try ForeignDatabase.read(url, patience: StoreOptions().busyTimeout) { source in
      guard let entities = try source.coreDataEntities() else { return try ImportDrafting(source, schema).draft() }
      return try CoreDataDrafting(source, schema, entities).draft()
    }
  }
}

extension ImportMap.Draft {
  init(_ map: ImportMap, _ unmatched: [String], _ unused: [String], _ source: ForeignDatabase) throws {
    (self.map, self.unmatched) = (map, unmatched)
    leftOut = try LeftOutRows(map, source).leftOut
    var seen = Set<String>()
    self.unused = unused.filter { seen.insert($0).inserted }
  }
}

/// The names that a type, a field or a column may have had elsewhere.
enum DraftNames {
  /// A name without what does not count.
  static func bare(_ name: some StringProtocol) -> String { name.lowercased().filter { $0 != "_" } }

  /// The names that a type may have had, the likeliest first: with and without a prefix of capitals, one or many.
  static func names(for type: String) -> [String] {
    let capitals = type.prefix { $0.isUppercase }.count
    let rest = capitals > 1 ? String(type.dropFirst(capitals - 1)) : type
    return [bare(type), bare(rest)].flatMap { (name: String) -> [String] in
      let ending: String = name.hasSuffix("y") ? "\(name.dropLast())ies" : name
      return [name, "\(name)s", "\(name)es", ending]
    }
  }

  /// The names that a column of a field or reference may have had.
  static func names(of column: String, isReference: Bool) -> [String] {
    isReference ? [bare(column), bare(column) + "id"] : [bare(column)]
  }

  /// The names of columns that name the records.
  static let ids = ["id", "uuid", "identifier"]
}

extension ForeignDatabase {
  /// The columns of a map's table that have values in its rows and that `used` does not have, but for keys.
  func unusedColumns(of table: ImportMap.Table, used: Set<String>, but keys: (Column) -> Bool) throws -> [String] {
    let rest = "FROM \(try quoted(table: table.from)) AS t WHERE \(try sql(condition: table.condition, of: table.from))"
    return try (columns(of: table.from) ?? []).filter { column in
      guard !used.contains(column.name), !keys(column) else { return false }
      return try exists("SELECT 1 \(rest) AND t.\(Self.quote(column.name)) NOT NULL LIMIT 1", of: table.from)
    }.map { "\(table.from).\($0.name)" }
  }
}

/// The comparison of names.
private struct ImportDrafting {
  let source: ForeignDatabase
  let schema: Schema

  init(_ source: ForeignDatabase, _ schema: Schema) { (self.source, self.schema) = (source, schema) }

  private func bare(_ name: String) -> String { DraftNames.bare(name) }

  func draft() throws -> ImportMap.Draft {
    var (map, unmatched, unused) = (ImportMap(tables: []), [String](), [String]())
    var tables: [String: String] = [:]
    for entity in schema.entities {
      let names = DraftNames.names(for: entity.type)
      let found = names.lazy.compactMap { name in source.tableNames.first { bare($0) == name } }.first
      guard let found, !map.tables.contains(where: { $0.from == found }) else {
        unmatched.append(entity.type)
        continue
      }
      tables[entity.type] = found
      let table = try draft(entity, found, &unmatched)
      map.tables.append(table)
      let used = Set(([table.id].compactMap(\.self) + table.fields.values).compactMap(\.name))
      unused += try source.unusedColumns(of: table, used: used) { $0.keyPlace > 0 }
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
    return try ImportMap.Draft(map, unmatched, unused, source)
  }

  private func draft(
    _ entity: EntitySchema, _ table: String, _ unmatched: inout [String]
  ) throws -> ImportMap.Table {
    let columns = try source.columns(of: table) ?? []
    var result = ImportMap.Table(from: table, to: entity.type, fields: [:])
    let references = Set(entity.references.map(\.name))
    for field in entity.columnNames {
      let names = DraftNames.names(of: field, isReference: references.contains(field))
      guard let column = columns.first(where: { names.contains(bare($0.name)) }) else {
        unmatched.append("\(entity.type).\(field)")
        continue
      }
      var found = ImportColumn(column: column.name)
      if entity.fields.contains(where: { $0.name == field && $0.kind == .asset }),
        try source.hasPaths(found, "FROM \(ForeignDatabase.quote(table)) AS t WHERE 1", of: table)
      {
        found.form = .path
      }
      result.fields[field] = found
    }
    // Where the primary key is no number, it names the record already.
    let primary = columns.filter { $0.keyPlace > 0 }
    if primary.count != 1 || primary[0].type.uppercased() == "INTEGER" {
      let column = columns.first { $0.keyPlace == 0 && DraftNames.ids.contains(bare($0.name)) }
      result.id = column.map { ImportColumn(column: $0.name) }
    }
    return result
  }

  private func links(
    _ entity: EntitySchema, _ relationship: RelationshipSchema, _ tables: [String: String]
  ) throws -> ImportMap.Links? {
    guard let from = tables[entity.type], let to = tables[relationship.to] else { return nil }
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
          from: table, to: "\(entity.type).\(relationship.name)", source: ImportColumn(column: sources[0].column),
          target: ImportColumn(column: targets[0].column)))
    }
    if found.count > 1 { found = found.filter { bare($0.from).hasSuffix(bare(relationship.name)) } }
    return found.count == 1 ? found[0] : nil
  }
}

extension ImportColumn {
  /// The name of the column; nil for an expression.
  fileprivate var name: String? {
    if case .column(let name) = expression { name } else { nil }
  }
}
