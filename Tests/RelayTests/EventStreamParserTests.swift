#if Relay
  import Foundation
  import TallyRelayProtocol
  import Testing

  @testable import TallyRelay

  /// `text/event-stream`, however it is cut.
  @Suite struct EventStreamParserTests {
    private static let text =
      "\u{FEFF}: hello\nid: 1\nevent: page\ndata: a\ndata:b\n\nid:2\r\nevent:news\r\ndata\r\n\r\r:\n\ndata: c\r\r"
    private static let events = [
      EventStreamParser.Event(kind: "page", id: "1", data: "a\nb"),
      EventStreamParser.Event(kind: "news", id: "2", data: ""),
      EventStreamParser.Event(kind: "", id: "2", data: "c"),
    ]

    @Test func isReadTheSameHoweverItIsCut() throws {
      let bytes = Array(Self.text.utf8)
      for cut in 0...bytes.count {
        var parser = EventStreamParser()
        let events = try parser.parse(Array(bytes[..<cut])) + parser.parse(Array(bytes[cut...]))
        #expect(events == Self.events, "cut at \(cut)")
      }
      var parser = EventStreamParser()
      #expect(try bytes.flatMap { try parser.parse([$0]) } == Self.events)
    }

    /// A server that sends without an end costs a line, not the memory of the device.
    @Test func aLongLineAndLongDataAreRefused() throws {
      var parser = EventStreamParser()
      let long = Array(repeating: UInt8(ascii: "a"), count: RelayLimits.eventLineBytes)
      #expect(try parser.parse(long) == [])
      let error = #expect(throws: RelayError.self) { try parser.parse([0x61]) }
      #expect(error?.code == .notARelay)
      parser = EventStreamParser()
      let line = Array("data: \(String(repeating: "b", count: 1_000))\n".utf8)
      #expect(throws: RelayError.self) { for _ in 0..<40 { _ = try parser.parse(line) } }
    }

    @Test func anEventIsWhatItsLinesSay() throws {
      let chain = Array(repeating: UInt8(7), count: 16)
      let cursor = try #require(RelayCursor(position: 3, chain: chain))
      let page = RelayPage(
        isListing: false, hasMore: false, cursor: cursor,
        frames: [.init(position: 3, name: "a", change: .entry(byteCount: 1, content: [9]))])
      for event in [RelayEvent(page), RelayEvent(.news, at: cursor), RelayEvent(.listing, at: cursor)] {
        var parser = EventStreamParser()
        let read = try parser.parse(Array(event.lines.utf8))
        #expect(read.map { RelayEvent(kind: $0.kind, id: $0.id, data: $0.data) } == [event])
      }
      #expect(
        RelayEvent(page).lines == """
          id: 3.07070707070707070707070707070707
          event: page
          data: VFJQAQADBwcHBwcHBwcHBwcHBwcHBwECAwFhAQlQ9gOTH+/v7Q==


          """)
      #expect(RelayEvent(.news, at: cursor).lines == "id: 3.07070707070707070707070707070707\nevent: news\ndata: -\n\n")
    }

    @Test(arguments: [
      ("page", "3.07070707070707070707070707070707", "-"), ("page", "3.07", "VFJQ"), ("other", "3.07", "-"),
      ("page", "4.07070707070707070707070707070707", "VFJQAQADBwcHBwcHBwcHBwcHBwcHBwECAwFhAQk="), ("news", "", "-"),
    ]) func whatIsNoEventIsNone(_ kind: String, _ id: String, _ data: String) {
      #expect(RelayEvent(kind: kind, id: id, data: data) == nil)
    }

    /// What does not fit into an event is asked for.
    @Test func aLargePageIsNews() throws {
      let cursor = try #require(RelayCursor(position: 1, chain: Array(repeating: 0, count: 16)))
      func page(_ count: Int) -> RelayPage {
        let content = [UInt8](repeating: 0, count: count)
        return RelayPage(
          isListing: false, hasMore: false, cursor: cursor,
          frames: [.init(position: 1, name: "a", change: .entry(byteCount: count, content: content))])
      }
      #expect(RelayEvent(page(16_000)).kind == .page)
      #expect(RelayEvent(page(17_000)).kind == .news)
      var more = page(1)
      more.hasMore = true
      #expect(RelayEvent(more).kind == .news)
    }
  }
#endif
