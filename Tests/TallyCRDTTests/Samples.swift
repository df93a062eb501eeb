import TallyCRDT
import TallyTesting

/// Histories of one record and one relationship element at several replicas that write, delete and pull from one
/// another: every state is one that a store can reach, every delete's context is causally closed.
struct Samples {
  struct Replica {
    let id: ReplicaID
    var vector = StateVector()
    var record = RecordState()
    var element = ORSetElement()

    /// The next transaction, later than what it overwrites.
    mutating func stamp(over time: HybridTime?, _ random: inout SplitMix64, rank: Rank = .user) -> Stamp {
      let dot = Dot(replica: id, sequence: vector[id] + 1)
      vector.include(dot)
      let now = HybridTime(milliseconds: UInt64(random.below(4)))
      return Stamp(rank: rank, time: .next(now: now, over: time), dot: dot)
    }

    mutating func pull(_ other: Replica) {
      record.merge(other.record)
      element.merge(other.element)
      vector.merge(other.vector)
    }
  }

  var random: SplitMix64
  var replicas: [Replica]

  /// The replicas after a history drawn from `seed`.
  init(seed: UInt64, replicas count: Int = 3, steps: Int = 14) {
    random = SplitMix64(seed: seed)
    replicas = (0..<count).map { Replica(id: ReplicaID(high: UInt64($0 * 7 % 5), low: UInt64($0))) }
    for _ in 0..<steps { step() }
  }

  private mutating func step() {
    let index = random.below(replicas.count)
    switch random.below(13) {
    case 12: move(index)
    case 10, 11: seed(index)
    case 0, 1, 2: write(index)
    case 3: insert(index)
    case 4: delete(index)
    case 5: replicas[index].element.add(stamp(index, over: replicas[index].element.latestTime))
    case 6: replicas[index].element.remove(stamp(index, over: replicas[index].element.latestTime))
    default: replicas[index].pull(replicas[random.below(replicas.count)])
    }
  }

  private mutating func move(_ index: Int) {
    let stamp = stamp(index, over: replicas[index].element.place?.stamp.time)
    if let position = ListPosition(bytes: [UInt8(1 + random.below(3))]) {
      replicas[index].element.move(stamp, to: position)
    }
  }

  private mutating func stamp(_ index: Int, over time: HybridTime?) -> Stamp {
    replicas[index].stamp(over: time, &random)
  }

  private mutating func write(_ index: Int) {
    let field = FieldID(rawValue: UInt32(random.below(3)))
    let stamp = stamp(index, over: replicas[index].record[field]?.stamp.time)
    var change = RecordState()
    change.fields = [FieldCell(field: field, stamp: stamp, value: .integer(Int64(random.below(3))))]
    if let seen = replicas[index].record.seed, seen.basis == nil, let newest = seen.newestContent {
      change.seed = SeedState(layers: [], basis: SeedBasis(stamp: stamp, layer: newest.stamp))
    }
    replicas[index].record.merge(change)
  }

  /// Replays one of four editions: three versions, the last one in two builds. Its content is the same wherever it is
  /// replayed.
  private mutating func seed(_ index: Int) {
    let edition = UInt64(1 + random.below(4))
    let dot = Dot(replica: ReplicaID(high: 100 - edition, low: 0), sequence: 1)
    let stamp = Stamp(rank: .seed, time: HybridTime(milliseconds: min(edition, 3)), dot: dot)
    let value = Value.integer(Int64(edition))
    let fields = (0..<UInt32(edition)).map { FieldCell(field: FieldID(rawValue: $0), stamp: stamp, value: value) }
    let isRetired = edition == 2
    var change = RecordState()
    change.seed = SeedState(layers: [SeedLayer(stamp: stamp, isRetired: isRetired, fields: isRetired ? [] : fields)])
    replicas[index].record.merge(change)
    if edition != 2 { replicas[index].element.add(stamp) }
    replicas[index].vector.include(dot)
  }

  private mutating func insert(_ index: Int) {
    let stamp = stamp(index, over: replicas[index].record.existence?.time)
    replicas[index].record.merge(RecordState(inserted: stamp, fields: []))
  }

  private mutating func delete(_ index: Int) {
    let stamp = stamp(index, over: replicas[index].record.existence?.time)
    var change = RecordState()
    change.deletes = [Delete(stamp: stamp, context: replicas[index].vector)]
    replicas[index].record.merge(change)
  }
}
