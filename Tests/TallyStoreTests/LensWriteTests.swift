import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyRig
import TallyStore
import Testing

/// Writes to fields that take the place of others: the older column is written with the row's clock, and edits that
/// peers send are joined by their stamps.
@Suite struct LensWriteTests {
  let scratch: Scratch
  private static let old = Schema([
    EntitySchema("Item", .text("title"), .real("price"), .bool("done", default: false))
  ])
  private static let new = Schema([
    EntitySchema(
      "Item", .text("title"), .integer("cents", from: .lens("price", .real, .scale(100))),
      .text("amount", from: .lens("cents", .integer, .digits)),
      .text(
        "state", default: "open",
        from: .lens("done", .bool, default: false, .map([false: "open", true: "done", true: "paid"]))))
  ])

  init() throws { scratch = try Scratch() }

  private func run(_ store: Store, _ sql: String) throws { try store.write { try $0.execute(sql: sql) } }

  private func rows(_ store: Store, _ columns: String) throws -> [Row] {
    try store.read { try Row.fetchAll($0, sql: "SELECT id, \(columns) FROM Item ORDER BY id") }
  }

  /// Two stores of the new version that have one item, and what they have seen of each other.
  private func pair() throws -> (one: Store, other: Store) {
    let (one, other) = (try scratch.store("one", schema: Self.new), try scratch.store("other", schema: Self.new))
    try run(one, "INSERT INTO Item(id, title, amount, state) VALUES('Item|~|a', 't', '100', 'done')")
    #expect(try one.sync(with: other).isConverged)
    return (one, other)
  }

  /// Each is the whole of a transaction. After it the row is what the state says, and devices of either version show
  /// the same.
  @Test func everyFormOfAWriteLeavesARowThatItsStateSays() throws {
    let (older, newer) = (try scratch.store("older", schema: Self.old), try scratch.store("newer", schema: Self.new))
    let third = try scratch.store("third", schema: Self.new)
    let statements = [
      "INSERT INTO Item(id, amount, state) VALUES('Item|~|a', '250', 'paid'), ('Item|~|b', '1', 'done')",
      "INSERT INTO Item(id, price, done) VALUES('Item|~|c', 3, 1)",
      "INSERT INTO Item(id, cents, price, state, done) VALUES('Item|~|d', 5, 9, 'done', 0)",
      "INSERT INTO Item(id, cents, price, state, done) VALUES('Item|~|e', NULL, 9, 'open', 1)",
      "INSERT INTO Item(id, amount, state) VALUES('Item|~|f', 'many', 'lost')",
      "INSERT INTO Item(id) VALUES('Item|~|g')",
      "UPDATE Item SET amount = '300'", "UPDATE Item SET cents = cents + 1, state = 'paid'",
      "UPDATE Item SET amount = '310', price = 1, title = 'x' WHERE id IN ('Item|~|a', 'Item|~|d')",
      "UPDATE Item SET title = 'y'", "UPDATE Item SET state = 'lost', cents = NULL WHERE id = 'Item|~|a'",
      "UPDATE Item SET state = 'done'", "UPDATE Item SET price = 4, done = 0 WHERE id < 'Item|~|d'",
      "UPDATE Item SET state = 'open', done = 1", "UPDATE Item SET amount = 'many'", "UPDATE Item SET amount = NULL",
      "UPDATE Item SET amount = '7', cents = 8, price = 9",
    ]
    for statement in statements {
      try run(newer, statement)
      for store in [older, third] { #expect(try store.sync(with: newer).isConverged) }
      #expect(try rows(older, "title, price, done") == rows(newer, "title, price, done"), "\(statement)")
      #expect(
        try rows(third, "title, price, cents, amount, done, state")
          == rows(newer, "title, price, cents, amount, done, state"), "\(statement)")
      try expectConverged(older, newer, third)
    }
    let last = try rows(newer, "price, amount")
    #expect(last.count == 7 && last.allSatisfy { $0["amount"] as String? == "7" && $0["price"] as Double? == 0.07 })
  }

  /// Whichever of the two arrives first.
  @Test func anEarlierEditOfAPeerLosesInAllItsFieldsAndIsToldOnce() throws {
    let (one, other) = try pair()
    try run(one, "UPDATE Item SET amount = '200'")
    Thread.sleep(forTimeInterval: 0.003)
    try run(other, "UPDATE Item SET amount = '300', title = 'u'")
    let (there, back) = (try one.delta(since: other.vector), try other.delta(since: one.vector))
    for (store, delta) in [(other, there), (one, back)] {
      try store.apply(delta)
      #expect(try rows(store, "price, cents, title") == [["id": "Item|~|a", "price": 3, "cents": 300, "title": "u"]])
      #expect(try store.conflicts().map(\.field) == ["amount"])
      #expect(try store.conflicts().first?.loserValue == .text("200"))
      #expect(try store.verify().problems == [])
    }
    try expectConverged(one, other)
  }

  /// An edit of an old version is between two of the new one: it hides the first of these, and the second hides it.
  @Test func editsOfOldAndNewAppsFollowEachOther() throws {
    let (one, other) = try pair()
    let older = try scratch.store("older", schema: Self.old)
    for (number, cents) in [(1, 500), (2, 600), (3, 700)] {
      try run(one, "UPDATE Item SET amount = '\(cents)', state = 'paid'")
      for store in [older, other] { #expect(try store.sync(with: one).isConverged) }
      #expect(try rows(other, "cents, state") == [["id": "Item|~|a", "cents": cents, "state": "paid"]])
      try run(older, "UPDATE Item SET price = \(number), done = 0")
      for store in [one, other] { #expect(try store.sync(with: older).isConverged) }
      for store in [one, other] {
        let shown: Row = ["id": "Item|~|a", "price": number, "cents": number * 100, "state": "open"]
        #expect(try rows(store, "price, cents, state") == [shown])
      }
      try expectConverged(one, other, older)
    }
  }

  /// A value of the older column that an index refuses fails the whole transaction, with all that was written before.
  @Test func anInsertWhoseOlderValueIsRefusedFailsWithAllOthers() throws {
    let store = try scratch.store("a", schema: Self.new)
    try run(store, "CREATE UNIQUE INDEX app_price ON Item(price)")
    try run(store, "INSERT INTO Item(id, cents) VALUES('Item|~|a', 500)")
    let before = try store.summary()
    do {
      try run(store, "INSERT INTO Item(id, cents) VALUES('Item|~|b', 600), ('Item|~|c', 500), ('Item|~|d', 700)")
      Issue.record("two rows have one price")
    } catch let error as StoreError {
      #expect(error.code == .writeIgnored)
    }
    #expect(try store.summary() == before)
    #expect(try rows(store, "price, cents") == [["id": "Item|~|a", "price": 5, "cents": 500]])
    try run(store, "INSERT INTO Item(id, cents) VALUES('Item|~|b', 600), ('Item|~|d', 700)")
    #expect(try rows(store, "price").map { $0["price"] as Double? } == [5, 6, 7])
    try expectConverged(store)
  }
}
