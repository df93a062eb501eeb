import Synchronization
import TallyCRDT
import TallyWire

/// The newest edits that the app has made, kept in memory so that a delta need not read the records back from the file.
///
/// Of a record whose last change was an edit it has the registers that the edit has written, and the transactions that
/// all the rest of the record is of. For a receiver that has those, the registers are what is new, and nothing else:
/// what `NewParts` finds by reading the row and its body, comparing and hashing them. For anybody else, and for records
/// of which nothing is known, the file is read.
///
/// The log is valid for the content that the store's own last commit left. A transaction that finds other content in
/// the file, because another store or program has written, clears the log. A reader compares the vector and fingerprint
/// of its snapshot with those of the last commit. Edits become visible to readers when their transaction commits.
final class RecentEdits: Sendable {
  private let log = Mutex(EditLog())

  /// Begins a transaction that finds `content` in the file; nil if it is not going to note what it changes.
  func begin(_ content: EditLog.Content?, _ catalogVersion: Int) {
    log.withLock { $0.begin(content, catalogVersion) }
  }

  /// Says that a transaction is committed, and has left `content`.
  func commit(_ content: EditLog.Content, _ catalogVersion: Int) { log.withLock { $0.commit(content, catalogVersion) } }

  /// Says that more has changed than can be noted.
  func giveUp() { log.withLock { $0.giveUp() } }

  /// Notes that something other than an edit has happened to a record.
  func forget(_ key: @autoclosure () -> RecordKey, _ kind: RecordKind) {
    log.withLock { if !$0.isEmpty { $0.forget(key(), kind) } }
  }

  /// Notes the registers that an edit has written under one stamp, of a record whose state is `state` now.
  func note(_ key: RecordKey, _ kind: RecordKind, _ stamp: Stamp, _ changes: [RowChange], _ state: StampedState) {
    log.withLock { $0.note(key, kind, stamp, changes, state) }
  }

  /// Notes the total that an addition has written, of a record whose state is `state` now.
  func note(_ key: RecordKey, _ kind: RecordKind, added cell: FieldCell, _ state: StampedState) {
    log.withLock { $0.note(key, kind, added: cell, state) }
  }

  /// The edits as they are now, for who reads a snapshot that holds `content`; nil if it is not known of that.
  func edits(of content: EditLog.Content, _ catalogVersion: Int) -> EditLog? {
    log.withLock { $0.isOf(content, catalogVersion) ? $0.indexed() : nil }
  }

  /// Says that a delta was made of everything up to `target`.
  func noteTold(_ target: StateVector) { log.withLock { $0.noteTold(target) } }
}

/// Edits of single records, the newest last.
struct EditLog: Sendable {
  /// Identifies a store's content by its vector and its fingerprint.
  struct Content: Equatable, Sendable {
    let vector: StateVector
    let fingerprint: Fingerprint
  }

  private struct Key: Hashable {
    let kind: KindNumber
    let high, low: UInt64
  }

  /// The registers that a record has got, as a block has them; none if something else has happened to it.
  private struct Entry {
    let key: Key
    /// The place in `stamps`.
    var stamp: Int32 = 0
    /// Bit *i* for the field that is *i*th on the wire.
    var fields: UInt64 = 0
    /// The counter's total that it has got instead, alone.
    var total: FieldID?
    /// Where their values are.
    var values: Range<Int32> = 0..<0
    /// Where the transactions of the rest are in `dots`.
    var rest: Range<Int32> = 0..<0
  }

  /// After the last commit; nil for a store of which it knows nothing.
  private var content: Content?
  private var catalogVersion = -1
  /// The last of them may be of a transaction that is not committed.
  private var entries: [Entry] = []
  private var committed = 0
  private var stamps: [Stamp] = []
  private var dots: [Dot] = []
  /// Values in the form of the wire.
  private var values = ByteWriter()
  /// The last entry of each record, among the first so many: no delta may ever be asked for.
  private var places: [Key: Int32] = [:]
  private var indexCount = 0
  /// Whether the transaction changes what is not noted.
  private var isIncomplete = false
  /// The target of all deltas so far. Edits that it covers are dropped first when the log is full.
  private var told = StateVector()
  /// Whether recording is suspended because the log was full of edits that no delta has covered. The next delta resumes
  /// it.
  private var isPaused = false

  /// The limits of the log: about three mebibytes with its index, and twice that during a large transaction.
  private static let mostEntries = 1 << 14
  private static let mostBytes = 1 << 20
  /// The values of one edit. One of more is read from the file.
  private static let mostEditBytes = 1 << 10
  /// The transactions of the rest of one record; of more it is read as well.
  private static let mostDots = 8

  /// Whether it says what is new of a store that holds `content`.
  func isOf(_ content: Content, _ catalogVersion: Int) -> Bool {
    self.content == content && self.catalogVersion == catalogVersion
  }

  // MARK: Transactions

  /// Begins a transaction, after the last one or one that has failed.
  mutating func begin(_ content: Content?, _ catalogVersion: Int) {
    isIncomplete = isPaused || content == nil
    if let content, isOf(content, catalogVersion) { entries.removeSubrange(committed...) } else { removeAll() }
  }

  mutating func commit(_ content: Content, _ catalogVersion: Int) {
    (self.content, self.catalogVersion) = (content, catalogVersion)
    guard !isIncomplete else { return removeAll() }
    committed = entries.count
    guard isAt(Self.mostEntries, Self.mostBytes) else { return }
    forgetTold()
    guard isAt(Self.mostEntries / 2, Self.mostBytes / 2) else { return }
    // This store writes much and gives nothing away. That need not cost more than it would save.
    isPaused = true
    removeAll()
  }

  mutating func giveUp() {
    isIncomplete = true
    removeAll()
  }

  mutating func noteTold(_ target: StateVector) {
    told.merge(target)
    isPaused = false
  }

  private func isAt(_ count: Int, _ byteCount: Int) -> Bool {
    entries.count >= count || values.bytes.count + dots.count * MemoryLayout<Dot>.stride >= byteCount
  }

  private mutating func removeAll() {
    (entries, stamps, dots, values.bytes, places) = ([], [], [], [], [:])
    (committed, indexCount) = (0, 0)
  }

  // MARK: Writing

  /// Whether no edit is recorded, so that a change of a record invalidates none.
  var isEmpty: Bool { entries.isEmpty }

  private mutating func append(_ entry: Entry) {
    // A transaction may be larger than all that is kept.
    guard isAt(2 * Self.mostEntries, 2 * Self.mostBytes) else { return entries.append(entry) }
    isPaused = true
    giveUp()
  }

  mutating func forget(_ key: RecordKey, _ kind: RecordKind) {
    guard case .uuid(let high, let low) = key else { return }
    append(Entry(key: Key(kind: kind.number, high: high, low: low)))
  }

  mutating func note(
    _ key: RecordKey, _ kind: RecordKind, _ stamp: Stamp, _ changes: [RowChange], _ state: StampedState
  ) {
    guard !isIncomplete, case .uuid(let high, let low) = key else { return }
    var entry = Entry(key: Key(kind: kind.number, high: high, low: low))
    let first = dots.count
    guard kind.columns.count <= PackedRecords.maximumFields, Self.isSmall(changes),
      state.noteOthers(than: stamp, changes.count, in: &dots, atMost: Self.mostDots)
    else {
      dots.removeSubrange(first...)
      return append(entry)
    }
    entry.rest = rest(from: first)
    let start = Int32(values.bytes.count)
    if changes.count == 1, let number = kind.wireOrder.firstIndex(of: changes[0].place) {
      entry.fields = 1 << UInt64(number)
      values.value(changes[0].new)
    } else {
      for (number, place) in kind.wireOrder.enumerated() {
        guard let change = changes.first(where: { $0.place == place }) else { continue }
        entry.fields |= 1 << UInt64(number)
        values.value(change.new)
      }
    }
    entry.values = start..<Int32(values.bytes.count)
    if stamps.last != stamp { stamps.append(stamp) }
    entry.stamp = Int32(stamps.count - 1)
    append(entry)
  }

  mutating func note(_ key: RecordKey, _ kind: RecordKind, added cell: FieldCell, _ state: StampedState) {
    guard !isIncomplete, case .uuid(let high, let low) = key else { return }
    var entry = Entry(key: Key(kind: kind.number, high: high, low: low))
    let first = dots.count
    guard state.noteOthers(than: cell.stamp, 1, in: &dots, atMost: Self.mostDots) else {
      dots.removeSubrange(first...)
      return append(entry)
    }
    entry.rest = rest(from: first)
    let start = Int32(values.bytes.count)
    values.value(cell.value)
    (entry.total, entry.values) = (cell.field, start..<Int32(values.bytes.count))
    if stamps.last != cell.stamp { stamps.append(cell.stamp) }
    entry.stamp = Int32(stamps.count - 1)
    append(entry)
  }

  private static func isSmall(_ changes: [RowChange]) -> Bool {
    var count = 0
    for change in changes { count += change.new.byteCount }
    return count <= mostEditBytes
  }

  /// The dots from `first` on, or the same of the entry before: many records that are edited one after the other are of
  /// one transaction.
  private mutating func rest(from first: Int) -> Range<Int32> {
    let new = Int32(first)..<Int32(dots.count)
    guard let last = entries.last?.rest, last.count == new.count else { return new }
    for place in 0..<last.count where dots[Int(last.lowerBound) + place] != dots[first + place] { return new }
    // One at a time, as most are alone: dropping a range costs as much as the rest of this.
    for _ in 0..<last.count { dots.removeLast() }
    return last
  }

  /// Forgets the edits that have been given away, and those that later ones have replaced.
  private mutating func forgetTold() {
    let old = indexed()
    removeAll()
    for (place, entry) in old.entries.enumerated() where old.places[entry.key] == Int32(place) {
      let stamp = old.stamps[Int(entry.stamp)]
      guard !told.covers(stamp.dot) else { continue }
      var (copy, first, start) = (entry, dots.count, Int32(values.bytes.count))
      dots.append(contentsOf: old.dots[entry.rest.asInts])
      copy.rest = rest(from: first)
      values.bytes.append(contentsOf: old.values.bytes[entry.values.asInts])
      copy.values = start..<Int32(values.bytes.count)
      if stamps.last != stamp { stamps.append(stamp) }
      copy.stamp = Int32(stamps.count - 1)
      entries.append(copy)
    }
    committed = entries.count
  }

  // MARK: Reading

  /// The same with all committed entries found.
  mutating func indexed() -> EditLog {
    for place in indexCount..<committed {
      let entry = entries[place]
      places[entry.key] = entry.fields == 0 && entry.total == nil ? nil : Int32(place)
    }
    indexCount = committed
    return self
  }

  /// An edit that is all that a receiver lacks of a record.
  struct Edit {
    let stamp: Stamp
    /// Bit *i* for the field that is *i*th on the wire.
    let fields: UInt64
    /// The counter's total that it is instead.
    let total: FieldID?
    fileprivate let values: Range<Int32>
  }

  /// The edit of a record that is all that `base` does not cover; nil if it is not known to be.
  func edit(_ high: UInt64, _ low: UInt64, _ kind: RecordKind, beyond base: StateVector) -> Edit? {
    guard let place = places[Key(kind: kind.number, high: high, low: low)] else { return nil }
    let entry = entries[Int(place)]
    let stamp = stamps[Int(entry.stamp)]
    guard !base.covers(stamp.dot), dots[entry.rest.asInts].allSatisfy(base.covers) else { return nil }
    return Edit(stamp: stamp, fields: entry.fields, total: entry.total, values: entry.values)
  }

  /// The registers of an edit.
  func cells(of edit: Edit, _ kind: RecordKind) throws -> [FieldCell] {
    var fields = edit.total.map { [$0] } ?? []
    for (number, place) in kind.wireOrder.enumerated() where edit.fields >> UInt64(number) & 1 != 0 {
      fields.append(kind.columns[place].field)
    }
    return try values.bytes.withUnsafeBytes { bytes in
      var values = ByteReader(UnsafeRawBufferPointer(rebasing: bytes[edit.values.asInts]))
      var cells: [FieldCell] = []
      for field in fields { cells.append(FieldCell(field: field, stamp: edit.stamp, value: try values.value())) }
      return cells.sorted { $0.field < $1.field }
    }
  }

  /// Calls `body` with the bytes of an edit's values, one after the other.
  func withValues<T>(of edit: Edit, _ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
    try values.bytes.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[edit.values.asInts])) }
  }
}

extension BlockBuilder {
  /// Adds an edit of a log.
  /// - Returns: false if it cannot be added.
  mutating func pack(
    _ edit: EditLog.Edit, of log: EditLog, _ key: (high: UInt64, low: UInt64), _ kind: RecordKind,
    _ body: (BlockDraft) throws -> Void
  ) throws -> Bool {
    try log.withValues(of: edit) { values in
      let count = edit.fields.nonzeroBitCount
      return try pack(key, edit.stamp, kind, .edit, cells: count, limit: values.count, body) { packer in
        guard count > 1 else {
          packer.value(values)
          return edit.fields
        }
        var reader = ByteReader(values)
        for _ in 0..<count {
          guard let value = try? reader.valueBytes() else { return nil }
          packer.value(value)
        }
        return edit.fields
      }
    }
  }
}

extension Range<Int32> {
  fileprivate var asInts: Range<Int> { Int(lowerBound)..<Int(upperBound) }
}
