import Foundation
import GRDB
import Tally
import TallyTesting
import Testing

/// Something that a person or a peer does to a store. Names are fixed, so that what comes of it can be compared.
struct StoreOperation: Sendable, CustomTestStringConvertible {
  var testDescription: String
  var run: @Sendable (Store) throws -> Void

  /// Whether the store is not usable afterwards.
  var isClosing: Bool { testDescription == "close" }

  static let kept = RecordName<Note>.at("kept")
  static let folder = RecordName<Folder>.at("folder")
  static let tag = RecordName<Tag>.at("tag")

  static let all: [StoreOperation] = [
    StoreOperation(testDescription: "put") { store in
      try store.write { try Note(id: .at("new"), text: "new", body: Data(count: 20_000)).insert($0) }
    },
    StoreOperation(testDescription: "change") { store in
      try store.write { try $0.execute(sql: "UPDATE CTNote SET text = 'changed', count = 7") }
    },
    StoreOperation(testDescription: "delete") { store in
      try store.write { try $0.execute(sql: "DELETE FROM CTFolder") }
    },
    StoreOperation(testDescription: "link") { store in
      try store.write { db in
        try Tag(id: .at("other"), name: "blue").insert(db)
        try Note.tags.insert(db, .at("other"), to: kept)
        try Note.tags.remove(db, tag, from: kept)
      }
    },
    StoreOperation(testDescription: "apply") { store in try store.apply(try foreignDelta.get()) },
    StoreOperation(testDescription: "seed") { store in try store.seed(seeds) },
    StoreOperation(testDescription: "many") { store in
      try store.write { db in
        for number in 1...100 {
          try Note(id: .at("many-\(number)"), text: "note", body: Data(count: 400)).insert(db)
        }
      }
    },
    StoreOperation(testDescription: "publish") { store in
      try store.write { try Note(id: .at("out"), text: "out").insert($0) }
      _ = try store.delta()
    },
    StoreOperation(testDescription: "captured") { store in
      var configuration = Configuration()
      configuration.busyMode = .timeout(5)
      let path = store.path
      try DatabaseQueue(path: path, configuration: configuration).write { db in
        try db.execute(sql: "UPDATE CTNote SET text = 'outside'")
      }
      try store.captureChanges()
    },
    StoreOperation(testDescription: "vacuum") { store in
      // Free pages before others that are in use.
      try store.write { db in
        try db.execute(sql: "CREATE TABLE large(body); CREATE TABLE behind(body)")
        try db.execute(sql: "INSERT INTO large VALUES(zeroblob(120000)); INSERT INTO behind VALUES(zeroblob(30000))")
        try db.execute(sql: "DROP TABLE large")
      }
      #expect(try store.compact(vacuum: .incremental).reclaimed > 0)
    },
    StoreOperation(testDescription: "close") { store in try store.close() },
  ]

  private static let seeds = SeedSet(
    "tags", version: 1,
    records: [
      SeedRecord("home", of: Tag.self, ["name": "Home"]), SeedRecord("work", of: Tag.self, ["name": "Work"]),
    ])

  /// What another device wrote.
  private static let foreignDelta = Result {
    let store = try Store(inMemory: notebook)
    try store.write { db in
      try Tag(id: .at("green"), name: "green").insert(db)
      for number in 1...30 {
        try Note(id: .at("foreign-\(number)"), text: "foreign", body: Data(count: 300)).insert(db)
        try Note.tags.insert(db, .at("green"), to: .at("foreign-\(number)"))
      }
    }
    return try store.delta()
  }
}

/// A disk with a store that has seen some use, and a peer that has seen all of it.
struct StartingPoint: Sendable {
  var disk: DiskImage
  var peer: DiskImage
  var view: String

  static let usual = Result {
    let disk = SimulatedDisk()
    let peer = SimulatedDisk()
    let store = try disk.store(schema: notebook, options: .quiet)
    let other = try peer.store(schema: notebook, options: .quiet)
    try other.write { try Note(id: .at("theirs"), text: "theirs").insert($0) }
    #expect(try store.sync(with: other).isConverged)
    try store.write { db in
      try Folder(id: StoreOperation.folder, name: "Folder").insert(db)
      try Tag(id: StoreOperation.tag, name: "red").insert(db)
      try Note(id: StoreOperation.kept, text: "kept", folder: StoreOperation.folder).insert(db)
      try Note.tags.insert(db, StoreOperation.tag, to: StoreOperation.kept)
    }
    // Handing this out puts all that is in the log so far on the disk.
    #expect(try store.sync(with: other).isConverged)
    return StartingPoint(disk: disk.image, peer: peer.image, view: try store.view())
  }
}

extension Store {
  /// What a person sees.
  func view() throws -> String {
    var text = ""
    try dump(.view) { text += $0 }
    return text
  }

  /// Sound, in every respect that `verify` knows.
  func expectSound(_ context: String) throws {
    #expect(try verify().problems == [], "\(context)")
  }
}
