import Tally

/// The story of two devices. Each act says what it does, does it, and checks what came of it.
final class Story {
  let devices: Devices
  let terminal: Terminal
  let cast: Cast
  let first: Evening
  let second: Evening
  let third: Evening
  /// The number of expectations that were not met.
  private(set) var failures = 0

  var phone: Device { devices.phone }
  var tablet: Device { devices.tablet }

  init(_ devices: Devices, _ terminal: Terminal) throws {
    self.devices = devices
    self.terminal = terminal
    cast = try Cast()
    first = try Evening(
      "match-1", cast.chess, day: 1, Place("in Ann's kitchen", 48.14, 11.58), ["Ann": 1, "Ben": 0])
    second = try Evening(
      "match-2", cast.skat, day: 4, Place("in the café", 48.13, 11.56), ["Ann": 18, "Ben": 24, "Dora": -36])
    third = try Evening("match-3", cast.skat, day: 6, Place("on the train", 47.81, 13.05), ["Dora": 20, "Ben": 22])
  }

  /// Tells everything. Nothing is caught on the way: an error ends the story.
  func tell() throws {
    tellWhatThisIs()
    try tellHowItBegan()
    try tellOfDifferentFields()
    try tellOfTheSameField()
    try tellOfPlayers()
    try tellOfTheRevivedMatch()
    try tellOfTheDeletedMatch()
    try tellOfTheDeletedPerson()
    try tellOfTheUndo()
    try tellHowItEnds()
  }

  // MARK: What the acts have in common

  /// Both devices meet. Shows what each had, and what both have then.
  func meet(_ remark: String = "", showing facts: (Database) throws -> [Fact]) throws {
    func look(_ device: Device) throws -> [Fact] {
      try device.store.read(facts) + [Fact("has seen", devices.short(device.store.vector))]
    }
    let before = (try look(phone), try look(tablet))
    let report = try phone.store.sync(with: tablet.store)
    let after = (try look(phone), try look(tablet))
    terminal.row(terminal.styled("⇄ they meet", .bold) + (remark.isEmpty ? "" : " \(remark)") + "\n")
    BeforeAndAfter(terminal).show(phone: before.0, tablet: before.1, both: after.0)
    terminal.say()
    if !report.isConverged || after.0 != after.1 { check("both devices hold the same", false) }
  }

  /// Says what should be, and counts it if it is not.
  func check(_ text: String, _ isFulfilled: Bool) {
    terminal.check(text, isFulfilled)
    if !isFulfilled { failures += 1 }
  }

  /// Checks something on both devices.
  func checkBoth(_ text: String, _ isFulfilled: (Database) throws -> Bool) throws {
    let answers = try devices.both.map { try $0.store.read(isFulfilled) }
    check(text, answers.allSatisfy { $0 })
  }
}
