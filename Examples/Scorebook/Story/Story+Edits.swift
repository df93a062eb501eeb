import Tally
import TallyCRDT

/// Acts 2 and 3: both devices edit the same records.
extension Story {
  func tellOfDifferentFields() throws {
    terminal.act("2  Different fields of one record: both edits stay")
    let chess = cast.chess.id
    try phone.does("20:01", "calls the game Blitz chess") { db in
      var game = try SBGame.find(db, key: chess)
      game.title = "Blitz chess"
      // `update` writes all columns; only those whose value changed are replicated.
      try game.update(db)
    }
    try tablet.does("20:02", "shortens the same game to 10 minutes") { db in
      try db.execute(sql: "UPDATE SBGame SET minutes = 10 WHERE id = ?", arguments: [chess])
    }
    try meet { db in
      let game = try SBGame.find(db, key: chess)
      return [Fact("title", game.title), Fact("minutes", game.minutes)]
    }
    try checkBoth("Blitz chess takes 10 minutes") { db in
      let game = try SBGame.find(db, key: chess)
      return game.title == "Blitz chess" && game.minutes == 10
    }
    let journals = try devices.both.map { try $0.store.conflicts() }
    check("no conflict: the journals of both are empty", journals.allSatisfy(\.isEmpty))
  }

  func tellOfTheSameField() throws {
    terminal.act("3  The same field: the later write shows, the other is kept in the journal")
    let (match, score) = (first.match.id, first.scores[0].id)
    try phone.does("20:05", "notes on a match: Ann opened with e4") { db in
      try SBMatch.filter(key: match).updateAll(db, Column("note").set(to: "Ann opened with e4"))
    }
    try tablet.does("20:07", "notes on it: Ben forgot the clock") { db in
      try SBMatch.filter(key: match).updateAll(db, Column("note").set(to: "Ben forgot the clock"))
    }
    try tablet.does("20:08", "gives Ann one point more") { db in try SBScore.points.add(1, to: score, in: db) }
    try phone.does("20:09", "gives Ann two points more") { db in
      // What SQL changes of a counter is added, too.
      try db.execute(sql: "UPDATE SBScore SET points = points + 2 WHERE id = ?", arguments: [score])
    }
    try meet { db in
      [
        Fact("note", try SBMatch.find(db, key: match).note),
        Fact("Ann's points", try SBScore.find(db, key: score).points),
      ]
    }
    try checkBoth("the note of 20:07, which is the later; of Ann's points, a counter, both additions") { db in
      let (note, points) = (try SBMatch.find(db, key: match).note, try SBScore.find(db, key: score).points)
      return note == "Ben forgot the clock" && points == 4
    }
    for device in devices.both {
      let lost = try device.store.conflicts().map(\.loserValue)
      check("the \(device.name) has kept what lost", lost == [.text("Ann opened with e4")])
    }
    terminal.say()
    terminal.say("Who wrote what in this match, and what lost, as the phone knows it:")
    try showHistory(of: match.name)
  }

  private func showHistory(of name: AnyRecordName) throws {
    guard let history = try phone.store.history(of: name) else { return }
    func show(_ label: String, _ stamp: Stamp, _ value: Value) throws {
      let writer = padded(try devices.name(of: stamp.dot.replica), 6)
      terminal.row("  \(padded(label, 10)) \(writer) \(StoryClock.text(stamp.time))  \(value.shown)")
    }
    for field in history.fields {
      try show(field.field, field.stamp, field.value)
      for lost in history.conflicts where lost.field == field.field { try show("  lost", lost.loser, lost.loserValue) }
    }
  }
}

extension Value {
  /// The value for people.
  var shown: String {
    switch self {
    case .null: "nothing"
    case .integer(let number): "\(number)"
    case .real(let number): "\(number)"
    case .text(let text): text
    case .blob(let bytes): "\(bytes.count) bytes"
    }
  }
}
