import Foundation
import GRDB
import Tally
import TallyRig
import TallyStore
import Testing

/// Several unique rules and indexes on one type, columns that do not admit null, and what a tool does to them.
extension UniqueFieldTests {
  private static let unique = [UniqueRule.on("name", .rename), .on("code")]

  private func rows(_ store: Store) throws -> [String] { try Lab.rows(store, "Shop") }

  private func shown(_ store: Store, _ id: String) throws -> String? {
    try Lab.text(
      store,
      "SELECT ifnull(name, '-') || ' ' || ifnull(code, '-') || ' ' || ifnull(note, '-') FROM Shop WHERE id = '\(id)'")
  }

  private static let orders = [["1", "2", "3"], ["3", "2", "1"], ["2", "3", "1"], ["2", "1", "3"]]

  /// Three shops that both devices have, the last with this note, and what keeps notes unique: an index of the app's,
  /// or a rule.
  private func waiting(
    _ path: CapturePath, _ index: String, _ order: [String], note: String
  ) throws -> (lab: Lab, x: String, y: String, z: String) {
    let names = order.map { "Shop|~|\($0)" }
    let rules = index.isEmpty ? Self.unique + [.on("note", .hide)] : Self.unique
    let lab = try Lab(path, Self.schema(rules))
    try lab.a.run(
      """
      INSERT INTO Shop(id, name, code, note)
      VALUES('\(names[0])', 'Corner', 1, 'x'), ('\(names[1])', 'Store', 2, 'y'), ('\(names[2])', 'Zoo', 3, '\(note)')
      """)
    try lab.sync()
    if !index.isEmpty { for store in [lab.a, lab.b] { try store.run(index) } }
    return (lab, names[0], names[1], names[2])
  }

  /// One column waits for another record's value for good, and one beside it for the time being.
  @Test(arguments: CapturePath.allCases, ["CREATE UNIQUE INDEX own ON Shop(note)", ""])
  func aRowThatWaitsInTwoColumnsShowsBothInTheEnd(_ path: CapturePath, _ index: String) throws {
    for order in Self.orders {
      let (lab, x, y, z) = try waiting(path, index, order, note: "n")
      try lab.b.run("UPDATE Shop SET name = 'Market' WHERE id = '\(y)'")
      try lab.a.run(
        "UPDATE Shop SET note = 'q', code = 4 WHERE id = '\(z)'",
        "UPDATE Shop SET name = 'Market', note = 'n', code = 3 WHERE id = '\(x)'")
      try lab.sync()
      for store in [lab.a, lab.b] {
        #expect(try shown(store, x) == "\(renamed("Market", x)) 3 n", "\(order)")
        #expect(try shown(store, y) == "Market 2 y", "\(order)")
        #expect(try shown(store, z) == "Zoo 4 q", "\(order)")
        #expect(try store.status().setAside.isEmpty)
      }
      try lab.expectEqual(["Shop", "tally_unique"])
    }
  }

  /// One column waits for another record's value, and one beside it keeps the record out for good.
  @Test(arguments: CapturePath.allCases, ["CREATE UNIQUE INDEX own ON Shop(note)", ""])
  func aRowThatWaitsAndIsKeptOutIsKeptOutEverywhere(_ path: CapturePath, _ index: String) throws {
    for order in Self.orders {
      let (lab, x, y, z) = try waiting(path, index, order, note: "z")
      try lab.b.run(
        "UPDATE Shop SET name = 'Market' WHERE id = '\(y)'", "UPDATE Shop SET note = 'n' WHERE id = '\(z)'")
      try lab.a.run("UPDATE Shop SET name = 'Market', note = 'n', code = 4 WHERE id = '\(x)'")
      try lab.sync()
      for store in [lab.a, lab.b] {
        #expect(try shown(store, x) == nil, "\(order)")
        #expect(try shown(store, y) == "Market 2 y", "\(order)")
        #expect(try shown(store, z) == "Zoo 3 n", "\(order)")
        #expect(try store.status().setAside.count == 1)
      }
      try lab.expectEqual(["Shop", "tally_unique"])
      try lab.b.run("UPDATE Shop SET note = 'free' WHERE id = '\(z)'")
      try lab.sync()
      for store in [lab.a, lab.b] {
        #expect(try shown(store, x) == "\(renamed("Market", x)) 4 n", "\(order)")
      }
      try lab.expectEqual(["Shop", "tally_unique"])
    }
  }

  /// A table in which an app admits no null, or no text that is longer than some.
  private func strict(
    _ path: CapturePath, _ column: String, _ rules: [UniqueRule], _ constraint: String = "NOT NULL",
    refuses values: String = "(id) VALUES('Shop|~|0')"
  ) throws -> (Lab, Store, Store) {
    let lab = try Lab(path, Self.schema(rules))
    var stores: [Store] = []
    for (name, store) in [("a", lab.a), ("b", lab.b)] {
      try store.close()
      let type = column == "name" ? "TEXT" : "INTEGER"
      try lab.rebuild(name, "Shop", defining: [("\"\(column)\" \(type)", "\"\(column)\" \(type) \(constraint)")])
      stores.append(try lab.reopened(name, Self.schema(rules)))
      #expect(throws: DatabaseError.self) { try stores.last?.run("INSERT INTO Shop\(values)") }
    }
    return (lab, stores[0], stores[1])
  }

  private func exchange(_ a: Store, _ b: Store, isTurned: Bool) throws {
    for (one, other) in isTurned ? [(b, a), (a, b)] : [(a, b), (b, a)] {
      try one.apply(try other.delta(since: one.vector))
    }
    try a.sync(with: b)
  }

  @Test(arguments: CapturePath.allCases) func aTextThatMayNotBeNullIsRenamedInAnyOrderOfMerges(
    _ path: CapturePath
  ) throws {
    for (isTurned, isLater) in [(false, false), (true, false), (false, true), (true, true)] {
      let (lab, a, b) = try strict(path, "name", Self.unique)
      for store in isLater ? [b, a] : [a, b] {
        let id = store === a ? "Shop|~|a" : "Shop|~|b"
        try store.run("INSERT INTO Shop(id, name, code) VALUES('\(id)', 'Market', 1)")
      }
      try exchange(a, b, isTurned: isTurned)
      let (first, second) = isLater ? ("Shop|~|b", "Shop|~|a") : ("Shop|~|a", "Shop|~|b")
      let renamed = renamed("Market", second)
      for store in [a, b] {
        #expect(try shown(store, first) == "Market 1 -" && shown(store, second) == "\(renamed) - -")
        #expect(try store.status().setAside.isEmpty)
      }
      #expect(try rows(a) == rows(b))
      // What was swapped elsewhere moves as well.
      try a.run(
        "UPDATE Shop SET name = 'tmp' WHERE id = '\(first)'", "UPDATE Shop SET name = 'Corner' WHERE id = '\(second)'",
        "UPDATE Shop SET name = 'Market' WHERE id = '\(second)'",
        "UPDATE Shop SET name = 'Corner' WHERE id = '\(first)'")
      try exchange(a, b, isTurned: isTurned)
      for store in [a, b] { #expect(try shown(store, second) == "Market - -" && shown(store, first) == "Corner 1 -") }
      try expectConverged(a, b)
      withExtendedLifetime(lab) {}
    }
  }

  /// Where there is nothing else to show, the younger claim is set aside, wherever it came first.
  @Test(arguments: CapturePath.allCases) func aNumberThatMayNotBeNullIsTheOlderClaimsInAnyOrderOfMerges(
    _ path: CapturePath
  ) throws {
    for (isTurned, isLater) in [(false, false), (true, false), (false, true), (true, true)] {
      let (lab, a, b) = try strict(path, "code", Self.unique)
      for store in isLater ? [b, a] : [a, b] {
        let id = store === a ? "Shop|~|a" : "Shop|~|b"
        try store.run("INSERT INTO Shop(id, name, code) VALUES('\(id)', '\(id)', 1)")
      }
      try exchange(a, b, isTurned: isTurned)
      let (first, second) = isLater ? ("Shop|~|b", "Shop|~|a") : ("Shop|~|a", "Shop|~|b")
      for store in [a, b] {
        #expect(try shown(store, first) == "\(first) 1 -" && shown(store, second) == nil)
        #expect(try store.status().setAside.count == 1)
      }
      // It is there once the value is free.
      try b.run("UPDATE Shop SET code = 2 WHERE id = '\(first)'")
      try exchange(a, b, isTurned: isTurned)
      for store in [a, b] {
        #expect(try shown(store, first) == "\(first) 2 -" && shown(store, second) == "\(second) 1 -")
        #expect(try store.status().setAside.isEmpty)
      }
      try expectConverged(a, b)
      withExtendedLifetime(lab) {}
    }
  }

  /// Nor is there where a check admits no letters behind the text.
  @Test(arguments: CapturePath.allCases) func aTextThatMayNotBeLongerIsTheOlderClaimsInAnyOrderOfMerges(
    _ path: CapturePath
  ) throws {
    for (isTurned, isLater) in [(false, false), (true, false), (false, true), (true, true)] {
      let (lab, a, b) = try strict(
        path, "name", Self.unique, "CHECK(length(name) <= 8)",
        refuses: "(id, name) VALUES('Shop|~|0', 'Market ~1')")
      for store in isLater ? [b, a] : [a, b] {
        let id = store === a ? "Shop|~|a" : "Shop|~|b"
        try store.run("INSERT INTO Shop(id, name) VALUES('\(id)', 'Market')")
      }
      try exchange(a, b, isTurned: isTurned)
      let (first, second) = isLater ? ("Shop|~|b", "Shop|~|a") : ("Shop|~|a", "Shop|~|b")
      for store in [a, b] {
        #expect(try shown(store, first) == "Market - -" && shown(store, second) == nil)
        #expect(try store.status().setAside.count == 1)
        #expect(try store.verify().problems == [])
      }
      // Who has it by an edit of a row that is there gets in as well.
      try b.run("UPDATE Shop SET name = 'Corner' WHERE id = '\(first)'")
      try exchange(a, b, isTurned: isTurned)
      for store in [a, b] {
        #expect(try shown(store, first) == "Corner - -" && shown(store, second) == "Market - -")
        #expect(try store.status().setAside.isEmpty)
      }
      try a.run("UPDATE Shop SET name = 'Bakery' WHERE id = '\(isTurned ? first : second)'")
      try b.run("UPDATE Shop SET name = 'Bakery' WHERE id = '\(isTurned ? second : first)'")
      try exchange(a, b, isTurned: isTurned)
      for store in [a, b] {
        #expect(try shown(store, isTurned ? first : second) == "Bakery - -")
        #expect(try shown(store, isTurned ? second : first) == nil)
        #expect(try store.verify().problems == [])
      }
      try expectConverged(a, b)
      withExtendedLifetime(lab) {}
    }
  }

  /// A rule comes to a column that does not admit what it says.
  @Test(
    arguments: CapturePath.allCases, [("code", "INTEGER", "NOT NULL"), ("name", "TEXT", "CHECK(length(name) < 8)")])
  func whatANewRuleKeepsOutIsNotReferredTo(_ path: CapturePath, _ column: (String, String, String)) throws {
    func schema(_ unique: [UniqueRule]) -> Schema {
      Schema([
        EntitySchema("Shop", unique: unique, .text("name"), .integer("code")),
        EntitySchema("Receipt", .reference("shop", to: "Shop")),
      ])
    }
    let rules = [column.0 == "code" ? UniqueRule.on("code") : .on("name", .rename)]
    let lab = try Lab(path, schema([]))
    for id in ["a", "b"] {
      try lab.a.run(
        "INSERT INTO Shop(id, name, code) VALUES('Shop|~|\(id)', 'Market', 1)",
        "INSERT INTO Receipt(id, shop) VALUES('Receipt|~|\(id)', 'Shop|~|\(id)')")
    }
    try lab.a.close()
    let definition = "\"\(column.0)\" \(column.1)"
    try lab.rebuild("a", "Shop", defining: [(definition, "\(definition) \(column.2)")])
    try lab.reopened("a", schema([])).close()
    var a = try lab.reopened("a", schema(rules))
    #expect(try Lab.rows(a, "Shop") == ["'Shop|~|a','Market',1"])
    #expect(try Lab.rows(a, "Receipt") == ["'Receipt|~|a','Shop|~|a'", "'Receipt|~|b',NULL"])
    #expect(try a.verify().problems == [])
    try a.close()
    a = try lab.reopened("a", schema(rules))
    try a.run("UPDATE Shop SET name = 'Corner', code = 2")
    #expect(try Lab.rows(a, "Shop") == ["'Shop|~|a','Corner',2", "'Shop|~|b','Market',1"])
    #expect(try Lab.rows(a, "Receipt") == ["'Receipt|~|a','Shop|~|a'", "'Receipt|~|b','Shop|~|b'"])
    #expect(try a.verify().problems == [])
  }

  // MARK: Tools

  @Test(arguments: CapturePath.allCases, [false, true])
  func anIndexThatAToolHasDroppedIsBackBeforeAnybodyLooks(_ path: CapturePath, _ isClosed: Bool) throws {
    for sql in [
      "", "UPDATE Shop SET name = 'Market' WHERE id = 'Shop|~|c'", "UPDATE Shop SET note = 'm'",
      "INSERT INTO Shop(id, name) VALUES('Shop|~|d', 'Market')", "DELETE FROM Shop WHERE id = 'Shop|~|a'",
      "UPDATE Shop SET name = 'Market' WHERE id = 'Shop|~|b'", "UPDATE Shop SET name = 'Market', code = 1",
    ] {
      let lab = try Lab(path, Self.schema(Self.unique))
      try lab.a.run("INSERT INTO Shop(id, name, code) VALUES('Shop|~|a', 'Market', 1), ('Shop|~|c', 'Corner', 2)")
      try lab.b.run("INSERT INTO Shop(id, name, code) VALUES('Shop|~|b', 'Market', 1)")
      try lab.sync()
      if isClosed { try lab.a.close() }
      #expect(try !isUnseen(lab))
      try lab.shell("a", "DROP INDEX \"tally_unique.Shop.name\"", "DROP INDEX \"tally_unique.Shop.code\"", sql)
      // Who only reads leaves it to one that writes.
      #expect(try isUnseen(lab))
      let a = isClosed ? try lab.reopened("a", Self.schema(Self.unique)) : lab.a
      #expect(try a.verify().problems == [], "\(sql)")
      #expect(try a.status().doubt == nil, "\(sql)")
      #expect(try a.verify().problems == [], "\(sql)")
      try a.sync(with: lab.b)
      for table in ["Shop", "tally_unique"] { #expect(try Lab.rows(a, table) == Lab.rows(lab.b, table), "\(sql)") }
      try expectConverged(a, lab.b)
    }
  }

  private func isUnseen(_ lab: Lab) throws -> Bool {
    var options = Lab.options(lab.path)
    options.isReadOnly = true
    let reader = try Store(existing: lab.scratch.path("a"), options: options)
    defer { try? reader.close() }
    return try UnseenTables.areThere(in: reader)
  }

  /// A record that gets another name has what it had, and not what it showed instead.
  @Test(arguments: CapturePath.allCases, [false, true])
  func aRecordThatIsRenamedKeepsTheValueThatItWaitsFor(_ path: CapturePath, _ isOutside: Bool) throws {
    let lab = try Lab(path, Self.schema(Self.unique))
    try lab.a.run("INSERT INTO Shop(id, name, code) VALUES('Shop|~|a', 'Market', 1)")
    try lab.b.run("INSERT INTO Shop(id, name, code, note) VALUES('Shop|~|b', 'Market', 1, 'n')")
    try lab.sync()
    let rename = "UPDATE Shop SET id = 'Shop|~|z' WHERE id = 'Shop|~|b'"
    if isOutside { try lab.shell("a", rename) } else { try lab.a.run(rename) }
    let renamed = renamed("Market", "Shop|~|z")
    try lab.sync()
    for store in [lab.a, lab.b] { #expect(try shown(store, "Shop|~|z") == "\(renamed) - n") }
    try lab.expectEqual(["Shop", "tally_unique"])
    try lab.b.run("DELETE FROM Shop WHERE id = 'Shop|~|a'")
    try lab.sync()
    for store in [lab.a, lab.b] { #expect(try shown(store, "Shop|~|z") == "Market 1 n") }
    try lab.expectEqual(["Shop", "tally_unique"])
  }

  /// What is typed in the same transaction counts.
  @Test(arguments: CapturePath.allCases) func aRecordThatIsRenamedAndGetsAnotherValueHasThat(_ path: CapturePath) throws
  {
    let lab = try Lab(path, Self.schema(Self.unique))
    try lab.a.run("INSERT INTO Shop(id, name, code) VALUES('Shop|~|a', 'Market', 1)")
    try lab.b.run("INSERT INTO Shop(id, name, code, note) VALUES('Shop|~|b', 'Market', 1, 'n')")
    try lab.sync()
    try lab.a.run("UPDATE Shop SET id = 'Shop|~|z', name = 'Corner' WHERE id = 'Shop|~|b'")
    try lab.sync()
    for store in [lab.a, lab.b] { #expect(try shown(store, "Shop|~|z") == "Corner - n") }
    try lab.expectEqual(["Shop", "tally_unique"])
  }
}
