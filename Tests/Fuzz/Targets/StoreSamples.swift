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
    try store.apply(try FuzzSamples.delta())
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

  static let replicas = [1: FuzzSamples.first, 2: FuzzSamples.second]
  static var names: StateCoding.Names {
    StateCoding.Names(replicas: replicas) { _ in FuzzSamples.vector([(FuzzSamples.first, 2)]) }
  }

  static func number(_ replica: ReplicaID) -> Int { replica == FuzzSamples.first ? 1 : 2 }

  static func states() -> [[UInt8]] {
    let records = [FuzzSamples.inserted, FuzzSamples.deleted, FuzzSamples.seeded].map { state in
      [0] + StateCoding.encode(state, omitting: [FieldID(rawValue: 0)], replicaNumber: number)
    }
    let clocks = [InlineClock.uniform(replica: 1, sequence: 3, time: FuzzSamples.insert.time), .unstamped, .leaving]
    return records + [[1] + StateCoding.encode(FuzzSamples.element, replicaNumber: number)]
      + clocks.map { [2] + $0.bytes }
  }
}
