import Foundation
import Synchronization
import Tally
import TallySync
import Testing

/// `tally sync STORE --via folder:PATH`, each time in a process of its own.
@Suite struct FolderTests {
  /// The folder as the tool uses it; notes what is opened.
  private final class WatchedFolder: FileMailbox {
    private let folder: FolderMailbox
    private let names = Mutex<[String]>([])

    init(_ path: String) { folder = FolderMailbox(URL(fileURLWithPath: path, isDirectory: true)) }

    var opened: [String] { names.withLock { $0 } }
    var name: String { folder.name }
    var identity: String { folder.identity }
    func list(prefix: String) throws -> [MailboxItem] { try folder.list(prefix: prefix) }
    func put(_ name: String, from source: () throws -> [UInt8]?) throws { try folder.put(name, from: source) }
    func remove(_ name: String) throws { try folder.remove(name) }
    func get(_ name: String) throws -> () throws -> [UInt8]? {
      names.withLock { $0.append(name) }
      return try folder.get(name)
    }
  }

  @Test func theNextRunOfTheToolReadsNothingThatTheLastHasRead() throws {
    let bench = try Bench("a", "b")
    let folder = bench.path("shared")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    for (store, person) in [("a", "ann"), ("b", "bob")] {
      try bench.done("put", store, "-", input: "SBPerson|~|\(person) name=\(person)\n")
      try bench.done("sync", store, "--via", "folder:" + folder)
    }
    for store in ["a", "b"] { try bench.done("sync", store, "--via", "folder:" + folder) }
    let nothing = "took 0 files: 0 changes, 0 conflicts\nput 0 files, 0 bytes\n"
    for store in ["a", "b"] { #expect(try bench.done("sync", store, "--via", "folder:" + folder) == nothing) }
    // What the tool has left in the store's file is all that counts.
    for store in ["a", "b"] {
      let watched = WatchedFolder(folder)
      #expect(try Store(existing: bench.path(store)).sync(through: watched) == MailboxReport())
      #expect(watched.opened == [])
    }
  }
}
