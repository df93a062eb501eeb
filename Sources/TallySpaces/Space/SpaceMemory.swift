#if Spaces
  import TallyStore

  /// Where a device keeps something of a space: values by short names. Records and what was verified are kept in the
  /// store; keys beside it, where no backup and no copy of the store has them.
  package protocol SpaceMemory: Sendable {
    /// Returns everything that is kept. Damaged values are left out: they come again.
    func values() throws -> [String: [UInt8]]
    /// Keeps values, all of them or none; nil for those that go. Afterwards they outlast a crash.
    func keep(_ values: [String: [UInt8]?]) throws
  }

  /// The notes of a store, in a scope of their own. A copy of the store has them as well; they hold no keys.
  package struct StoreSpaceMemory: SpaceMemory {
    private static let scope = "space"
    private let store: Store

    package init(_ store: Store) { self.store = store }

    package func values() throws -> [String: [UInt8]] {
      let notes = try store.notes(Self.scope)
      // What was damaged is replaced as a whole, or it would stay so.
      if notes.isDamaged { try store.note(NoteBatch(Self.scope, [:], isReplacing: true)) }
      return notes.values
    }

    package func keep(_ values: [String: [UInt8]?]) throws { try store.note(NoteBatch(Self.scope, values)) }
  }
#endif
