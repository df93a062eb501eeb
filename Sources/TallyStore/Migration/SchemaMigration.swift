import Foundation
import TallyCRDT
import TallyWire

/// Creating a store's tables, and following the app's schema when it grows.
///
/// Migrations write no cells: a new field reads as its default, and what a newer peer had sent for it before is shown
/// now.
package struct SchemaMigration {
  private let transaction: WriteTransaction
  private var connection: Connection { transaction.connection }
  private var reader: StateReader { transaction.reader }
  private var catalog: Catalog { transaction.catalog }
  private var numbers: CatalogWriter { transaction.session.numbers }

  /// Called before the tables change.
  private let willChange: ((Schema, Schema) throws -> Void)?
  /// The tables that were gone and have been created empty, in words; nil if none were.
  private let gone: String?

  init(_ transaction: WriteTransaction, gone: String? = nil, willChange: ((Schema, Schema) throws -> Void)? = nil) {
    (self.transaction, self.gone, self.willChange) = (transaction, gone, willChange)
  }

  /// Creates the tables of a new store.
  /// - Throws: `StoreError.notAStore` if the database, which is empty, keeps text in UTF-16: what is stored is compared
  ///   byte by byte.
  static func create(_ connection: Connection) throws {
    let encoding = try connection.statement(text: "PRAGMA encoding")
    defer { encoding.reset() }
    guard try encoding.step(), encoding.text(0) == "UTF-8" else {
      throw StoreError(
        .notAStore, "the empty database keeps text in UTF-16, and a store in UTF-8; remove the file or name another")
    }
    try connection.execute(Format.tables)
    try connection.execute("PRAGMA application_id = \(Format.applicationID)")
    try connection.execute("PRAGMA user_version = \(Format.version)")
  }

  /// Creates tables of entities and relationships that are gone, empty, before anything looks into them. A store whose
  /// tables were dropped is damaged: what stood in them is not deleted, and the next sync brings it back.
  /// - Returns: what was gone, in words; nil if nothing was.
  static func restoreTables(_ connection: Connection, _ catalog: Catalog) throws -> String? {
    func isGone(_ table: String) -> Bool {
      !connection.hasColumn(nil, table)
    }
    var gone: [String] = []
    for kind in catalog.orderedKinds where isGone(kind.type) {
      guard let entity = kind.entity else { continue }
      try connection.execute(table(entity))
      gone.append("the table \(kind.type)")
    }
    for link in catalog.knownLinks where isGone(link.table) {
      try connection.execute(table(link))
      gone.append("the table \(link.table)")
    }
    return gone.isEmpty ? nil : "lost: " + gone.joined(separator: ", ")
  }

  /// Makes the file's schema cover `schema`. Entities and properties that the file has and `schema` lacks stay as they
  /// are.
  /// - Parameter wanted: nil for what the file has.
  /// - Throws: `StoreError.incompatibleSchema` if a property changes its kind, target or default, or is renamed from
  ///   another name than its first; `.corrupt` if nothing is wanted and the file's own is lost.
  func migrate(to wanted: Schema?) throws {
    let isLost = catalog.isSchemaLost
    if wanted == nil { try catalog.checkSchema() }
    let schema = wanted ?? catalog.schema
    // What the file has was checked when it was read.
    let isAsItWas = schema == catalog.schema && !isLost && catalog.version > 0 && catalog.isComplete && gone == nil
    guard !isAsItWas else { return }
    try schema.validate()
    let old = isLost ? try remains(of: schema) : catalog.schema
    let merged = try old.following(schema)
    let lostNumbers = catalog.isComplete ? nil : "lost: " + StoreDoubt.lostNumbers
    let missing = [lostNumbers, gone].compactMap { $0 }.joined(separator: "; ")
    guard merged != old || catalog.version == 0 || !missing.isEmpty || isLost else { return }
    warnOfRenames(from: old, to: schema)
    if let willChange {
      try transaction.session.listen { try willChange(old, merged) }
      try transaction.capture(.app)
      // What is kept of it in memory has the form of the schema before.
      transaction.session.giveUpChanges()
    }
    try renameColumns(from: old, to: merged)
    try connection.run("INSERT OR REPLACE INTO tally_meta VALUES('schema', ?)", Array(try merged.json()))
    try number(merged)
    numbers.adopt(merged)
    try createTables(old)
    if !missing.isEmpty, catalog.version > 0, merged == old { try transaction.note(doubt: .damaged, because: missing) }
    connection.forgetStatements()
    try transaction.session.followSchema()
    // States that cannot be read show nothing; healing and rebuilding go through everything.
    guard try reader.doubt()?.level != .damaged else { return }
    try UniqueIndexes(transaction: transaction).follow()
    try showEverything(old)
  }

  /// The part of `schema` whose tables and columns exist in the file.
  private func remains(of schema: Schema) throws -> Schema {
    var remains = Schema()
    for var entity in schema.entities {
      entity.declareSources()
      var columns = Set<String>()
      let query = try SQLStatement(connection, "SELECT name FROM pragma_table_xinfo(?, 'main')")
      query.bind(1, entity.type)
      while try query.step() { columns.insert(query.text(0) ?? "") }
      entity.fields.removeAll { !columns.contains($0.name) }
      entity.references.removeAll { !columns.contains($0.name) }
      if !columns.isEmpty { remains.entities.append(entity) }
    }
    return remains
  }

  private func number(_ schema: Schema) throws {
    for entity in schema.entities {
      let kind = try numbers.kind(source: entity.type)
      for field in entity.fields { _ = try numbers.field(field.key, kind: kind) }
      for reference in entity.references { _ = try numbers.field(reference.key, kind: kind) }
      for relationship in entity.relationships {
        let kind = try numbers.kind(source: entity.type, relationship: relationship.name, target: relationship.to)
        if relationship.isOrdered { _ = try numbers.field(LinkKind.placeKey, kind: kind) }
      }
    }
  }

  /// A column that came where another one of its kind went looks like one that was renamed without its wire name: what
  /// was in it is not seen any more.
  private func warnOfRenames(from old: Schema, to new: Schema) {
    for entity in new.entities {
      guard let before = old[entity.type] else { continue }
      let gone = before.fields.filter { field in !entity.fields.contains { $0.wireName == field.wireName } }
      let come = entity.fields.filter { field in !before.fields.contains { $0.wireName == field.wireName } }
      for field in come where field.source == nil {
        guard let other = gone.first(where: { $0.kind == field.kind && $0.keep == field.keep }) else { continue }
        transaction.environment.logger.warning(
          "a new field and a removed one have the same kind; if this is a rename, declare it with renamedFrom: and the old name",
          metadata: ["new": "\(entity.type).\(field.name)", "gone": "\(entity.type).\(other.name)"])
      }
    }
  }

  /// Through unused names: columns may swap theirs.
  private func renameColumns(from old: Schema, to new: Schema) throws {
    for entity in new.entities {
      let renamed = entity.fields.compactMap { field -> (from: String, to: String)? in
        guard let before = old[entity.type]?.fields.first(where: { $0.wireName == field.wireName }),
          before.name != field.name
        else { return nil }
        return (before.name, field.name)
      }
      guard !renamed.isEmpty else { continue }
      try CaptureTriggers.remove(connection)
      func rename(_ from: String, _ to: String) throws {
        try connection.execute("ALTER TABLE main.\"\(entity.type)\" RENAME COLUMN \"\(from)\" TO \"\(to)\"")
      }
      for (place, names) in renamed.enumerated() { try rename(names.from, "tally_renamed_\(place)") }
      for (place, names) in renamed.enumerated() { try rename("tally_renamed_\(place)", names.to) }
    }
  }

  // MARK: Tables

  private func createTables(_ old: Schema) throws {
    for kind in catalog.orderedKinds {
      guard let entity = kind.entity else { continue }
      if let before = old[entity.type] {
        try connection.execute(Self.table(before, ifNotExists: true))
        let known = Set(before.fields.map(\.wireName) + before.references.map(\.name))
        for field in entity.fields where !known.contains(field.wireName) {
          try connection.execute("ALTER TABLE \"\(entity.type)\" ADD COLUMN \(Self.column(field))")
        }
        for reference in entity.references where !known.contains(reference.name) {
          try connection.execute("ALTER TABLE \"\(entity.type)\" ADD COLUMN \(Self.column(reference))")
        }
      } else {
        try connection.execute(Self.table(entity))
      }
      for reference in entity.references where reference.isIndexed {
        let name = "\(entity.type)_on_\(reference.name)"
        try connection.execute(
          "CREATE INDEX IF NOT EXISTS \"tally_\(name)\" ON \"\(entity.type)\"(\"\(reference.name)\")")
      }
    }
    for link in catalog.knownLinks {
      try connection.execute(Self.table(link))
      if link.isOrdered, !connection.hasColumn("position", link.table) {
        try connection.execute("ALTER TABLE main.\"\(link.table)\" ADD COLUMN \(Self.positionColumn)")
      }
      try connection.execute(
        "CREATE INDEX IF NOT EXISTS \"tally_\(link.table)_target\" ON \"\(link.table)\"(target, source)")
    }
    let least = catalog.knownLinks.contains(where: \.isOrdered) ? 1 : 0
    let width = max(least, catalog.records.values.map(\.columns.count).max() ?? 0)
    let all = try connection.integer("SELECT count(*) FROM pragma_table_info('tally_pending')")
    let present = max(0, (all ?? 0) - PendingTable.fixedColumns)
    for index in present..<max(present, width) {
      try connection.execute("ALTER TABLE tally_pending ADD COLUMN c\(index)")
    }
  }

  /// Identifiers were checked by `Schema.validate()`: letters, digits and underscores only, so quotes need no escaping.
  package static func table(_ entity: EntitySchema, ifNotExists: Bool = false) -> String {
    table(entity, columns: entity.fields.map(column) + entity.references.map(column) + [clockColumn], ifNotExists)
  }

  /// The SQL of a table with its columns in another order than the schema's. The first `clockPlace` of them stand
  /// before the clock; the others came with later schemas.
  package static func table(_ entity: EntitySchema, order: [Column], clockPlace: Int) -> String {
    var columns = order.compactMap { column in
      entity.fields.first { $0.wireName == column.wireName }.map(Self.column)
        ?? entity.references.first { $0.name == column.name }.map(Self.column)
    }
    columns.insert(clockColumn, at: min(clockPlace, columns.count))
    return table(entity, columns: columns, false)
  }

  private static func table(_ entity: EntitySchema, columns: [String], _ ifNotExists: Bool) -> String {
    let prefix = entity.type + AnyRecordName.delimiter
    let parts =
      ["id TEXT NOT NULL PRIMARY KEY CHECK(substr(id, 1, \(prefix.utf8.count)) = '\(prefix)' AND length(id) <= 255)"]
      + columns
    return
      "CREATE TABLE \(ifNotExists ? "IF NOT EXISTS " : "")\"\(entity.type)\"(\(parts.joined(separator: ", "))) STRICT"
  }

  private static func table(_ link: LinkKind) -> String {
    """
    CREATE TABLE IF NOT EXISTS "\(link.table)"(
      source TEXT NOT NULL REFERENCES "\(link.source)"(id) DEFERRABLE INITIALLY DEFERRED,
      target TEXT NOT NULL REFERENCES "\(link.target)"(id) DEFERRABLE INITIALLY DEFERRED,
      \(link.isOrdered ? positionColumn + ", " : "")\(clockColumn), PRIMARY KEY(source, target)) STRICT
    """
  }

  private static let clockColumn = "tally_clock BLOB NOT NULL DEFAULT \(InlineClock.unstampedSQL)"

  private static let positionColumn = "position BLOB NOT NULL DEFAULT x''"

  private static func column(_ field: FieldSchema) -> String {
    let definition = "\"\(field.name)\" \(field.kind.columnType)"
    switch field.defaultValue {
    case .null: return definition
    case .integer(let number): return definition + " NOT NULL DEFAULT \(number)"
    case .real(let number): return definition + " NOT NULL DEFAULT \(number)"
    case .text(let text): return definition + " NOT NULL DEFAULT '\(text.replacingOccurrences(of: "'", with: "''"))'"
    case .blob(let bytes):
      return definition + " NOT NULL DEFAULT x'\(Hexadecimal.text(bytes))'"
    }
  }

  private static func column(_ reference: ReferenceSchema) -> String {
    "\"\(reference.name)\" TEXT REFERENCES \"\(reference.to)\"(id) DEFERRABLE INITIALLY DEFERRED"
  }

  // MARK: Hydration

  /// After the schema grew: shows what was kept for it.
  private func showEverything(_ old: Schema) throws {
    for kind in catalog.orderedKinds {
      var kept: [AnyRecordName] = []
      try reader.forEachHiddenRecord(kind.number) { name, _ in kept.append(name) }
      let isEvery = old[kind.type].map { kind.entity.map($0.hasOtherRules) ?? false } ?? false
      if isEvery { try connection.execute("DELETE FROM tally_wait WHERE kind = \(kind.number)") }
      let condition = isEvery ? "" : " WHERE substr(tally_clock, 1, 2) = x'FFFF'"
      let query = try SQLStatement(connection, "SELECT id FROM main.\"\(kind.type)\"\(condition)")
      while try query.step() { if let name = try? AnyRecordName(query.text(0) ?? "") { kept.append(name) } }
      for name in kept {
        transaction.view.mark(name)
        // Whom a new reference names is in no row yet. An owner must find what it owns before anything is decided.
        guard let stored = try reader.record(name, kind) else { continue }
        try transaction.writer.putWaits(
          for: name, kind, stored.state, stored.place.isVisible ? stored.values : nil, nil)
      }
    }
    for link in catalog.knownLinks {
      try reader.forEachHiddenLink(link) { key, _ in transaction.view.mark(link.number, key) }
    }
    for link in catalog.knownLinks where link.isOrdered && !old.isOrdered(link) { try showPlaces(link) }
  }
}

extension SchemaMigration {
  /// Shows where the members of a relationship stand that has become ordered.
  private func showPlaces(_ link: LinkKind) throws {
    func isMeant(_: LinkKey, _ kind: LinkKind, _ stored: StoredLink) -> Bool {
      kind.number == link.number && stored.place.isVisible && stored.element.place != nil
    }
    try AllStates(reader).rewriteLinks(where: isMeant) { key, kind, stored in
      try transaction.writer.put(key, kind, stored.element, previous: stored, isShown: true)
    }
  }
}

extension Schema {
  fileprivate func isOrdered(_ link: LinkKind) -> Bool {
    self[link.source]?.relationships.contains { $0.name == link.relationship && $0.isOrdered } ?? false
  }
}

extension EntitySchema {
  /// Whether the rules differ by which rows show, so that each must be looked at.
  fileprivate func hasOtherRules(_ next: EntitySchema) -> Bool {
    deleteWins != next.deleteWins || follows != next.follows
      || references.contains { old in next.references.contains { $0.name == old.name && $0.onDelete != old.onDelete } }
      || next.fields.contains { field in
        field.source != nil && !fields.contains { $0.wireName == field.wireName }
      }
  }
}
