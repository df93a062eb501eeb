import TallyCRDT
import TallyTesting

/// Histories of one record whose lives begin and end: what replicas write, delete, drop, lift and say again.
///
/// They follow none of the engine's rules about when to do so: a transaction may write anything that it can, since the
/// join must not depend on the rules.
struct LifeSamples {
  struct Replica {
    let id: ReplicaID
    var vector = StateVector()
    var record = RecordState()

    /// The next transaction, later than what it overwrites and than the life it writes into.
    mutating func stamp(over time: HybridTime?, _ random: inout SplitMix64) -> Stamp {
      let dot = Dot(replica: id, sequence: vector[id] + 1)
      vector.include(dot)
      let seen = [time, record.life?.time].compactMap { $0 }.max()
      return Stamp(time: .next(now: HybridTime(milliseconds: UInt64(random.below(4))), over: seen), dot: dot)
    }

    /// A stamp for the beginning of a life: later than the present one and than all that is in it.
    mutating func nextLife(_ random: inout SplitMix64) -> Life {
      let times = record.fields.filter { !$0.field.isPresence }.map(\.stamp.time)
      let stamp = stamp(over: times.max(), &random)
      return Life(time: stamp.time, dot: stamp.dot, context: vector)
    }
  }

  static let title = FieldID(rawValue: 0)
  static let note = FieldID(rawValue: 1)
  static let owner = FieldID(rawValue: 2, isPresence: true)

  var random: SplitMix64
  var replicas: [Replica]

  /// The replicas after a history drawn from `seed`.
  init(seed: UInt64, replicas count: Int = 3, steps: Int = 16) {
    random = SplitMix64(seed: seed)
    replicas = (0..<count).map { Replica(id: ReplicaID(high: UInt64($0 * 7 % 5), low: UInt64($0))) }
    for _ in 0..<steps { step() }
  }

  private mutating func step() {
    let index = random.below(replicas.count)
    switch random.below(12) {
    case 0, 1, 2: write(index)
    case 3: insert(index)
    case 4: delete(index)
    case 5: shred(index)
    case 6: sayAgain(index)
    case 7: say(index)
    default: pull(index, from: random.below(replicas.count))
    }
  }

  private mutating func change(_ index: Int, _ body: (inout RecordState, inout Replica, inout SplitMix64) -> Void) {
    var change = RecordState()
    change.life = replicas[index].record.life.map { Life(time: $0.time, dot: $0.dot, context: $0.context) }
    body(&change, &replicas[index], &random)
    replicas[index].record.merge(change)
  }

  private mutating func write(_ index: Int) {
    change(index) { change, replica, random in
      let field = random.pick([Self.title, Self.note, Self.owner])
      let stamp = replica.stamp(over: replica.record[field]?.stamp.time, &random)
      change.fields = [FieldCell(field: field, stamp: stamp, value: .integer(Int64(random.below(3))))]
    }
  }

  private mutating func insert(_ index: Int) {
    change(index) { change, replica, random in
      let stamp = replica.stamp(over: replica.record.existence?.time, &random)
      change.existence = stamp
      change.life?.said = stamp.dot
    }
  }

  private mutating func delete(_ index: Int) {
    change(index) { change, replica, random in
      let stamp = replica.stamp(over: nil, &random)
      change.deletes = [Delete(stamp: stamp, context: replica.vector)]
    }
  }

  private mutating func shred(_ index: Int) {
    change(index) { change, replica, random in change.life = replica.nextLife(&random) }
  }

  private mutating func sayAgain(_ index: Int) {
    change(index) { change, replica, random in
      var life = replica.nextLife(&random)
      life.said = life.dot
      change.fields = replica.record.fields.filter { !$0.field.isPresence }
      life.vias = change.fields.map { Life.Via(field: $0.field, dot: life.dot) }
      change.life = life
    }
  }

  private mutating func say(_ index: Int) {
    change(index) { change, replica, random in
      guard change.life != nil else { return }
      change.life?.said = replica.stamp(over: nil, &random).dot
    }
  }

  /// Takes in what another has, and lifts some of what this made void on either side.
  private mutating func pull(_ index: Int, from other: Int) {
    let (mine, theirs) = (replicas[index].record, replicas[other].record)
    replicas[index].record.merge(theirs)
    replicas[index].vector.merge(replicas[other].vector)
    let life = replicas[index].record.life
    let void = [mine, theirs].filter { $0.life?.stamp != life?.stamp }.flatMap(\.fields)
      .filter { !$0.field.isPresence && random.chance(60) }
    guard !void.isEmpty, life != nil else { return }
    change(index) { change, replica, random in
      let dot = replica.stamp(over: nil, &random).dot
      for cell in void {
        var lifted = RecordState()
        lifted.life = change.life
        lifted.fields = [cell]
        lifted.life?.vias = [Life.Via(field: cell.field, dot: dot)]
        change.merge(lifted)
      }
    }
  }
}
