import Foundation
import Tally

/// One of the two machines: a store in a file of its own, and a column to say what it does.
final class Machine: Sendable {
  let name: String
  let store: Store

  init(_ name: String, folder: String) throws {
    self.name = name
    store = try Store(path: "\(folder)/\(name).tally", schema: Schema(Item.self))
  }

  /// Unbuffered, so that the lines of two processes come in the order in which things happened.
  func say(_ text: String) {
    let column = name.padding(toLength: 7, withPad: " ", startingAt: 0)
    FileHandle.standardOutput.write(Data("  \(column)│ \(text)\n".utf8))
  }

  func add(_ title: String, _ amount: Int) throws {
    say("writes \(title), \(amount)")
    try store.write { try Item(title, amount).insert($0) }
  }

  func edit(_ title: String, _ doing: String, _ change: @Sendable (inout Item) -> Void) throws {
    say(doing)
    try store.write { db in
      guard var item = try Item.filter(Column("title") == title).fetchOne(db) else { throw Missing(title: title) }
      change(&item)
      try item.update(db)
    }
  }

  /// Waits until an item is here and as it should be; whoever changes it, this machine hears of it.
  func wait(for title: String, _ condition: @escaping @Sendable (Item) -> Bool = { _ in true }) async throws {
    let changes = store.changes()
    func isThere() throws -> Bool {
      try store.read { try Item.filter(Column("title") == title).fetchOne($0).map(condition) ?? false }
    }
    if try isThere() { return }
    for await _ in changes where try isThere() { return }
    throw Missing(title: title)
  }

  func content() throws -> String {
    var text = ""
    try store.dump(.canonical) { text += $0 }
    return text
  }
}

struct Missing: Error { var title: String }
