import Foundation
import GRDB
import TallyCRDT
import TallyRecovery
import Testing

@testable import TallyStore

/// A process's locks on a file go when it closes any descriptor of it, and SQLite needs them: who takes the file for
/// unused deletes its log. So nothing that looks at files may open one that a store of this process has open.
@Suite(.enabled(if: FileManager.default.fileExists(atPath: "/proc/locks"), "the system does not list locks"))
struct FileLockTests {
  enum Look: CaseIterable {
    case placeOfAJournal, roleOfTheStore, roleOfItsParts, openingAJournal, openingTheStoreAgain, recoveringOntoIt
    case firstBytes, firstBytesOfTheIndex
  }

  private let scratch: Scratch
  private let path: String
  private let store: Store

  init() throws {
    scratch = try Scratch()
    path = scratch.path("a.tally")
    // A file that was closed has no log: opening looks at its first bytes.
    try scratch.store().close()
    store = try scratch.store()
    try store.write { try Person(name: "Ann").insert($0) }
  }

  /// The locks that this process has on a file: from where to where, and of which kind.
  private func locks(_ path: String) throws -> Set<String> {
    var status = stat()
    try #require(stat(path, &status) == 0)
    let lines = try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n")
    return Set(
      lines.compactMap { line -> String? in
        // number: kind, mode, what it locks, process, file, first and last byte
        let parts = line.split(separator: " ")
        guard parts.count == 8, parts[1] == "POSIX", parts[4] == "\(getpid())",
          parts[5].hasSuffix(":\(status.st_ino)")
        else { return nil }
        return parts[3...].joined(separator: " ")
      })
  }

  @Test(arguments: Look.allCases) func lookingDropsNoLocks(_ look: Look) throws {
    let (file, index) = (try locks(path), try locks(path + "-shm"))
    #expect(!file.isEmpty && !index.isEmpty)
    switch look {
    case .placeOfAJournal: #expect(throws: StoreError.self) { try Store.checkPlace(path + "-journal") }
    case .roleOfTheStore: #expect(FileRole(of: path) == .store)
    case .roleOfItsParts:
      for suffix in FileRole.suffixes { #expect(FileRole(of: path + suffix) == .part(of: path)) }
    case .openingAJournal: #expect(throws: StoreError.self) { try Store(path: path + "-journal", schema: scorebook) }
    case .openingTheStoreAgain: try scratch.store().close()
    case .recoveringOntoIt: #expect(throws: StoreError.self) { try Store.recover(path, to: path) }
    // As whoever opens the store does who found no log a moment ago.
    case .firstBytesOfTheIndex:
      for _ in 0..<3 { #expect(SystemFiles().head(16, of: path + "-shm")?.count == 16) }
    case .firstBytes: #expect(SystemFiles().head(72, of: path).map(FileRole.isDatabase) == true)
    }
    #expect(try locks(path) == file)
    #expect(try locks(path + "-shm") == index)
  }

  @Test func theFirstBytesAreThoseOfTheFile() throws {
    let files = SystemFiles()
    let text = scratch.path("text")
    try Data("abc".utf8).write(to: URL(fileURLWithPath: text))
    #expect(files.head(72, of: text) == Array("abc".utf8))
    #expect(files.head(2, of: text) == Array("ab".utf8))
    try FileManager.default.createSymbolicLink(atPath: scratch.path("link"), withDestinationPath: text)
    #expect(files.head(2, of: scratch.path("link")) == Array("ab".utf8))
    try Data().write(to: URL(fileURLWithPath: text))
    #expect(files.head(2, of: text) == [])
    #expect(files.head(2, of: scratch.path("nothing")) == nil)
    #expect(files.head(2, of: scratch.url.path) == nil)
  }
}
