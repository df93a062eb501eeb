import Foundation
import TallyCRDT
import TallyWire

@testable import TallyStore

extension FuzzTarget {
  static let store = [state, schema, seedSet, apply, names, incarnation]

  /// What stands in the file beside a row. The first byte chooses record, link or clock.
  private static let state = FuzzTarget("state", seeds: try StoreSamples.states()) { bytes in
    guard let first = bytes.first else { return }
    try StoreSamples.read { reader in
      try bytes.dropFirst().withUnsafeBytes { try check($0, as: first % 3, reader) }
    }
  }

  private static func check(_ body: UnsafeRawBufferPointer, as kind: UInt8, _ reader: StateReader) throws {
    let number = StoreSamples.numbers(reader)
    switch kind {
    case 0:
      let row = try StoreSamples.row(reader)
      guard let (state, sum) = try stored({ try StateCoding.decodeRecord(body, reader, row: row) }) else { return }
      let isShared = { (context: StateVector, stamp: Stamp) in (try? reader.context(of: stamp)) == context }
      let body = StateCoding.encode(state, sum, row: nil, isShared: isShared, replicaNumber: number)
      let read = try body.withUnsafeBytes { try StateCoding.decodeRecord($0, reader, row: nil) }
      try claim(read.state == state && read.sum == sum, "a stored state reads back as it was")
    case 1:
      guard let (element, sum) = try stored({ try StateCoding.decodeLink(body, reader) }) else { return }
      let read = try StateCoding.encode(element, sum, replicaNumber: number).withUnsafeBytes {
        try StateCoding.decodeLink($0, reader)
      }
      try claim(read.element == element && read.sum == sum, "a stored link reads back as it was")
    default:
      guard let clock = try accepted(StoreError.self, { try InlineClock(body) }) else { return }
      try claim(try clock.withBytes { try InlineClock($0) } == clock, "a clock reads back as it was")
    }
  }

  /// A decoder of stored bytes says what is wrong in one of two ways.
  private static func stored<T>(_ body: () throws -> T) throws -> T? {
    do {
      return try body()
    } catch is StoreError {
      return nil
    } catch is WireError {
      return nil
    }
  }

  private static let schema = FuzzTarget("schema", seeds: [Array(StoreSamples.schemaJSON.utf8)]) { bytes in
    guard let schema = try accepted(StoreError.self, { try Schema(json: Data(bytes)) }) else { return }
    let again = try Schema(json: try schema.json())
    try claim(try again.json() == schema.json(), "a schema reads back as it was")
  }

  private static let seedSet = FuzzTarget("seed-set", seeds: [Array(StoreSamples.seedJSON.utf8)]) { bytes in
    guard let set = try accepted(StoreError.self, { try SeedSet(json: Data(bytes)) }) else { return }
    guard let checked = try accepted(StoreError.self, { try CheckedSeedSet(set, StoreSamples.schema) }) else { return }
    let history = SeedHistory(checked)
    let again = try SeedHistory(CheckedSeedSet(SeedSet(json: try set.json()), StoreSamples.schema))
    try claim(history.replica == again.replica, "a set that was written and read has the same identity")
  }

  /// A delta with a right checksum into a store that has something in it, and then every check that the store knows.
  private static let apply = FuzzTarget("apply", seeds: try FuzzSamples.openDeltas()) { bytes in
    guard let delta = try? FuzzSamples.unvouched(FuzzSamples.seal(bytes)) else { return }
    let store = try StoreSamples.store()
    let before = try StoreSamples.dump(store)
    do {
      try store.apply(delta)
    } catch is StoreError {
      return try claim(try StoreSamples.dump(store) == before, "a refused delta changes nothing")
    }
    try StoreSamples.checkSound(store)
    let after = try StoreSamples.dump(store)
    try claim(try store.apply(delta).changes == 0, "a delta that comes twice changes nothing")
    try claim(try StoreSamples.dump(store) == after, "a delta that comes twice changes no byte")
  }

  /// Texts with a grammar of their own. The first byte chooses which.
  private static let names = FuzzTarget(
    "names", maximumLength: 300,
    seeds: [
      [0] + Array("SBGame|~|386c1919-5f25-4be2-975f-5b34506c51db".utf8),
      [1] + Array(FuzzSamples.header.target.description.utf8), [2] + Array("\(FuzzSamples.first)".utf8),
      [3] + Array("SBGame|~|a\u{1F}SBGame|~|b".utf8),
    ]
  ) { bytes in
    guard let first = bytes.first else { return }
    let text = String(decoding: bytes.dropFirst(), as: UTF8.self)
    switch first % 4 {
    case 0:
      guard let name = try accepted(RecordNameError.self, { try AnyRecordName(text) }) else { return }
      try claim(name.text == text, "a name is its text")
      try claim(try AnyRecordName(type: name.type, key: name.key) == name, "a name is its type and key")
      var writer = ByteWriter()
      writer.text(text)
    case 1:
      guard let vector = StateVector(text) else { return }
      try claim(StateVector(vector.description) == vector, "a vector reads back as it was")
    case 2:
      guard let replica = ReplicaID(text) else { return }
      try claim(ReplicaID(replica.description) == replica, "a replica id reads back as it was")
    default: _ = try accepted(StoreError.self) { try LinkKey(text) }
    }
  }

  /// The token beside a store's file: any bytes mean that this is another copy.
  private static let incarnation = FuzzTarget(
    "incarnation", maximumLength: 100, seeds: [Array("00112233445566778899aabbccddeeff 123\n".utf8)]
  ) { bytes in
    let store = FileManager.default.temporaryDirectory.appendingPathComponent("tally-fuzz-\(getpid())")
    let file = store.path + "-incarnation"
    defer { try? FileManager.default.removeItem(atPath: file) }
    try Data(bytes).write(to: URL(fileURLWithPath: file))
    let text = String(decoding: bytes, as: UTF8.self)
    let expected = text.split(separator: " ").first.map(String.init) ?? ""
    let holds = Incarnation(besides: store.path, SystemFiles()).holds(expected)
    try claim(!holds, "a token that was not written here does not count")
  }
}
