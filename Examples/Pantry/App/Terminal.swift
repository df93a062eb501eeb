import Foundation
import Tally
import TallySync

/// The front for a terminal: one command on one store.
struct Terminal {
  struct Misuse: Error, CustomStringConvertible { let description: String }

  static let usage = """
    Pantry FILE list [WORDS]         the list, or what WORDS find
    Pantry FILE add TITLE [AMOUNT] [due=YYYY-MM-DD] [tag=NAME]…
    Pantry FILE rename TITLE NEW | buy TITLE | move TITLE AFTER | remove TITLE | undo NAME
    Pantry FILE bin | restore NUMBER | purge NUMBER
    Pantry FILE conflicts | keep NUMBER | take NUMBER
    Pantry FILE sync PEER…           once; a PEER is folder:PATH, or a command such as 'Pantry OTHER serve'
    Pantry FILE watch PEER…          stays in sync and shows the list whenever it changes, until interrupted
    Pantry FILE serve                talks to one peer over standard input and output
    Pantry FILE devices              who has been met, and who is behind
    """
  let store: Store
  /// Gets each line.
  var say: @Sendable (String) -> Void = { print($0) }

  func run(_ arguments: [String]) async throws {
    let rest = Array(arguments.dropFirst())
    switch (arguments.first, rest.count) {
    case ("sync", 1...):
      let status = await SyncEngine.pantry(store, peers: rest).syncOnce(within: .seconds(30))
      guard status.isUpToDate else { throw Misuse(description: "not everything went over: \(status.line)") }
      say(status.line)
    case ("watch", 1...):
      let engine = await SyncEngine.pantry(store, peers: rest)
      await engine.resume()
      for try await rows in store.values({ try Self.rows($0) }) {
        show(rows)
        say("— \(await engine.status.line)")
      }
    case ("serve", 0):
      let engine = await SyncEngine.pantry(store)
      await engine.resume()
      try await engine.accept(StreamConnection.standardStreams(), from: "other process")
    default: try perform(arguments.first ?? "list", rest)
    }
  }

  /// Performs a command that needs no other device.
  private func perform(_ command: String, _ words: [String]) throws {
    switch (command, words.count) {
    case ("list", _): show(try store.read { try Self.rows($0, words.joined(separator: " ")) })
    case ("add", 1...): try add(words[0], words.dropFirst())
    case ("rename", 2): try edit(words[0]) { $0.title = words[1] }
    case ("buy", 1): try edit(words[0]) { $0.isBought = true }
    case ("move", 2): try store.write { try Item.move($0, item(words[0], $0).id, after: item(words[1], $0).id) }
    case ("remove", 1):
      let id = try store.read { try item(words[0], $0).id }
      try store.write { _ = try Item.deleteOne($0, id: id) }
      say("removed; undo '\(id)' brings it back")
    case ("undo", 1): try store.restore(AnyRecordName(words[0]))
    case ("bin", 0):
      for (number, record) in try store.recentlyDeleted(Item.self).enumerated() {
        say("\(number + 1). \(record.line)")
      }
    case ("restore", 1): try store.restore(try removed(words[0]).name)
    case ("purge", 1): try store.purge(try removed(words[0]).name)
    case ("conflicts", 0):
      for (number, conflict) in try store.conflicts().enumerated() { say("\(number + 1). \(conflict.line)") }
    case ("devices", 0): for device in try store.devices() { say(device.line) }
    case ("keep", 1): try store.dismiss(try conflict(words[0]))
    case ("take", 1): try store.restore(try conflict(words[0]))
    default: throw Misuse(description: Self.usage)
    }
  }

  private static func rows(_ db: Database, _ text: String = "") throws -> [ItemRow] {
    try ItemRow.items(of: Pantry.groceries, matching: text).fetchAll(db)
  }

  private func show(_ rows: [ItemRow]) {
    for row in rows {
      let due = row.item.due.map { "  due \($0.formatted(.iso8601.year().month().day()))" } ?? ""
      let tags = row.tags.map { "  #\($0.name)" }.joined()
      say("\(row.item.isBought ? "✓" : "·") \(row.item.amount) × \(row.item.title)\(due)\(tags)")
    }
  }

  private func add(_ title: String, _ words: ArraySlice<String>) throws {
    let due = try words.first { $0.hasPrefix("due=") }.map {
      try Date(String($0.dropFirst(4)), strategy: .iso8601.year().month().day())
    }
    let tags = words.filter { $0.hasPrefix("tag=") }.map { String($0.dropFirst(4)) }
    let numbers = words.filter { !$0.hasPrefix("due=") && !$0.hasPrefix("tag=") }
    guard numbers.count < 2, let amount = Int(numbers.first ?? "1") else { throw Misuse(description: Self.usage) }
    try store.write { _ = try Item.add($0, title, amount: amount, due: due, tags: tags) }
  }

  private func edit(_ title: String, _ change: (inout Item) -> Void) throws {
    try store.write { db in
      var item = try item(title, db)
      try item.updateChanges(db, modify: change)
    }
  }

  private func item(_ title: String, _ db: Database) throws -> Item {
    if let item = try Item.filter(Column("title") == title).fetchOne(db) { return item }
    throw Misuse(description: "nothing on the list is called \(title)")
  }

  private func removed(_ number: String) throws -> DeletedRecord {
    let records = try store.recentlyDeleted(Item.self)
    if let number = Int(number), records.indices.contains(number - 1) { return records[number - 1] }
    throw Misuse(description: "there is no \(number) in the bin")
  }

  private func conflict(_ number: String) throws -> Conflict {
    let conflicts = try store.conflicts()
    if let number = Int(number), conflicts.indices.contains(number - 1) { return conflicts[number - 1] }
    throw Misuse(description: "there is no conflict \(number)")
  }
}
