import GRDB
import TallyCRDT
import TallySchema
import TallyStore
import TallyWire

#if PlantedFaults
  import TallyFaults
#endif

/// Moves what a blob field holds into an asset field, slice by slice: first the files of a slice, then its rows.
///
/// A row's files are added for what was read with the stamps of both fields. The write checks these stamps again, so a
/// row that has changed meanwhile is left as it is.
package struct BlobMove {
  /// The most rows of a slice.
  package static let sliceSize = 64

  private let assets: Assets
  private let entity: String
  private let blob: FieldSchema
  private let asset: String
  private let type: String?
  private let keepsOldApps: Bool

  /// - Throws: `AssetError` of code `inMemory`, `invalidType`; `StoreError` of code `unknownType`, `unknownField`,
  ///   `typeMismatch`, `readOnly`.
  package init(
    _ assets: Assets, of entity: String, from blob: String, to asset: String, type: String? = nil,
    keepsOldApps: Bool = false
  ) throws {
    _ = try assets.folder
    if let type { try assets.checkType(type) }
    guard !assets.store.options.isReadOnly else {
      throw StoreError(.readOnly, "the store was opened to read only (StoreOptions.isReadOnly)")
    }
    let schema = try assets.store.schema
    guard let known = schema[entity] else {
      throw StoreError(
        .unknownType, "the type \(printable(entity)) is not in the schema\(schema.hint(forType: entity))")
    }
    self.blob = try known.field(blob, .blob)
    self.asset = try known.field(asset, .asset).name
    (self.assets, self.entity, self.type, self.keepsOldApps) = (assets, entity, type, keepsOldApps)
  }

  /// Some rows, and what becomes of each.
  package struct Slice {
    fileprivate var steps: [Step] = []
    /// The name of the last row that was looked at.
    package fileprivate(set) var end: String
  }

  /// The stamps of both fields of a row; nil for one that was never written.
  fileprivate struct Stamps: Equatable { var blob, asset: Stamp? }

  /// The change that a move makes to a row.
  fileprivate struct Step {
    var name: AnyRecordName
    var stamps: Stamps
    /// The time with which it is written.
    var time: HybridTime
    /// The file that takes the blob's place; nil if the blob only goes.
    var file: AssetName?
    /// Whether the row names that file already. Its name is then written again, so that its stamp exceeds the blob's.
    var isNamed = false
  }

  // MARK: Files

  /// Looks at the next rows that have a blob, and adds the files of those that are to be moved.
  /// - Returns: nil if no row follows.
  package func slice(after last: String) throws -> Slice? {
    let names = try assets.store.read { db in
      try String.fetchAll(
        db,
        sql: """
          SELECT id FROM main."\(entity)" WHERE typeof("\(blob.name)") = 'blob' AND id > ?
          ORDER BY id LIMIT \(Self.sliceSize)
          """, arguments: [last])
    }
    guard let end = names.last else { return nil }
    var slice = Slice(end: end)
    for text in names {
      // What another program has put there under another name is no record.
      guard let name = try? AnyRecordName(text), let step = try plan(name) else { continue }
      slice.steps.append(step)
    }
    return slice
  }

  private func plan(_ name: AnyRecordName) throws -> Step? {
    guard let row = try assets.store.capturedSnapshot({ try find(name, $0) }) else { return nil }
    var step = Step(name: name, stamps: row.stamps, time: row.time, file: nil)
    if let file = row.file, row.hasSameFile {
      // The row's name may have come before its file, or the file may have been damaged.
      _ = try assets.add(bytes: row.bytes, type: file.type)
      (step.file, step.isNamed) = (file, true)
    } else if !row.bytes.isEmpty, !row.isSettled {
      step.file = try assets.add(bytes: row.bytes, type: type ?? AssetTypeRecognition.type(of: row.bytes))
    }
    if row.isSettled || row.bytes.isEmpty {
      if keepsOldApps { return nil }
      (step.file, step.isNamed) = (nil, false)
    }
    return step
  }

  /// A row with something in its blob field.
  private struct BlobRow {
    var bytes: [UInt8]
    var stamps: Stamps
    /// One millisecond after the write of the blob.
    var time: HybridTime
    /// The name that the row shows.
    var file: AssetName?
    /// Whether the asset was set to null.
    var isEmptied: Bool

    /// Whether what the asset says was written later than the blob. A row must not lose its picture to a null of the
    /// same transaction.
    var isSettled: Bool {
      guard let asset = stamps.asset, file != nil || isEmptied else { return false }
      guard let blob = stamps.blob else { return true }
      return file == nil ? blob < asset && blob.dot != asset.dot : blob <= asset
    }

    var hasSameFile: Bool {
      guard let file, file.byteCount == bytes.count else { return false }
      return Hexadecimal.text(SHA256.hash(bytes)) == file.hash
    }
  }

  /// Reads a row; nil if it is not there, or has no blob.
  private func find(_ name: AnyRecordName, _ reader: StateReader) throws -> BlobRow? {
    guard let kind = reader.catalog.kind(of: name.type), let stored = try reader.record(name, kind), stored.isVisible,
      stored.values.count == kind.columns.count,
      let (from, to) = places(in: kind), case .blob(let bytes) = stored.values[from],
      stored.values[from] != blob.defaultValue
    else { return nil }
    let cells = [from, to].map { stored.state.cell(kind.columns[$0].field, followsNewest: kind.followsNewest) }
    let last = cells[0]?.stamp.time ?? stored.state.existence?.time ?? HybridTime(milliseconds: 0)
    var file: AssetName?
    if case .text(let text) = stored.values[to] { file = AssetName(text) }
    return BlobRow(
      bytes: bytes, stamps: Stamps(blob: cells[0]?.stamp, asset: cells[1]?.stamp), time: .next(now: last, over: last),
      file: file, isEmptied: cells[1]?.value.isNull ?? false)
  }

  private func places(in kind: RecordKind) -> (from: Int, to: Int)? {
    guard let from = kind.columns.firstIndex(where: { $0.name == blob.name }),
      let to = kind.columns.firstIndex(where: { $0.name == asset })
    else { return nil }
    return (from, to)
  }

  // MARK: Rows

  /// Writes the rows of a slice in one transaction; those of one time have one dot. If a row is refused, each row has a
  /// transaction of its own. Nothing is written if there is nothing to write.
  package func write(_ slice: Slice, _ report: inout BlobReport) throws {
    guard !slice.steps.isEmpty else { return }
    do {
      try commit(slice.steps, &report)
    } catch let error where Self.isRefusal(error) {
      guard slice.steps.count > 1 else {
        report.refused.append(slice.steps[0].name)
        return
      }
      for step in slice.steps { try write(Slice(steps: [step], end: slice.end), &report) }
    }
  }

  /// Whether a constraint or a trigger of the app's refuses a row.
  private static func isRefusal(_ error: any Error) -> Bool {
    switch error {
    case let error as DatabaseError: error.resultCode.primaryResultCode == .SQLITE_CONSTRAINT
    case let error as StoreError: error.code == .writeIgnored
    default: false
    }
  }

  /// No collection removes a file between the look at it and the row that names it.
  private func commit(_ steps: [Step], _ report: inout BlobReport) throws {
    let groups = Dictionary(grouping: steps, by: \.time).sorted { $0.key < $1.key }
    let folder = try assets.folder
    // Until the rows are on the disk. It is taken within the transaction, since an app may add files within its own.
    var lock: AssetFolder.Lock?
    defer { withExtendedLifetime(lock) {} }
    let written = try assets.store.writeImported { db, reader in
      if folder.exists { lock = try AssetFolder.Lock(folder) }
      #if PlantedFaults
        let isNow = try hasTriggers(db) || assets.store.options.planted.contains(.moveIsNow)
      #else
        let isNow = try hasTriggers(db)
      #endif
      var written: [Step] = []
      for (time, steps) in groups {
        let ready = try steps.filter { step in
          try find(step.name, reader)?.stamps == step.stamps && step.file.map(folder.has) ?? true
        }
        guard !ready.isEmpty else { continue }
        try write(ready, at: isNow ? nil : time, db)
        written += ready
      }
      return written
    }
    let files = written.compactMap(\.file)
    // Without the note they stay for some days longer if the rows are purged on this one.
    try? assets.places().note(named: files)
    report.moved += files.count
    report.byteCount += files.reduce(0) { $0 + $1.byteCount }
    report.cleared += written.count - files.count
  }

  private func write(_ steps: [Step], at time: HybridTime?, _ db: Database) throws {
    let named = steps.filter(\.isNamed)
    var later = time
    if !named.isEmpty {
      // A value that stays as it is would not be captured.
      try PastWrite.run(at: time, in: db) { for step in named { try set(asset, to: .null, in: step.name, db) } }
      later = time.map { .next(now: $0, over: $0) }
    }
    let others = steps.filter { !$0.isNamed }
    if !others.isEmpty { try PastWrite.run(at: time, in: db) { for step in others { try update(step, db) } } }
    if !named.isEmpty { try PastWrite.run(at: later, in: db) { for step in named { try update(step, db) } } }
  }

  /// Whether triggers of the app's run with an update of the rows. What they write is of now, so all is then.
  private func hasTriggers(_ db: Database) throws -> Bool {
    let sql = """
      SELECT EXISTS(SELECT 1 FROM main.sqlite_master WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE
        AND name NOT LIKE 'tally~_%' ESCAPE '~')
      OR EXISTS(SELECT 1 FROM temp.sqlite_master WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE
        AND name NOT LIKE 'tally~_%' ESCAPE '~')
      """
    return try Bool.fetchOne(db, sql: sql, arguments: [entity]) ?? false
  }

  private func set(_ column: String, to value: DatabaseValue, in name: AnyRecordName, _ db: Database) throws {
    try db.cachedStatement(sql: "UPDATE main.\"\(entity)\" SET \"\(column)\" = ? WHERE id = ?")
      .execute(arguments: [value, name.text])
    guard db.changesCount > 0 else { throw Self.ignored(name) }
  }

  private static func ignored(_ name: AnyRecordName) -> StoreError {
    StoreError(.writeIgnored, "a trigger or a conflict clause of the app's ignores the write of \(name)")
  }

  private func update(_ step: Step, _ db: Database) throws {
    var (settings, arguments): ([String], [DatabaseValue]) = ([], [])
    if let file = step.file {
      settings.append("\"\(asset)\" = ?")
      arguments.append(file.databaseValue)
    }
    if !keepsOldApps {
      settings.append("\"\(blob.name)\" = ?")
      arguments.append(blob.defaultValue.databaseValue)
    }
    let sql = "UPDATE main.\"\(entity)\" SET \(settings.joined(separator: ", ")) WHERE id = ?"
    arguments.append(step.name.text.databaseValue)
    try db.cachedStatement(sql: sql).execute(arguments: StatementArguments(arguments))
    guard db.changesCount > 0 else { throw Self.ignored(step.name) }
  }
}

extension EntitySchema {
  /// A field that must be of a kind.
  fileprivate func field(_ name: String, _ kind: FieldKind) throws(StoreError) -> FieldSchema {
    guard let field = fields.first(where: { $0.name == name }) else {
      throw StoreError(.unknownField, "\(type) has no field \(printable(name))\(hint(forField: name))")
    }
    guard field.kind == kind else {
      throw StoreError(.typeMismatch, "\(type).\(name) is \(field.kind.withArticle), not \(kind.withArticle)")
    }
    return field
  }
}
