import Foundation
import GRDB
import Tally
import TestEffort
import Testing

/// Copies, backups and power cuts, over every transport: everything that anybody wrote and that was not lost with its
/// disk is there in the end, everywhere.
@Suite(.timeLimit(.minutes(5))) struct IdentityTests {
  private func texts(_ site: Site) throws -> [String] {
    try site.use { try $0.read { try String.fetchAll($0, sql: "SELECT text FROM Note ORDER BY text") } }
  }

  private func expect(_ texts: [String], in sites: Site...) throws {
    for site in sites {
      try Site.expectEqual(sites[0], site)
      #expect(try self.texts(site) == texts.sorted())
    }
  }

  /// Somebody copies the folder of a store to another machine.
  @Test(arguments: Effort.sample(Link.allCases, 3)) func aCopiedFolderKeepsBothEdits(over link: Link) async throws {
    let (a, b, c) = (try Site(notes: 2, "shared"), try Site(), try Site())
    try await link.sync(a, c)
    try b.restore(try a.backUp())
    try a.insert(1, "only a")
    try b.insert(1, "only b")
    try await link.sync(a, c)
    try await link.sync(b, c)
    try await link.sync(a, b)
    try await link.sync(a, c)
    let both = ["shared 0", "shared 1", "only a 0", "only b 0"]
    try expect(both, in: a, b, c)
    try a.insert(1, "later a")
    try b.insert(1, "later b")
    for (one, other) in [(a, b), (b, c), (a, c)] { try await link.sync(one, other) }
    try expect(both + ["later a 0", "later b 0"], in: a, b, c)
  }

  /// Only the database was copied, without the token beside it: both write under one id until they meet.
  @Test(arguments: Effort.sample(Link.allCases, 3)) func copiesThatWriteUnderOneIdKeepBothEdits(over link: Link)
    async throws
  {
    let (a, b) = (try Site(notes: 2, "shared"), try Site())
    let files = try a.backUp()
    try b.restore(files.filter { !$0.key.hasSuffix("-incarnation") })
    try a.insert(1, "only a")
    try b.insert(1, "only b")
    try await link.sync(a, b)
    try a.insert(1, "later a")
    try b.insert(1, "later b")
    try await link.sync(a, b)
    try expect(["shared 0", "shared 1", "only a 0", "only b 0", "later a 0", "later b 0"], in: a, b)
  }

  /// A backup is put back after what came later had been given away; the store writes before it meets anybody.
  @Test(arguments: Effort.sample(Link.allCases, 3)) func anOldCopyThatIsPutBackGetsBackWhatItGaveAway(over link: Link)
    async throws
  {
    let (a, b) = (try Site(notes: 2, "shared"), try Site())
    try await link.sync(a, b)
    let backup = try a.backUp()
    try a.insert(2, "given away")
    try await link.sync(a, b)
    try a.restore(backup)
    try a.insert(3, "after")
    try await link.sync(a, b)
    let all = ["shared 0", "shared 1", "given away 0", "given away 1", "after 0", "after 1", "after 2"]
    try expect(all, in: a, b)
    try a.insert(1, "later a")
    try b.insert(1, "later b")
    try await link.sync(a, b)
    try expect(all + ["later a 0", "later b 0"], in: a, b)
  }

  /// Of the write-ahead log a power cut leaves what was synced: at least what it had when the peer got it.
  @Test(arguments: Effort.sample(Link.allCases, 3)) func whatAPeerHasSeenSurvivesAPowerCut(over link: Link) async throws
  {
    let (a, b) = (try Site(notes: 2, "shared"), try Site())
    try a.hold()
    try a.insert(1, "seen")
    try await link.sync(a, b)
    let synced = try #require(try a.backUp().first { $0.key.hasSuffix("-wal") }).value.count
    try a.insert(1, "lost")
    var files = try a.backUp()
    try a.letGo()
    let log = try #require(files.keys.first { $0.hasSuffix("-wal") })
    #expect(try #require(files[log]).count > synced)
    files[log] = files[log]?.prefix(synced)
    try a.restore(files.filter { !$0.key.hasSuffix("-shm") })
    try a.insert(1, "after")
    try await link.sync(a, b)
    try expect(["shared 0", "shared 1", "seen 0", "after 0"], in: a, b)
  }
}
