// swift-format-ignore-file
// Made by Scripts/doc-examples.sh from the examples of pages and documentation comments. Compiled, not run.

import Foundation
import Observation
import Tally
import TallyStore
import TallySync
import TallyImport
import TallyRecovery
import TallyRelay
import TallyTesting
import Testing

@testable import Pantry
@testable import struct Pantry.Tag

#if Macros
  import TallyMacros
#endif
#if Inspector
  import TallyInspector
#endif
#if Network
  import TallyNetwork
#endif
#if canImport(CloudKit)
  import CloudKit
  import TallyCloudKit
#endif

// Sources/TallyStore/Store/OrderedChildren.swift
private enum Sources_TallyStore_Store_OrderedChildren_swift_1 {
struct Chapter: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema(
    "Chapter", .text("title"), .reference("book", to: "Book", onDelete: .cascade),
    .position("rank", within: "book"))
  static let inBook = OrderedChildren<Chapter, Book>("rank")
  var id = RecordName<Chapter>()
  var title: String?
  var book: RecordName<Book>?
  var rank: ListPosition?
}
}

// Sources/TallyStore/Store/OrderedChildren.swift
private func Sources_TallyStore_Store_OrderedChildren_swift_2() throws {
try store.write { db in
  let rank = try Chapter.inBook.position(db, at: .last, of: novel)
  try Chapter(title: "The end", book: novel, rank: rank).insert(db)
}
}

// Sources/TallyStore/Store/OrderedChildren.swift
private func Sources_TallyStore_Store_OrderedChildren_swift_3() throws {
let chapters = try Chapter.inBook.ordered(db, of: novel)
_ = chapters
}

// Sources/TallyStore/Store/OrderedChildren.swift
private func Sources_TallyStore_Store_OrderedChildren_swift_4() throws {
let rank = try Chapter.inBook.position(db, at: .first, of: novel)
_ = rank
}

// Sources/TallyStore/Store/OrderedChildren.swift
private func Sources_TallyStore_Store_OrderedChildren_swift_5() throws {
try store.write { db in try Chapter.inBook.move(db, intro, to: .after(ending), of: novel) }
}

// Sources/TallyStore/Store/OrderedChildren.swift
private func Sources_TallyStore_Store_OrderedChildren_swift_6() throws {
try store.write { db in try Chapter.inBook.setOrder(db, [ending, intro], of: novel) }
}

// Sources/TallyStore/Store/Relationship+Association.swift
private enum Sources_TallyStore_Store_Relationship_Association_swift_1 {
struct GameWithPlayers: Decodable, FetchableRecord {
  var game: Game
  var players: [Person]

  static func all(_ db: Database) throws -> [GameWithPlayers] {
    let players = Game.players.association.order(Column("name"))
    return try Game.including(all: players).asRequest(of: Self.self).fetchAll(db)
  }
}
}

// Sources/TallyStore/Store/Relationship+Association.swift
private func Sources_TallyStore_Store_Relationship_Association_swift_2() throws {
let busy = try Person.having(Game.players.inverse.isEmpty == false).fetchAll(db)
_ = busy
}

// Sources/TallyStore/Store/Relationship.swift
extension Game { static let players = Relationship<Game, Person>("players") }

// Sources/TallyStore/Store/Relationship.swift
private func Sources_TallyStore_Store_Relationship_swift_2() throws {
try Game.players.insert(db, ann, to: chess)
let names = try Game.players.members(db, of: chess)
_ = names
}

// Sources/TallyStore/Store/Relationship.swift
private func Sources_TallyStore_Store_Relationship_swift_3() throws {
let players = Relationship<Game, Person>("players")
_ = players
}

// Sources/TallyStore/Store/Relationship.swift
private func Sources_TallyStore_Store_Relationship_swift_4() throws {
let players = try Person.filter(keys: Game.players.members(db, of: chess)).fetchAll(db)
_ = players
}

// Sources/TallyStore/Store/Relationship.swift
private func Sources_TallyStore_Store_Relationship_swift_5() throws {
let games = try Game.filter(keys: Game.players.sources(db, of: ann)).fetchAll(db)
_ = games
}

// Sources/TallyStore/Store/Relationship.swift
private func Sources_TallyStore_Store_Relationship_swift_6() throws {
try store.write { db in try Game.players.insert(db, ann, to: chess) }
}

// Sources/TallyStore/Store/Relationship.swift
private func Sources_TallyStore_Store_Relationship_swift_7() throws {
try store.write { db in try Game.players.insert(db, ann, to: chess, at: .first) }
}

// Sources/TallyStore/Store/Relationship.swift
private func Sources_TallyStore_Store_Relationship_swift_8() throws {
try store.write { db in try Game.players.move(db, ann, of: chess, to: .last) }
}

// Sources/TallyStore/Store/Relationship.swift
private func Sources_TallyStore_Store_Relationship_swift_9() throws {
try store.write { db in try Game.players.setOrder(db, [ann], of: chess) }
}

// Sources/TallyStore/Store/Relationship.swift
private func Sources_TallyStore_Store_Relationship_swift_10() throws {
let players = try Game.players.ordered(db, of: chess)
_ = players
}

// Sources/TallyStore/Store/Relationship.swift
private func Sources_TallyStore_Store_Relationship_swift_11() throws {
try store.write { db in try Game.players.remove(db, ann, from: chess) }
}

// Sources/TallyStore/Store/Relationship.swift
private func Sources_TallyStore_Store_Relationship_swift_12() throws {
try store.write { db in try Game.players.set(db, [ann], of: chess) }
}
