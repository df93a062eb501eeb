import GRDB
import TallyCRDT
import TallySchema
import TallyStore
import TallyWire

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

  /// What becomes of a row.
  fileprivate struct Step {
    var name: AnyRecordName
    var stamps: Stamps
    /// The time with which it is written.
    var time: HybridTime
    /// The file that takes the blob's place; nil if the blob only goes.
    var file: AssetName?
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
    if row.bytes.isEmpty || row.isSettled && keepsOldApps { return keepsOldApps ? nil : step }
    if let file = row.file, row.hasSameFile {
      // The row's name may have come before its file.
      if try assets.url(of: file) == nil { _ = try assets.add(bytes: row.bytes, type: file.type) }
    } else if !row.isSettled {
      step.file = try assets.add(bytes: row.bytes, type: type ?? AssetTypeRecognition.type(of: row.bytes))
      return step
    }
    return keepsOldApps ? nil : step
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
      return file == nil ? blob < asset : blob <= asset
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

  /// Writes the rows of a slice in one transaction; those of one time have one dot. Nothing is written if there is
  /// nothing to write.
  package func write(_ slice: Slice, _ report: inout BlobReport) throws {
    guard !slice.steps.isEmpty else { return }
    let groups = Dictionary(grouping: slice.steps, by: \.time).sorted { $0.key < $1.key }
    let folder = try assets.folder
    let written = try assets.store.writeImported { db, reader in
      var written: [Step] = []
      for (time, steps) in groups {
        let ready = try steps.filter { step in
          // An urgent collection may have removed the file.
          try find(step.name, reader)?.stamps == step.stamps && step.file.map(folder.has) ?? true
        }
        guard !ready.isEmpty else { continue }
        try PastWrite.run(at: time, in: db) {
          for step in ready { try update(step, db) }
        }
        written += ready
      }
      return written
    }
    let files = written.compactMap(\.file)
    report.moved += files.count
    report.byteCount += files.reduce(0) { $0 + $1.byteCount }
    report.cleared += written.count - files.count
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
    guard db.changesCount > 0 else {
      throw StoreError(.writeIgnored, "a trigger or a conflict clause of the app's ignores the write of \(step.name)")
    }
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
