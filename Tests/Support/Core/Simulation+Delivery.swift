import TallyCRDT
import TallyFaults
import TallyTesting

/// Deltas on their way.
extension Simulation {
  mutating func prepare(_ slot: Int, _ from: Int, _ base: History.Base) {
    guard !devices[from].isLost else { return }
    transfers += 1
    publish(from)
    let sender = devices[from].file
    var parcel = Parcel(
      delta: sender.replica.delta(since: StateVector()), from: from, seen: sender.seen,
      sender: sender.seen, base: EventSet(),
      transfer: transfers)
    if case .vector(let other) = base {
      let receiver = devices[other].file
      parcel.delta = sender.replica.delta(since: receiver.replica.vector)
      parcel.base = receiver.seen.intersection(sender.seen)
      if hasCopies { parcel.seen = sent(sender.seen, since: receiver.replica.vector) }
    }
    parcels[slot] = parcel
  }

  /// What a peer may see is on the disk first.
  private mutating func publish(_ index: Int) {
    if !planted.contains(.publishedBeforeDurable) { devices[index].disk = devices[index].file }
  }

  /// The events that a delta carries: with copies about, a vector may cover events that its owner has not seen.
  private func sent(_ seen: EventSet, since base: StateVector) -> EventSet {
    var result = EventSet()
    for event in seen where !base.covers(dots[event]) { result.insert(event) }
    return result
  }

  mutating func deliver(_ slot: Int, _ to: Int) throws {
    guard let parcel = parcels[slot], !devices[to].isLost else { return }
    let delta = devices[parcel.from].file.replica.sending(parcel.delta)
    saveTooEarly(delta, to)
    try note(devices[to].file.replica.apply(delta, now: devices[to].clock), parcel, to)
  }

  mutating func deliver(_ slot: Int, _ to: Int, _ count: Int, _ range: ClosedRange<Int>) throws {
    guard let parcel = parcels[slot], !devices[to].isLost else { return }
    let chunks = devices[parcel.from].file.replica.sending(parcel.delta).chunks(count)
    // Transfers cut into different numbers of pieces are different transfers.
    let transfer = parcel.transfer * 10 + count
    for index in range {
      let receipt = devices[to].file.replica.receive(
        chunks[index], index, of: count, transfer: transfer, now: devices[to].clock)
      let held = devices[to].file.replica.inbox[transfer]?.count ?? 0
      if receipt != .waiting, held == 0 || planted.contains(.vectorPerChunk) {
        let key = [transfer, to]
        pieces[key, default: []].insert(index)
        guard !planted.contains(.vectorPerChunk) || pieces[key]?.count == count else { continue }
        pieces[key] = nil
        try note(receipt, parcel, to)
      }
    }
  }

  private mutating func note(_ receipt: Receipt, _ parcel: Parcel, _ to: Int) throws {
    guard !hasForgery else { return }
    if devices[to].file.replica.isOlderCopy { renewIfNoticed(to) }
    if hasCopies {
      guard receipt == .applied else { return }
      if isUndecided(parcel, at: devices[to].file.seen) { isUndecided = true }
      devices[to].file.seen.formUnion(parcel.seen)
      return
    }
    let expected: Receipt = devices[to].file.seen.isSuperset(of: parcel.base) ? .applied : .refused
    guard receipt == expected else {
      throw Failure(description: "a delta to replica \(to) was \(receipt) and should have been \(expected)")
    }
    if receipt == .refused { didRefuse = true }
    if receipt == .applied { devices[to].file.seen.formUnion(parcel.seen) }
  }

  /// Whether a delta goes to a copy that nobody has noticed, and lacks a write that the copy's vector covers though the
  /// copy has not seen it, while the sender has already dropped for its sake another one that the delta should carry.
  /// Until a repair the copy shows neither, which events alone do not say.
  private func isUndecided(_ parcel: Parcel, at seen: EventSet) -> Bool {
    let withheld = parcel.sender.subtracting(parcel.seen).subtracting(seen)
    guard !withheld.isEmpty else { return false }
    let sent = specification.writes(in: parcel.seen.subtracting(seen))
    return specification.writes(in: withheld).contains { register, winner in
      sent[register].map { specification.isBefore($0, winner) } ?? false
    }
  }

  /// A planted fault: the vector is on the disk before the cells are.
  private mutating func saveTooEarly(_ delta: ModelDelta, _ to: Int) {
    guard planted.contains(.vectorSavedBeforeCells), devices[to].disk.replica.vector.covers(delta.base) else { return }
    devices[to].disk.replica.vector.merge(delta.target)
  }

  private mutating func renewIfNoticed(_ index: Int) {
    if planted.contains(.restoredIDReused) { devices[index].file.replica.isOlderCopy = false } else { renew(index) }
  }

  // MARK: - A sync

  mutating func sync(_ one: Int, _ other: Int) throws {
    guard one != other, !devices[one].isLost, !devices[other].isLost else { return }
    if devices[one].file.replica.id == devices[other].file.replica.id, !planted.contains(.cloneKeepsID) {
      renew(one)
      renew(other)
    }
    try exchange(one, other, isRepair: hasForgery)
    let (a, b) = (devices[one].file.replica, devices[other].file.replica)
    guard a.vector == b.vector, a.fingerprint != b.fingerprint, !hasForgery else { return }
    guard hasCopies else {
      throw Failure(description: "replicas \(one) and \(other) have seen the same and hold something else")
    }
    try exchange(one, other, isRepair: true)
    if !planted.contains(.cloneKeepsID) {
      renew(one)
      renew(other)
    }
  }

  /// Both deltas are read before either is applied.
  private mutating func exchange(_ one: Int, _ other: Int, isRepair: Bool) throws {
    publish(one)
    publish(other)
    let (a, b) = (devices[one].file, devices[other].file)
    for (from, to, index) in [(a, b, other), (b, a, one)] {
      let base = isRepair ? StateVector() : to.replica.vector
      let delta = from.replica.delta(since: base)
      saveTooEarly(delta, index)
      let receipt = devices[index].file.replica.apply(delta, now: devices[index].clock)
      guard receipt == .applied else { throw Failure(description: "a fresh delta was \(receipt)") }
      if devices[index].file.replica.isOlderCopy { renewIfNoticed(index) }
      devices[index].file.seen.formUnion(hasCopies ? sent(from.seen, since: base) : from.seen)
    }
  }
}
