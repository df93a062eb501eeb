/// What old and new versions of an app must show of the pictures of records, by what every device has heard of: writes
/// with their moments. It knows no register, stamp or delta of the store's, and says in its own words what a move does.
///
/// Values are texts: "" for no picture, else the number of a content, for a file with its type: "3.bin".
struct BlobSpecification {
  enum Field: String, CaseIterable {
    case note, image, picture

    /// The version of the app that has brought the field.
    var version: Int { self == .picture ? 2 : 1 }
  }

  /// The content without any bytes, which is no picture.
  static let empty = "empty"

  struct Moment: Comparable {
    /// Default data is before all that a person has written.
    var isPerson = true
    var time: Int64
    var author: Int
    var transaction: Int

    static func < (lhs: Moment, rhs: Moment) -> Bool {
      if lhs.isPerson != rhs.isPerson { return rhs.isPerson }
      return (lhs.time, lhs.author, lhs.transaction) < (rhs.time, rhs.author, rhs.transaction)
    }
  }

  enum Act: Equatable {
    case write(Field, String)
    case exist
    case delete
  }

  struct Event {
    var record: String
    var act: Act
    var moment: Moment
    /// The events that the author had seen, its own among them.
    var seen: Set<Int>
    /// Whether a person did it. A move is not one.
    var isChoice: Bool
  }

  private(set) var events: [Event] = []
  /// For each device the events that it has heard of.
  var known: [Set<Int>]
  private var transactions = 0

  init(devices: Int) { known = Array(repeating: [], count: devices) }

  /// Two devices have told each other all.
  mutating func meet(_ one: Int, _ other: Int) {
    known[one].formUnion(known[other])
    known[other] = known[one]
  }

  // MARK: What is shown

  /// The write of a field that counts on a device.
  private func register(_ device: Int, _ record: String, _ field: Field) -> (value: String, number: Int)? {
    var found: (value: String, number: Int)?
    for number in known[device] where events[number].record == record {
      guard case .write(field, let value) = events[number].act else { continue }
      if let other = found, events[number].moment < events[other.number].moment { continue }
      found = (value, number)
    }
    return found
  }

  /// Whether a device has heard of a second life of a record: then an insert writes all fields.
  private func hasLives(_ device: Int, _ record: String) -> Bool {
    known[device].contains { number in
      events[number].record == record && events[number].act == .exist
        && events[number].seen.contains { events[$0].record == record && events[$0].act == .delete }
    }
  }

  /// Whether a device shows a record: if anything was said of it that no delete had seen.
  func isVisible(_ device: Int, _ record: String) -> Bool {
    let here = known[device].filter { events[$0].record == record }
    let deleted = here.filter { events[$0].act == .delete }.reduce(into: Set<Int>()) { $0.formUnion(events[$1].seen) }
    return here.contains { events[$0].act != .delete && !deleted.contains($0) }
  }

  /// The row of a record on a device whose app has the fields of a version.
  func row(_ device: Int, _ record: String, version: Int) -> [Field: String] {
    var row: [Field: String] = [:]
    for field in Field.allCases where field.version <= version {
      row[field] = register(device, record, field)?.value ?? ""
    }
    return row
  }

  /// The picture that the latest choice of all devices names; nil where more than the latest choice counts: a record
  /// was deleted, an old version has removed a picture, or one has no bytes.
  func latestChoice(of record: String) -> String? {
    let all = events.filter { $0.record == record }
    guard !all.contains(where: { $0.act == .delete }) else { return nil }
    var latest: (content: String, moment: Moment, field: Field)?
    for event in all where event.isChoice {
      guard case .write(let field, let value) = event.act, field != .note else { continue }
      guard field == .picture || value != "" && value != Self.empty else { return nil }
      if let other = latest, event.moment < other.moment || event.moment == other.moment && field == .image { continue }
      latest = (Self.content(of: value), event.moment, field)
    }
    return latest?.content
  }

  /// The content of a picture, without the type of its file.
  static func content(of value: String) -> String { String(value.prefix { $0 != "." }) }

  // MARK: Noting

  /// A transaction of the app's in which a row became another; nil for one that is not there.
  mutating func note(
    _ device: Int, _ record: String, from before: [Field: String]?, to after: [Field: String]?, version: Int,
    clock: Int64
  ) {
    transactions += 1
    guard let after else {
      if before != nil { add(device, record, .delete, clock) }
      return
    }
    if let before {
      for field in Field.allCases where field.version <= version && before[field] != after[field] {
        add(device, record, .write(field, after[field] ?? ""), clock)
      }
      return
    }
    let past = known[device].filter { events[$0].record == record && events[$0].act == .exist }
    let clock = max(clock, past.map { events[$0].moment.time + 1 }.max() ?? clock)
    let hasLives = hasLives(device, record)
    add(device, record, .exist, clock)
    for field in Field.allCases {
      let past = register(device, record, field)?.value
      guard field.version <= version else {
        // An app that does not know the field begins without it.
        if !(past ?? "").isEmpty { add(device, record, .write(field, ""), clock) }
        continue
      }
      let value = after[field] ?? ""
      if hasLives || value != "" || past != nil && past != value { add(device, record, .write(field, value), clock) }
    }
  }

  /// Default data comes to a device. `image` is the picture of the record in it.
  mutating func seed(_ device: Int, _ record: String, image: String) {
    let numbers = events.indices.filter { events[$0].record == record && !events[$0].moment.isPerson }
    guard numbers.isEmpty else { return known[device].formUnion(numbers) }
    let moment = Moment(isPerson: false, time: 0, author: -1, transaction: 0)
    let seen: Set<Int> = [events.count, events.count + 1]
    events.append(Event(record: record, act: .exist, moment: moment, seen: seen, isChoice: true))
    events.append(Event(record: record, act: .write(.image, image), moment: moment, seen: seen, isChoice: true))
    known[device].formUnion(seen)
  }

  private mutating func add(
    _ device: Int, _ record: String, _ act: Act, _ clock: Int64, isChoice: Bool = true
  ) {
    var time = clock
    if case .write(let field, _) = act {
      // It is later than what the device knows of the field.
      for number in known[device] where events[number].record == record {
        guard case .write(field, _) = events[number].act else { continue }
        if events[number].moment.transaction != transactions { time = max(time, events[number].moment.time + 1) }
      }
    }
    let number = events.count
    known[device].insert(number)
    let moment = Moment(time: time, author: device, transaction: transactions)
    events.append(Event(record: record, act: act, moment: moment, seen: known[device], isChoice: isChoice))
  }

  // MARK: Moving

  /// What a move does to a record, as it was when the move looked at it.
  struct Plan {
    enum Outcome: Equatable {
      /// The picture becomes this file.
      case moved(String)
      /// It is this file already, which counts as chosen later.
      case named(String)
      /// The older picture goes.
      case cleared
    }

    var record: String
    var outcome: Outcome
    /// The file that the move adds, or makes sure of.
    var file: String?
    fileprivate var image: Int
    fileprivate var picture: Int?
  }

  /// What a move would do to a record on a device; nil if nothing but `ensured`, a file that the row names already.
  func plan(
    _ device: Int, _ record: String, keepsOldApps: Bool, type: (String) -> String
  ) -> (plan: Plan?, ensured: String?) {
    guard isVisible(device, record), let image = register(device, record, .image), image.value != "" else {
      return (nil, nil)
    }
    let picture = register(device, record, .picture)
    let (written, chosen) = (events[image.number].moment, picture.map { events[$0.number].moment })
    let isLater =
      if let picture, let chosen {
        // A null that came with the picture in one transaction took no picture away.
        picture.value == "" ? written < chosen && written.transaction != chosen.transaction : written <= chosen
      } else {
        false
      }
    let isSame = picture.map { Self.content(of: $0.value) == image.value } ?? false
    let ensured = isSame ? picture?.value : nil
    var plan = Plan(record: record, outcome: .cleared, file: nil, image: image.number, picture: picture?.number)
    if isLater || image.value == Self.empty { return (keepsOldApps ? nil : plan, ensured) }
    if isSame, let name = picture?.value {
      (plan.outcome, plan.file) = (.named(name), name)
    } else {
      let name = "\(image.value).\(type(image.value))"
      (plan.outcome, plan.file) = (.moved(name), name)
    }
    return (plan, ensured)
  }

  /// Whether what the move has looked at is still so.
  func isCurrent(_ plan: Plan, _ device: Int) -> Bool {
    isVisible(device, plan.record) && register(device, plan.record, .image)?.number == plan.image
      && register(device, plan.record, .picture)?.number == plan.picture
  }

  /// The rows of a move are written: one millisecond after the old version has written, whatever the clocks show.
  mutating func carryOut(_ plan: Plan, _ device: Int, keepsOldApps: Bool) {
    let time = events[plan.image].moment.time + 1
    transactions += 1
    var last = time
    switch plan.outcome {
    case .cleared: break
    case .moved(let name): add(device, plan.record, .write(.picture, name), time, isChoice: false)
    case .named(let name):
      add(device, plan.record, .write(.picture, ""), time, isChoice: false)
      transactions += 1
      last = time + 1
      add(device, plan.record, .write(.picture, name), last, isChoice: false)
    }
    if !keepsOldApps { add(device, plan.record, .write(.image, ""), last, isChoice: false) }
  }
}
