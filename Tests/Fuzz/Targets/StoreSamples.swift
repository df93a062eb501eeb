import Foundation
import GRDB
import TallyCRDT
import TallyWire

@testable import TallyStore

/// Stores, and what stands in their files.
enum StoreSamples {
  static let schemaJSON = """
    {"entities":[{"type":"SBGame","fields":{"title":"text","count":{"kind":"integer","default":0,"wireName":"count"}},
    "references":{"owner":{"to":"SBGame","onDelete":"cascade"}},"relationships":{"then":{"to":"SBGame"}},
    "deleteWins":false,"follows":"perField"}]}
    """

  static let seedJSON = """
    {"name":"games","version":2,"records":[{"key":"go","type":"SBGame","fields":{"title":"Go","count":3},
    "references":{"owner":"chess"},"relationships":{"then":["chess"]}},{"key":"chess","type":"SBGame"}],
    "retired":[{"key":"dice","type":"SBGame"}],"adoptions":[{"type":"SBGame","matching":["title"]}]}
    """

  static let schema = Schema([
    EntitySchema(
      type: "SBGame", fields: [.init("title", .text), .init("count", .integer)],
      references: [.init("owner", to: "SBGame", onDelete: .cascade)], relationships: [.init("then", to: "SBGame")])
  ])

  // MARK: Stores

  /// A store with the samples in it, which others are copied from.
  private static let template = Result {
    let store = try Store(inMemory: schema)
    try store.apply(try FuzzSamples.unvouched(FuzzSamples.delta()))
    return store
  }

  /// A store of its own: each run begins at the same place.
  static func store() throws -> Store { try Store(inMemoryCopyOf: template.get()) }

  static func dump(_ store: Store) throws -> String {
    var text = ""
    try store.dump(.canonical) { text += $0 }
    return text
  }

  static func checkSound(_ store: Store) throws {
    let report = try store.verify()
    try claim(report.isSound, "a store verifies: \(report.problems.prefix(3))")
  }

  // MARK: Bytes in the file

  /// Reads in a store that knows the replicas and deletes of the samples.
  static func read<T>(_ body: (StateReader) throws -> T) throws -> T { try template.get().snapshot(body) }

  static func numbers(_ reader: StateReader) -> (ReplicaID) -> ReplicaNumber {
    { reader.catalog.replicaNumbers[$0] ?? ReplicaNumber(rawValue: 0) }
  }

  /// A row that shows something in each column.
  static func row(_ reader: StateReader) throws -> RowValues {
    guard let kind = reader.catalog.kind(of: "SBGame") else { throw Broken("the samples have a kind") }
    return RowValues(kind: kind, values: kind.columns.map { _ in .text("row") })
  }

  static func states() throws -> [[UInt8]] {
    try read { reader in
      let (number, row) = (numbers(reader), try row(reader))
      let sum = StateSum(rawValue: 0x010203)
      var seeds: [[UInt8]] = []
      for state in [FuzzSamples.inserted, FuzzSamples.deleted, FuzzSamples.seeded, FuzzSamples.lived] {
        seeds.append([0] + StateCoding.encode(state, sum, row: row, isShared: { _, _ in true }, replicaNumber: number))
      }
      let own = StateCoding.encode(
        FuzzSamples.deleted, sum, row: row, isShared: { _, _ in false }, replicaNumber: number)
      seeds.append([0] + own)
      seeds.append([1] + StateCoding.encode(FuzzSamples.element, sum, replicaNumber: number))
      let clocks = [
        InlineClock.uniform(
          .init(replica: ReplicaNumber(rawValue: 1), sequence: 3, time: FuzzSamples.insert.time, sum: sum)),
        .unstamped, .leaving,
      ]
      return seeds + clocks.map { [2] + $0.withBytes { [UInt8]($0) } }
    }
  }
}
