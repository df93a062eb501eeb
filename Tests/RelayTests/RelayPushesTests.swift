import TallyRelay
import TallyRelayProtocol
import Testing

/// What a client makes of events, whatever comes.
@Suite struct RelayPushesTests {
  private func cursor(_ position: UInt64) throws -> RelayCursor {
    try #require(RelayCursor(position: position, chain: Array(repeating: UInt8(position), count: 16)))
  }

  /// An event with the entry at a position.
  private func event(_ position: UInt64) throws -> RelayEvent {
    let frame = RelayPage.Frame(position: position, name: "e\(position)", change: .entry(byteCount: 1, content: [1]))
    return RelayEvent(
      RelayPage(isListing: false, hasMore: false, cursor: try cursor(position), frames: [frame]))
  }

  /// Found by the simulator: a pass got a page that ended where it began and said that there was more, and gave up.
  @Test func anEventThatComesAgainIsNoPage() throws {
    var pushes = RelayPushes(from: try cursor(1))
    for position in [2, 2, 3] as [UInt64] { pushes.take(try event(position)) }
    #expect(pushes.page(after: try cursor(1)) == nil)
    #expect(pushes.page(after: try cursor(2))?.frames.map(\.position) == [3])
    #expect(pushes.page(after: try cursor(3)) == nil)
  }

  /// A page is what came after the event before it, also when that was an older one.
  @Test func afterAnOlderEventPagesBeginThere() throws {
    var pushes = RelayPushes(from: try cursor(1))
    for position in [2, 3, 2, 4] as [UInt64] { pushes.take(try event(position)) }
    for position in [1, 3] as [UInt64] { #expect(pushes.page(after: try cursor(position)) == nil) }
    #expect(pushes.page(after: try cursor(2))?.cursor.position == 4)
    #expect(!pushes.hasNews(after: try cursor(4)))
  }
}
