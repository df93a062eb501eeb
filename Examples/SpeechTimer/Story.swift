import Tally

/// Tells what everybody sees after each step, for one order of meetings, and then tries all orders.
struct Story {
  private let group = Group()
  private let terminal = Terminal()
  private let table = Table()
  /// The number of expectations that were not met.
  private(set) var failures = 0

  mutating func tell() async throws {
    terminal.title("Offline: every device seeds for itself")
    terminal.say("(1), (2) the release of the app; › just changed; * somebody's own: releases change nothing in it")
    for (number, step) in OfflineStep.all.enumerated() {
      try show(step.what, step.perform)
      if number == 0 { try checkThatNothingIsToBeExchanged() }
    }
    terminal.title("Everybody meets everybody, in one order of many")
    for meeting in Meeting.all.reversed() { try show(meeting.what) { try meeting.sync($0) } }
    check("all four see the same, as expected, and hold the same", try Ending(of: group) == .asExpected)
    let problems = try group.devices.flatMap { try $0.store.verify().problems }
    check("each store has verified itself", problems.isEmpty)
    try tellOfTheLastUpdate()
    try await tryAllOrders()
  }

  private func show(_ what: String, _ perform: (Group) throws -> Void) throws {
    let before = try group.devices.map { try $0.rows() }
    try perform(group)
    terminal.step(what)
    for line in try table.lines(of: group, before, terminal) { terminal.row(line) }
  }

  private mutating func check(_ text: String, _ isFulfilled: Bool) {
    terminal.check(text, isFulfilled)
    if !isFulfilled { failures += 1 }
  }

  private mutating func checkThatNothingIsToBeExchanged() throws {
    let bytes = try Meeting(one: .ann, other: .ben).sync(group).byteCount
    check("if they met now, they would send each other \(bytes) bytes: both made the very same records", bytes == 0)
  }

  private mutating func tellOfTheLastUpdate() throws {
    terminal.title("Ben and Dan install the second release as well")
    let wrote = try [Owner.ben, .dan].filter { try group.device($0).update(to: 2) }
    check("seeding writes nothing: the second version has come from the others", wrote.isEmpty)
    let bytes = try Meeting.all.map { try $0.sync(group).byteCount }.reduce(0, +)
    check("and nobody has anything to tell anybody: \(bytes) bytes in six meetings", bytes == 0)
    check("all is as it was", try Ending(of: group) == .asExpected)
  }

  private mutating func tryAllOrders() async throws {
    terminal.title("The same in every order of meetings")
    let (all, distinct) = (MeetingOrders.all.count, MeetingOrders.distinct)
    terminal.say("There are \(all); \(distinct.count) if those are one that only swap two meetings at the same time.")
    let endings = try await Ending.of(distinct)
    for (ending, count) in Dictionary(endings.map { ($0, 1) }, uniquingKeysWith: +) where ending != .asExpected {
      check("\(count) of them ended otherwise: \(ending)", false)
    }
    let good = endings.count { $0 == .asExpected }
    check("\(good) of \(distinct.count) end with what you see above, on all four devices", good == distinct.count)
  }
}

extension Meeting {
  fileprivate var what: String { "\(one.rawValue) ⇄ \(other.rawValue)" }
}
