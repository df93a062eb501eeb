/// What fields that keep the greatest or the least must show, by what every device has heard of: events with what their
/// authors had seen. It knows no register, stamp or delta.
///
/// A value is the one that goes furthest of those that begin with the latest set which a device has heard of; a raise
/// begins with the set that its author has seen, or with none. What somebody had seen who purged the record may be
/// missing (E1 of Contract.md, section 11).
struct ExtremumSpecification {
  enum Act: Equatable {
    /// A value that goes further than what showed.
    case raise
    /// A value that begins again.
    case set
    /// Of the field beside them.
    case edit
    /// The first insert that its author has heard of, or a restore.
    case exist
    /// An insert of a record that its author has heard of: a life that begins with nothing of the one before.
    case again
    case delete
    case purge
  }

  struct Event {
    var record: String
    /// The field; empty where the record as a whole is meant.
    var field: String
    var act: Act
    var value: Int64?
    /// When what it belongs to began; 0 for what began with no set.
    var beginning: Int64
    /// The events that the author had seen, its own among them.
    var seen: Set<Int>
    /// The time of the life that begins with this; nil if none does.
    var life: Int64?

    /// Whether it writes a field.
    var isContent: Bool { [.raise, .set, .edit].contains(act) }
  }

  /// The fields: what they keep, and what they show if nothing was written.
  static let fields: [String: (keepsGreatest: Bool, start: Int64?)] = ["best": (true, 0), "least": (false, nil)]

  let deletesWin: Bool
  private(set) var events: [Event] = []
  /// For each device the events that it has heard of.
  var known: [Set<Int>]

  init(devices: Int, deletesWin: Bool) {
    self.deletesWin = deletesWin
    known = Array(repeating: [], count: devices)
  }

  /// `beginning` is given for a raise whose author may not show all that it has heard of.
  mutating func note(
    _ device: Int, _ record: String, _ field: String, _ act: Act, _ value: Int64? = nil, clock: Int64,
    beginning: Int64? = nil
  ) {
    let same = heard(device, record).filter { $0.field == field && ![.delete, .purge].contains($0.act) }
    let latest = same.map(\.beginning).max()
    // Whatever the clock shows, a write is later than the life that it is in.
    let life = life(device, record)
    let time =
      switch act {
      case .raise: beginning ?? latest ?? 0
      case .exist, .again: max(clock, (latest ?? 0) + 1)
      case .set, .edit: max(clock, max(latest ?? 0, life ?? 0) + 1)
      case .delete, .purge: clock
      }
    let number = events.count
    known[device].insert(number)
    events.append(
      Event(record: record, field: field, act: act, value: value, beginning: time, seen: known[device], life: nil))
  }

  /// The record that a device has just brought back begins a life, later than the one before and than all that is said
  /// in it.
  mutating func beginLife(_ device: Int, _ record: String) {
    let said = heard(device, record).filter(\.isContent).map(\.beginning)
    let past = said + [life(device, record)].compactMap { $0 }
    guard let event = known[device].filter({ events[$0].record == record && events[$0].field.isEmpty }).max()
    else { return }
    events[event].life = past.max().map { $0 + 1 } ?? 0
  }

  /// The time of the latest life that a device has heard of.
  private func life(_ device: Int, _ record: String) -> Int64? { heard(device, record).compactMap(\.life).max() }

  func heard(_ device: Int, _ record: String) -> [Event] {
    known[device].sorted().map { events[$0] }.filter { $0.record == record }
  }

  /// Whether a device has heard that a record was purged.
  func hasPurges(_ device: Int, _ record: String) -> Bool { heard(device, record).contains { $0.act == .purge } }

  /// Whether there is an earlier life of the record of which the device does not know what fields it had: an insert
  /// then sets all of them.
  func hasLostFields(_ device: Int, _ record: String) -> Bool {
    heard(device, record).contains { event in
      [.purge, .again].contains(event.act)
        // A restore begins a life, as an insert does.
        || event.act == .exist && event.seen.contains { events[$0].record == record && events[$0].act == .delete }
    }
  }

  /// Whether a device shows a record.
  func isVisible(_ device: Int, _ record: String) -> Bool {
    let here = known[device].sorted().filter { events[$0].record == record }
    let deletes = here.filter { events[$0].act == .delete }
    let deleted = deletes.reduce(into: Set<Int>()) { $0.formUnion(events[$1].seen) }
    guard !deletes.isEmpty else { return here.contains { events[$0].act != .purge } }
    if deletesWin {
      let latest = here.filter { [.exist, .again].contains(events[$0].act) }.max {
        events[$0].beginning < events[$1].beginning
      }
      return latest.map { !deleted.contains($0) } ?? false
    }
    return here.contains { ![.delete, .purge].contains(events[$0].act) && !deleted.contains($0) }
  }

  /// Whether a record is hidden on a device by a delete.
  func isDeleted(_ device: Int, _ record: String) -> Bool {
    !isVisible(device, record) && heard(device, record).contains { $0.act == .delete }
  }

  /// Whether a value goes further than another one.
  static func goesFurther(_ value: Int64?, than other: Int64?, _ field: String) -> Bool {
    guard let other else { return value != nil }
    guard let value else { return false }
    return fields[field]?.keepsGreatest == true ? other < value : value < other
  }

  /// The values that a device may show, nil for null; more than one only after a purge.
  func values(_ device: Int, _ record: String, _ field: String) -> [Int64?] {
    let here = known[device].sorted().filter { events[$0].record == record }
    let purges = here.filter { events[$0].act == .purge }
    let writes = here.filter { events[$0].field == field }.sorted { one, other in
      let (one, other) = (events[one], events[other])
      guard one.beginning == other.beginning else { return other.beginning < one.beginning }
      return Self.goesFurther(one.value, than: other.value, field)
    }
    var allowed: [Int64?] = []
    for (place, number) in writes.enumerated() {
      allowed.append(events[number].value)
      guard !purges.contains(where: { events[$0].seen.contains(number) }) else { continue }
      guard place > 0 else { return allowed }
      // A device that had heard of one that goes further, and not of its purge, has kept that one alone. With it gone,
      // nothing was there, and any write went further.
      return allowed + writes[(place + 1)...].map { events[$0].value } + [Self.fields[field]?.start]
    }
    return allowed + [Self.fields[field]?.start]
  }
}
