#if Spaces
  import Synchronization
  import TallyCRDT

  /// A space as one of its devices has it: the records, the keys that it can open, and its own keys. Several places may
  /// use it at once.
  ///
  /// News is written down before anything is done with it: keys, then records, then which records there are. So a
  /// crash in between loses nothing that others rely on.
  package final class SealedSpace: Sendable {
    package let id: SpaceID
    /// This device.
    package let device: MemberID
    let deviceKeys: MemberKeys
    private let log: SpaceLog
    private let memory, secrets: any SpaceMemory
    private let state: Mutex<State>

    struct State: Sendable {
      var set: SpaceRecordSet
      var ring: KeyRing
      /// The newest records that this device has seen, as they are noted beside its keys. A store that was set back
      /// may lack some.
      var seen: Set<SpaceDigest> = []
      /// The records, by the names under which they lie in places.
      var names: [SealedName: SpaceDigest] = [:]
    }

    /// Opens a space with what this device has of it.
    /// - Parameters:
    ///   - id: the space.
    ///   - logKey: the key that seals records, for ever, 32 bytes.
    ///   - device: this device's keys.
    ///   - invitation: the keys of the invitation by which this device came: keys that were made meanwhile are sealed
    ///     to that. Never those of the recovery words, which nothing ends.
    ///   - records: where records and what was verified are kept.
    ///   - secrets: where keys are kept.
    /// - Throws: errors of the memories.
    package init(
      _ id: SpaceID, logKey: [UInt8], device: MemberKeys, invitation: MemberKeys? = nil, records: any SpaceMemory,
      secrets: any SpaceMemory
    ) throws {
      (self.id, deviceKeys, memory, self.secrets) = (id, device, records, secrets)
      self.device = MemberID(device.publicKeys, in: id)
      log = SpaceLog(key: logKey)
      var state = State(
        set: SpaceRecordSet(space: id, own: self.device),
        ring: KeyRing(space: id, owners: [device] + (invitation.map { [$0] } ?? [])))
      for (name, value) in try secrets.values() {
        if name.hasPrefix(Self.keyPrefix) { state.ring.add(value) }
        if name == Self.seenName {
          for start in stride(from: 0, to: value.count, by: SpaceDigest.byteCount) {
            if let id = SpaceDigest(value[start...].prefix(SpaceDigest.byteCount)) { state.seen.insert(id) }
          }
        }
      }
      // What is damaged is as if it had not come: it comes again, and until then `seen` keeps this device from sealing.
      let kept = try records.values().filter { $0.key.hasPrefix(Self.recordPrefix) }.values
      state.set.restore(kept.compactMap { try? SignedRecord($0) })
      state.ring.open(state.set)
      for id in state.set.records.keys { state.names[log.name(id)] = id }
      self.state = Mutex(state)
    }

    private static let (recordPrefix, keyPrefix, seenName) = ("record ", "key ", "seen")

    /// The tag by which the names in a place tell the space.
    var tag: [UInt8] { log.tag }

    // MARK: Records

    /// The records that were not taken in.
    struct Refusals: Sendable {
      var errors: [SealedName: SpaceError] = [:]
      /// Of these, the ones that may be taken another time.
      var postponed: Set<SealedName> = []
    }

    /// Takes in records as they lie in a place, contents by names, and writes them and the keys in them down.
    /// - Returns: those that were not taken in.
    /// - Throws: errors of the memories; then nothing was taken in.
    func takeIn(_ sealed: [(name: SealedName, content: [UInt8])]) throws -> Refusals {
      var (refusals, new): (Refusals, [SignedRecord]) = (Refusals(), [])
      for (name, content) in sealed {
        do {
          new.append(try log.open(name, content))
        } catch let error as SpaceError {
          refusals.errors[name] = error
        }
      }
      let outcome = try take(new)
      for (id, error) in outcome.refused { refusals.errors[log.name(id)] = error }
      refusals.postponed = Set(outcome.postponed.map(log.name))
      return refusals
    }

    /// Adds records. Returns those that were refused.
    @discardableResult
    package func add(_ new: [SignedRecord]) throws -> [SpaceDigest: SpaceError] { try take(new).refused }

    private func take(_ new: [SignedRecord]) throws -> SpaceRecordSet.Outcome {
      try state.withLock { state in
        var next = state
        let outcome = next.set.add(new)
        try adopt(next, with: outcome.added, in: &state)
        return outcome
      }
    }

    private func adopt(_ next: State, with added: [SignedRecord], in state: inout State) throws {
      var next = next
      let known = Set(next.ring.keys.keys)
      if !added.isEmpty { next.ring.open(next.set) }
      var keys: [String: [UInt8]?] = [:]
      for (id, key) in next.ring.keys where !known.contains(id) {
        keys[Self.keyPrefix + Hexadecimal.text(id.bytes)] = .some(key.secret)
      }
      if !keys.isEmpty { try secrets.keep(keys) }
      if !added.isEmpty {
        var values: [String: [UInt8]?] = [:]
        for record in added {
          values[Self.recordPrefix + Hexadecimal.text(record.record.id.bytes)] = .some(record.bytes)
        }
        try memory.keep(values)
        for record in added { next.names[log.name(record.record.id)] = record.record.id }
      }
      // Only a device that lacks nothing notes how far it is.
      let heads = next.set.membership.heads
      if heads != next.seen, next.seen.allSatisfy({ next.set.records[$0] != nil }) {
        next.seen = heads
        try secrets.keep([Self.seenName: .some(heads.sorted().flatMap(\.bytes))])
      }
      state = next
    }

    /// Says something, as this device, after all that it has seen.
    /// - Returns: the record; the next pass through each place puts it there.
    /// - Throws: `SpaceError`: `notPresent`, `behind`, `newerVersion`, or what no record can hold; errors of the
    ///   memories. Then nothing was said.
    @discardableResult
    package func say(_ operation: SpaceRecord.Operation) throws -> SignedRecord {
      try state.withLock { try say(operation, in: &$0) }
    }

    private func say(_ operation: SpaceRecord.Operation, in state: inout State) throws -> SignedRecord {
      try checkStanding(state)
      // A flood of records that nothing names is no more than a few records in the way.
      while state.set.membership.heads.count > SpaceLimits.parents {
        try append(.gather, after: Set(state.set.membership.heads.sorted().prefix(SpaceLimits.parents)), in: &state)
      }
      return try append(operation, after: state.set.membership.heads, in: &state)
    }

    @discardableResult
    private func append(
      _ operation: SpaceRecord.Operation, after heads: Set<SpaceDigest>, in state: inout State
    ) throws -> SignedRecord {
      let record = try SignedRecord(operation, in: id, by: device, after: heads, keys: deviceKeys)
      var next = state
      let outcome = next.set.add([record])
      if let error = outcome.refused[record.record.id] { throw error }
      try adopt(next, with: outcome.added, in: &state)
      return record
    }

    private func checkStanding(_ state: State) throws(SpaceError) {
      guard !state.set.membership.hasNewer else {
        throw SpaceError(.newerVersion, "a device with a newer version of Tally has said something")
      }
      guard state.seen.allSatisfy({ state.set.records[$0] != nil }) else {
        throw SpaceError(.behind, "this device has seen records that are not here")
      }
      guard state.set.membership.present.contains(device) else {
        throw SpaceError(.notPresent, "this device is not in the space")
      }
    }

    /// All records that are here.
    package var records: [SignedRecord] { state.withLock { Array($0.set.records.values) } }

    /// The records, by the names under which they lie in places.
    var recordNames: [SealedName: SpaceDigest] { state.withLock { $0.names } }

    /// Numbers of which one changes when a record that came too early, or found no room, may be taken.
    var progress: [Int] { state.withLock { $0.set.progress } }

    /// The number of bytes of a record in a place; nil if it is not here.
    func sealedByteCount(_ id: SpaceDigest) -> Int? {
      state.withLock { $0.set.records[id]?.bytes.count }.map { $0 + SpaceCrypto.tagBytes }
    }

    /// A record as it lies in a place; nil if it is not here.
    func sealedRecord(_ id: SpaceDigest) throws -> [UInt8]? {
      try state.withLock { $0.set.records[id] }.map { try log.seal($0) }
    }

    // MARK: Keys

    /// Returns the key under which this device seals now. It makes one if it knows none that was made after the last
    /// change of members, and sees to it that every key that it knows can be opened from the one in use.
    /// - Throws: `SpaceError`: `notPresent`, `behind`, `newerVersion`; errors of the memories.
    func sealingKey() throws -> SpaceKey {
      try state.withLock { state in
        try checkStanding(state)
        let key: SpaceKey
        if let known = state.ring.keyInUse(state.set.membership) {
          key = known
        } else {
          let (new, operation) = try state.ring.newKey(state.set)
          // The key is written down before the record of it: what others seal with it must not be lost. It counts as
          // known only with its record.
          try secrets.keep([Self.keyPrefix + Hexadecimal.text(new.id.bytes): .some(new.secret)])
          var next = state
          next.ring.add(new.secret)
          _ = try say(operation, in: &next)
          (state, key) = (next, new)
        }
        if let wrap = try state.ring.wrap(under: key, state.set) { _ = try say(wrap, in: &state) }
        return key
      }
    }

    /// Sees to it that there is a key for the present members, and that every key that is known here opens with it. A
    /// device that must not seal does nothing.
    /// - Throws: errors of the memories.
    func passOnKeys() throws {
      let mayAct = state.withLock { state in
        do throws(SpaceError) {
          try checkStanding(state)
          return true
        } catch {
          return false
        }
      }
      if mayAct { _ = try sealingKey() }
    }

    /// What this device knows at a time.
    var view: View { state.withLock { View($0) } }

    /// What the records mean.
    package var membership: Membership { state.withLock { $0.set.membership } }

    struct View: Sendable {
      let membership: Membership
      let keys: [SpaceKey]
      let keyInUse: SpaceDigest?
      /// The signing keys of all who can have sealed anything.
      let members: [MemberID: SpaceDigest]

      static let epochBytes = 16

      init(_ state: State) {
        membership = state.set.membership
        keys = state.ring.keys.values.sorted { $0.id < $1.id }
        keyInUse = state.ring.keyInUse(membership)?.id
        members = state.set.keys.mapValues(\.signing)
      }

      /// Sixteen bytes that change whenever a listing may have to: too many for anyone to find members, keys or names
      /// that have the same.
      func epoch(pending: Set<String>) -> [UInt8] {
        // A later version reads more of the records: it lists everything once.
        var bytes: [UInt8] = [SignedRecord.version]
        for device in membership.present.sorted() { bytes += device.bytes }
        for (device, files) in membership.kept.sorted(by: { $0.key < $1.key }) {
          bytes += [1] + device.bytes + files.sorted().flatMap(\.bytes)
        }
        for key in keys { bytes += [2] + key.id.bytes }
        bytes += [3] + (keyInUse?.bytes ?? [])
        for name in pending.sorted() { bytes += [4] + Array(name.utf8) }
        return Array(SpaceCrypto.digest(bytes).bytes.prefix(Self.epochBytes))
      }
    }
  }
#endif
