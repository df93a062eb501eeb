import Synchronization
import TallyCRDT
import Testing

@testable import TallySync

/// Downloads that break off, from places that know of which entry their bytes are and from others.
@Suite struct ResumedDownloadTests {
  /// A place whose answers end with an error after each piece of ten bytes. With `tells`, a download knows of which
  /// entry its bytes are; the entry is put again after `lifetime` pieces.
  private final class Place: Mailbox {
    let tells: Bool
    let lifetime: Int
    let state = Mutex((gets: 0, pieces: 0))
    static let byteCount = 40

    init(tells: Bool, lifetime: Int = .max) { (self.tells, self.lifetime) = (tells, lifetime) }

    let name = "place"
    let identity = "place"
    let kind = MailboxKind.log

    func changes(after cursor: MailboxCursor?) async throws -> MailboxPage { MailboxPage(items: [], isListing: true) }
    func put(_ upload: MailboxUpload) async throws -> MailboxReceipt { MailboxReceipt() }
    func remove(_ names: [String]) async throws {}
    func get(_ name: String, from offset: Int) async throws -> any AsyncSequence<[UInt8], any Error> {
      state.withLock { $0.gets += 1 }
      return tells ? Pieces(place: self, offset: offset) : Forgetful(pieces: Pieces(place: self, offset: offset))
    }
  }

  private struct Pieces: AsyncSequence, ResumablePieces {
    let place: Place
    var offset: Int
    var entry: UInt8?
    var isBroken = false

    init(place: Place, offset: Int) { (self.place, self.offset) = (place, offset) }

    func makeAsyncIterator() -> Self { self }

    mutating func next() async throws -> [UInt8]? {
      guard offset < Place.byteCount else { return nil }
      isBroken.toggle()
      guard isBroken else { throw MailboxError(.unreadable, "it broke off") }
      let now = place.state.withLock { state in
        state.pieces += 1
        return UInt8(state.pieces > place.lifetime ? 2 : 1)
      }
      guard entry ?? now == now else {
        isBroken = false
        throw MailboxError(.unreadable, "it was put again")
      }
      entry = now
      offset += 10
      return [UInt8](repeating: now, count: 10)
    }
  }

  /// The same bytes from a place that has only a name.
  private struct Forgetful: AsyncSequence, AsyncIteratorProtocol {
    var pieces: Pieces
    func makeAsyncIterator() -> Self { self }
    mutating func next() async throws -> [UInt8]? { try await pieces.next() }
  }

  private func item() -> MailboxItem { MailboxItem(name: "a", byteCount: Place.byteCount) }

  @Test(arguments: [false, true]) func aDownloadGoesOnWhereItBrokeOff(tells: Bool) async throws {
    let place = Place(tells: tells)
    // Its bytes are no entry, which is found out once all have come.
    #expect(try await !MailboxReader(mailbox: place).isWhole(item(), check: 0))
    #expect(place.state.withLock { $0.pieces } == 4)
    #expect(place.state.withLock { $0.gets } == (tells ? 1 : 4))
  }

  @Test func aDownloadTakesNoBytesOfAnotherEntry() async throws {
    let place = Place(tells: true, lifetime: 2)
    let fault = await #expect(throws: MailboxReader.Fault.self) {
      _ = try await MailboxReader(mailbox: place).isWhole(item(), check: 0)
    }
    #expect(fault?.message == "it was put again" && fault?.isPassing == true)
    #expect(place.state.withLock { $0.gets } == 1)
  }
}
