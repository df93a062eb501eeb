import GRDB
import Tally

/// Acts 2 and 3: both devices edit the same records.
extension Story {
  func tellOfDifferentFields() throws {
    terminal.act("2. Different fields of one record: both stay")
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
    try sync()
    try checkBoth("Blitz chess takes 10 minutes, and nothing was lost") { db in
      let game = try SBGame.find(db, key: chess)
      return game.title == "Blitz chess" && game.minutes == 10
    }
    check("nothing is in the conflict journal", try phone.store.conflicts().isEmpty)
  }

  func tellOfTheSameField() throws {
    terminal.act("3. The same field: the later write shows, the other is kept in the journal")
    let match = first.match.id
    try phone.does("20:05", "notes on the first match: Ann opened with e4") { db in
      try SBMatch.filter(key: match).updateAll(db, Column("note").set(to: "Ann opened with e4"))
    }
    try tablet.does("20:07", "notes on the same match: Ben forgot the clock") { db in
      try SBMatch.filter(key: match).updateAll(db, Column("note").set(to: "Ben forgot the clock"))
    }
    let score = first.scores[0].id
    try tablet.does("20:08", "corrects Ann's points in that match to 2") { db in
      try SBScore.filter(key: score).updateAll(db, Column("points").set(to: 2))
    }
    try phone.does("20:09", "corrects the same points to 3") { db in
      try SBScore.filter(key: score).updateAll(db, Column("points").set(to: 3))
    }
    try sync()
    try checkBoth("both show the tablet's note and the phone's points: the later write of each") { db in
      let (shown, points) = (try SBMatch.find(db, key: match).note, try SBScore.find(db, key: score).points)
      return shown == "Ben forgot the clock" && points == 3
    }
    for device in devices.both {
      let conflicts = try device.store.conflicts()
      check("the \(device.name) knows what lost", Set(conflicts.map(\.field)) == ["note", "points"])
      for conflict in conflicts { terminal.say("    \(try line(conflict))") }
    }
    terminal.say("Who wrote the match, field by field, and what lost:")
    try showHistory(of: match.name)
  }

  /// A conflict in one line.
  func line(_ conflict: Conflict) throws -> String {
    func side(_ stamp: Stamp, _ value: Value) throws -> String {
      let time = StoryClock.text(milliseconds: stamp.time.milliseconds)
      return "\(text(value)) (\(try devices.name(of: stamp.dot.replica)) \(time))"
    }
    let winner = try side(conflict.winner, conflict.winnerValue)
    let loser = try side(conflict.loser, conflict.loserValue)
    return "\(conflict.name.key).\(conflict.field) is \(winner), not \(loser)"
  }

  private func showHistory(of name: AnyRecordName) throws {
    guard let history = try phone.store.history(of: name) else { return }
    for field in history.fields {
      let time = StoryClock.text(milliseconds: field.stamp.time.milliseconds)
      let writer = padded(try devices.name(of: field.stamp.dot.replica), 6)
      terminal.say("  \(padded(field.field, 10)) \(writer) \(time)  \(text(field.value))")
      for lost in history.conflicts where lost.field == field.field {
        let time = StoryClock.text(milliseconds: lost.loser.time.milliseconds)
        let loser = padded(try devices.name(of: lost.loser.dot.replica), 6)
        terminal.say("  \(padded("  lost", 10)) \(loser) \(time)  \(text(lost.loserValue))")
      }
    }
  }

  private func text(_ value: Value) -> String {
    switch value {
    case .null: "nothing"
    case .integer(let number): "\(number)"
    case .real(let number): "\(number)"
    case .text(let text): "\"\(text)\""
    case .blob(let bytes): "\(bytes.count) bytes"
    }
  }
}
