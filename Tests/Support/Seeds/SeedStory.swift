import TallyTesting

/// A generated history with seeds. Any subset of the steps is a history too.
package struct SeedStory {
  package enum Operation: Hashable, Sendable {
    /// Writes a row that the app does not see.
    case insert(String, [SeedField: String])
    case update(String, SeedField, String?)
    case delete(String)
    case restore(String)
    case link(String, String)
    case unlink(String, String)
  }

  package enum Step: Hashable {
    /// A transaction of a person, so many milliseconds after the one before.
    case transact(replica: Int, elapsed: UInt64, Operation)
    /// The app starts and brings its seeds.
    case seed(replica: Int, edition: Int, adopting: Bool)
    /// One replica takes what it lacks from another.
    case sync(from: Int, to: Int)
    /// Compares a replica with the specification.
    case check(replica: Int)
  }

  package var seed: UInt64
  package var mode: SeedWorld.Mode
  /// The first halves of the replicas' ids.
  package var ids: [UInt64]
  package var clocks: [UInt64]
  package var editions: [SeedEdition]
  package var steps: [Step]
}

extension SeedStory: CustomStringConvertible {
  package var description: String {
    let replicas = zip(ids, clocks).enumerated().map { index, replica in
      "  replica \(index): id \(String(replica.0, radix: 16)), clock \(replica.1)"
    }
    let used = Set(steps.compactMap { if case .seed(_, let edition, _) = $0 { edition } else { nil } })
    return
      (["  \(mode)"] + replicas + used.sorted().map { "  edition \($0): \(editions[$0])" }
      + steps.map { "  \($0)" }).joined(separator: "\n")
  }
}

extension SeedStory.Step: CustomStringConvertible {
  package var description: String {
    switch self {
    case .transact(let replica, let elapsed, let operation): "\(replica) after \(elapsed) ms: \(operation)"
    case .seed(let replica, let edition, let adopting):
      "\(replica) seeds edition \(edition)\(adopting ? ", adopts" : "")"
    case .sync(let from, let to): "\(to) takes from \(from)"
    case .check(let replica): "\(replica) is checked"
    }
  }
}

extension SeedStory.Operation: CustomStringConvertible {
  package var description: String {
    func short(_ text: String) -> String { SeedWorld.keys.first { SeedWorld.seed($0) == text } ?? text }
    switch self {
    case .insert(let record, let values):
      let pairs = values.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.key): \(short($0.value))" }
      return "insert \(short(record)) [\(pairs.joined(separator: ", "))]"
    case .update(let record, let field, let value):
      return "update \(short(record)) \(field) = \(value.map(short) ?? "null")"
    case .delete(let record): return "delete \(short(record))"
    case .restore(let record): return "restore \(short(record))"
    case .link(let source, let target): return "link \(short(source)) -> \(short(target))"
    case .unlink(let source, let target): return "unlink \(short(source)) -> \(short(target))"
    }
  }
}

extension SeedEdition: CustomStringConvertible {
  package var description: String {
    let parts = records.sorted { $0.key < $1.key }.map { key, content in
      let fields = content.fields.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.key): \($0.value)" }
      let members = content.members.isEmpty ? [] : ["related: \(content.members.sorted().joined(separator: " "))"]
      return "\(key) [\((fields + members).joined(separator: ", "))]"
    }
    return "version \(version), \(parts.joined(separator: ", "))"
      + (retired.isEmpty ? "" : ", without \(retired.sorted().joined(separator: " "))")
  }
}
