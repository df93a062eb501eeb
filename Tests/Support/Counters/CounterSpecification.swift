/// What counters must show, by what every device has heard of: events with what their authors had seen. It knows no
/// register, total or delta.
///
/// A number is what the latest set that counts has said, and everything that was added and that this set had not seen.
/// A set that somebody had seen who purged the record may be missing (E1 of Contract.md, section 11): then an earlier
/// one counts, or the counter's default; all that was ever added still does.
struct CounterSpecification {
  /// The order of writes of one thing.
  struct Moment: Comparable {
    var time: Int64
    var author: Int

    static func < (lhs: Moment, rhs: Moment) -> Bool { (lhs.time, lhs.author) < (rhs.time, rhs.author) }
  }

  enum Act: Equatable {
    case add(Int64)
    case set(Int64)
    /// Of the field beside the counters; nil for null.
    case edit(Int64?)
    /// An insert or a restore.
    case exist
    case delete
    case purge
  }

  struct Event {
    var record: String
    /// The counter or field; empty where the record as a whole is meant.
    var field: String
    var act: Act
    var moment: Moment
    /// The events that the author had seen, its own among them.
    var seen: Set<Int>
    /// The time of the life that begins with this; nil if none does.
    var life: Int64?
  }

  /// An insert or a restore, as its author knew the record before.
  struct Beginning {
    var event: Int
    /// Whether anything was known of the record.
    var isKnown: Bool
    /// The fields that an insert writes even if they get their defaults.
    var writes: Set<String>
    var time: Int64
  }

  static let start: [String: Int64] = ["n": 5, "m": 0]

  let deletesWin: Bool
  private(set) var events: [Event] = []
  /// For each device the events that it has heard of.
  var known: [Set<Int>]

  init(devices: Int, deletesWin: Bool) {
    self.deletesWin = deletesWin
    known = Array(repeating: [], count: devices)
  }

  /// A write is later than what it overwrites, and than the life that it is in; one that an insert says of a field
  /// without any of these has the time of the insert.
  mutating func note(
    _ device: Int, _ record: String, _ field: String, _ act: Act, clock: Int64, in insert: Beginning? = nil
  ) {
    let past = heard(device, record).filter { $0.field == field && $0.act.isSame(as: act) }.map(\.moment.time).max()
    let life = act.isContent ? life(device, record) : nil
    let overwritten = [past, life].compactMap { $0 }.max()
    let time = overwritten.map { max(clock, $0 + 1) } ?? insert?.time ?? clock
    let number = events.count
    known[device].insert(number)
    events.append(
      Event(
        record: record, field: field, act: act, moment: Moment(time: time, author: device), seen: known[device],
        life: nil))
  }

  /// Notes an insert or a restore.
  mutating func beginning(_ device: Int, _ record: String, clock: Int64) -> Beginning {
    let (isKnown, hadLives) = (!heard(device, record).isEmpty, hasLives(device, record))
    var writes = Set(Self.start.keys.filter { hasWrites(device, record, $0) })
    if hadLives || values(device, record) != [nil] { writes.insert("x") }
    let latest = heard(device, record).filter { $0.field == "t" }.max { $0.moment < $1.moment }
    if hadLives || latest.map({ $0.act != .edit(nil) }) == true { writes.insert("t") }
    note(device, record, "", .exist, clock: clock)
    let event = events.count - 1
    return Beginning(event: event, isKnown: isKnown, writes: writes, time: events[event].moment.time)
  }

  /// A record that a device brings back begins a life, later than the one before and than all that is said in it: so
  /// whatever the clock shows, what is written later in this life has a later time.
  mutating func beginLife(with beginning: Beginning) {
    let event = events[beginning.event]
    let said = heard(event.moment.author, event.record).filter { $0.act.isContent }.map(\.moment.time)
    let past = said + [life(event.moment.author, event.record)].compactMap { $0 }
    events[beginning.event].life = past.max().map { $0 + 1 } ?? 0
  }

  /// The time of the latest life that a device has heard of.
  private func life(_ device: Int, _ record: String) -> Int64? { heard(device, record).compactMap(\.life).max() }

  /// A set of a number by a device that has lost what was added: all of it is added again once others say what it was.
  mutating func noteStandIn(_ device: Int, _ record: String, _ counter: String, _ number: Int64, clock: Int64) {
    note(device, record, counter, .set(number), clock: clock)
    let last = events.count - 1
    events[last].seen = events[last].seen.filter { seen in
      if case .add = events[seen].act { events[seen].record != record || events[seen].field != counter } else { true }
    }
  }

  private func heard(_ device: Int, _ record: String) -> [Event] {
    known[device].sorted().map { events[$0] }.filter { $0.record == record }
  }

  /// Whether a device shows a record.
  func isVisible(_ device: Int, _ record: String) -> Bool {
    let here = known[device].sorted().filter { events[$0].record == record }
    let deleted = here.filter { events[$0].act == .delete }.reduce(into: Set<Int>()) { $0.formUnion(events[$1].seen) }
    let hasDeletes = here.contains { events[$0].act == .delete }
    guard hasDeletes else { return here.contains { events[$0].act != .purge } }
    if deletesWin {
      let latest = here.filter { events[$0].act == .exist }.max { events[$0].moment < events[$1].moment }
      return latest.map { !deleted.contains($0) } ?? false
    }
    return here.contains { ![.delete, .purge].contains(events[$0].act) && !deleted.contains($0) }
  }

  /// Whether a record is hidden on a device by a delete.
  func isDeleted(_ device: Int, _ record: String) -> Bool {
    !isVisible(device, record) && heard(device, record).contains { $0.act == .delete }
  }

  /// Whether an insert with the default writes it: over another number, what was added, and what may have been.
  func hasWrites(_ device: Int, _ record: String, _ counter: String) -> Bool {
    let sets = heard(device, record).filter { $0.field == counter && $0.act.isSet }
    let latest = sets.max { $0.moment < $1.moment }
    return latest.map { $0.act != .set(Self.start[counter] ?? 0) } ?? false || hasAdditions(device, record, counter)
      || hasLives(device, record)
  }

  /// Whether a device has heard of a second life of a record, or of a purge. Then whoever inserts it once more does not
  /// know which fields it had, and writes all of them.
  func hasLives(_ device: Int, _ record: String) -> Bool {
    heard(device, record).contains { event in
      event.act == .purge
        || event.act == .exist && event.seen.contains { events[$0].record == record && events[$0].act == .delete }
    }
  }

  /// Whether a device has heard of anything that was added to a counter.
  func hasAdditions(_ device: Int, _ record: String, _ counter: String) -> Bool {
    heard(device, record).contains { event in
      if case .add = event.act { event.field == counter } else { false }
    }
  }

  /// The numbers that a device may show of a counter; more than one only after a purge.
  func numbers(_ device: Int, _ record: String, _ counter: String) -> [Int64] {
    let here = known[device].sorted().filter { events[$0].record == record }
    func added(beyond seen: Set<Int>) -> Int64 {
      here.reduce(0) { sum, number in
        guard case .add(let amount) = events[number].act, events[number].field == counter, !seen.contains(number)
        else { return sum }
        return sum + amount
      }
    }
    let purges = here.filter { events[$0].act == .purge }
    let sets = here.filter { events[$0].act.isSet && events[$0].field == counter }
    var allowed: [Int64] = []
    for number in sets.sorted(by: { events[$1].moment < events[$0].moment }) {
      guard case .set(let value) = events[number].act else { continue }
      allowed.append(value + added(beyond: events[number].seen))
      guard !purges.contains(where: { events[$0].seen.contains(number) }) else { continue }
      guard allowed.count > 1 else { return allowed }
      // Who had heard of a later one, and not of its purge, has kept that one alone.
      break
    }
    return allowed + [(Self.start[counter] ?? 0) + added(beyond: [])]
  }

  /// The values that a device may show of the field beside the counters; nil for null.
  func values(_ device: Int, _ record: String) -> [Int64?] {
    let here = known[device].sorted().filter { events[$0].record == record }
    let purges = here.filter { events[$0].act == .purge }
    var allowed: [Int64?] = []
    let edits = here.filter { events[$0].field == "x" }
    for number in edits.sorted(by: { events[$1].moment < events[$0].moment }) {
      guard case .edit(let value) = events[number].act else { continue }
      allowed.append(value)
      guard !purges.contains(where: { events[$0].seen.contains(number) }) else { continue }
      guard allowed.count > 1 else { return allowed }
      // As above.
      break
    }
    return allowed + [nil]
  }
}

extension CounterSpecification.Act {
  var isSet: Bool { if case .set = self { true } else { false } }

  /// Whether it writes a value that a purge takes away.
  var isContent: Bool {
    switch self {
    case .set, .edit: true
    case .add, .exist, .delete, .purge: false
    }
  }

  /// Whether both write the same register.
  func isSame(as other: Self) -> Bool {
    switch (self, other) {
    case (.set, .set), (.edit, .edit), (.exist, .exist): true
    default: false
    }
  }
}
