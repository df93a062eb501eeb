import Foundation
import GRDB
import Tally
import TallyAssets
import TallyCRDT
import TallyStore
import Testing

@testable import TallySync

/// The rules of file transfer in a session: which messages it accepts, how it answers, and the timing of its runner.
@Suite struct AssetSessionRuleTests {
  typealias Place = AssetFileTests.Place

  private func addAnn(_ store: Store) throws {
    try store.write { try $0.execute(sql: "INSERT INTO Person(id, name) VALUES('Person|~|ann', 'Ann')") }
  }

  /// A peer that breaks the rules ends the session, and nothing else.
  @Test(arguments: 0..<6) func whatWasNotAskedForIsRefused(_ number: Int) throws {
    let name = try #require(AssetName("sha256-\(String(repeating: "ab", count: 32)).3.jpg"))
    let cases: [[SyncMessage]] = [
      [.piece(1, offset: 0, bytes: [1])], [.stored(1, byteCount: 1)], [.lacks(9)],
      [.want(1, name, offset: 0), .want(1, name, offset: 0)], [.want(1, name, offset: 3)],
      [.want(1, name, offset: 0), .stored(1, byteCount: 1 << 40)],
    ]
    let messages = cases[number]
    let a = try Place()
    try addAnn(a.store)
    var session = try greeted(a.store)
    let error = #expect(throws: SyncError.self) {
      for message in messages { _ = try session.handle(.message(message)) }
    }
    #expect(error?.code == .protocolViolation)
  }

  /// A live session that has said hello to an equal peer.
  private func greeted(
    _ store: Store, _ mode: SyncSession.Mode = .live, carriesFiles: Bool = true
  ) throws -> SyncSession {
    var session = SyncSession(mode: mode, carriesFiles: carriesFiles)
    let summary = try store.summary()
    _ = try session.handle(.started(summary))
    let hello = SyncHello(
      versions: 1...6, replica: ReplicaID(high: 1, low: 2), digest: SyncDigest(summary), isLive: mode == .live,
      messageLimit: 1 << 20)
    _ = try session.handle(.message(.hello(hello)))
    return session
  }

  /// A peer whose disk is full asks for nothing more: what it was being given is no reason to stay.
  @Test func aPeerMayGiveAFileUp() throws {
    let a = try Place()
    try addAnn(a.store)
    var session = try greeted(a.store, .once)
    _ = try session.handle(.filesListed(FileListing()))
    let large = try #require(AssetName("sha256-\(String(repeating: "cd", count: 32)).9000000.jpg"))
    _ = try session.handle(.message(.want(1, large, offset: 0)))
    _ = try session.handle(.fileOpened(1, isHere: true))
    for _ in 0..<16 { _ = try session.handle(.fileRead(1, [UInt8](repeating: 0, count: 65_536))) }
    #expect(!session.isFinished)
    _ = try session.handle(.message(.settled))
    #expect(session.isFinished)
  }

  /// A peer that is silent holds up one file, and no other.
  @Test func aFileOfWhichNothingComesIsGivenUp() throws {
    let a = try Place()
    try addAnn(a.store)
    var session = try greeted(a.store)
    var listing = FileListing()
    listing.names = try ["ab", "cd"].map { digits in
      try #require(AssetName("sha256-\(String(repeating: digits, count: 32)).3.jpg"))
    }
    _ = try session.handle(.filesListed(listing))
    _ = try session.handle(.fileBegun(listing.names[0], byteCount: 0))
    _ = try session.handle(.fileStalled(7))
    #expect(session.files.asking?.name == listing.names[0])
    _ = try session.handle(.fileStalled(1))
    #expect(session.files.asking?.name == listing.names[1] && session.files.failed == [listing.names[0]])
    // It is tried again later.
    _ = try session.handle(.filesDue)
    #expect(session.files.failed.isEmpty && (session.files.owesListing || session.files.isListing))
  }

  @Test func filesHaveAPace() throws {
    var pace = FilePace()
    let first = pace.beginsListing(isLive: true, .seconds(100))
    pace.endsListing(.seconds(101))
    let second = (pace.beginsListing(isLive: true, .seconds(104)), pace.owesListing)
    let third = (pace.beginsListing(isLive: true, .seconds(105)), pace.owesListing)
    let once = pace.beginsListing(isLive: false, .seconds(105))
    #expect(first && second == (false, true) && third == (true, false) && once)
    let name = try #require(AssetName("sha256-\(String(repeating: "ab", count: 32)).30.jpg"))
    var asking = SessionFiles.Asking(number: 3, name: name)
    var (stalls, ends) = ([UInt64?](), [Bool]())
    // What has come before is being read: that takes its time.
    stalls.append(pace.stalled(asking, after: .seconds(60), .seconds(200)))
    (asking.byteCount, asking.kept, asking.isAsked) = (10, 10, true)
    stalls.append(pace.stalled(asking, after: .seconds(60), .seconds(300)))
    stalls.append(pace.stalled(asking, after: .seconds(60), .seconds(360)))
    stalls.append(pace.stalled(asking, after: .seconds(60), .seconds(361)))
    asking.byteCount = 11
    stalls.append(pace.stalled(asking, after: .seconds(60), .seconds(400)))
    ends.append(pace.ends(asking, after: .seconds(20), .seconds(400)))
    ends.append(pace.ends(asking, after: .seconds(20), .seconds(421)))
    ends.append(pace.ends(asking, after: .seconds(20), .seconds(500)))
    #expect(stalls == [nil, nil, nil, 3, nil] && ends == [false, true, false])
  }

  /// Where no mailbox takes files, none is unsent for want of one.
  @Test func aStatusIsUpToDateWithoutAPlaceForFiles() {
    var status = SyncStatus()
    var peer = PeerStatus(id: "icloud")
    (peer.pending, peer.missing) = (0, 0)
    (status.peers, status.unsentAssets) = ([peer], 2)
    #expect(status.isUpToDate)
    status.peers[0].keepsAssets = true
    #expect(!status.isUpToDate)
    // Unknown is not none.
    status.unsentAssets = nil
    #expect(!status.isUpToDate)
    status.unsentAssets = 0
    #expect(status.isUpToDate)
  }

  /// Whether another session is to follow at once depends on whether this one brought anything.
  @Test(arguments: [false, true]) func aSessionThatEndsFilesSaysWhatIsLeft(_ hasCome: Bool) throws {
    let a = try Place()
    try addAnn(a.store)
    var session = try greeted(a.store, .once)
    let large = try #require(AssetName("sha256-\(String(repeating: "cd", count: 32)).9000000.jpg"))
    var listing = FileListing()
    listing.names = [large]
    _ = try session.handle(.filesListed(listing))
    _ = try session.handle(.fileBegun(large, byteCount: 0))
    if hasCome { _ = try session.handle(.message(.piece(1, offset: 0, bytes: [1]))) }
    _ = try session.handle(.filesOver)
    _ = try session.handle(.message(.settled))
    #expect(session.progress.assets?.isUnfinished == hasCome)
    // What is on its way comes first, and then the peer's answer.
    _ = try session.handle(.message(.piece(1, offset: hasCome ? 1 : 0, bytes: [2])))
    #expect(!session.isFinished)
    _ = try session.handle(.message(.lacks(1)))
    #expect(session.isFinished)
  }

  @Test func aPeerThatDoesNotWaitIsRefused() throws {
    let a = try Place()
    try addAnn(a.store)
    var session = try greeted(a.store)
    let large = try #require(AssetName("sha256-\(String(repeating: "cd", count: 32)).9000000.jpg"))
    var listing = FileListing()
    listing.names = [large]
    _ = try session.handle(.filesListed(listing))
    _ = try session.handle(.fileBegun(large, byteCount: 0))
    let error = #expect(throws: SyncError.self) {
      for number in 0..<20 {
        _ = try session.handle(
          .message(.piece(1, offset: UInt64(number) * 65_536, bytes: [UInt8](repeating: 0, count: 65_536))))
      }
    }
    #expect(error?.code == .protocolViolation)
  }

  @Test func aMessageAboutFilesNeedsVersion6() throws {
    let a = try Place()
    var session = try greeted(a.store, carriesFiles: false)
    #expect(throws: SyncError.self) { try session.handle(.message(.settled)) }
  }
}
