import Foundation
import Tally
import TallyCRDT
import TallyStore

/// The commands of a shell about replication.
extension ShellSession {
  func replicate(_ command: String, _ store: Store, _ line: inout ShellLine) throws -> String {
    switch command {
    case "delta": return try delta(store, &line)
    case "apply": return try apply(store, &line)
    case "sync": return try sync(store, &line)
    case "seed": return try seed(store, &line)
    default: break
    }
    return try report(command, store, line)
  }

  /// Commands without further words.
  private func report(_ command: String, _ store: Store, _ line: ShellLine) throws -> String {
    switch command {
    case "renew":
      try line.end()
      try store.renewReplica(because: "the shell was asked to")
      return "null"
    case "vector":
      try line.end()
      return JSON.string(try store.vector.description).text
    case "dump":
      try line.end()
      return try Self.lines { try store.dump(.canonical, to: $0) }
    case "seeds":
      try line.end()
      return JSON.array(try store.seedSets().map(\.json)).text
    case "status":
      try line.end()
      let status = try store.status()
      return status.json(try store.holders(of: status)).text
    case "verify":
      try line.end()
      let report = try store.verify()
      return JSON.object([
        "checked": .integer(report.checked), "problems": .array(report.problems.map(JSON.string)),
      ]).text
    default: throw Failure(.usage, "there is no command \(shown(command)); see tally shell --help")
    }
  }

  private func delta(_ store: Store, _ line: inout ShellLine) throws -> String {
    let base = try line.optionalWord().map(vector) ?? StateVector()
    try line.end()
    return JSON.string(Hexadecimal.text(try store.delta(since: base))).text
  }

  private func apply(_ store: Store, _ line: inout ShellLine) throws -> String {
    let text = try line.word("a delta")
    let option = line.optionalWord()
    guard option == nil || option == "repair" else { throw Failure(.usage, "'apply' takes 'repair' or nothing there") }
    try line.end()
    guard let bytes = Hexadecimal.bytes(text) else { throw Failure(.badData, "the delta is not hexadecimal") }
    return try store.apply(bytes, isRepair: option != nil).json.text
  }

  private func sync(_ store: Store, _ line: inout ShellLine) throws -> String {
    let other = try self.store(&line).store
    try line.end()
    guard other !== store else { throw Failure(.usage, "a store cannot sync with itself") }
    let report = try store.sync(with: other)
    return JSON.object([
      "first": report.first.json, "second": report.second.json, "bytes": .integer(report.byteCount),
      "isConverged": .bool(report.isConverged), "repaired": .bool(report.repaired),
    ]).text
  }

  private func seed(_ store: Store, _ line: inout ShellLine) throws -> String {
    let text = try line.word("a seed set")
    try line.end()
    _ = try JSONParser.parse(Array(text.utf8))
    let report = try store.seed(try SeedSet(json: Data(text.utf8)))
    return JSON.object([
      "isNew": .bool(report.isNew), "adopted": .array(report.adopted.map { .string($0.text) }),
      "replica": .string(report.replica.description),
    ]).text
  }
}

extension ApplyResult {
  fileprivate var json: JSON {
    .object([
      "changes": .integer(changes), "conflicts": .integer(conflicts), "mismatch": .bool(fingerprintMismatch),
    ])
  }
}
