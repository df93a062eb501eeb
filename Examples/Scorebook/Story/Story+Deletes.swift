import Tally

/// Acts 5 to 8: deleted here, edited there; deleted for good; deleted without being an owner; brought back.
extension Story {
  func tellOfTheRevivedMatch() throws {
    terminal.act("5  Deleted here, scored there: the match comes back, whole")
    let (match, ben) = (second.match, second.players[1])
    try phone.does("20:20", "deletes the match in the café, and with it all that it owns") { db in
      _ = try match.delete(db)
    }
    let late = SBScore(id: try RecordName(key: "match-2-ben-2"), round: 2, points: 48, player: ben.id)
    try tablet.does("20:21", "gives Ben 48 points in the second round of that match") { db in try late.insert(db) }
    try meet { db in
      let ben = try Standing.all(in: match.id, db).first { $0.name == "Ben" }
      return try belongings(of: match.id, db) + [Fact("Ben's points", ben?.points)]
    }
    try checkBoth("nothing is lost: three players, four scores, the image, the place") { db in
      try Belongings(of: match.id, db) == Belongings(isThere: true, players: 3, scores: 4, images: 1, locations: 1)
    }
    try checkBoth("Ben leads with 72 points") { db in
      let standings = try Standing.all(in: match.id, db)
      return standings.first?.name == "Ben" && standings.first?.points == 72
    }
  }

  func tellOfTheDeletedMatch() throws {
    terminal.act("6  A delete that nobody contradicts stays a delete")
    let match = third.match.id
    try tablet.does("20:30", "deletes the match on the train") { db in _ = try third.match.delete(db) }
    try meet { db in try belongings(of: match, db) }
    try phone.does("20:31", "marks the match in Ann's kitchen as finished") { db in
      try SBMatch.filter(key: first.match.id).updateAll(db, Column("isFinished").set(to: true))
    }
    try tablet.does("20:32", "gives Finn a nickname") { db in
      try SBPerson.filter(key: cast.finn.id).updateAll(db, Column("nickname").set(to: "the Fin"))
    }
    try meet("again, and again nobody brings it back") { db in
      [Fact("the match", try Belongings(of: match, db).isThere ? "there" : "gone")]
    }
    try checkBoth("the match on the train is gone, with everything in it") { db in
      try Belongings(of: match, db) == Belongings()
    }
  }

  func tellOfTheDeletedPerson() throws {
    terminal.act("7  A person is not an owner: without Dora the score sheets stay")
    let seat = second.players[2]
    try tablet.does("20:33", "deletes Dora") { db in _ = try cast.dora.delete(db) }
    try meet { db in
      let player = try SBPlayer.find(db, key: seat.id)
      let person = try player.person.flatMap { try SBPerson.fetchOne(db, key: $0) }
      let score = try player.request(for: SBPlayer.scores).fetchOne(db)
      return [
        Fact("name on the sheet", player.name), Fact("refers to", person?.name ?? "nobody"),
        Fact("points", score?.points),
      ]
    }
    try checkBoth("her seat in the café is still there, with her name and points, and refers to nobody") { db in
      let player = try SBPlayer.find(db, key: seat.id)
      let scores = try player.request(for: SBPlayer.scores).fetchCount(db)
      return player.person == nil && player.name == "Dora" && scores == 1
    }
  }

  func tellOfTheUndo() throws {
    terminal.act("8  Undo: a deleted match comes back complete, on both devices")
    let match = third.match.id
    try phone.restores(match, "20:40", "restores the match on the train")
    try meet { db in
      try belongings(of: match, db) + [Fact("note", try SBMatch.fetchOne(db, key: match)?.note)]
    }
    try checkBoth("its two players, two scores, image and place are there again") { db in
      try Belongings(of: match, db) == Belongings(isThere: true, players: 2, scores: 2, images: 1, locations: 1)
    }
  }

  private func belongings(of match: RecordName<SBMatch>, _ db: Database) throws -> [Fact] {
    let found = try Belongings(of: match, db)
    return [
      Fact("the match", found.isThere ? "there" : "gone"),
      Fact("players, scores", "\(found.players), \(found.scores)"),
      Fact("images, places", "\(found.images), \(found.locations)"),
    ]
  }
}

/// Whether a match is there, and how much belongs to it.
private struct Belongings: Equatable {
  var isThere = false
  var players = 0
  var scores = 0
  var images = 0
  var locations = 0
}

extension Belongings {
  init(of match: RecordName<SBMatch>, _ db: Database) throws {
    let ofMatch = Column("match") == match
    let players = try SBPlayer.filter(ofMatch).fetchAll(db)
    self.init(
      isThere: try SBMatch.exists(db, key: match), players: players.count,
      scores: try SBScore.filter(players.map(\.id).contains(Column("player"))).fetchCount(db),
      images: try SBMatchImage.filter(ofMatch).fetchCount(db),
      locations: try SBMatchLocation.filter(ofMatch).fetchCount(db))
  }
}
