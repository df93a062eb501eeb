#if Macros
  import Foundation
  import Tally
  import TallyMacros
  import Testing

  // In this module everything belongs to the main actor unless it says otherwise, as in a new app of Xcode's.

  /// What a property holds is used on the database's threads, so it must not belong to the main actor.
  nonisolated enum Level: String { case easy, hard }

  nonisolated struct Address: Codable, Hashable { var street = "" }

  /// The entity itself says nothing.
  @Entity struct Game: Equatable {
    var id = RecordName<Game>()
    var title = ""
    var level: Level = .easy
    var address: Address = Address()
    var boughtAt = Date(timeIntervalSince1970: 0)
    var parent: RecordName<Game>?
    @Members static var friends: Relationship<Game, Game>
  }

  @Suite struct MainActorTests {
    @Test func anEntityWhereTheMainActorIsTheDefault() async throws {
      let store = try Store(inMemory: Schema(Game.self))
      let (chess, blitz) = (Game(title: "Chess"), Game(title: "Blitz", level: .hard))
      try await store.write { db in
        try chess.insert(db)
        try blitz.insert(db)
        try Game.friends.insert(db, blitz.id, to: chess.id)
      }
      let games = try await store.read { try Game.order(Game.Columns.title).fetchAll($0) }
      #expect(games == [blitz, chess])
      let titles = try await Self.titles(store)
      #expect(titles == ["Blitz", "Chess"])
    }

    /// Off the main actor.
    @concurrent private static func titles(_ store: Store) async throws -> [String] {
      try await store.read { db in
        let games = try Game.filter { $0.level == Level.hard.rawValue || $0.title == "Chess" }.fetchAll(db)
        let friends = try games.flatMap { try Game.friends.members(db, of: $0.id) }
        guard let first = games.first, first != games.last, friends.count == 1 else { return [] }
        return games.map(\.title).sorted()
      }
    }
  }
#endif
