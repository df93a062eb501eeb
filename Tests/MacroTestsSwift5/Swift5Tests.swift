#if Macros
  import Foundation
  import Tally
  import TallyMacros
  import Testing

  /// Entities in an app that is still in Swift 5 mode.
  @Suite struct Swift5Tests {
    enum Level: String { case easy, hard }

    @Entity struct Game: Equatable {
      var id = RecordName<Game>()
      var title = ""
      var level: Level = .easy
      var tags: [String] = []
      var parent: RecordName<Game>?
      @Members static var friends: Relationship<Game, Game>
    }

    @Test func anEntityInSwift5() throws {
      let store = try Store(inMemory: Schema(Game.self))
      let (chess, blitz) = (Game(title: "Chess", tags: ["board"]), Game(title: "Blitz", level: .hard))
      try store.write { db in
        try chess.insert(db)
        try blitz.insert(db)
        try Game.friends.insert(db, blitz.id, to: chess.id)
      }
      #expect(try store.read { try Game.order(Game.Columns.title).fetchAll($0) } == [blitz, chess])
      #expect(try store.read { try Game.friends.members($0, of: chess.id) } == [blitz.id])
    }
  }
#endif
