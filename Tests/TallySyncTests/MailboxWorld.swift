import Foundation
import GRDB
import Tally
import TallyStore
import TallySync
import Testing

/// Stores that meet only through a mailbox.
enum MailboxWorld {
  /// Deltas weigh so much that a snapshot is due after a few.
  static var eager: MailboxSettings {
    var settings = MailboxSettings()
    settings.deltaBytes = 4 << 10
    settings.minimumDeltaWeight = 1 << 10
    return settings
  }

  /// Lets all sync in turn until nobody has anything to put or take.
  static func settle(
    _ stores: [Store], _ mailbox: any FileMailbox, _ settings: MailboxSettings = MailboxSettings(),
    sourceLocation: Testing.SourceLocation = #_sourceLocation
  ) throws {
    for _ in 0..<12 {
      var isQuiet = true
      for store in stores {
        let report = try store.sync(through: mailbox, settings)
        if !report.taken.isEmpty || !report.written.isEmpty { isQuiet = false }
      }
      if isQuiet { return }
    }
    Issue.record("the stores do not come to rest", sourceLocation: sourceLocation)
  }

  /// All stores hold the same, byte for byte, and are sound.
  static func expectEqual(_ stores: [Store], sourceLocation: Testing.SourceLocation = #_sourceLocation) throws {
    let first = try World.dump(stores[0])
    for store in stores {
      #expect(try World.dump(store) == first, sourceLocation: sourceLocation)
      #expect(try store.verify().problems == [], sourceLocation: sourceLocation)
    }
  }
}

/// A shared folder, and stores' files beside it; both disappear with the test.
final class SharedFolder {
  let root: URL
  let url: URL
  let mailbox: FolderMailbox

  init() throws {
    root = FileManager.default.temporaryDirectory.appendingPathComponent("tally-\(UUID().uuidString)")
    url = root.appendingPathComponent("shared")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    mailbox = FolderMailbox(url)
  }

  deinit { try? FileManager.default.removeItem(at: root) }

  var names: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() } }

  func path(_ name: String) -> String { url.appendingPathComponent(name).path }

  func bytes(_ name: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(fileURLWithPath: path(name)))) }

  func place(_ bytes: [UInt8], as name: String) throws { try Data(bytes).write(to: URL(fileURLWithPath: path(name))) }

  /// A store in a file that no token protects, as one that moves between devices.
  func store(_ name: String) throws -> Store {
    var options = StoreOptions()
    options.detectsCopies = false
    options.flushesBeforeSync = false
    return try Store(path: root.appendingPathComponent(name).path, schema: Schema(Note.self), options: options)
  }

  /// Closes a store, writes to its file as a disk does, so that nobody notices, and opens it again.
  func tamper(_ name: String, _ store: Store, _ sql: String) throws -> Store {
    // So that tables have what `sql` may be about.
    try store.flushTail()
    try store.close()
    let queue = try DatabaseQueue(path: root.appendingPathComponent(name).path)
    try queue.writeWithoutTransaction { db in
      let triggers = try Row.fetchAll(db, sql: "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
      for trigger in triggers { try db.execute(sql: "DROP TRIGGER \"\(trigger["name"] as String)\"") }
      try db.execute(sql: sql)
      for trigger in triggers { try db.execute(sql: trigger["sql"]) }
    }
    try queue.close()
    return try self.store(name)
  }

  /// Changes a bit of each key of an index in the file of a closed store, but of none in its table.
  func flipKeys(of index: String, in name: String) throws {
    let path = root.appendingPathComponent(name).path
    let queue = try DatabaseQueue(path: path)
    let (page, size) = try queue.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
      return (
        try #require(
          try Int.fetchOne(db, sql: "SELECT rootpage FROM sqlite_master WHERE name = ?", arguments: [index])),
        try #require(try Int.fetchOne(db, sql: "PRAGMA page_size"))
      )
    }
    try queue.close()
    var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    let leaf = bytes[(page - 1) * size..<page * size]
    try #require(leaf.first == 0x0A, "the index has one page")
    // Names of notes are UUIDs as text: of the last character of each, the lowest bit.
    let prefix = Array("Note|~|".utf8)
    var flipped = 0
    for place in leaf.indices.dropLast(prefix.count + 35) where leaf[place..<place + prefix.count].elementsEqual(prefix)
    {
      bytes[place + prefix.count + 35] ^= 1
      flipped += 1
    }
    try #require(flipped > 0)
    try Data(bytes).write(to: URL(fileURLWithPath: path))
  }

  /// Copies a closed store's file.
  func copyStore(_ name: String, to copy: String) throws {
    let (from, to) = (root.appendingPathComponent(name).path, root.appendingPathComponent(copy).path)
    for suffix in ["", "-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: to + suffix)
      guard FileManager.default.fileExists(atPath: from + suffix) else { continue }
      try FileManager.default.copyItem(atPath: from + suffix, toPath: to + suffix)
    }
  }
}
