import TallyCRDT
import TallyWire

/// For how long a deleted record can be restored: counted from the day on which the delete was first synced.
///
/// ```swift
/// var options = StoreOptions()
/// options.compaction = .automatic(restoreWindow: .days(90))
/// ```
public struct RestoreWindow: Sendable, Hashable {
  /// Full days, at least 0.
  public let days: Int

  /// So many full days. With 0, what was deleted yesterday and has been synced may go today.
  public static func days(_ days: Int) -> RestoreWindow { RestoreWindow(days: min(max(0, days), SharedDays.believed)) }
}

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
  static let believed = 400
  /// The most rows that are kept: those of both times of a clock that jumps to and fro.
  private static let limit = 64
  /// The number of days by which other devices leave the emptying of a record to the device that deleted it.
  static let grace = 7

  /// In the order in which they were last noted.
  private(set) var rows: [Row] = []
  /// Whether the store has ever met another device.
  private(set) var hasPeer = false

  /// The day of a time.
  static func day(of time: HybridTime) -> Int { Int(time.milliseconds / 86_400_000) }

  /// Notes what others have today; or, of a store that has met nobody, what it has itself.
  mutating func note(_ vector: StateVector, today: Int, isShared: Bool, window: RestoreWindow) {
    guard isShared || !hasPeer else { return }
    if isShared, !hasPeer {
      // Whoever comes first can restore a record only from now on.
      (hasPeer, rows) = (true, [])
    }
    let known = rows.first { $0.day == today }?.vector ?? StateVector()
    rows.removeAll { $0.day == today }
    rows.append(Row(day: today, vector: known.merging(vector)))
    // Of the rows that are over for everybody, the newest covers the others.
    let over = rows.map(\.day).filter { Self.isOver($0, today: today, window: window.days + Self.grace) }
    if let newest = over.max() { rows.removeAll { $0.day < newest && over.contains($0.day) } }
    rows = Array(rows.suffix(Self.limit))
  }

  /// What has been with others for more than so many days.
  func ripe(today: Int, after days: Int) -> StateVector {
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
  /// The scope of the notes: local facts of this file, with a sum. Where they are lost, windows begin anew.
  static let scope = "restore window"
  private static let peerKey = "peer"

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
  /// The days of this file; none if they are not to be relied on.
  func sharedDays() throws -> SharedDays { SharedDays(try NoteTable(connection).read(SharedDays.scope) ?? [:]) }

  /// Notes that others have what `vector` covers; nil for a store that has met nobody.
  func noteShared(_ vector: StateVector?, window: RestoreWindow) throws {
    let before = try sharedDays()
    var days = before
    days.note(
      vector ?? standing.vector, today: SharedDays.day(of: environment.now()), isShared: vector != nil, window: window)
    guard days != before else { return }
    try NoteTable(connection).write(NoteBatch(SharedDays.scope, days.notes.mapValues { $0 }, isReplacing: true))
    writer.touchesDeleted = true
  }
}
