import TallyCRDT
import TallyWire

/// The distinct stamps of one state, in the order of first use.
struct StampTable {
  private var stamps: [Stamp] = []
  /// The position of each stamp, as soon as there are so many that searching would cost more.
  private var numbers: [Stamp: Int] = [:]
  /// The replica of the stamp that was read last.
  private(set) var known: KnownReplica?
  private static let searchLimit = 16

  /// Forgets the stamps, and keeps the memory that they took.
  mutating func removeAll(known: KnownReplica? = nil) {
    stamps.removeAll(keepingCapacity: true)
    if !numbers.isEmpty { numbers = [:] }
    self.known = known
  }

  /// An empty table with room for so many stamps.
  init(capacity: Int = 0, known: KnownReplica? = nil) {
    stamps.reserveCapacity(capacity)
    self.known = known
  }

  var count: Int { stamps.count }
  subscript(number: Int) -> Stamp { stamps[number] }

  mutating func note(_ stamp: Stamp) {
    if stamps.count < Self.searchLimit {
      if !stamps.contains(stamp) { stamps.append(stamp) }
      return
    }
    if numbers.isEmpty { for (number, stamp) in stamps.enumerated() { numbers[stamp] = number } }
    guard numbers[stamp] == nil else { return }
    numbers[stamp] = stamps.count
    stamps.append(stamp)
  }

  mutating func note(_ seed: SeedState) {
    for layer in seed.layers { note(layer.stamp) }
    if let basis = seed.basis {
      note(basis.stamp)
      note(basis.layer)
    }
  }

  func number(of stamp: Stamp) -> Int { (numbers.isEmpty ? stamps.firstIndex(of: stamp) : numbers[stamp]) ?? 0 }

  func at(_ number: UInt64) throws(StoreError) -> Stamp {
    guard number < UInt64(stamps.count) else { throw StoreError(.corrupt, "a stamp number is out of range") }
    return stamps[Int(number)]
  }

  func encode(to writer: inout ByteWriter, _ replicaNumber: (ReplicaID) throws -> ReplicaNumber) rethrows {
    writer.varint(stamps.count)
    var coding = StampCoding(known)
    for stamp in stamps { try coding.encode(stamp, to: &writer, replicaNumber) }
  }

  static func decode(_ reader: inout ByteReader, _ replicas: ReplicaTable) throws -> StampTable {
    var table = StampTable()
    try table.read(&reader, replicas)
    return table
  }

  /// Reads the stamps into an empty table.
  mutating func read(_ reader: inout ByteReader, _ replicas: ReplicaTable) throws {
    let count = try reader.count(ofElementsWithAtLeast: 3, "stamps")
    stamps.reserveCapacity(count)
    var coding = StampCoding()
    for _ in 0..<count { stamps.append(try coding.decode(&reader, replicas)) }
    known = coding.last
  }
}

/// A replica and its number in the file.
struct KnownReplica {
  let replica: ReplicaID
  let number: ReplicaNumber
}

/// Stamps one after the other, each with its time as the difference to that of the one before.
struct StampCoding {
  private var time: Int64 = 0
  /// The replica of the stamp before, and its number: most stamps of a state are of few replicas.
  private(set) var last: KnownReplica?

  init(_ known: KnownReplica? = nil) { last = known }

  mutating func encode(
    _ stamp: Stamp, to writer: inout ByteWriter, _ replicaNumber: (ReplicaID) throws -> ReplicaNumber
  ) rethrows {
    let rank = stamp.rank.rawValue
    let replica = stamp.dot.replica
    let number = if let last, last.replica == replica { last.number } else { try replicaNumber(replica) }
    last = KnownReplica(replica: replica, number: number)
    writer.varint(number.rawValue << 2 | Int(min(rank, 3)))
    if rank >= 3 { writer.byte(rank) }
    writer.varint(stamp.dot.sequence)
    writer.zigzag(Int64(stamp.time.milliseconds) - time)
    time = Int64(stamp.time.milliseconds)
  }

  mutating func decode(_ reader: inout ByteReader, _ replicas: ReplicaTable) throws -> Stamp {
    let head = try reader.count(limit: ReplicaNumber.largest.rawValue << 2 | 3, "a replica number")
    let number = ReplicaNumber(rawValue: head >> 2)
    let replica: ReplicaID
    if let last, last.number == number {
      replica = last.replica
    } else {
      guard let known = replicas[number] else { throw StoreError(.corrupt, "a replica is not known") }
      replica = known
    }
    last = KnownReplica(replica: replica, number: number)
    let rank = head & 3 == 3 ? try reader.byte() : UInt8(head & 3)
    let sequence = try reader.sequence()
    let (sum, overflow) = time.addingReportingOverflow(try reader.zigzag())
    guard !overflow, (0...Int64(HybridTime.maximum)).contains(sum) else {
      throw StoreError(.corrupt, "a time is out of range")
    }
    time = sum
    return Stamp(
      rank: Rank(rawValue: rank), time: HybridTime(milliseconds: UInt64(time)),
      dot: Dot(replica: replica, sequence: sequence))
  }
}
