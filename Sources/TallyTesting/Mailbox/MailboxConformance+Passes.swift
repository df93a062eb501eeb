import TallyStore
import TallySync

/// The rules that concern passes through a mailbox.
extension MailboxConformance {
  static let passRules = [
    Rule(name: "storesConverge") { place in
      let stores = try (0..<3).map { number in
        let store = try Store(inMemory: SampleEntry.schema)
        try SampleEntry.write(number, size: 50_000, to: store)
        return store
      }
      for index in [0, 1, 2, 1, 0] { try await stores[index].sync(through: place.mailbox) }
      let late = try Store(inMemory: SampleEntry.schema)
      try await late.sync(through: place.mailbox)
      let summary = try late.summary()
      for (index, store) in stores.enumerated() {
        let own = try store.summary()
        try place.expect(
          own.vector == summary.vector && own.fingerprint == summary.fingerprint,
          "store \(index) does not hold what a new one gets")
      }
      let writers = summary.vector.entries.count
      try place.expect(writers == 3, "a new store gets what \(writers) of 3 wrote")
    },
    Rule(name: "aSecondPassReadsNothing") { place in
      let counted = CountingMailbox(place.mailbox)
      let (one, other) = (try Store(inMemory: SampleEntry.schema), try Store(inMemory: SampleEntry.schema))
      try SampleEntry.write(1, size: 20_000, to: one)
      try SampleEntry.write(2, size: 20_000, to: other)
      for store in [one, other, one, other] { try await store.sync(through: counted) }
      for store in [one, other] {
        counted.reset()
        let report = try await store.sync(through: counted)
        try place.expect(counted.bytesRead == 0, "a pass with nothing new reads \(counted.bytesRead) bytes")
        try place.expect(report.written.isEmpty, "a pass with nothing new puts \(report.written.count) entries")
      }
    },
  ]
}
