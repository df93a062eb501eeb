import GRDB
import Tally
import TallyCRDT
import Testing

@testable import TallyStore

/// What is written between the look at what may go and its turn.
@Suite struct CompactionPlanTests {
  private static let schema = Schema([
    EntitySchema("Folder", .text("name")),
    EntitySchema("Note", .text("text"), .reference("folder", to: "Folder", onDelete: .cascade)),
  ])
  private let scratch: Scratch
  private let store: Store

  init() throws {
    scratch = try Scratch()
    store = try scratch.store("notes", schema: Self.schema)
    try store.write { db in
      try db.execute(sql: "INSERT INTO Folder(id, name) VALUES('Folder|~|f', 'a folder')")
      try db.execute(sql: "INSERT INTO Note(id, text, folder) VALUES('Note|~|n', 'a note', 'Folder|~|f')")
      try db.execute(sql: "INSERT INTO Note(id, text) VALUES('Note|~|alone', 'another')")
    }
    try store.write { try $0.execute(sql: "DELETE FROM Note") }
    try store.write { try $0.execute(sql: "DELETE FROM Folder") }
  }

  /// Plans to empty all three, lets something happen, and does what is planned.
  private func emptied(_ meanwhile: () throws -> Void) throws -> Int {
    var plan = try store.snapshot { try CompactionPlan($0, from: 0, nil, isDryRun: false) }
    try meanwhile()
    while !plan.isDone { plan = try store.replicate { try $0.carryOut(plan, nil) }.value }
    #expect(try store.verify().problems == [])
    return plan.report.emptied
  }

  private func notes() throws -> [String] {
    try store.read {
      try String.fetchAll($0, sql: "SELECT text FROM Note UNION ALL SELECT name FROM Folder ORDER BY 1")
    }
  }

  @Test func nothingHappens() throws {
    #expect(try emptied {} == 3)
    #expect(try store.history(of: AnyRecordName("Note|~|alone"))?.fields.isEmpty == true)
  }

  @Test func whatIsRestoredMeanwhileStays() throws {
    // With its owner.
    let left = try emptied { try store.restore(AnyRecordName("Note|~|n")) }
    #expect(left == 1)
    #expect(try notes() == ["a folder", "a note"])
  }

  /// A row that another program puts below a deleted record brings that back, in the transaction in which its turn
  /// would have come.
  @Test func whatAnotherProgramBringsBackStays() throws {
    let left = try emptied {
      let queue = try DatabaseQueue(path: scratch.path("notes"))
      try queue.writeWithoutTransaction { db in
        try db.execute(sql: "PRAGMA foreign_keys = OFF")
        try db.execute(
          sql: "INSERT INTO Note(id, text, folder) VALUES('Note|~|new', 'came later', 'Folder|~|f')")
      }
      try queue.close()
    }
    #expect(left == 2)
    #expect(try notes() == ["a folder", "came later"])
  }
}
