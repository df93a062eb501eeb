import TallySync

/// Entries are whole, each once.
extension MailboxConformance {
  static let entryRules = [
    Rule(name: "anEmptyPlaceListsNothing") { place in
      let news = try await place.news()
      try place.expect(news.items.isEmpty, "an empty place lists \(news.names)")
    },
    Rule(name: "whatWasPutIsListedAndWhole") { place in
      for (number, size) in [0, 100, 1_023, 65_536, 300_000, 3 << 19].enumerated() {
        let entry = try SampleEntry(number, size: size)
        try await place.put(entry)
        let item = try await place.news().items.first { $0.name == entry.name }
        guard let item, item.state == .available else { throw place.fail("an entry of \(size) bytes is not listed") }
        try place.expect(entry, is: try await place.bytes(of: entry.name), "an entry of \(size) bytes")
        if let content = item.content { try place.expect(entry, is: content, "the content sent along") }
        if let byteCount = item.byteCount {
          try place.expect(
            byteCount == entry.bytes.count, "an entry of \(entry.bytes.count) bytes is listed with \(byteCount)")
        }
      }
    },
    Rule(name: "puttingTwiceIsOneEntry") { place in
      let entry = try SampleEntry(1, size: 5_000)
      for _ in 0..<2 { try await place.put(entry) }
      let names = try await place.news().names
      try place.expect(names == [entry.name], "after putting one entry twice there is \(names)")
      try place.expect(entry, is: try await place.bytes(of: entry.name), "an entry that was put twice")
    },
    Rule(name: "puttingAtOnceIsOneEntry") { place in
      let entry = try SampleEntry(1, size: 5_000)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<4 { group.addTask { try await place.put(entry) } }
        try await group.waitForAll()
      }
      let names = try await place.news().names
      try place.expect(names == [entry.name], "after putting one entry four times at once there is \(names)")
      try place.expect(entry, is: try await place.bytes(of: entry.name), "an entry that was put four times at once")
    },
    Rule(name: "aDownloadBeginsAtAnyOffset") { place in
      let entry = try SampleEntry(1, size: 600_000)
      try await place.put(entry)
      let count = entry.bytes.count
      for offset in [0, 1, 1_024, count / 2, count - 1, count] {
        let rest = try await place.bytes(of: entry.name, from: offset)
        try place.expect(
          rest == Array(entry.bytes[offset...]), "from \(offset) of \(count) on, \(rest.count) other bytes came")
      }
    },
    Rule(name: "anEntryThatIsNotThereIsAnError") { place in
      let entry = try SampleEntry(1)
      do {
        _ = try await place.bytes(of: entry.name)
      } catch let error as MailboxError {
        return try place.expect(
          error.code == .noSuchFile, "an entry that is not there gives \(error.code.rawValue), not noSuchFile")
      }
      throw place.fail("an entry that is not there can be read")
    },
    Rule(name: "anUploadThatFailsPutsNothing") { place in
      struct Broken: Error {}
      let entry = try SampleEntry(1, size: 600_000)
      let upload = MailboxUpload(name: entry.name, byteCount: entry.bytes.count) { offset, count in
        guard offset + count < entry.bytes.count / 2 else { throw Broken() }
        return Array(entry.bytes[offset..<offset + count])
      }
      do {
        _ = try await place.mailbox.put(upload)
        throw place.fail("an upload that could not be read was put")
      } catch is Broken {}
      let names = try await place.news().names
      try place.expect(names.isEmpty, "an upload that failed is listed")
      try await place.put(entry)
      try place.expect(entry, is: try await place.bytes(of: entry.name), "an entry that was put after a failed try")
    },
    Rule(name: "severalArePutAsEachAlone") { place in
      struct Broken: Error {}
      var entries: [SampleEntry] = []
      for (number, size) in [0, 300_000, 0, 5_000, 0, 0].enumerated() {
        entries.append(try SampleEntry(number, size: size))
      }
      try await place.put(entries[2])
      var uploads = entries.map { $0.upload() }
      uploads[4] = MailboxUpload(name: entries[4].name, byteCount: entries[4].bytes.count) { _, _ in throw Broken() }
      let results = try await place.mailbox.put(uploads)
      try place.expect(results.count == uploads.count, "of \(uploads.count) entries \(results.count) are answered")
      for (index, result) in results.enumerated() {
        switch result {
        case .success where index == 4: throw place.fail("an upload that could not be read was put among others")
        case .failure(let error) where index == 4:
          try place.expect(error is Broken, "an upload that could not be read fails with \(error)")
        case .failure(let error): throw place.fail("an entry among others was not put: \(error)")
        case .success: break
        }
      }
      let names = Set(try await place.news().names)
      entries.remove(at: 4)
      try place.expect(names == Set(entries.map(\.name)), "of several entries \(names.count) are listed")
      for entry in entries {
        try place.expect(entry, is: try await place.bytes(of: entry.name), "an entry that was put among others")
      }
    },
    Rule(name: "contentsThatComeTogetherAreWhole") { place in
      let entries = try await place.put(0..<5)
      let missing = try SampleEntry(9)
      let contents = try await place.mailbox.contents(of: (entries + [missing]).map(\.name))
      try place.expect(contents[missing.name] == nil, "an entry that is not there has a content")
      for (name, bytes) in contents {
        guard let entry = entries.first(where: { $0.name == name }) else {
          throw place.fail("a content comes that nobody asked for: \(name)")
        }
        try place.expect(entry, is: bytes, "a content that came with others")
      }
    },
    Rule(name: "aFoldersFilesCanBeRemoved") { place in
      let entries = try await place.put(0..<3)
      let before = try await place.news()
      try await place.mailbox.remove([entries[0].name, entries[2].name])
      try await place.mailbox.remove([entries[0].name, try SampleEntry(9).name])
      let news = try await place.news(after: before.cursor)
      let here = Set(news.items.filter { $0.state != .removed }.map(\.name))
      if place.mailbox.kind == .folder, news.isListing {
        try place.expect(here == [entries[1].name], "after removing two of three files there is \(here)")
      }
      try place.expect(entries[1], is: try await place.bytes(of: entries[1].name), "an entry beside removed ones")
    },
  ]
}
