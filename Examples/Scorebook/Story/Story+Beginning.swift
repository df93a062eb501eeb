import Foundation
import Tally

/// The introduction and the first act: one device has everything, the other nothing.
extension Story {
  func tellWhatThisIs() {
    terminal.say()
    terminal.row(terminal.styled("SCOREBOOK: two devices, one scorebook, no server", .bold))
    terminal.say()
    terminal.say(
      "A phone and a tablet keep the same scorebook, each in an SQLite file of its own. They work without a network and "
        + "meet now and then. What each does while they are apart stands in its column. When they meet, a table shows "
        + "what each had and what both have then; its last line, \"has seen\", is the state vector: how many "
        + "transactions of each device are in the file. ✓ is something that was checked on both.")
  }

  func tellHowItBegan() throws {
    terminal.act("1  The phone has a scorebook, the tablet is empty")
    let (cast, evenings) = (cast, [first, second, third])
    // First the files, then the rows that name them.
    let pictures = try evenings.map { try phone.store.assets.add($0.photograph.png, type: "png") }
    try phone.does("18:00", day: 7, "enters six persons, two games, matches") { db in
      for person in cast.persons { try person.insert(db) }
      for game in [cast.chess, cast.skat] { try game.insert(db) }
      for (evening, picture) in zip(evenings, pictures) { try evening.insert(db, picture) }
    }
    try phone.does("18:10", day: 7, "puts Ann, Ben and Cléo down for chess, which is Ann's favorite") { db in
      try SBGame.players.set(db, [cast.ann.id, cast.ben.id, cast.cleo.id], of: cast.chess.id)
      try SBGame.favorites.insert(db, cast.ann.id, to: cast.chess.id)
    }
    try meet { db in
      [
        Fact("persons", try SBPerson.fetchCount(db)), Fact("games", try SBGame.fetchCount(db)),
        Fact("matches", try SBMatch.fetchCount(db)), Fact("players", try SBPlayer.fetchCount(db)),
        Fact("scores", try SBScore.fetchCount(db)),
        Fact("play chess", list(try SBGame.names(db, SBGame.players, of: cast.chess.id))),
      ]
    }
    try checkBoth("the tablet has all of it") { db in
      try SBMatch.fetchCount(db) == 3 && SBPlayer.fetchCount(db) == 7 && SBScore.fetchCount(db) == 7
    }
    let files = try pictures.map { try tablet.store.assets.url(of: $0).map { try Data(contentsOf: $0) } }
    check("its three pictures have come too: files beside the database", files == evenings.map(\.photograph.png))
  }

  /// Names in a row.
  func list(_ names: [String]) -> String { names.isEmpty ? "nobody" : names.joined(separator: ", ") }
}
