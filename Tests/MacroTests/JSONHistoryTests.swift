#if Macros
  import Foundation
  import Tally
  import TallyMacros
  import TallyTesting
  import TestEffort
  import Testing

  /// What an older version of an app knows of a document.
  @Entity private struct Board {
    struct Note: Codable, Equatable, Sendable {
      var text: String
    }
    struct Card: Codable, Equatable, Sendable {
      var id: Int
      var name: String
      var note: Note?
      var tags: [Note] = []
    }
    struct Content: Codable, Equatable, Sendable {
      var cards: [Card] = []
      var named: [String: Card] = [:]
      var pinned: Card?
    }
    var id = RecordName<Board>()
    var title = ""
    var content = Content()
  }

  /// The same as a newer version has it: each object has one key more, which tells whose it was.
  private struct Newer: Codable, Equatable {
    struct Note: Codable, Equatable {
      var text: String
      var mark: Int?
    }
    struct Card: Codable, Equatable {
      var id: Int
      var name: String
      var note: Note?
      var tags: [Note] = []
      var mark: Int?
    }
    var cards: [Card] = []
    var named: [String: Card] = [:]
    var pinned: Card?
    var mark: Int?
  }

  /// Whatever an older version changes, one thing after the other, what only a newer one knows stays where it was.
  @Suite struct JSONHistoryTests {
    /// One document, as the record has it and as it ought to be.
    private struct History {
      var random: SplitMix64
      var board: Board
      var newer = Newer()
      private var next = 0

      init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        board = Board()
        newer.mark = number()
        for _ in 0..<random.next() % 4 { newer.cards.append(card()) }
        for _ in 0..<random.next() % 3 { newer.named["key \(number())"] = card() }
        if random.next() % 2 == 0 { newer.pinned = card() }
      }

      private mutating func number() -> Int {
        next += 1
        return next
      }

      private mutating func below(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }

      private mutating func note() -> Newer.Note { Newer.Note(text: "note \(number())", mark: number()) }

      private mutating func card() -> Newer.Card {
        var card = Newer.Card(id: number(), name: "card", mark: number())
        if random.next() % 2 == 0 { card.note = note() }
        for _ in 0..<random.next() % 3 { card.tags.append(note()) }
        return card
      }

      /// A card that the older version makes: it knows of no marks.
      private mutating func made() -> (Board.Card, Newer.Card) {
        let (id, text) = (number(), "note \(number())")
        return (
          Board.Card(id: id, name: "made", note: .init(text: text), tags: []),
          Newer.Card(id: id, name: "made", note: .init(text: text, mark: nil), tags: [], mark: nil)
        )
      }

      /// Changes a card in its place, on both sides.
      private mutating func change(
        _ old: WritableKeyPath<Board.Content, Board.Card>, _ new: WritableKeyPath<Newer, Newer.Card>
      ) {
        let name = "name \(number())"
        switch below(5) {
        case 0:
          board.content[keyPath: old].name = name
          newer[keyPath: new].name = name
        case 1:
          board.content[keyPath: old].note = nil
          newer[keyPath: new].note = nil
        case 2:
          board.content[keyPath: old].note = .init(text: name)
          // In the place of another it is that one, changed.
          newer[keyPath: new].note = .init(text: name, mark: newer[keyPath: new].note?.mark)
        case 3:
          board.content[keyPath: old].tags.insert(.init(text: name), at: 0)
          newer[keyPath: new].tags.insert(.init(text: name, mark: nil), at: 0)
        default:
          guard !newer[keyPath: new].tags.isEmpty else { return }
          let place = below(newer[keyPath: new].tags.count)
          if below(2) == 0 {
            board.content[keyPath: old].tags.remove(at: place)
            newer[keyPath: new].tags.remove(at: place)
          } else {
            board.content[keyPath: old].tags[place].text = name
            newer[keyPath: new].tags[place].text = name
          }
        }
      }

      /// One change of the older version.
      mutating func step() {
        let (old, new) = made()
        let count = newer.cards.count
        switch below(9) {
        case 0:
          let place = below(count + 1)
          board.content.cards.insert(old, at: place)
          newer.cards.insert(new, at: place)
        case 1 where count > 0:
          let place = below(count)
          board.content.cards.remove(at: place)
          newer.cards.remove(at: place)
        case 2 where count > 1:
          let (one, other) = (below(count), below(count))
          board.content.cards.swapAt(one, other)
          newer.cards.swapAt(one, other)
        case 3 where count > 0:
          board.content.cards.reverse()
          newer.cards.reverse()
        case 4 where count > 0:
          let place = below(count)
          change(\.cards[place], \.cards[place])
        case 5:
          let key = "key \(number())"
          board.content.named[key] = old
          newer.named[key] = new
        case 6 where !newer.named.isEmpty:
          let key = newer.named.keys.sorted()[below(newer.named.count)]
          if below(2) == 0 {
            board.content.named[key] = nil
            newer.named[key] = nil
          } else {
            change(\.named[key]!, \.named[key]!)
          }
        case 7:
          board.content.pinned = newer.pinned == nil ? old : nil
          newer.pinned = newer.pinned == nil ? new : nil
        case 8 where newer.pinned != nil: change(\.pinned!, \.pinned!)
        default: board.title = "title \(number())"
        }
      }
    }

    @Test(arguments: Effort.seeds(20)) func keysStayWhereTheyWere(_ seed: UInt64) throws {
      let store = try Store(inMemory: Schema(Board.self))
      var history = History(seed: seed)
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys]
      let text = String(decoding: try encoder.encode(history.newer), as: UTF8.self)
      try store.write { db in
        try history.board.insert(db)
        try db.execute(sql: "UPDATE Board SET content = ?", arguments: [text])
        history.board = try #require(try Board.fetchOne(db))
        for _ in 0..<40 {
          history.step()
          switch history.random.next() % 6 {
          case 0: try history.board.update(db)
          case 1:
            try history.board.update(db)
            history.board = try #require(try Board.fetchOne(db))
          default: break
          }
        }
        try history.board.save(db)
        let saved = try #require(try String.fetchOne(db, sql: "SELECT content FROM Board"))
        let found = try JSONDecoder().decode(Newer.self, from: Data(saved.utf8))
        #expect(found == history.newer, "seed \(seed): \(saved)")
      }
    }
  }
#endif
