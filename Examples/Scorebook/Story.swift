import GRDB
import Tally

/// The story of two devices. Each act is a file of its own or a function below; each says what it does, does it, and checks it.
final class Story {
  let devices: Devices
  let terminal: Terminal
  let cast: Cast
  let first: Evening
  let second: Evening
  let third: Evening
  /// What was expected and did not happen.
  private(set) var failures = 0

  var phone: Device { devices.phone }
  var tablet: Device { devices.tablet }

  init(_ devices: Devices, _ terminal: Terminal) throws {
    self.devices = devices
    self.terminal = terminal
    cast = try Cast()
    first = try Evening("match-1", cast.chess, day: 1, "in Ann's kitchen", ["Ann": 1, "Ben": 0])
    second = try Evening("match-2", cast.skat, day: 4, "in the café", ["Ann": 18, "Ben": 24, "Dora": -36])
    third = try Evening("match-3", cast.skat, day: 6, "on the train", ["Dora": 20, "Ben": 22])
  }

  /// Tells everything. Nothing is caught on the way: an error ends the story.
  func tell() throws {
    try tellHowItBegan()
    try tellOfDifferentFields()
    try tellOfTheSameField()
    try tellOfPlayers()
    try tellOfTheRevivedMatch()
    try tellOfTheDeletedMatch()
    try tellOfTheUndo()
    try tellHowItEnds()
  }

  // MARK: What the acts have in common

  /// Both devices meet.
  func sync(_ remark: String = "") throws {
    let report = try synchronize(phone.store, tablet.store)
    terminal.sync("phone ⇄ tablet\(remark.isEmpty ? "" : ", \(remark)")")
    if !report.isConverged { check("both devices hold the same", false) }
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

  // MARK: Act 1

  private func tellHowItBegan() throws {
    terminal.act("1. The phone has a scorebook, the tablet is empty")
    let (cast, evenings) = (cast, [first, second, third])
    try phone.does("18:00", day: 7, "enters six persons, two games and three matches") { db in
      for person in cast.persons { try person.insert(db) }
      for game in [cast.chess, cast.skat] { try game.insert(db) }
      for evening in evenings {
        try evening.match.insert(db)
        for player in evening.players { try player.insert(db) }
        for score in evening.scores { try score.insert(db) }
        try evening.image.insert(db)
        try evening.location.insert(db)
      }
    }
    try phone.does("18:10", day: 7, "puts Ann, Ben and Cléo down for chess; it is Ann's favourite") { db in
      try SBGame.players.set([cast.ann.id, cast.ben.id, cast.cleo.id], of: cast.chess.id, in: db)
      try SBGame.favourites.insert(cast.ann.id, to: cast.chess.id, in: db)
    }
    try sync()
    try checkBoth("the tablet has the three matches and all that belongs to them") { db in
      let matches = try SBMatch.fetchCount(db)
      let (players, scores) = (try SBPlayer.fetchCount(db), try SBScore.fetchCount(db))
      return (matches, players, scores) == (3, 7, 7)
    }
    terminal.say("From now on both are offline between the syncs.")
  }
}
