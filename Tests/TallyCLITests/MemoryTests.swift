import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyWire
import TestEffort
import Testing

/// Memory does not follow the size of what is read.
@Suite(.serialized, .timeLimit(.minutes(10)), .enabled(if: Bench.hasPython, "needs python3")) struct MemoryTests {
  private static let mebibyte = 1 << 20

  /// What a command may have more of for 36,000 records more: 48 MiB for a million, and the noise of an allocator. Both
  /// stores are larger than what SQLite keeps of them.
  @Test(.enabled(if: Effort.isLong, "a long test")) func whatReadsAStoreDoesNotGrowWithIt() throws {
    let bench = try Bench("small", "large")
    for (name, count) in [("small", 14_000), ("large", 50_000)] {
      let lines = (0..<count).map { "{\"name\":\"SBPerson|~|\(name)\($0)\",\"fields\":{\"name\":\"number \($0)\"}}\n" }
      try bench.done("import", name, "-", input: lines.joined())
    }
    let commands = [["verify"], ["dump"], ["dump", "--view"], ["recover", "-o", "rescued-"]]
    for command in commands {
      let peaks = try ["small", "large"].map { name in
        var arguments = [command[0], name] + command.dropFirst()
        if command[0] == "recover" { arguments[arguments.count - 1] += name }
        let outcome = try bench.measured(arguments)
        #expect(outcome.status == 0, "\(arguments)")
        return outcome.peak
      }
      #expect(peaks[0] > Self.mebibyte)
      #expect(peaks[1] - peaks[0] < 6 * Self.mebibyte, "\(command): \(peaks)")
    }
  }

  /// An import has one picture in memory at a time.
  @Test func picturesOfAnImportAreReadOneAtATime() throws {
    let bench = try Bench()
    try bench.write(#"{"entities":[{"type":"Photo","fields":{"file":"asset"}}]}"#, to: "pictures.json")
    try bench.write(
      #"{"tables":[{"from":"photo","to":"Photo","fields":{"file":"file"}}]}"#, to: "map.json")
    let peaks = try [4, 64].map { count in
      try DatabaseQueue(path: bench.path("old\(count)")).write { db in
        try db.execute(sql: "CREATE TABLE photo (id INTEGER PRIMARY KEY, file BLOB)")
        for _ in 0..<count { try db.execute(sql: "INSERT INTO photo(file) VALUES (randomblob(1 << 20))") }
      }
      try bench.done("new", "store\(count)", "--schema", "pictures.json")
      let outcome = try bench.measured(["import", "store\(count)", "--from", "old\(count)", "--map", "map.json"])
      #expect(outcome.status == 0, "\(outcome.errors)")
      return outcome.peak
    }
    #expect(peaks[0] > Self.mebibyte)
    #expect(peaks[1] - peaks[0] < 8 * Self.mebibyte, "\(peaks)")
  }

  /// 32 KB that become a gibibyte, whatever they say of themselves: as a stream, and in a folder.
  @Test func aHostileFrameCostsLittleMemory() throws {
    let bench = try Bench("a", "b", "c")
    try bench.done("put", "a", "SBPerson|~|ann", "name=Ann")
    try bench.done("delta", "a", "-o", "delta")
    try FileManager.default.createDirectory(atPath: bench.path("shared"), withIntermediateDirectories: false)
    let pass = ["--via", "folder:" + bench.path("shared")]
    #expect(try bench.tally(["sync", "a"] + pass).status == 0)
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: bench.path("shared")).first)
    let usual = (
      try bench.measured(["apply", "b", "delta"]).peak, try bench.measured(["sync", "c"] + pass).peak
    )
    #expect(usual.0 > Self.mebibyte && usual.1 > Self.mebibyte)

    let frame = HostileDeltaTests.zeros(blocks: 8192)
    #expect(frame.count < 33_000)
    let header = try HostileDeltaTests.header(in: bench)
    for size in [UInt64(1 << 30), 64 << 20, 47 << 20, 1 << 20, 100] {
      let block = HostileDeltaTests.varint(size << 1 | 1) + HostileDeltaTests.varint(UInt64(frame.count)) + frame
      try bench.write(header + block, to: "hostile")
      let stream = try bench.measured(["apply", "b", "hostile"])
      #expect(stream.status == 65)
      #expect(stream.peak - usual.0 < 48 * Self.mebibyte, "\(size): \(stream.peak) beside \(usual.0)")
      try bench.write(header + block, to: "shared/" + name)
      let folder = try bench.measured(["sync", "b"] + pass)
      #expect(folder.peak - usual.1 < 48 * Self.mebibyte, "\(size): \(folder.peak) beside \(usual.1)")
      #expect(try bench.tally("get", "b", "SBPerson|~|zero").status == 66)
    }
  }

  /// The largest blocks that a reader takes, of whatever there can be most of.
  @Test(arguments: Effort.sample(LargeBlock.allCases, 1)) func noBlockCostsMuchMemory(_ large: LargeBlock) throws {
    let bench = try Bench("a", "b")
    try bench.done("put", "a", "SBPerson|~|ann", "name=Ann")
    try bench.done("delta", "a", "-o", "delta")
    let usual = try bench.measured(["apply", "b", "delta"])
    #expect(usual.status == 0 && usual.peak > Self.mebibyte)
    try bench.write(try large.delta(), to: "large")
    let outcome = try bench.measured(["apply", "b", "large"])
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.peak - usual.peak < 48 * Self.mebibyte, "\(outcome.peak) beside \(usual.peak)")
    #expect(try bench.done("verify", "b").hasPrefix("ok "))
  }
}

/// A block of just as much as its limits allow.
enum LargeBlock: String, CaseIterable, CustomTestStringConvertible {
  /// A value as large as values may be, which cannot be compressed.
  case value
  /// Values that take as much as a block may have.
  case values
  case cells, deletes, contexts, tags, names, unknown

  var testDescription: String { rawValue }

  private static let replicas = (1...UInt64(512)).map { ReplicaID(high: 1, low: $0) }

  func delta() throws -> [UInt8] {
    var bytes: [UInt8] = []
    let target = StateVector(Self.replicas.map { ($0, 1 << 20) })
    var writer = try DeltaWriter(header: DeltaHeader(base: StateVector(), target: target)) { bytes += $0 }
    try writer.append(try block())
    try writer.finish()
    return bytes
  }

  private func block() throws -> DeltaBlock {
    let cells = WireLimits.blockCells
    var word: UInt64 = 88_172_645_463_325_252
    /// Bytes that do not compress (Marsaglia, "Xorshift RNGs", 2003).
    func blob(_ count: Int) -> Value {
      let words = (0..<count / 8).map { _ in
        word ^= word << 13
        word ^= word >> 7
        word ^= word << 17
        return word
      }
      return .blob(words.withUnsafeBytes(Array.init))
    }
    switch self {
    case .value: return try Self.records("SBGame", ["icon"], 1) { _ in Self.state([blob(WireLimits.valueBytes)]) }
    case .values:
      return try Self.records("SBGame", ["icon"], 39) { _ in Self.state([blob(WireLimits.blockBytes / 40)]) }
    case .cells, .unknown:
      let type = self == .cells ? "SBGame" : "Unknown"
      return try Self.records(type, ["name", "plays", "rating", "since"], WireLimits.blockItems) { number in
        Self.state([.text("\(number)"), .integer(Int64(number)), .real(0.5), .text("2026-01-01")])
      }
    case .deletes:
      return try Self.records("SBPerson", [], WireLimits.blockItems / 2) { number in
        var state = RecordState()
        state.deletes = (0..<5).map { other in
          let stamp = Self.stamp(1 + number, Self.replicas[other])
          return Delete(stamp: stamp, context: StateVector([(stamp.dot.replica, stamp.dot.sequence)]))
        }
        return state
      }
    case .contexts:
      return try Self.records("SBPerson", [], cells / Self.replicas.count / 2 - 1) { number in
        var state = RecordState()
        let context = StateVector(Self.replicas.map { ($0, UInt64(1 << 19 + number)) })
        state.deletes = [Delete(stamp: Self.stamp(1 + number, Self.replicas[0]), context: context)]
        return state
      }
    case .tags:
      let (source, target) = (try AnyRecordName("SBGame|~|1"), try AnyRecordName("SBPerson|~|1"))
      var element = ORSetElement()
      element.tags = (1...cells / 2).map {
        ORSetElement.Tag(added: Self.stamp($0, Self.replicas[0]), removed: nil)
      }
      let link = DeltaBlock.Link(source: source, target: target, element: element)
      return DeltaBlock(links: [.init(source: "SBGame", relationship: "players", target: "SBPerson", items: [link])])
    case .names:
      let fields = (0..<1024).map { "f\(1000 + $0)" + String(repeating: "x", count: 50) }
      return DeltaBlock(
        records: try (0..<WireLimits.blockFieldNames / 1024).flatMap { number in
          try Self.records("T\(100 + number)", fields, 1) { _ in
            Self.state([Value](repeating: .null, count: 1024))
          }.records
        })
    }
  }

  private static func stamp(_ sequence: Int, _ replica: ReplicaID) -> Stamp {
    Stamp(time: HybridTime(milliseconds: 1_800_000_000_000), dot: Dot(replica: replica, sequence: UInt64(sequence)))
  }

  private static func state(_ values: [Value]) -> RecordState {
    let stamp = stamp(1, replicas[0])
    let cells = values.enumerated().map {
      FieldCell(field: FieldID(rawValue: UInt32($0.offset)), stamp: stamp, value: $0.element)
    }
    return RecordState(inserted: stamp, fields: cells)
  }

  private static func records(
    _ type: String, _ fields: [String], _ count: Int, _ state: (Int) -> RecordState
  ) throws -> DeltaBlock {
    let items = try (0..<count).map {
      DeltaBlock.Record(name: try AnyRecordName(type: type, key: "\(100_000 + $0)"), state: state($0))
    }
    return DeltaBlock(records: [.init(type: type, fields: fields, items: items)])
  }
}
