import TallyCRDT

/// The values of a row before the transaction's first write to it. The present ones are in the row.
///
/// Comparing the two, rather than following each statement, gives the net effect of the transaction: rolled-back
/// savepoints, values set back, upserts, `INSERT OR REPLACE` and rows deleted and inserted again need no cases of their
/// own.
struct PendingWrite {
  /// A row before it was written.
  struct Image {
    var clock: InlineClock
    /// The values of the columns that were written, by the column's place; of the others the row still has what it had.
    var written: [(place: Int, value: Value)]
    /// A note of the values of all columns, of which `written` has none until it is read.
    var whole: WholeRow?

    /// The image with the values that were noted, instead of a note of them.
    var read: Image {
      get throws {
        guard let whole else { return self }
        return Image(clock: clock, written: try whole.bytes.note(at: whole.position).values)
      }
    }

    /// The row's values as they were. `current` is what it shows now; empty if it is gone, and then all columns were
    /// noted.
    func values(_ count: Int, over current: [Value]) -> [Value] {
      var values = current.isEmpty ? Array(repeating: Value.null, count: count) : current
      for (place, value) in written where place < count { values[place] = value }
      return values
    }
  }

  /// Where a note has all values of a row.
  struct WholeRow {
    let bytes: NoteBytes
    let position: UInt32
    let columns: Int
  }

  var kind: KindNumber
  /// A record's name, or the text of a `LinkKey`; nil for what is in the row now.
  var key: String?
  /// The number of the row that was written, if it is known. Another row may have it by now.
  var row: RowID?
  /// The number of a row that was deleted, if nothing has been inserted into its table since: if the delete was rolled
  /// back, the row has this number again.
  var deletedRow: RowID?
  /// Nil if there was no row, or one that was never captured.
  var before: Image?
  /// Whether `before` is incomplete because the row was deleted unnoticed after an update, and another row was inserted
  /// under its key.
  var isLost = false
  /// Whether the state of the row was lost, and what it shows is written as new.
  var isAnew = false
  /// Whether any value may have changed without a note of what was there before; `before` has the clock alone.
  var isUnnoted = false
  /// Whether the transaction has changed the schema: then a row may be another one than its number or clock says, or be
  /// as it was.
  var isOfNewSchema = false
  /// Keys that other writes are about: a row that has one of these now is not meant.
  var except = Set<[UInt8]>()
}

/// The rows that were written since the last capture, each once.
protocol WrittenRows {
  /// Calls `body` with each write to a table of records, then `links` with each to a relationship. One at a time: a
  /// transaction can have written more than fits into memory.
  func forEachWrite(
    records: (PendingWrite) throws -> Void, links: (PendingWrite) throws -> Void
  ) throws

  /// The names of the records that had a row before.
  func namesBefore() throws -> Set<String>

  /// Ends reading: what was handed out is captured.
  func end() throws
}
