import TallyCRDT
import TallyWire

/// The distinct stamps of one state, in the order of first use.
struct StampTable {
  private var stamps: [Stamp] = []
  /// The position of each stamp, as soon as there are so many that searching would cost more.
  private var numbers: [Stamp: Int] = [:]
  private static let searchLimit = 16
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
    var coding = StampCoding()
    for stamp in stamps { try coding.encode(stamp, to: &writer, replicaNumber) }
  }

  static func decode(_ reader: inout ByteReader, _ replicas: [ReplicaNumber: ReplicaID]) throws -> StampTable {
    var table = StampTable()
    var coding = StampCoding()
    for _ in 0..<(try reader.count(ofElementsWithAtLeast: 3, "stamps")) {
      table.stamps.append(try coding.decode(&reader, replicas))
    }
    return table
  }
}

/// Stamps one after the other, each with its time as the difference to that of the one before.
struct StampCoding {
  private var time: Int64 = 0

  mutating func encode(
    _ stamp: Stamp, to writer: inout ByteWriter, _ replicaNumber: (ReplicaID) throws -> ReplicaNumber
  ) rethrows {
    let rank = stamp.rank.rawValue
    writer.varint(try replicaNumber(stamp.dot.replica).rawValue << 2 | Int(min(rank, 3)))
    if rank >= 3 { writer.byte(rank) }
    writer.varint(stamp.dot.sequence)
    writer.zigzag(Int64(stamp.time.milliseconds) - time)
    time = Int64(stamp.time.milliseconds)
  }

  mutating func decode(_ reader: inout ByteReader, _ replicas: [ReplicaNumber: ReplicaID]) throws -> Stamp {
    let head = try reader.count(limit: ReplicaNumber.largest.rawValue << 2 | 3, "a replica number")
    guard let replica = replicas[ReplicaNumber(rawValue: head >> 2)] else {
      throw StoreError(.corrupt, "a replica is not known")
    }
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
