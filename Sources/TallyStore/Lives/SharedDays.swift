import TallyCRDT
import TallyWire

/// On which day other devices had which of this store's deletes: from then on the window counts.
///
/// For a day of this store's clock there is a vector, of what at least one other device had as well in the evening; a
/// store that has never met one notes its own. A record may be emptied once a row that is more than the window old
/// covers what hides it. So a delete made offline has its whole window from the first exchange, and one that arrives
/// late has it from its arrival.
///
/// A row of the future, or of very long ago, is not believed: the clock has jumped, or the device was off for a year.
/// Nothing else is needed for clocks that are wrong. No promise but the window's length rests on a clock.
struct SharedDays: Equatable {
  struct Row: Equatable {
    /// Days since 1970.
    var day: Int
    var vector: StateVector
  }

  /// A row that is older than so many days is not believed.
  static let believed = RestoreWindow.mostDays
  /// The most rows of days that are not believed: those of the other time of a clock that jumps to and fro.
  private static let limit = 64
  /// Beyond the window a row stays for each sixteenth of its age, for a caller that asks for a longer window.
  private static let fineness = 16
  /// The number of days by which other devices leave the emptying of a record to the device that deleted it.
  static let grace = 7

  /// In the order in which they were last noted.
  private(set) var rows: [Row] = []
  /// Whether the store has ever met another device.
  private(set) var hasPeer = false

  /// The day of a time.
  static func day(of time: HybridTime) -> Int { Int(time.milliseconds / 86_400_000) }

  /// Notes what others have today; or, of a store that has met no other, what it has itself.
  mutating func note(_ vector: StateVector, today: Int, isShared: Bool, window: RestoreWindow) {
    guard isShared || !hasPeer else { return }
    if isShared, !hasPeer {
      // The first peer can restore a record only from now on.
      (hasPeer, rows) = (true, [])
    }
    let known = rows.first { $0.day == today }?.vector ?? StateVector()
    rows.removeAll { $0.day == today }
    rows.append(Row(day: today, vector: known.merging(vector)))
    thin(today: today, window: window)
  }

  /// Leaves a row for each day that the window can need, and fewer and fewer of those before, so that their number
  /// stays the same however long the store is used, and a longer window ends a sixteenth later at most. What a row that
  /// goes says, a later one says as well.
  ///
  /// Beyond the window, days are in groups of 2, 4, 8 and so on, counted from 1970, of which the latest stays: a group
  /// is two smaller ones, so that what stays of it stays of them. With distances counted from today, no row would grow
  /// older than the window.
  private mutating func thin(today: Int, window: RestoreWindow) {
    let exact = window.days + Self.grace + 1
    var kept: [Int: Row] = [:]
    var latest: [[Int]: Int] = [:]
    for row in rows.sorted(by: { $0.day > $1.day }) where Self.isBelieved(row.day, today: today) {
      let age = today - row.day
      let doublings = age <= exact ? 0 : Self.doublings(upTo: age / Self.fineness)
      let group = [doublings, row.day >> doublings]
      if let day = latest[group], let later = kept[day] {
        kept[day] = Row(day: day, vector: later.vector.merging(row.vector))
      } else {
        (latest[group], kept[row.day]) = (row.day, row)
      }
    }
    let others = Set(rows.map(\.day).filter { !Self.isBelieved($0, today: today) }.suffix(Self.limit))
    rows = rows.compactMap { others.contains($0.day) ? $0 : kept[$0.day] }
  }

  /// How often 1 can be doubled without exceeding a number.
  private static func doublings(upTo number: Int) -> Int { Int.bitWidth - 1 - max(1, number).leadingZeroBitCount }

  private static func isBelieved(_ day: Int, today: Int) -> Bool { (0...believed + grace + 1).contains(today - day) }

  /// What has been with others for more than a window, and a while longer for what other devices deleted.
  func ripe(at time: HybridTime, after window: RestoreWindow) -> Shredding.Ripe {
    let today = Self.day(of: time)
    return (ripe(today: today, after: window.days), ripe(today: today, after: window.days + Self.grace))
  }

  /// Whether it would say something else if others had had what `vector` covers on that day.
  func isNews(_ vector: StateVector, _ today: Int, _ window: RestoreWindow) -> Bool {
    var days = self
    days.note(vector, today: today, isShared: true, window: window)
    return days != self
  }

  private func ripe(today: Int, after days: Int) -> StateVector {
    rows.reduce(into: StateVector()) { ripe, row in
      if Self.isOver(row.day, today: today, window: days) { ripe.merge(row.vector) }
    }
  }

  /// More than so many days, and not as many: a row says what stood there in the evening.
  private static func isOver(_ day: Int, today: Int, window: Int) -> Bool {
    window < today - day && today - day <= max(believed, window + grace + 1)
  }
}

// MARK: - In the file

extension SharedDays {
  /// The scope of the notes: local facts of this file, with a sum. Where they are lost, windows begin again.
  static let scope = "restore window"
  private static let peerKey = "peer"

  /// The days of a file; none if they are not to be relied on.
  init(_ connection: Connection) throws { self.init(try NoteTable(connection).read(Self.scope) ?? [:]) }

  init(_ notes: [String: [UInt8]]) {
    hasPeer = notes[Self.peerKey] != nil
    let read = notes.compactMap { key, bytes -> (order: UInt64, row: Row)? in
      guard let day = Int(key) else { return nil }
      return bytes.withUnsafeBytes { raw in
        var reader = ByteReader(raw)
        guard let order = try? reader.varint(), let vector = try? StateVector(noted: &reader) else { return nil }
        return (order, Row(day: day, vector: vector))
      }
    }
    rows = read.sorted { $0.order < $1.order }.map(\.row)
  }

  var notes: [String: [UInt8]] {
    var notes: [String: [UInt8]] = hasPeer ? [Self.peerKey: [1]] : [:]
    for (order, row) in rows.enumerated() {
      var writer = ByteWriter()
      writer.varint(order)
      notes["\(row.day)"] = writer.bytes + row.vector.noted
    }
    return notes
  }
}

extension WriteTransaction {
  /// Notes that others have what `vector` covers; nil for a store that has met no other.
  func noteShared(_ vector: StateVector?, window: RestoreWindow) throws {
    let read = try NoteTable(connection).read(SharedDays.scope)
    var days = SharedDays(read ?? [:])
    let before = days
    days.note(
      vector ?? standing.vector, today: SharedDays.day(of: environment.now()), isShared: vector != nil, window: window)
    guard days != before else { return }
    // Most often one row is another one.
    var changed: [String: [UInt8]?] = days.notes.filter { read?[$0.key] != $0.value }
    for key in (read ?? [:]).keys where days.notes[key] == nil { changed[key] = .some(nil) }
    try NoteTable(connection).write(NoteBatch(SharedDays.scope, changed, isReplacing: read == nil))
    writer.touchesDeleted = true
  }
}
