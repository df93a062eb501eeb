import Foundation
import GRDB
import TallyCRDT
import TallyStore

/// One run of an import, from where the last one ended.
final class DatabaseImport {
  /// A batch also ends when its values have so many bytes.
  private static let batchBytes = 16 << 20

  private let store: Store
  private let schema: Schema
  private let source: ForeignDatabase
  private let plan: ImportPlan
  private let files: ImportedFiles
  private let name: String
  private let batchSize: Int
  private let onProgress: ((ImportProgress) throws -> Void)?
  private var standing: ImportStanding
  private let wasBegun: Bool
  private var rowsRead = 0
  /// The records of the batch for which no files were added, since they were known when the row was read.
  private var known: Set<AnyRecordName> = []
  private(set) var report = ImportReport()

  init(
    _ store: Store, _ schema: Schema, _ source: ForeignDatabase, _ plan: ImportPlan, _ map: ImportMap, _ name: String,
    _ batchSize: Int,
    _ onProgress: ((ImportProgress) throws -> Void)?
  ) throws {
    (self.store, self.schema, self.source, self.plan, self.name) = (store, schema, source, plan, name)
    (self.batchSize, self.onProgress) = (batchSize, onProgress)
    files = ImportedFiles(store, source, folder: map.folder)
    let namespace = map.namespace
    // Committed before the first row is: two processes that begin at once must give rows the same names.
    (standing, wasBegun) = try store.writeImported { _, reader in
      if let begun = try ImportStanding.read(name, reader.connection) { return (begun, true) }
      let new = ImportStanding(namespace: namespace ?? store.newNamespace())
      try new.write(name, reader.connection)
      return (new, false)
    }
    if let namespace, namespace != standing.namespace {
      throw StoreError(
        .invalidMap,
        "the import \(printable(name)) has begun with another namespace; under another name it would begin again")
    }
  }

  func run() throws {
    let steps =
      plan.tables.flatMap { $0.forward == nil ? [$0.recordsStep] : [$0.recordsStep, $0.referencesStep] }
      + plan.links.map(\.step)
    report.wasDone = wasBegun && steps.allSatisfy(standing.done.contains)
    // Files that came in may be gone by now.
    try files.check(plan.tables.filter { !standing.done.contains($0.recordsStep) })
    for table in plan.tables {
      try step(table.recordsStep, table.from, table.rows, records: table) { try insert($0, table, $1, $2) }
    }
    for table in plan.tables {
      guard let forward = table.forward else { continue }
      try step(table.referencesStep, table.from, forward) { try refer($0, table, $1, $2) }
    }
    for links in plan.links {
      try step(links.step, links.from, links.rows, keys: links.keys) { try link($0, links, $1, $2) }
    }
  }

  private var rowCount: Int {
    plan.tables.reduce(0) { $0 + $1.rows.count + ($1.forward?.count ?? 0) }
      + plan.links.reduce(0) { $0 + $1.rows.count }
  }

  // MARK: A step

  /// Another process has gone on with the same import.
  private struct Overtaken: Error {
    var standing: ImportStanding
  }

  /// Imports the rows of a step, which are ordered by their first `keys` values. `records` is the table whose rows
  /// become records in it.
  private func step(
    _ step: String, _ table: String, _ rows: ImportPlan.Rows, keys: Int = 1, records: ImportPlan.Table? = nil,
    _ body: ([[Value]], RecordWriter, StateReader) throws -> Void
  ) throws {
    while !standing.done.contains(step) {
      if let id = records?.id, let before = standing.ids[step], before != id {
        throw StoreError(
          .invalidMap,
          "\(table): the import has begun with the id \(before); with another the same rows would come in again")
      }
      // With another key the position means nothing; what has come in is known.
      let position = standing.positions[step].flatMap { $0.order == rows.order ? $0 : nil }
      let query = position == nil ? rows.all : rows.rest
      query.reset()
      for (index, value) in (position?.values ?? []).enumerated() { query.bind(index + 1, value) }
      defer { query.reset() }
      do {
        let start = ImportPosition(order: rows.order, values: position?.values ?? [])
        try play(step, table, query, rows.columns, start, keys, records, body)
      } catch let overtaken as Overtaken {
        standing = overtaken.standing
      }
    }
  }

  /// Imports the rows of a query batch by batch, each with the step's progress in one transaction.
  private func play(
    _ step: String, _ table: String, _ query: SQLStatement, _ columns: [String], _ start: ImportPosition,
    _ keys: Int, _ records: ImportPlan.Table?, _ body: ([[Value]], RecordWriter, StateReader) throws -> Void
  ) throws {
    var last = start
    while !standing.done.contains(step) {
      var (batch, bytes, isDone): ([[Value]], Int, Bool) = ([], 0, false)
      known.removeAll()
      while batch.count < batchSize, bytes < Self.batchBytes {
        guard var row = try next(query, columns, table, batch.last?.first ?? last.values.first) else {
          isDone = true
          break
        }
        if let records {
          try addFiles(of: &row, records)
          bytes += byteCountOfFiles(row, records)
        }
        bytes += row.reduce(0) { $0 + $1.byteCount }
        batch.append(row)
      }
      if let row = batch.last { last.values = Array(row.prefix(keys)) }
      var next = standing
      next.positions[step] = isDone ? nil : last
      if isDone { next.done.append(step) }
      if let id = records?.id { next.ids[step] = id }
      let before = report
      do {
        try store.writeImported { db, reader in
          guard let now = try ImportStanding.read(name, reader.connection) else {
            throw StoreError(.corrupt, "the progress of the import was removed while it ran")
          }
          guard now == standing else { throw Overtaken(standing: now) }
          try body(batch, RecordWriter(schema, in: db), reader)
          try next.write(name, reader.connection)
        }
      } catch {
        report = before
        throw error
      }
      standing = next
      rowsRead += batch.count
      try onProgress?(ImportProgress(table: table, rows: rowsRead, rowCount: rowCount))
    }
  }

  /// The number of bytes that a row has in Core Data's files.
  private func byteCountOfFiles(_ row: [Value], _ table: ImportPlan.Table) -> Int {
    var count = 0
    for (field, old) in zip(table.fields, row.dropFirst(2)) where field.column.form == .coreDataBlob {
      guard case .blob(let bytes) = old, let name = ExternalData.fileName(bytes) else { continue }
      count += source.externalData.byteCount(of: name) ?? 0
    }
    return count
  }

  /// Adds the files of a row and puts their names into it, so that a batch has no more than one picture in memory. A
  /// record that is known is left as it is and needs none.
  private func addFiles(of row: inout [Value], _ table: ImportPlan.Table) throws {
    let places = table.fields.indices.filter { table.fields[$0].isAsset && !row[$0 + 2].isNull }
    guard !places.isEmpty else { return }
    let name = try recordName(row[1], table.type, table.from, row[0])
    let isKnown = try store.capturedSnapshot { try $0.record(name, kind(table.type, $0)) != nil }
    if isKnown { known.insert(name) }
    for place in places {
      let (field, old) = (table.fields[place], row[place + 2])
      do {
        row[place + 2] = isKnown ? .null : try files.value(old, field)
      } catch let error as ForeignValue.Mismatch {
        throw unmapped(table.from, row[0], "\(table.type).\(field.schema.name)", error)
      }
    }
  }

  /// Reads a row. `last` is the key of the row before; nil for the first.
  private func next(_ query: SQLStatement, _ columns: [String], _ table: String, _ last: Value?) throws -> [Value]? {
    try source.reading {
      do {
        guard try query.step() else { return nil }
        let row = query.values(0..<query.columnCount)
        for (index, value) in row.enumerated() {
          // SQLite takes any bytes for a text.
          if case .blob = value, query.isText(index) {
            throw unmapped(
              table, row[0], columns[index],
              "is a text that is not UTF-8; give it an expression that makes one, such as {\"sql\": \"hex(name)\"}")
          }
        }
        return row
      } catch let error as DatabaseError where error.resultCode.primaryResultCode == .SQLITE_ERROR {
        // An expression of the map's, which SQLite evaluates as it goes.
        let place = last.map { "the row after \(ImportPosition.text($0))" } ?? "the first row"
        throw StoreError(.rowNotMapped, "\(table), \(place): \(error.message ?? "an expression fails")", cause: error)
      }
    }
  }

  // MARK: Records

  private func insert(
    _ batch: [[Value]], _ table: ImportPlan.Table, _ writer: RecordWriter, _ reader: StateReader
  ) throws {
    let kind = try kind(table.type, reader)
    var new: [(AnyRecordName, [Value])] = []
    for row in batch {
      let name = try recordName(row[1], table.type, table.from, row[0])
      // All that is known of the record, a delete too, is newer than the old file.
      if try !known.contains(name) && reader.record(name, kind) == nil {
        new.append((name, row))
      } else {
        report.known += 1
      }
    }
    let names = Set(new.map(\.0))
    for (name, row) in new {
      var values: [RecordWriter.Assignment] = []
      for (field, old) in zip(table.fields, row.dropFirst(2)) {
        // Of an asset, the row has the name by now.
        var value = old
        if !field.isAsset {
          do {
            value = try ForeignValue.value(old, field.column, for: field.schema, source.externalData)
          } catch {
            throw unmapped(table.from, row[0], "\(table.type).\(field.schema.name)", error)
          }
        }
        if !value.isNull { values.append(.init(field.place, value)) }
      }
      for (reference, old) in zip(table.references, row.dropFirst(2 + table.fields.count)) {
        guard let target = try self.target(old, reference, table, row[0]) else {
          if !old.isNull { report.missing += 1 }
          continue
        }
        guard try names.contains(target) || writer.isThere(target, reference.target.entity) else {
          if reference.target.lookup == nil, !reference.column.skipsMissing {
            throw missing(old, reference, table, row[0])
          }
          // One that comes later is set when all rows are there; any other was deleted since it came in.
          if !reference.isForward { report.missing += 1 }
          continue
        }
        values.append(.init(reference.place, .text(target.text)))
      }
      try writing(table.from, row[0]) { try writer.put(name, table.entity, values) }
      report.records[table.type, default: 0] += 1
    }
  }

  /// Sets references to rows that came later, where the reference was not written since.
  private func refer(
    _ batch: [[Value]], _ table: ImportPlan.Table, _ writer: RecordWriter, _ reader: StateReader
  ) throws {
    let kind = try kind(table.type, reader)
    for row in batch {
      let name = try recordName(row[1], table.type, table.from, row[0])
      guard let record = try reader.record(name, kind), record.isVisible else { continue }
      var values: [RecordWriter.Assignment] = []
      for (reference, old) in zip(table.references, row.dropFirst(2 + table.fields.count)) where reference.isForward {
        guard let column = kind.columns.firstIndex(where: { $0.name == reference.name }), record.values[column].isNull,
          record.state[kind.columns[column].field] == nil,
          let target = try self.target(old, reference, table, row[0])
        else { continue }
        guard try writer.isThere(target, reference.target.entity) else {
          report.missing += 1
          continue
        }
        values.append(.init(reference.place, .text(target.text)))
      }
      if !values.isEmpty { try writing(table.from, row[0]) { try writer.put(name, table.entity, values) } }
    }
  }

  /// The record that a reference refers to; nil for null, and for what `skipsMissing` leaves out.
  private func target(
    _ old: Value, _ reference: ImportPlan.Reference, _ table: ImportPlan.Table, _ key: Value
  ) throws -> AnyRecordName? {
    if old.isNull { return nil }
    if let name = try recordName(key: old, reference.target) { return name }
    guard reference.column.skipsMissing else { throw missing(old, reference, table, key) }
    return nil
  }

  private func missing(
    _ old: Value, _ reference: ImportPlan.Reference, _ table: ImportPlan.Table, _ key: Value
  ) -> StoreError {
    unmapped(
      table.from, key, "\(table.type).\(reference.name)",
      "refers to \(ImportPosition.text(old)), which is not imported; \"skipsMissing\" makes such references null")
  }

  // MARK: Links

  private func link(
    _ batch: [[Value]], _ links: ImportPlan.Links, _ writer: RecordWriter, _ reader: StateReader
  ) throws {
    guard
      let kind = reader.catalog.knownLinks.first(where: {
        $0.source == links.type && $0.relationship == links.relationship
      })
    else { throw StoreError(.unknownRelationship, "\(links.type) has no relationship \(links.relationship)") }
    // In the order of the list: what is added goes behind what is there.
    for row in batch {
      let old = row[row.count - 1]
      let source = try end(row[0], links.columns.source, links.source, links, row)
      let target = try end(old, links.columns.target, links.target, links, row)
      guard let source, let target, try isThere(source, row[0], links.columns.source, links.source, links, row, writer),
        try isThere(target, old, links.columns.target, links.target, links, row, writer)
      else {
        report.missing += 1
        continue
      }
      guard try reader.link(LinkKey(source: source, target: target), kind) == nil else {
        report.known += 1
        continue
      }
      try writing(links.from, row[0]) { try writer.link(source, links.entity, links.place, to: target) }
      report.links += 1
    }
  }

  private func end(
    _ old: Value, _ column: ImportColumn, _ target: ImportPlan.Target, _ links: ImportPlan.Links,
    _ row: [Value]
  ) throws -> AnyRecordName? {
    if let name = try recordName(key: old, target) { return name }
    guard column.skipsMissing else { throw missing(old, target, links, row) }
    return nil
  }

  /// Whether an end of a link is there. One that came in may have been deleted since.
  private func isThere(
    _ name: AnyRecordName, _ old: Value, _ column: ImportColumn, _ target: ImportPlan.Target,
    _ links: ImportPlan.Links, _ row: [Value], _ writer: RecordWriter
  ) throws -> Bool {
    if try writer.isThere(name, target.entity) { return true }
    guard target.lookup != nil || column.skipsMissing else { throw missing(old, target, links, row) }
    return false
  }

  private func missing(
    _ old: Value, _ target: ImportPlan.Target, _ links: ImportPlan.Links, _ row: [Value]
  ) -> StoreError {
    unmapped(
      links.from, row[0], "\(links.type).\(links.relationship)",
      "\(target.type) \(ImportPosition.text(old)) is not imported; \"skipsMissing\" leaves such links out")
  }

  // MARK: Names and errors

  /// The name of the record whose row has this key; nil if there is no such row.
  private func recordName(key: Value, _ target: ImportPlan.Target) throws -> AnyRecordName? {
    guard let lookup = target.lookup else {
      // Records that are there already, under names that follow from the keys.
      return ForeignID.name(key, type: target.type, table: "", namespace: standing.namespace)
    }
    let id: Value? = try source.evaluating(lookup.table) {
      defer { lookup.query.reset() }
      lookup.query.bind(1, key)
      return try lookup.query.step() ? lookup.query.value(0) : nil
    }
    return id.flatMap { ForeignID.name($0, type: target.type, table: lookup.table, namespace: standing.namespace) }
  }

  private func recordName(
    _ id: Value, _ type: String, _ table: String, _ key: Value
  ) throws -> AnyRecordName {
    guard let name = ForeignID.name(id, type: type, table: table, namespace: standing.namespace) else {
      throw unmapped(
        table, key, "id",
        "is neither a number, nor a UUID, nor a short text of printable ASCII; an \"id\" in the map can make one of it, "
          + "such as {\"sql\": \"hex(name)\"}, or \"where\" leaves the row out")
    }
    return name
  }

  private func kind(_ type: String, _ reader: StateReader) throws -> RecordKind {
    guard let kind = reader.catalog.kind(of: type) else {
      throw StoreError(.unknownType, "\(type) is not in the schema")
    }
    return kind
  }

  private func unmapped(_ table: String, _ key: Value, _ field: String, _ reason: String) -> StoreError {
    unmapped(table, key, field, ForeignValue.Mismatch(reason: reason))
  }

  private func unmapped(
    _ table: String, _ key: Value, _ field: String, _ mismatch: ForeignValue.Mismatch
  ) -> StoreError {
    StoreError(
      .rowNotMapped, "\(table), row \(ImportPosition.text(key)), \(field): \(mismatch.reason)", cause: mismatch.cause)
  }

  /// Names the old row in what the store says of a record.
  private func writing(_ table: String, _ key: Value, _ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as StoreError {
      throw StoreError(.rowNotMapped, "\(table), row \(ImportPosition.text(key)): \(error.message)", cause: error)
    } catch let error as DatabaseError where error.extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE {
      throw StoreError(
        .rowNotMapped,
        "\(table), row \(ImportPosition.text(key)): a value that another record has is unique (\(error.message ?? "")); "
          + "an expression can make another one of it, or \"where\" leaves the row out", cause: error)
    }
  }
}
