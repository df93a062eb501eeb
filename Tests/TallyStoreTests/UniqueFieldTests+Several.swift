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

  /// One column waits for another record's value for good, and one beside it for the time being.
  @Test(arguments: CapturePath.allCases, ["CREATE UNIQUE INDEX own ON Shop(note)", ""])
  func aRowThatWaitsInTwoColumnsShowsBothInTheEnd(_ path: CapturePath, _ index: String) throws {
    for order in [["1", "2", "3"], ["3", "2", "1"], ["2", "3", "1"], ["2", "1", "3"]] {
      let (x, y, z) = ("Shop|~|\(order[0])", "Shop|~|\(order[1])", "Shop|~|\(order[2])")
      let rules = index.isEmpty ? Self.unique + [.on("note", .hide)] : Self.unique
      let lab = try Lab(path, Self.schema(rules))
      try lab.a.run(
        """
        INSERT INTO Shop(id, name, code, note)
        VALUES('\(x)', 'Corner', 1, 'x'), ('\(y)', 'Store', 2, 'y'), ('\(z)', 'Zoo', 3, 'n')
        """)
      try lab.sync()
      if !index.isEmpty { for store in [lab.a, lab.b] { try store.run(index) } }
      try lab.b.run("UPDATE Shop SET name = 'Market' WHERE id = '\(y)'")
      try lab.a.run(
        "UPDATE Shop SET note = 'q', code = 4 WHERE id = '\(z)'",
        "UPDATE Shop SET name = 'Market', note = 'n', code = 3 WHERE id = '\(x)'")
      try lab.sync()
      for store in [lab.a, lab.b] {
        guard case .text(let renamed) = UniqueOracle.names("Market", x)[0] else { return }
        #expect(try shown(store, x) == "\(renamed) 3 n", "\(order)")
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
    for order in [["1", "2", "3"], ["3", "2", "1"], ["2", "3", "1"], ["2", "1", "3"]] {
      let (x, y, z) = ("Shop|~|\(order[0])", "Shop|~|\(order[1])", "Shop|~|\(order[2])")
      let rules = index.isEmpty ? Self.unique + [.on("note", .hide)] : Self.unique
      let lab = try Lab(path, Self.schema(rules))
      try lab.a.run(
        """
        INSERT INTO Shop(id, name, code, note)
        VALUES('\(x)', 'Corner', 1, 'x'), ('\(y)', 'Store', 2, 'y'), ('\(z)', 'Zoo', 3, 'z')
        """)
      try lab.sync()
      if !index.isEmpty { for store in [lab.a, lab.b] { try store.run(index) } }
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
      guard case .text(let renamed) = UniqueOracle.names("Market", x)[0] else { return }
      for store in [lab.a, lab.b] { #expect(try shown(store, x) == "\(renamed) 4 n", "\(order)") }
      try lab.expectEqual(["Shop", "tally_unique"])
    }
  }
}
