import TallyCRDT
import TallyStore

/// A map that was checked against the store's schema and the imported database, with the order of the work.
struct ImportPlan {
  /// A column for a field of the entity.
  struct Field {
    let column: ImportColumn
    /// Its place in `EntitySchema.columnNames`.
    let place: Int
    let schema: FieldSchema
    /// Whether it names files, which are added before the row is written.
    var isAsset: Bool { schema.kind == .asset }
  }

  /// A column for a reference of the entity.
  struct Reference {
    let column: ImportColumn
    /// Its place in `EntitySchema.columnNames`.
    let place: Int
    let name: String
    let target: Target
    /// Whether the target may come later than the row.
    let isForward: Bool
  }

  /// The records that a column's keys refer to.
  struct Target {
    let type: String
    /// The place of the type in the schema.
    let entity: Int
    /// Finds the id of the row with a key; nil if no table of the map becomes records of the type.
    let lookup: Lookup?
  }

  /// Finds the id of the row with a key.
  struct Lookup {
    let table: String
    let query: SQLStatement
  }

  /// The rows of a step, from the first, or after the last one that is committed.
  struct Rows {
    /// The names of a row's values, for messages.
    let columns: [String]
    /// The SQL of the columns by which they are ordered.
    let order: String
    let all: SQLStatement
    let rest: SQLStatement
    let count: Int
  }

  /// A table whose rows become records. Each row of the query is: key, id, fields, references.
  struct Table {
    let from: String
    let type: String
    let entity: Int
    let fields: [Field]
    let references: [Reference]
    /// Whether there may be files to add: some column has blobs, or paths.
    let hasFiles: Bool
    /// The SQL of the id.
    let id: String
    let rows: Rows
    /// The rows that have forward references.
    let forward: Rows?

    var recordsStep: String { "records \(from) \(type)" }
    var referencesStep: String { "references \(from) \(type)" }
  }

  /// A join table. Each row of the query is: the source's key, the value that orders its members if there is one, the
  /// target's key.
  struct Links {
    let from: String
    let type: String
    let entity: Int
    let relationship: String
    /// The relationship's place in the entity.
    let place: Int
    let columns: (source: ImportColumn, target: ImportColumn)
    let source: Target
    let target: Target
    let rows: Rows

    var step: String { "links \(from) \(type).\(relationship)" }
    /// How many values of a row tell it from all others.
    var keys: Int { rows.columns.count }
  }

  let tables: [Table]
  let links: [Links]

  /// - Throws: `StoreError.invalidMap`, `.rowNotMapped` for a key that two rows have.
  init(_ map: ImportMap, _ schema: Schema, _ source: ForeignDatabase) throws {
    let ordered = try Self.ordered(map.tables, schema)
    var lookups: [String: Lookup] = [:]
    for table in ordered { lookups[table.to] = try Self.lookup(table, source) }
    func target(_ type: String) throws -> Target {
      guard let place = schema.entities.firstIndex(where: { $0.type == type }) else {
        throw StoreError(.invalidMap, "the schema has no type \(printable(type))")
      }
      return Target(type: type, entity: place, lookup: lookups[type])
    }
    var done = Set<String>()
    tables = try ordered.map { table in
      defer { done.insert(table.to) }
      if map.folder == nil, let path = table.fields.filter({ $0.value.form == .path }).keys.min() {
        throw StoreError(
          .invalidMap, "\(table.to).\(path) has paths of files, and the map does not name their \"folder\"")
      }
      return try Self.table(table, schema, source, try target(table.to).entity) { type in
        (try target(type), lookups[type] != nil && !done.contains(type))
      }
    }
    links = try map.links.map { try Self.links($0, schema, source, target) }
    let steps = tables.map(\.recordsStep) + links.map(\.step)
    if let twice = Dictionary(grouping: steps, by: { $0 }).first(where: { $0.value.count > 1 })?.key {
      throw StoreError(.invalidMap, "the map has \(printable(twice)) twice")
    }
  }

  /// The tables, those that others refer to first. Where they refer to each other in a circle, the map's order decides.
  private static func ordered(_ tables: [ImportMap.Table], _ schema: Schema) throws -> [ImportMap.Table] {
    var types: [String: ImportMap.Table] = [:]
    for table in tables {
      guard schema[table.to] != nil else {
        throw StoreError(
          .invalidMap, "\(table.from): the schema has no type \(printable(table.to))")
      }
      guard types.updateValue(table, forKey: table.to) == nil else {
        throw StoreError(
          .invalidMap,
          "two tables are to become \(table.to); import them one after the other, each with a map and a name")
      }
    }
    var (result, seen): ([ImportMap.Table], Set<String>) = ([], [])
    func visit(_ table: ImportMap.Table) {
      guard seen.insert(table.to).inserted, let entity = schema[table.to] else { return }
      for reference in entity.references where table.fields[reference.name] != nil {
        if let target = types[reference.to] { visit(target) }
      }
      result.append(table)
    }
    for table in tables { visit(table) }
    return result
  }

  private static func lookup(_ table: ImportMap.Table, _ source: ForeignDatabase) throws -> Lookup {
    let from = try source.quoted(table: table.from)
    let key = try source.key(of: table)
    let id = try table.id.map { try source.sql($0, of: table.from) } ?? key
    let condition = try source.sql(condition: table.condition, of: table.from)
    return Lookup(
      table: table.from, query: try source.statement("SELECT \(id) FROM \(from) AS t WHERE \(key) = ? AND \(condition)")
    )
  }

  private static func table(
    _ table: ImportMap.Table, _ schema: Schema, _ source: ForeignDatabase, _ place: Int,
    _ target: (String) throws -> (Target, isForward: Bool)
  ) throws -> Table {
    let entity = schema.entities[place]
    let from = try source.quoted(table: table.from)
    let key = try source.key(of: table)
    let id = try table.id.map { try source.sql($0, of: table.from) } ?? key
    let fields = entity.fields.enumerated().compactMap { place, field in
      table.fields[field.name].map { Field(column: $0, place: place, schema: field) }
    }
    var references: [Reference] = []
    for (index, reference) in entity.references.enumerated() {
      guard let column = table.fields[reference.name] else { continue }
      let (target, isForward) = try target(reference.to)
      references.append(
        Reference(
          column: column, place: entity.fields.count + index, name: reference.name, target: target, isForward: isForward
        ))
    }
    let known = Set(fields.map(\.schema.name) + references.map(\.name))
    if let unknown = table.fields.keys.filter({ !known.contains($0) }).min() {
      throw StoreError(.invalidMap, "\(table.to) has no field or reference \(printable(unknown))")
    }
    let columns = try (fields.map(\.column) + references.map(\.column)).map { try source.sql($0, of: table.from) }
    let rest = "FROM \(from) AS t WHERE \(try source.sql(condition: table.condition, of: table.from))"
    try checkAssets(table, entity)
    try checkBlobs(fields, rest, table, source)
    let hasFiles = try zip(fields, columns).contains { field, sql in
      guard field.isAsset, field.column.form == nil else {
        return field.isAsset && (field.column.form == .path || field.column.form == .coreDataBlob)
      }
      return try source.exists("SELECT 1 \(rest) AND typeof(\(sql)) = 'blob' LIMIT 1", of: table.from)
    }
    let list = ([key, id] + columns).joined(separator: ", ")
    let forward = try references.filter(\.isForward).map { "\(try source.sql($0.column, of: table.from)) NOT NULL" }
    try checkIDs([("key", key), ("id", id)], rest, table.from, source)
    let count = try source.number("SELECT count(*) \(rest)", of: table.from)
    // An aggregate would make one row of all.
    let first = try source.number("SELECT count(*) FROM (SELECT \(list) \(rest) LIMIT 2)", of: table.from)
    guard first == min(count, 2) else {
      throw StoreError(.invalidMap, "\(table.from): an expression of the map makes one row of many")
    }
    let columnNames = ["key", "id"] + (fields.map(\.schema.name) + references.map(\.name)).map { "\(table.to).\($0)" }
    func rows(_ condition: String, _ count: Int) throws -> Rows {
      let select = "SELECT \(list) \(rest) AND \(condition)"
      return Rows(
        columns: columnNames, order: key, all: try source.statement("\(select) ORDER BY \(key)"),
        rest: try source.statement("\(select) AND \(key) > ? ORDER BY \(key)"), count: count)
    }
    let isForward = "(\(forward.joined(separator: " OR ")))"
    return Table(
      from: table.from, type: table.to, entity: place, fields: fields, references: references, hasFiles: hasFiles,
      id: id, rows: try rows("1", count),
      forward: forward.isEmpty
        ? nil : try rows(isForward, source.number("SELECT count(*) \(rest) AND \(isForward)", of: table.from)))
  }

  /// Only assets are files.
  private static func checkAssets(_ table: ImportMap.Table, _ entity: EntitySchema) throws {
    let assets = Set(entity.fields.filter { $0.kind == .asset }.map(\.name))
    for (name, column) in table.fields.sorted(by: { $0.key < $1.key }) {
      guard assets.contains(name) || column.type == nil && column.form != .path else {
        throw StoreError(
          .invalidMap, "\(table.to).\(name) is no asset, and takes neither a \"type\" nor \"as\": \"path\"")
      }
      if let type = column.type, !AssetName.isType(type) {
        throw StoreError(
          .invalidMap,
          "\(table.to).\(name): \(printable(type)) is not a file type: 1 to 12 lowercase letters and digits, such as "
            + "jpg")
      }
    }
  }

  /// Where Core Data may have put content beside the database, the map must say whether it did: its own bytes would be
  /// taken for the app's, and the names of files for what is in them.
  private static func checkBlobs(
    _ fields: [Field], _ rest: String, _ table: ImportMap.Table, _ source: ForeignDatabase
  ) throws {
    guard try source.coreDataEntities() != nil else { return }
    for field in fields where [.blob, .asset].contains(field.schema.kind) && field.column.form == nil {
      guard case .column(let name) = field.column.expression else { continue }
      let column = "t.\(ForeignDatabase.quote(name))"
      guard try ExternalData.isIn(column, rest, of: table.from, source) else { continue }
      throw StoreError(
        .invalidMap,
        "\(table.from).\(name) looks like an attribute with external storage: each value begins with 01, or names a "
          + "file; \"as\": \"coreDataBlob\" takes the content, and {\"sql\": \"\(name)\"} the bytes as they are")
    }
  }

  private static func rows(_ count: Int) -> String { count == 1 ? "a row" : "\(count) rows" }

  /// Each row has a key and an id of its own: of two rows with one, the second would be lost.
  private static func checkIDs(
    _ columns: [(what: String, sql: String)], _ rest: String, _ table: String, _ source: ForeignDatabase
  ) throws {
    for (what, sql) in columns {
      let none = try source.number("SELECT count(*) \(rest) AND \(sql) IS NULL", of: table)
      guard none == 0 else {
        throw StoreError(.rowNotMapped, "\(table): the \(what) is null in \(rows(none)); \"where\" can leave them out")
      }
      // Of ids the keys that they give: a UUID has several forms.
      let value = what == "id" ? "tally_key(\(sql))" : sql
      try source.evaluating(table) {
        let query = try source.statement(
          "SELECT v FROM (SELECT \(value) AS v \(rest)) WHERE v NOT NULL GROUP BY v HAVING count(*) > 1 LIMIT 1")
        defer { query.reset() }
        guard try query.step() else { return }
        throw StoreError(.rowNotMapped, "\(table): two rows have the \(what) \(ImportPosition.text(query.value(0)))")
      }
    }
  }

  private static func links(
    _ links: ImportMap.Links, _ schema: Schema, _ source: ForeignDatabase, _ target: (String) throws -> Target
  ) throws -> Links {
    let parts = links.to.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, let entity = schema[parts[0]],
      let place = entity.relationships.firstIndex(where: { $0.name == parts[1] })
    else {
      throw StoreError(
        .invalidMap,
        "\(links.from): no relationship \(printable(links.to)); expected Type.relationship")
    }
    let (first, second) = (try target(entity.type), try target(entity.relationships[place].to))
    let from = try source.quoted(table: links.from)
    let columns = (try source.sql(links.source, of: links.from), try source.sql(links.target, of: links.from))
    var rest = "FROM \(from) AS t WHERE \(try source.sql(condition: links.condition, of: links.from))"
    for (column, sql) in [(links.source, columns.0), (links.target, columns.1)] where !column.skipsMissing {
      let none = try source.number("SELECT count(*) \(rest) AND \(sql) IS NULL", of: links.from)
      guard none == 0 else {
        throw StoreError(
          .rowNotMapped, "\(links.from): an end is null in \(rows(none)); \"skipsMissing\" leaves them out")
      }
    }
    rest += " AND \(columns.0) NOT NULL AND \(columns.1) NOT NULL"
    guard links.order == nil || entity.relationships[place].isOrdered else {
      throw StoreError(.invalidMap, "\(links.from): \(links.to) is no ordered relationship, and takes no \"order\"")
    }
    // Nulls could not be gone on from. A blob comes behind numbers and texts.
    let order = try links.order.map { "coalesce(\(try source.sql($0, of: links.from)), x'')" }
    let list = [columns.0, order, columns.1].compactMap(\.self)
    // Two that a collation takes for equal are two records all the same.
    let ordered = list.map { "\($0) COLLATE BINARY" }.joined(separator: ", ")
    let select = "SELECT \(list.joined(separator: ", ")) \(rest)"
    let places = list.map { _ in "?" }.joined(separator: ", ")
    return Links(
      from: links.from, type: entity.type, entity: first.entity, relationship: parts[1], place: place,
      columns: (links.source, links.target), source: first, target: second,
      rows: Rows(
        columns: order == nil ? ["source", "target"] : ["source", "order", "target"], order: ordered,
        all: try source.statement("\(select) ORDER BY \(ordered)"),
        rest: try source.statement("\(select) AND (\(ordered)) > (\(places)) ORDER BY \(ordered)"),
        count: try source.number("SELECT count(*) \(rest)", of: links.from)))
  }
}
