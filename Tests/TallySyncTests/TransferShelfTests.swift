import Foundation
import TallyCRDT
import Testing

@testable import TallySync

/// What stays of transfers that broke off is little, not for long, and nobody's twice.
@Suite(.timeLimit(.minutes(5))) struct TransferShelfTests {
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-shelf-\(UUID().uuidString)")
  private var shelf: TransferShelf { TransferShelf(besides: folder.appendingPathComponent("store").path) }
  private var shelfURL: URL { folder.appendingPathComponent("store-transfers") }

  init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

  private func end() { try? FileManager.default.removeItem(at: folder) }

  private func keep(_ count: Int, _ byte: UInt8 = 1, _ kind: TransferShelf.Kind = .incoming) throws {
    let spool = shelf.spool(kind)
    try spool.append([UInt8](repeating: byte, count: count))
    try shelf.keep(spool, kind)
  }

  private func names() -> [String] { (try? FileManager.default.contentsOfDirectory(atPath: shelfURL.path)) ?? [] }

  @Test func aFewOfEachKindStay() throws {
    defer { end() }
    for number in 0..<TransferShelf.fileLimit + 3 {
      try keep(100_000 + number)
      try keep(100_000 + number, 2, .outgoing)
    }
    #expect(names().count { $0.hasPrefix("in-") } == TransferShelf.fileLimit)
    #expect(names().count { $0.hasPrefix("out-") && $0.hasSuffix(".delta") } == TransferShelf.fileLimit)
  }

  @Test func whatIsSmallIsNotKept() throws {
    defer { end() }
    try keep(TransferShelf.smallest - 1)
    #expect(!FileManager.default.fileExists(atPath: shelfURL.path))
  }

  @Test func whatIsOldGoes() throws {
    defer { end() }
    try keep(100_000)
    try keep(200_000)
    let old = try #require(shelf.parts().first?.url)
    let date = Date(timeIntervalSinceNow: -TransferShelf.age - 60)
    try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: old.path)
    shelf.tidy()
    #expect(shelf.parts().map(\.part.byteCount) == [200_000])
  }

  @Test func partsAscendAndNoTwoHaveOneLength() throws {
    defer { end() }
    for (count, byte) in [(300_000, 1), (100_000, 2), (300_000, 3), (200_000, 4)] { try keep(count, UInt8(byte)) }
    #expect(shelf.parts().map(\.part.byteCount) == [100_000, 200_000, 300_000])
  }

  /// Two sessions with one peer, in one process or two.
  @Test func aPartThatIsTakenIsNotOfferedAgain() throws {
    defer { end() }
    try keep(100_000)
    let (part, url) = try #require(shelf.parts().first)
    let spool = try shelf.resume(part, at: url)
    #expect(shelf.parts().isEmpty)
    #expect(throws: SyncError.self) { try shelf.resume(part, at: url) }
    shelf.tidy()
    try spool.append([1, 2, 3])
    try shelf.keep(spool, .incoming)
    #expect(shelf.parts().map(\.part.byteCount) == [100_003])
  }

  /// A part that others have shortened or removed since it was offered.
  @Test func aPartThatHasChangedIsNotGoneOnWith() throws {
    defer { end() }
    try keep(100_000)
    let (part, url) = try #require(shelf.parts().first)
    try FileHandle(forWritingTo: url).truncate(atOffset: 70_000)
    #expect(throws: SyncError.self) { try shelf.resume(part, at: url) }
    try FileManager.default.removeItem(at: url)
    #expect(throws: SyncError.self) { try shelf.resume(part, at: url) }
  }

  /// Links, pipes and folders with our names are nobody's parts.
  @Test func whatIsNoFileIsPassedOver() throws {
    defer { end() }
    try FileManager.default.createDirectory(at: shelfURL, withIntermediateDirectories: true)
    let target = folder.appendingPathComponent("target")
    try Data(repeating: 1, count: 100_000).write(to: target)
    for suffix in ["part", "delta"] {
      let prefix = suffix == "part" ? "in" : "out"
      try FileManager.default.createSymbolicLink(
        at: shelfURL.appendingPathComponent("\(prefix)-link.\(suffix)"), withDestinationURL: target)
      mkfifo(shelfURL.appendingPathComponent("\(prefix)-pipe.\(suffix)").path, 0o600)
      try FileManager.default.createDirectory(
        at: shelfURL.appendingPathComponent("\(prefix)-folder.\(suffix)"), withIntermediateDirectories: false)
    }
    #expect(shelf.parts().isEmpty)
    let part = SyncPart(byteCount: 100_000, check: 1)
    #expect(shelf.delta(for: [part], peer: StateVector(), own: StateVector()) == nil)
    #expect(try Data(contentsOf: target).count == 100_000)
  }

  /// A session that is writing is not disturbed by another one that tidies up.
  @Test func tidyingLeavesWhatIsBeingWritten() throws {
    defer { end() }
    let spool = shelf.spool(.incoming)
    try spool.append([UInt8](repeating: 1, count: 100_000))
    try spool.spill()
    for number in 0..<TransferShelf.fileLimit + 1 { try keep(200_000 + number) }
    let date = Date(timeIntervalSinceNow: -TransferShelf.age - 60)
    try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: spool.url.path)
    shelf.tidy()
    #expect(FileManager.default.fileExists(atPath: spool.url.path))
    spool.discard()
  }
}
