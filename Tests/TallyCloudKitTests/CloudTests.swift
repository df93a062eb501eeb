import TallyRig
import Testing

typealias Note = CloudNote

extension CloudWorld {
  /// All pass in turn until none has anything to put or take.
  static func settle(_ phones: Phone..., sourceLocation: Testing.SourceLocation = #_sourceLocation) async throws {
    try await settle(phones, sourceLocation: sourceLocation)
  }

  /// The same for any number of them.
  static func settle(_ phones: [Phone], sourceLocation: Testing.SourceLocation = #_sourceLocation) async throws {
    guard try await !rest(phones) else { return }
    Issue.record("the phones do not come to rest", sourceLocation: sourceLocation)
  }

  /// All hold the same, byte for byte, and are sound.
  static func expectEqual(_ phones: Phone..., sourceLocation: Testing.SourceLocation = #_sourceLocation) throws {
    let first = try dump(phones[0].store)
    for phone in phones {
      #expect(try dump(phone.store) == first, sourceLocation: sourceLocation)
      #expect(try phone.store.verify().problems == [], sourceLocation: sourceLocation)
    }
  }
}
