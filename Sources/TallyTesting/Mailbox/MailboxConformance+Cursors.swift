import TallySync

/// A cursor leaves nothing out.
extension MailboxConformance {
  static let cursorRules = [
    Rule(name: "pagesHoldEveryEntryOnce") { place in
      let entries = try await place.put(0..<40)
      let news = try await place.news()
      try place.expect(
        Set(news.names) == Set(entries.map(\.name)), "\(news.items.count) of \(entries.count) entries are listed")
      guard place.mailbox.kind == .log else { return }
      try place.expect(news.names == entries.map(\.name), "a log's entries are not in the order of their coming")
      try place.expect(news.cursor != nil, "a log gives no cursor")
    },
    Rule(name: "afterACursorComesWhatIsNew") { place in
      let old = try await place.put(0..<3)
      let before = try await place.news()
      let again = try await place.news(after: before.cursor)
      if !again.isListing { try place.expect(again.items.isEmpty, "after the last cursor comes \(again.names)") }
      let new = try await place.put(3..<6)
      let news = try await place.news(after: before.cursor)
      let expected = (news.isListing ? old + new : new).map(\.name)
      try place.expect(
        Set(news.names) == Set(expected), "of \(expected.count) entries after a cursor \(news.items.count) are listed")
      if place.mailbox.kind == .log {
        try place.expect(!news.isListing, "a log lists everything though it knows the cursor")
      }
    },
    Rule(name: "aCursorOfAnotherLogGivesAListing") { place in
      let entries = try await place.put(0..<4)
      guard let known = try await place.news().cursor else { return }
      let strange = [
        MailboxCursor(position: known.position, entry: "0" + known.entry),
        MailboxCursor(position: known.position &+ 1_000_000, entry: known.entry),
        MailboxCursor(position: known.position > 1 ? known.position - 1 : known.position + 1, entry: known.entry),
      ]
      for cursor in strange {
        let news = try await place.news(after: cursor)
        try place.expect(news.isListing, "a place goes on from the cursor \(cursor), which it never gave")
        try place.expect(
          Set(news.names) == Set(entries.map(\.name)),
          "with a cursor that it never gave, \(news.items.count) of \(entries.count) entries are listed")
      }
    },
    Rule(name: "aReceiptsCursorLeavesNothingOut") { place in
      let (mine, theirs) = (try await place.put(0..<2), try SampleEntry(7))
      let before = try await place.news().cursor
      // Another store comes in between.
      try await place.put(theirs)
      let late = try await place.put(try SampleEntry(8), after: before)
      if let cursor = late.cursor {
        let names = try await place.news(after: cursor).names
        try place.expect(names.contains(theirs.name), "a receipt's cursor leaves out what came before the entry")
      }
      // Nobody does.
      let next = try SampleEntry(9)
      let receipt = try await place.put(next, after: try await place.news().cursor)
      if let cursor = receipt.cursor {
        let news = try await place.news(after: cursor)
        try place.expect(!news.isListing, "a place does not know the cursor of its own receipt")
        try place.expect(news.items.isEmpty, "after the cursor of a receipt comes \(news.names)")
      }
      let all = try await place.news().items.count
      try place.expect(all == mine.count + 3, "\(all) of \(mine.count + 3) entries are listed")
    },
  ]
}
