import GRDB
import Tally

/// Acts 5 to 7: deleted here, edited there; deleted for good; brought back.
extension Story {
  func tellOfTheRevivedMatch() throws {
    terminal.act("5. Deleted here, scored there: the match comes back, whole")
    let (match, ben) = (second.match, second.players[1])
    try phone.does("20:20", "deletes the match in the café") { db in _ = try match.delete(db) }
    let gone = try phone.store.read { try count(of: match.id, $0) }
    check("on the phone its players, scores, image and place are gone with it", gone == Belongings())
    let late = SBScore(id: try RecordName(key: "match-2-ben-2"), round: 2, points: 48, player: ben.id)
    try tablet.does("20:21", "gives Ben 48 points in the second round of that match") { db in try late.insert(db) }
    try sync()
    try checkBoth("the match is there, with three players, four scores, its image and its place") { db in
      try count(of: match.id, db) == Belongings(players: 3, scores: 4, images: 1, locations: 1)
    }
    try checkBoth("Ben leads with 72 points") { db in
      let standings = try Standing.all(in: match.id, db)
      return standings.first?.name == "Ben" && standings.first?.points == 72
    }
  }

  func tellOfTheDeletedMatch() throws {
    terminal.act("6. A delete that nobody contradicts stays a delete")
    let (match, finn) = (third.match, cast.finn.id)
    try tablet.does("20:30", "deletes the match on the train") { db in _ = try match.delete(db) }
    try sync()
    try phone.does("20:31", "finishes the match in Ann's kitchen") { db in
      try SBMatch.filter(key: first.match.id).updateAll(db, Column("isFinished").set(to: true))
    }
    try sync("again")
    try tablet.does("20:32", "gives Finn a nickname") { db in
      try SBPerson.filter(key: finn).updateAll(db, Column("nickname").set(to: "the Fin"))
    }
    try sync("and again")
    try checkBoth("the match on the train is still gone, with everything in it") { db in
      try SBMatch.exists(db, key: match.id) == false && count(of: match.id, db) == Belongings()
    }
    terminal.say("A person is not an owner: without Dora the score sheets stay.")
    try tablet.does("20:33", "deletes Dora") { db in _ = try cast.dora.delete(db) }
    try sync()
    let seat = second.players[2]
    try checkBoth("her seat in the café is still there, with her name and points, and refers to nobody") { db in
      let player = try SBPlayer.find(db, key: seat.id)
      let scores = try player.request(for: SBPlayer.scores).fetchCount(db)
      return player.person == nil && player.name == "Dora" && scores == 1
    }
  }

  func tellOfTheUndo() throws {
    terminal.act("7. Undo: a deleted match comes back complete, on both devices")
    let match = third.match.id
    try phone.restores(match, "20:40", "restores the match on the train")
    try sync()
    try checkBoth("it has its two players, two scores, image and place again") { db in
      try count(of: match, db) == Belongings(players: 2, scores: 2, images: 1, locations: 1)
    }
    try checkBoth("and its note") { db in try SBMatch.find(db, key: match).note == "played on the train" }
  }

  private func count(of match: RecordName<SBMatch>, _ db: Database) throws -> Belongings {
    let ofMatch = Column("match") == match
    let players = try SBPlayer.filter(ofMatch).fetchAll(db)
    return Belongings(
      players: players.count, scores: try SBScore.filter(players.map(\.id).contains(Column("player"))).fetchCount(db),
      images: try SBMatchImage.filter(ofMatch).fetchCount(db),
      locations: try SBMatchLocation.filter(ofMatch).fetchCount(db))
  }
}

/// How much belongs to a match.
private struct Belongings: Equatable {
  var players = 0
  var scores = 0
  var images = 0
  var locations = 0
}
