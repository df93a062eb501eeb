import TallyCRDT

/// What fields that take the place of others must show, by what every device has heard of: writes with their moments.
/// It knows no lens, register or delta of the store's, and says in its own words what a write to one field means for
/// the other.
struct LensSpecification {
  /// The fields of an app, in three versions of it.
  enum Field: String, CaseIterable {
    case title, price, done, shelf, cents, state, number, amount

    /// The version that has brought the field.
    var version: Int {
      switch self {
      case .title, .price, .done, .shelf: 1
      case .cents, .state, .number: 2
      case .amount: 3
      }
    }

    var start: Value {
      switch self {
      case .done: .integer(0)
      case .state: .text("open")
      default: .null
      }
    }

    /// The field whose place it takes.
    var older: Field? {
      switch self {
      case .cents: .price
      case .state: .done
      case .number: .shelf
      case .amount: .cents
      default: nil
      }
    }

    /// The oldest of the fields whose values the field shows.
    var root: Field { older?.root ?? self }

    /// Whether a write of the field is one of the older field.
    var keepsOldApps: Bool { self != .number }

    /// What the field shows of a value of the older one.
    func shown(of value: Value) -> Value {
      switch (self, value) {
      case (.cents, .real(let euros)): .integer(Int64((euros * 100).rounded()))
      case (.state, .integer(let flag)): .text(flag == 1 ? "done" : "open")
      case (.number, .text(let text)): Int64(text).map(Value.integer) ?? .null
      case (.amount, .integer(let cents)): .text("\(cents)")
      default: start
      }
    }

    /// What the older field gets of a value of this one; nil if it has none like it.
    func told(_ value: Value) -> Value? {
      if value == start { return older?.start }
      switch (self, value) {
      case (.cents, .integer(let cents)): return .real(Double(cents) / 100)
      case (.state, .text("done")), (.state, .text("paid")): return .integer(1)
      case (.amount, .text(let text)): return Int64(text).map(Value.integer)
      default: return nil
      }
    }
  }

  struct Moment: Comparable {
    var time: Int64
    var author: Int

    static func < (lhs: Moment, rhs: Moment) -> Bool { (lhs.time, lhs.author) < (rhs.time, rhs.author) }
  }

  enum Act: Equatable {
    case write(Field, Value)
    case exist
    case delete
  }

  struct Event {
    var record: String
    var act: Act
    var moment: Moment
    var transaction: Int
    /// The events that the author had seen, its own among them.
    var seen: Set<Int>
  }

  private(set) var events: [Event] = []
  /// For each device the events that it has heard of.
  var known: [Set<Int>]
  private var transactions = 0

  init(devices: Int) { known = Array(repeating: [], count: devices) }

  /// The write of a field that counts on a device.
  private func register(_ device: Int, _ record: String, _ field: Field) -> (value: Value, event: Event)? {
    var found: (value: Value, event: Event)?
    for number in known[device] where events[number].record == record {
      guard case .write(field, let value) = events[number].act else { continue }
      if let other = found, events[number].moment < other.event.moment { continue }
      // The null of an app that did not know the field is nothing where the field has a default.
      found = (value.isNull ? field.start : value, events[number])
    }
    return found
  }

  /// The value of that write, as it was written.
  private func latest(_ device: Int, _ record: String, _ field: Field) -> Value? {
    guard case .write(_, let value) = register(device, record, field)?.event.act else { return nil }
    return value
  }

  /// Whether a device has heard of a second life of a record: then an insert does not know which fields it had, and
  /// writes all.
  private func hasLives(_ device: Int, _ record: String) -> Bool {
    known[device].contains { number in
      events[number].record == record && events[number].act == .exist
        && events[number].seen.contains { events[$0].record == record && events[$0].act == .delete }
    }
  }

  /// Whether a device shows a record.
  func isVisible(_ device: Int, _ record: String) -> Bool {
    let here = known[device].filter { events[$0].record == record }
    let deleted = here.filter { events[$0].act == .delete }.reduce(into: Set<Int>()) { $0.formUnion(events[$1].seen) }
    return here.contains { events[$0].act != .delete && !deleted.contains($0) }
  }

  /// The row of a record on a device whose file has the fields of a version.
  func row(_ device: Int, _ record: String, version: Int) -> [Field: Value] {
    var row: [Field: Value] = [:]
    for field in Field.allCases where field.version <= version { row[field] = shown(device, record, field).value }
    return row
  }

  /// What a field shows, and the write that says so: its own, or the one that its older field shows.
  private func shown(_ device: Int, _ record: String, _ field: Field) -> (value: Value, event: Event?) {
    let own = register(device, record, field)
    guard let older = field.older else { return (own?.value ?? field.start, own?.event) }
    let said = shown(device, record, older)
    guard let earlier = said.event else { return (own?.value ?? field.start, own?.event) }
    let isOlder: Bool
    switch own {
    case nil: isOlder = true
    case let own? where own.event.transaction == earlier.transaction:
      isOlder = own.value == field.start && said.value != older.start
    case let own?: isOlder = own.event.moment < earlier.moment
    }
    return isOlder ? (field.shown(of: said.value), earlier) : (own?.value ?? field.start, own?.event)
  }

  // MARK: Noting

  /// A transaction in which a row became another; nil for one that is not there. `isAnew` says that the row was
  /// inserted again.
  mutating func note(
    _ device: Int, _ record: String, from before: [Field: Value]?, to after: [Field: Value]?, version: Int,
    isAnew: Bool, clock: Int64
  ) {
    transactions += 1
    guard var after else {
      if before != nil { add(device, record, .delete, clock) }
      return
    }
    let fields = Field.allCases.filter { $0.version <= version }
    var written = fields.filter { field in
      before.map { $0[field] != after[field] } ?? (after[field] != field.start)
    }
    var quiet: [Field] = []
    // The newest fields first: what they write can be what another one writes further.
    for field in fields.reversed() {
      guard let older = field.older, let value = after[field], let old = after[older] else { continue }
      let isStart = value == field.start
      // An insert that names the newer field alone.
      let isNamed = isAnew && !isStart && old == older.start
      guard written.contains(field) || isNamed else { continue }
      let isOlderWritten = before == nil || before?[older] != after[older]
      if isStart, old != older.start, isOlderWritten || isAnew {
        quiet.append(field)
        if !written.contains(older) { written.append(older) }
      } else if field.keepsOldApps, let told = field.told(value) {
        after[older] = told
        if !written.contains(older) { written.append(older) }
        if !written.contains(field) { written.append(field) }
      }
    }
    guard before == nil else {
      for field in written where !quiet.contains(field) {
        add(device, record, .write(field, after[field] ?? .null), clock, version)
      }
      return
    }
    let past = known[device].filter { events[$0].record == record && events[$0].act == .exist }
    let clock = max(clock, past.map { events[$0].moment.time + 1 }.max() ?? clock)
    let hasLives = hasLives(device, record)
    add(device, record, .exist, clock)
    for field in Field.allCases {
      let value = field.version <= version ? after[field] ?? field.start : .null
      let past = latest(device, record, field)
      let isWritten =
        field.version > version
        ? !(past ?? .null).isNull : hasLives || value != field.start || past != nil && past != value
      if isWritten { add(device, record, .write(field, value), clock, version) }
    }
  }

  private mutating func add(_ device: Int, _ record: String, _ act: Act, _ clock: Int64, _ version: Int = 0) {
    var time = clock
    if case .write(let field, _) = act {
      // A write shows: it is later than what the device knows of the field and of those that show its values.
      for other in Field.allCases where other == field || other.version <= version && other.root == field.root {
        guard field.version <= version || other == field else { continue }
        let past = known[device].map { events[$0] }.filter { event in
          if case .write(other, _) = event.act {
            event.record == record && event.transaction != transactions
          } else {
            false
          }
        }
        if let latest = past.map(\.moment.time).max() { time = max(time, latest + 1) }
      }
    }
    let number = events.count
    known[device].insert(number)
    events.append(
      Event(
        record: record, act: act, moment: Moment(time: time, author: device), transaction: transactions,
        seen: known[device]))
  }
}
