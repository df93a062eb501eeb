import CTallySQLite
import Foundation
import GRDB
import GRDBSQLite
import TallyCRDT

#if PlantedFaults
  import TallyFaults
#endif

/// Notes what anybody but the store writes to replicated tables on the store's own connection, by SQLite's preupdate
/// hook (https://www.sqlite.org/c3ref/preupdate_blobwrite.html).
///
/// The hook sees every row that changes, in true order: rows that REPLACE removes, writes of triggers and of foreign
/// key actions, incremental blob I/O. It does not hear of a savepoint that is rolled back, so what it notes is compared
/// with the rows in the end.
final class ChangeRecorder {
  /// The positions of the columns of a replicated table. A class, so that handing it on costs one reference count.
  final class Layout {
    let kind: KindNumber
    /// How many columns the table must have for these positions to hold: as many as it had, or, if none of the app's
    /// stands before one of the kind's, those up to the last of these.
    let count: Int32
    /// `id`, or `source` and `target`.
    let key: [Int32]
    let clock: Int32
    /// The kind's columns, in their order.
    let columns: [Int32]
    /// The defaults of NOT NULL columns: for a row that is older than the column, the hook reports null.
    let defaults: [Value?]
    let hasDefaults: Bool
    /// The columns that refer to records of the same table.
    let selfReferences: [Int32]
    /// Whether the transaction has changed the table so that they stand elsewhere.
    fileprivate(set) var hasMoved = false

    init(
      kind: KindNumber, count: Int, key: [Int32], clock: Int32, columns: [Int32], defaults: [Value?],
      selfReferences: [Int32]
    ) {
      (self.kind, self.count, self.key, self.clock) = (kind, Int32(count), key, clock)
      (self.columns, self.defaults, self.selfReferences) = (columns, defaults, selfReferences)
      hasDefaults = defaults.contains { $0 != nil }
    }

    /// Whether the columns stand where they do in `other`.
    func hasPositions(of other: Layout) -> Bool {
      key == other.key && clock == other.clock && columns == other.columns && selfReferences == other.selfReferences
    }
  }

  /// Whether the SQLite library has the hook.
  static var isAvailable: Bool { tally_preupdate_is_available() != 0 }

  /// Notes that have not been taken yet.
  @exclusivity(unchecked) private(set) var notes = RowNotes()
  /// Whether writes at the top level are the app's. Those inside triggers are, always.
  var isListening = false
  /// Whether a row that refers to itself was updated in this transaction. SQLite's count of open references is not to
  /// be relied on then: a statement that sets such a row's `id` to what it is takes one off (seen with 3.40.1).
  private(set) var hasUpdatedSelfReference = false
  private var layouts: [String: Layout] = [:]
  private var last: (name: [CChar], layout: Layout?)?
  private let handle: OpaquePointer
  #if PlantedFaults
    var planted: PlantedFault = []
  #endif

  init(_ handle: OpaquePointer) {
    self.handle = handle
    attach()
  }

  deinit { detach() }

  private func attach() {
    let context = Unmanaged.passUnretained(self).toOpaque()
    tally_preupdate_set(
      handle,
      { context, connection, operation, schema, table, old, new in
        guard let context, let connection, let schema, let table else { return }
        let recorder = Unmanaged<ChangeRecorder>.fromOpaque(context).takeUnretainedValue()
        recorder.note(connection, operation, schema, table, old, new)
      }, context)
  }

  private func detach() { tally_preupdate_set(handle, nil, nil) }

  /// Runs writes of the store's that can fire no trigger. SQLite does not call the hook for them, which costs 300
  /// instructions a row even where nothing is noted.
  func whileDetached<T>(_ body: () throws -> T) rethrows -> T {
    detach()
    defer { attach() }
    return try body()
  }

  /// Runs other writes amid those.
  func whileAttached<T>(_ body: () throws -> T) rethrows -> T {
    attach()
    defer { detach() }
    return try body()
  }

  /// Follows the tables of the schema.
  func follow(_ layouts: [String: Layout]) {
    self.layouts = layouts
    last = nil
  }

  /// Says where the columns stand that the transaction has moved; nil when it is over.
  func noteMoved(_ now: [String: Layout]?) {
    // Another row may have its number.
    notes.lastInsertion = nil
    for (name, layout) in layouts { layout.hasMoved = now.map { $0[name]?.hasPositions(of: layout) != true } ?? false }
  }

  /// Takes what was noted; nil if there is nothing.
  func take() -> RowNotes? {
    guard !notes.isEmpty else { return nil }
    defer { notes = RowNotes() }
    return notes
  }

  /// Forgets what was noted: the transaction is over.
  func forget() {
    notes = RowNotes()
    hasUpdatedSelfReference = false
  }

  /// Forgets what triggers have done to a row that is captured now, as it is.
  func forgetUpdates(_ kind: KindNumber, _ row: RowID) throws {
    if !notes.isEmpty { try notes.forgetUpdates(kind, row) }
  }

  /// Forgets all notes before a transaction or after one that has failed.
  func forget(andListen listens: Bool) {
    forget()
    isListening = listens
  }

  // MARK: The hook

  private func note(
    _ connection: OpaquePointer, _ operation: Int32, _ schema: UnsafePointer<CChar>, _ table: UnsafePointer<CChar>,
    _ old: Int64, _ new: Int64
  ) {
    guard isListening || tally_preupdate_depth(connection) > 0 else { return }
    guard strcmp(schema, "main") == 0, let layout = layout(table) else { return }
    let row = NotedRow(connection: connection, layout: layout)
    #if PlantedFaults
      if planted.contains(.hookMissesReplaced), operation == SQLITE_DELETE, isReplacing(connection) { return }
    #endif
    do {
      // The transaction has taken columns away or moved them, and others stand in their places.
      guard operation == SQLITE_INSERT || tally_preupdate_count(connection) >= layout.count && !layout.hasMoved else {
        throw StoreError(
          .incompatibleTable,
          "columns of \(String(cString: table)) stand elsewhere since this transaction changed it: do that in one of its own, before it is written"
        )
      }
      switch operation {
      case SQLITE_INSERT: notes.noteInsert(layout.kind, new)
      case SQLITE_UPDATE:
        if try row.refersToItself { hasUpdatedSelfReference = true }
        if old == new, try row.hasSameKey {
          // A row that was copied with its clock is one that was there.
          guard try !notes.isInserted(layout.kind, old) || row.clock() != .unstamped else { return }
          // What triggers write is compared at once: a write that changes nothing is no answer to the store's.
          if isListening, tally_preupdate_depth(connection) == 0, !layout.columns.isEmpty,
            try notes.noteSmallUpdate(layout.kind, old, columns: layout.columns.count, row.copy)
          {
            return
          }
          let changed = try row.changedColumns()
          if let changed { try notes.noteUpdate(layout.kind, old, row.clock(), row.values(changed)) }
        } else {
          try noteDelete(row, old)
          notes.noteInsert(layout.kind, new)
        }
      case SQLITE_DELETE:
        let column = tally_preupdate_blobwrite(connection)
        guard column >= 0 else {
          return try noteDelete(row, old)
        }
        guard let place = layout.columns.firstIndex(of: column) else { return }
        try notes.noteUpdate(layout.kind, old, row.clock(), row.values([place]))
      default: return
      }
    } catch {
      notes.failure = notes.failure ?? error
    }
  }

  private func noteDelete(_ row: NotedRow, _ number: Int64) throws {
    let (layout, kind) = (row.layout, row.layout.kind)
    if layout.key.count == 1, !layout.columns.isEmpty {
      let isNoted = try row.withName { name in
        try notes.noteSmallDelete(kind, number, key: name, columns: layout.columns.count, row.copy)
      }
      if isNoted { return }
    }
    try notes.noteDelete(kind, number, row.key(), row.clock(), row.allValues())
  }

  private func layout(_ table: UnsafePointer<CChar>) -> Layout? {
    if let last, last.name.withUnsafeBufferPointer({ $0.baseAddress.map { strcmp($0, table) == 0 } ?? false }) {
      return last.layout
    }
    let name = String(cString: table)
    let layout = layouts[name] ?? layouts.first { $0.key.lowercased() == name.lowercased() }?.value
    last = (name.utf8CString.map { $0 }, layout)
    return layout
  }
}

/// The row that the hook is being told of.
private struct NotedRow {
  let connection: OpaquePointer
  let layout: ChangeRecorder.Layout

  var hasSameKey: Bool {
    get throws {
      for column in layout.key where try isChanged(column) { return false }
      return true
    }
  }

  var refersToItself: Bool {
    get throws {
      for column in layout.selfReferences
      where try ColumnValue(old(column)).isEqual(to: ColumnValue(old(layout.key[0]))) {
        return true
      }
      return false
    }
  }

  /// The key as it was: a name, or two with a line feed between them.
  func key() throws -> [UInt8] {
    var bytes: [UInt8] = []
    for column in layout.key {
      if !bytes.isEmpty { bytes.append(10) }
      ColumnValue(try old(column)).withBytes { bytes += $0 }
    }
    return bytes
  }

  /// Calls `body` with the bytes of a record's name.
  func withName<T>(_ body: (UnsafeBufferPointer<UInt8>) throws -> T) throws -> T {
    try ColumnValue(old(layout.key[0])).withBytes(body)
  }

  func clock() throws -> InlineClock {
    try ColumnValue(old(layout.clock)).withBytes { bytes in
      // Another program wrote something else there: a row that was never captured.
      bytes.count == InlineClock.size ? try InlineClock(UnsafeRawBufferPointer(bytes)) : .unstamped
    }
  }

  /// Copies the clock, and behind a gap the values of all columns, if they are not more than this many bytes; otherwise
  /// 0.
  func copy(to bytes: UnsafeMutableRawPointer, _ gap: Int, _ limit: Int) throws -> Int {
    let count = tally_preupdate_copy(
      connection, layout.clock, Int32(InlineClock.size), Int32(gap), layout.columns, Int32(layout.columns.count),
      layout.hasDefaults ? 1 : 0, bytes.assumingMemoryBound(to: UInt8.self), Int32(limit))
    guard count >= 0 else { throw DatabaseError(resultCode: ResultCode(rawValue: -count)) }
    return Int(count)
  }

  /// The places of the columns that differ; nil if nothing does, the clock included.
  func changedColumns() throws -> [Int]? {
    var changed: [Int] = []
    for place in layout.columns.indices where try isChanged(layout.columns[place]) {
      // The default of a column that came after the row.
      if let known = layout.defaults[place], try ColumnValue(old(layout.columns[place])).type == SQLITE_NULL,
        try known == ColumnValue(new(layout.columns[place])).value
      {
        continue
      }
      changed.append(place)
    }
    guard changed.isEmpty else { return changed }
    return try isChanged(layout.clock) ? [] : nil
  }

  func values(_ places: [Int]) throws -> [(place: Int, value: ColumnValue)] {
    try places.map { place in
      let value = ColumnValue(try old(layout.columns[place]))
      if value.type == SQLITE_NULL, let known = layout.defaults[place] { return (place, ColumnValue(known)) }
      return (place, value)
    }
  }

  func allValues() throws -> [(place: Int, value: ColumnValue)] { try values(Array(layout.columns.indices)) }

  private func isChanged(_ column: Int32) throws -> Bool {
    var changes: Int32 = 0
    let status = tally_preupdate_changes(connection, column, &changes)
    guard status == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: status)) }
    return changes != 0
  }

  private func old(_ column: Int32) throws -> OpaquePointer? {
    var value: OpaquePointer?
    let status = tally_preupdate_old(connection, column, &value)
    guard status == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: status)) }
    return value
  }

  private func new(_ column: Int32) throws -> OpaquePointer? {
    var value: OpaquePointer?
    let status = tally_preupdate_new(connection, column, &value)
    guard status == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: status)) }
    return value
  }
}

#if PlantedFaults
  extension ChangeRecorder {
    /// Whether the row that goes is in the way of another one, at the top level: the statement that runs deletes
    /// nothing itself.
    private func isReplacing(_ connection: OpaquePointer) -> Bool {
      guard tally_preupdate_depth(connection) == 0, tally_preupdate_blobwrite(connection) < 0 else { return false }
      var statement = sqlite3_next_stmt(connection, nil)
      while let running = statement {
        if sqlite3_stmt_busy(running) != 0, let sql = sqlite3_sql(running).map({ String(cString: $0) }) {
          if ["INSERT", "REPLACE", "UPDATE"].contains(where: sql.hasPrefix) { return true }
        }
        statement = sqlite3_next_stmt(connection, running)
      }
      return false
    }
  }
#endif
