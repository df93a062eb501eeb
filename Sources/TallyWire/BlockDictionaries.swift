import TallyCRDT

/// The stamps that the items of a block share, and what deletes and lives had seen.
struct BlockDictionaries {
  /// Ascending in `order`.
  var stamps: [Stamp] = []
  /// The context of each stamp that is a delete's.
  var contexts: [Stamp: StateVector] = [:]
  /// The context of each stamp that is the beginning of a life. Apart from those of deletes: where two copies of a
  /// store have written under one stamp, a delete keeps the greater of what they had seen, a life the lesser.
  var lifeContexts: [Stamp: StateVector] = [:]
  /// The position of each stamp in `stamps`, if there are many: among few it is found faster by looking.
  private var numbers: [Stamp: Int] = [:]
  private static let few = 8
  private var last: (stamp: Stamp, number: Int)?

  /// By dot, then time, then rank: stamps of one replica stand together and their sequences ascend.
  static func order(_ a: Stamp, _ b: Stamp) -> Bool {
    if a.dot != b.dot { return a.dot < b.dot }
    return a.time != b.time ? a.time < b.time : a.rank < b.rank
  }

  mutating func note(_ stamp: Stamp) {
    if last?.stamp == stamp { return }
    last = (stamp, 0)
    guard !numbers.isEmpty else {
      if !stamps.contains(stamp) { stamps.append(stamp) }
      if stamps.count > Self.few { for stamp in stamps { numbers[stamp] = 0 } }
      return
    }
    if numbers.updateValue(0, forKey: stamp) == nil { stamps.append(stamp) }
  }

  mutating func note(_ state: RecordState) {
    if let existence = state.existence { note(existence) }
    for cell in state.fields { note(cell.stamp) }
    for delete in state.deletes {
      note(delete.stamp)
      contexts[delete.stamp, default: StateVector()].merge(delete.context)
    }
    if let life = state.life {
      note(life.stamp)
      lifeContexts[life.stamp] = life.context
    }
    guard let seed = state.seed else { return }
    for layer in seed.layers { note(layer.stamp) }
    if let basis = seed.basis {
      note(basis.stamp)
      note(basis.layer)
    }
  }

  mutating func note(_ packed: PackedRecords) {
    for stamp in packed.stamps { note(stamp) }
    for (number, context) in packed.contexts { contexts[packed.stamps[number], default: StateVector()].merge(context) }
  }

  mutating func note(_ element: ORSetElement) {
    for tag in element.tags {
      note(tag.added)
      if let removed = tag.removed { note(removed) }
    }
    if let place = element.place { note(place.stamp) }
  }

  mutating func seal() {
    stamps.sort(by: Self.order)
    if !numbers.isEmpty { for (number, stamp) in stamps.enumerated() { numbers[stamp] = number } }
    last = nil
  }

  /// The number of a stamp that was noted. Only after `seal()`.
  mutating func number(of stamp: Stamp) -> Int {
    if let last, last.stamp == stamp { return last.number }
    guard let number = numbers.isEmpty ? stamps.firstIndex(of: stamp) : numbers[stamp] else {
      preconditionFailure("a stamp was not noted")
    }
    last = (stamp, number)
    return number
  }
}

// MARK: - Bytes

extension BlockDictionaries {
  func encode(to writer: inout ByteWriter, replicas: ReplicaPlaces) {
    writer.varint(stamps.count)
    var previous: Stamp?
    for stamp in stamps {
      encode(stamp, after: previous, to: &writer, replicas)
      previous = stamp
    }
    var entries: [(number: Int, context: StateVector)] = []
    for (number, stamp) in stamps.enumerated() {
      let ofDelete = contexts[stamp]
      if let ofDelete { entries.append((number, ofDelete)) }
      if let ofLife = lifeContexts[stamp], ofLife != ofDelete { entries.append((number, ofLife)) }
    }
    writer.varint(entries.count)
    for entry in entries {
      writer.varint(entry.number)
      writer.vector(entry.context, replicas)
    }
  }

  private func encode(
    _ stamp: Stamp, after previous: Stamp?, to writer: inout ByteWriter, _ replicas: ReplicaPlaces
  ) {
    let rank = stamp.rank.rawValue
    writer.varint(writer.number(of: stamp.dot.replica, replicas) << 2 | Int(min(rank, 3)))
    if rank >= 3 { writer.byte(rank) }
    let isSameReplica = previous?.dot.replica == stamp.dot.replica
    writer.varint(stamp.dot.sequence - (isSameReplica ? previous?.dot.sequence ?? 0 : 0))
    writer.zigzag(Int64(stamp.time.milliseconds) - Int64(previous?.time.milliseconds ?? 0))
  }

  /// `limits` is the delta's target: each replica with its highest sequence.
  static func decode(
    _ reader: inout ByteReader, limits: [Dot], _ budget: inout BlockBudget
  ) throws(WireError) -> BlockDictionaries {
    var result = BlockDictionaries()
    let count = try reader.count(ofElementsWithAtLeast: 3, "stamps")
    try budget.check(stamps: count)
    result.stamps.reserveCapacity(count)
    for _ in 0..<count {
      let stamp = try decodeStamp(&reader, after: result.stamps.last, limits)
      if let last = result.stamps.last, !order(last, stamp) {
        throw WireError(.malformed, "the stamps are not ascending")
      }
      result.stamps.append(stamp)
    }
    try result.decodeContexts(&reader, limits, &budget)
    return result
  }

  /// A stamp that a delete and a life have both has one context, or two: the delete's and then the life's.
  private mutating func decodeContexts(
    _ reader: inout ByteReader, _ limits: [Dot], _ budget: inout BlockBudget
  ) throws(WireError) {
    var last: (number: Int, isSecond: Bool) = (-1, false)
    for _ in 0..<(try reader.count(ofElementsWithAtLeast: 2, "contexts")) {
      let number = try reader.count(limit: max(0, stamps.count - 1), "a stamp number")
      let isSecond = number == last.number
      guard number > last.number || isSecond && !last.isSecond, number < stamps.count else {
        throw WireError(.malformed, "the contexts are not ascending")
      }
      last = (number, isSecond)
      let context = try reader.vector(limits, &budget)
      guard context.covers(stamps[number].dot) else {
        throw WireError(.malformed, "a context does not cover what it belongs to")
      }
      if !isSecond { contexts[stamps[number]] = context }
      lifeContexts[stamps[number]] = context
    }
  }

  private static func decodeStamp(
    _ reader: inout ByteReader, after previous: Stamp?, _ limits: [Dot]
  ) throws(WireError) -> Stamp {
    let head = try reader.varint()
    var rank = UInt8(head & 3)
    if rank == 3 {
      rank = try reader.byte()
      guard rank >= 3 else { throw WireError(.malformed, "a rank is not in its shortest form") }
    }
    let limit = try reader.limit(number: head >> 2, limits)
    let replica = limit.replica
    let isSameReplica = previous?.dot.replica == replica
    let from = isSameReplica ? previous?.dot.sequence ?? 0 : 0
    let (sequence, overflow) = from.addingReportingOverflow(try reader.varint())
    let (time, timeOverflow) = Int64(previous?.time.milliseconds ?? 0).addingReportingOverflow(try reader.zigzag())
    guard !overflow, sequence > 0, sequence <= limit.sequence else {
      throw WireError(.malformed, "a sequence is beyond the delta's vector")
    }
    guard !timeOverflow, time >= 0, time <= Int64(HybridTime.maximum) else {
      throw WireError(.malformed, "a time is out of range")
    }
    return Stamp(
      rank: Rank(rawValue: rank), time: HybridTime(milliseconds: UInt64(time)),
      dot: Dot(replica: replica, sequence: sequence))
  }
}

/// The replicas that a block's bytes give by their places: those of a delta's header, or of a live session.
struct ReplicaPlaces {
  private let replicas: [ReplicaID]
  /// Each one's place, if there are many: among few it is found faster by looking.
  private let places: [ReplicaID: Int]

  init(_ replicas: [ReplicaID]) {
    self.replicas = replicas
    places = replicas.count > 8 ? Dictionary(uniqueKeysWithValues: zip(replicas, replicas.indices)) : [:]
  }

  subscript(replica: ReplicaID) -> Int? { places.isEmpty ? replicas.firstIndex(of: replica) : places[replica] }
}

extension ByteWriter {
  func number(of replica: ReplicaID, _ replicas: ReplicaPlaces) -> Int {
    guard let number = replicas[replica] else {
      preconditionFailure("a replica is not in the delta's vector")
    }
    return number
  }

  /// A count, then replica number and sequence of each entry, ascending.
  mutating func vector(_ vector: StateVector, _ replicas: ReplicaPlaces) {
    let entries = vector.entries
    varint(entries.count)
    for entry in entries {
      varint(number(of: entry.replica, replicas))
      varint(entry.sequence)
    }
  }
}

extension ByteReader {
  mutating func limit(number: UInt64, _ limits: [Dot]) throws(WireError) -> Dot {
    guard number < UInt64(limits.count) else { throw WireError(.malformed, "a replica number is out of range") }
    return limits[Int(number)]
  }

  mutating func vector(_ limits: [Dot], _ budget: inout BlockBudget) throws(WireError) -> StateVector {
    var result = StateVector()
    var last: ReplicaID?
    let count = try count(ofElementsWithAtLeast: 2, "vector entries")
    try budget.take(cells: count)
    for _ in 0..<count {
      let limit = try limit(number: try varint(), limits)
      let replica = limit.replica
      if let last, !(last < replica) { throw WireError(.malformed, "a vector is not ascending") }
      last = replica
      let sequence = try varint()
      guard sequence > 0, sequence <= limit.sequence else {
        throw WireError(.malformed, "a sequence is beyond the delta's vector")
      }
      result[replica] = sequence
    }
    return result
  }
}
