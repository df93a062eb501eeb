import GRDB
import TallyStore

/// The comparison of a schema with the names that Core Data gives to tables and columns.
struct CoreDataDrafting {
  let source: ForeignDatabase
  let schema: Schema
  let entities: CoreDataEntities
  /// The entity of each type, and the numbers of the entities whose rows become its records.
  let types: [String: (entity: CoreDataEntities.Entity, table: String, numbers: [Int])]

  init(_ source: ForeignDatabase, _ schema: Schema, _ entities: CoreDataEntities) {
    (self.source, self.schema, self.entities) = (source, schema, entities)
    var (matches, taken): ([String: CoreDataEntities.Entity], Set<Int>) = ([:], [])
    // Each entity becomes one type: the one that bears its name, before those that only resemble it.
    for names in [{ [DraftNames.bare($0)] }, DraftNames.names(for:)] {
      for type in schema.entities.map(\.type) where matches[type] == nil {
        let found = names(type).lazy.compactMap { name in
          entities.all.first { DraftNames.bare($0.name) == name && $0.table != nil && !taken.contains($0.number) }
        }.first
        guard let found else { continue }
        matches[type] = found
        taken.insert(found.number)
      }
    }
    types = matches.compactMapValues { entity in
      entity.table.map { table in
        // What inherits comes along, unless it, or what it inherits from on the way, has a type of its own.
        let numbers = entities.descendants(of: entity.number).filter {
          entities.ancestors(of: $0).first(where: taken.contains) == entity.number
        }
        return (entity, table, numbers)
      }
    }
  }

  func draft() throws -> ImportMap.Draft {
    var (map, unmatched, unused) = (ImportMap(tables: []), [String](), [String]())
    for entity in schema.entities {
      guard let type = types[entity.type] else {
        unmatched.append(entity.type)
        continue
      }
      var columns = Columns(
        source: source, table: type.table, numbers: entities.isShared(type.entity) ? type.numbers : nil,
        all: try source.columns(of: type.table) ?? [])
      let table = try draft(entity, &columns, &unmatched)
      map.tables.append(table)
      unused += try source.unusedColumns(of: table, used: columns.used) { column in
        column.keyPlace > 0 || !column.name.hasPrefix("Z") || column.name.dropFirst().first?.isNumber == true
          || column.name.hasPrefix("Z_") && !column.name.hasPrefix("Z_FOK_")
      }
    }
    for entity in schema.entities {
      for relationship in entity.relationships {
        let (links, candidates) = try CoreDataJoins(self).links(entity, relationship)
        map.links += links
        for links in links { unused += try order(links) }
        if links.isEmpty { unmatched.append(Self.named("\(entity.type).\(relationship.name)", candidates)) }
      }
    }
    return try ImportMap.Draft(map, unmatched, unused, source)
  }

  private static func named(_ name: String, _ candidates: [String]) -> String {
    candidates.isEmpty ? name : "\(name) (\(candidates.joined(separator: ", ")))"
  }

  /// The columns with an order of a join table's rows that its links do not take.
  private func order(_ links: ImportMap.Links) throws -> [String] {
    try (source.columns(of: links.from) ?? []).map(\.name)
      .filter { $0.hasPrefix("Z_FOK") && links.order != ImportColumn(column: $0) }.map { "\(links.from).\($0)" }
  }

  private func draft(
    _ entity: EntitySchema, _ columns: inout Columns, _ unmatched: inout [String]
  ) throws -> ImportMap.Table {
    var result = ImportMap.Table(from: columns.table, to: entity.type, where: columns.condition, fields: [:])
    let references = Set(entity.references.map(\.name))
    let all = entity.columnNames.flatMap { DraftNames.names(of: $0, isReference: references.contains($0)) }
    for name in entity.columnNames {
      let names = DraftNames.names(of: name, isReference: references.contains(name))
      switch try columns.find(names, but: Set(all).subtracting(names)) {
      case .found(var column, let type):
        let kind = entity.fields.first { $0.name == name }?.kind
        // An integer or a double of the model's may count anything.
        if kind == .date, type == "TIMESTAMP" { column.form = .coreDataSeconds }
        if let kind, [.blob, .text, .json, .asset].contains(kind), try columns.areExternal(column) {
          column.form = .coreDataBlob
        } else if kind == .asset, try columns.arePaths(column) {
          column.form = .path
        }
        result.fields[name] = column
      case .unknown(let candidates): unmatched.append(Self.named("\(entity.type).\(name)", candidates))
      }
    }
    // A name that some rows lack is none.
    for id in DraftNames.ids {
      guard case .found(let column, _) = try columns.find([id], but: Set(all).subtracting([id])),
        case .column(let name) = column.expression, try !columns.hasNull(name)
      else { continue }
      result.id = column
      break
    }
    return result
  }
}

/// The columns of a table of Core Data's, for the rows of some entities.
private struct Columns {
  enum Found {
    /// The column, or the expression over several, and the type as it is declared.
    case found(ImportColumn, String)
    /// The columns that it may be.
    case unknown([String])
  }

  let source: ForeignDatabase
  let table: String
  /// The entities whose rows are wanted; nil for all rows.
  let numbers: [Int]?
  let all: [ForeignDatabase.Column]
  /// The names of the columns that were found.
  private(set) var used: Set<String> = []

  init(source: ForeignDatabase, table: String, numbers: [Int]?, all: [ForeignDatabase.Column]) {
    (self.source, self.table, self.numbers, self.all) = (source, table, numbers, all)
  }

  var condition: String? {
    guard let numbers else { return nil }
    if numbers.count == 1 { return "Z_ENT = \(numbers[0])" }
    return "Z_ENT IN (\(numbers.map(String.init).joined(separator: ", ")))"
  }

  private var rest: String { "FROM \(ForeignDatabase.quote(table)) AS t WHERE \(condition ?? "1")" }

  /// A column's name without Core Data's `Z`; nil for one that only Core Data knows.
  private static func plain(_ column: String) -> String? {
    column.hasPrefix("Z") && !column.hasPrefix("Z_") ? DraftNames.bare(column.dropFirst()) : nil
  }

  /// Finds the column of an attribute. Entities that share a table have numbered columns where they have attributes of
  /// one name: which number belongs to which entity only the values tell. `others` are the names of other attributes.
  mutating func find(_ names: [String], but others: Set<String>) throws -> Found {
    let exact = all.filter { Self.plain($0.name).map(names.contains) ?? false }
    let numbered = all.filter { column in
      guard numbers != nil, let plain = Self.plain(column.name), !others.contains(plain) else { return false }
      return names.contains { name in
        plain.hasPrefix(name) && plain.count > name.count && plain.dropFirst(name.count).allSatisfy(\.isNumber)
      }
    }
    let candidates = numbers == nil ? Array(exact.prefix(1)) : exact + numbered
    guard candidates.count > 1, let numbers else {
      guard let only = candidates.first else { return .unknown([]) }
      used.insert(only.name)
      return .found(ImportColumn(column: only.name), only.type.uppercased())
    }
    let unknown = Found.unknown(candidates.map(\.name))
    var places: [(number: Int, column: ForeignDatabase.Column)] = []
    for number in numbers {
      let filled = try candidates.filter { column in
        try source.exists(
          "SELECT 1 FROM \(ForeignDatabase.quote(table)) AS t WHERE Z_ENT = \(number) "
            + "AND \(ForeignDatabase.quote(column.name)) NOT NULL LIMIT 1", of: table)
      }
      guard filled.count < 2 else { return unknown }
      places += filled.map { (number, $0) }
    }
    guard let first = places.first, places.allSatisfy({ $0.column.type == first.column.type }) else { return unknown }
    used.formUnion(places.map(\.column.name))
    guard !places.allSatisfy({ $0.column.name == first.column.name }) else {
      return .found(ImportColumn(column: first.column.name), first.column.type.uppercased())
    }
    let cases = places.map { "WHEN \($0.number) THEN \(ForeignDatabase.quote($0.column.name))" }
    let sql = "CASE Z_ENT \(cases.joined(separator: " ")) END"
    return .found(ImportColumn(sql: sql), first.column.type.uppercased())
  }

  /// Whether values may be in files beside the database.
  func areExternal(_ column: ImportColumn) throws -> Bool {
    try ExternalData.isIn(try source.sql(column, of: table), rest, of: table, source)
  }

  /// Whether values may be paths of files.
  func arePaths(_ column: ImportColumn) throws -> Bool { try source.hasPaths(column, rest, of: table) }

  func hasNull(_ column: String) throws -> Bool {
    try source.exists("SELECT 1 \(rest) AND \(ForeignDatabase.quote(column)) IS NULL LIMIT 1", of: table)
  }
}
