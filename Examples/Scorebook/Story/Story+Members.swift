import Tally

/// Act 4: both devices change who plays.
extension Story {
  func tellOfPlayers() throws {
    terminal.act("4  Players added and removed on both sides: an add wins over a remove that did not see it")
    let (chess, cast) = (cast.chess.id, cast)
    try phone.does("20:10", "adds Dora to the chess players, removes Ben and Cléo") { db in
      try SBGame.players.insert(db, cast.dora.id, to: chess)
      try SBGame.players.remove(db, cast.ben.id, from: chess)
      try SBGame.players.remove(db, cast.cleo.id, from: chess)
    }
    try tablet.does("20:11", "adds Emil, and removes Ben by mistake") { db in
      try SBGame.players.insert(db, cast.emil.id, to: chess)
      try SBGame.players.remove(db, cast.ben.id, from: chess)
    }
    try tablet.does("20:12", "puts Ben back") { db in
      try SBGame.players.insert(db, cast.ben.id, to: chess)
    }
    try phone.does("20:13", "lets Dora begin") { db in
      try SBGame.players.move(db, cast.dora.id, of: chess, to: .first)
    }
    try tablet.does("20:13", "makes it Cléo's favorite, with plain SQL") { db in
      try db.execute(
        sql: "INSERT INTO SBGame_favorites(source, target) VALUES(?, ?)", arguments: [chess, cast.cleo.id])
    }
    try meet { db in
      [
        Fact("play chess, in turn", list(try SBGame.playerNames(db, of: chess))),
        Fact("like chess best", list(try SBGame.names(db, SBGame.favorites, of: chess))),
      ]
    }
    try checkBoth("Dora and Emil are both in") { db in
      try SBGame.players.members(db, of: chess).isSuperset(of: [cast.dora.id, cast.emil.id])
    }
    try checkBoth("Dora begins") { db in try SBGame.players.ordered(db, of: chess).first == cast.dora.id }
    try checkBoth("Ben stays: the phone had not seen that he was put back") { db in
      try SBGame.players.members(db, of: chess).contains(cast.ben.id)
    }
    try checkBoth("Cléo is out, for nobody added her again; her favorite is another relationship, and stays") { db in
      let isPlayer = try SBGame.players.members(db, of: chess).contains(cast.cleo.id)
      return try !isPlayer && SBGame.favorites.members(db, of: chess) == [cast.ann.id, cast.cleo.id]
    }
  }
}
