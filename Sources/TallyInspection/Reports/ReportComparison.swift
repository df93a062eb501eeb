import TallyCRDT
import TallyStore

/// Where two reports part: schema, vector, clock, content.
package struct ReportComparison: Sendable, Codable {
  /// One difference.
  package struct Finding: Sendable, Codable, Equatable {
    /// What it is about: `schema`, `vector`, `content`, `clock`, `store`.
    package var about: String
    /// The difference in words.
    package var sentence: String
  }

  /// The differences; empty if the reports agree.
  package var findings: [Finding]

  /// Compares two reports.
  package init(_ first: StoreReport, _ second: StoreReport) {
    findings = Self.schema(first.schema, second.schema) + Self.vector(first, second)
    if first.vector == second.vector, first.fingerprint != second.fingerprint {
      add("content", "Both have seen the same transactions and hold something else: one of them is damaged.")
    }
    for (name, one, other) in [("first", first, second), ("second", second, first)] {
      for (replica, seconds) in one.clockAhead.sorted(by: { $0.key < $1.key }) {
        let whose = replica == other.replica ? "the other device" : "the replica \(replica.prefix(8))"
        add("clock", "In the \(name) report, writes of \(whose) are \(Self.span(seconds)) ahead of its clock.")
      }
      if let doubt = one.doubt { add("store", "The \(name) store is in doubt: \(doubt).") }
      if one.rejectedWrites > 0 {
        add("store", "The \(name) store has \(one.rejectedWrites) rows of other programs that cannot be replicated.")
      }
      if one.setAside > 0 {
        add("store", "The database of the \(name) store does not take \(one.setAside) rows as the state says.")
      }
      if one.hasTriggerLoop { add("store", "Triggers of the \(name) store answer every change with a write.") }
    }
    if let replica = first.replica, replica == second.replica {
      add("store", "Both are the same replica: one file is a copy of the other, or both reports are of one device.")
    }
  }

  /// Seconds in words. A report comes from another device, and may hold any number.
  private static func span(_ seconds: Double) -> String {
    Int(exactly: seconds.rounded(.towardZero)).map { "\($0) s" } ?? "more seconds than can be counted"
  }

  private mutating func add(_ about: String, _ sentence: String) {
    findings.append(Finding(about: about, sentence: sentence))
  }

  // MARK: Schema

  private static func schema(_ one: Schema, _ other: Schema) -> [Finding] {
    let types = Set(one.entities.map(\.type)).union(other.entities.map(\.type)).sorted()
    return types.flatMap { type -> [Finding] in
      switch (one[type], other[type]) {
      case (nil, _): [Finding(about: "schema", sentence: "Only the second schema has the type \(type).")]
      case (_, nil): [Finding(about: "schema", sentence: "Only the first schema has the type \(type).")]
      case (let mine?, let theirs?): entity(mine, theirs)
      }
    }
  }

  private static func entity(_ one: EntitySchema, _ other: EntitySchema) -> [Finding] {
    var findings: [Finding] = []
    func compare(_ what: String, _ mine: [String: String], _ theirs: [String: String]) {
      for name in Set(mine.keys).union(theirs.keys).sorted() where mine[name] != theirs[name] {
        let sentence =
          switch (mine[name], theirs[name]) {
          case (nil, _): "Only the second schema has the \(what) \(one.type).\(name)."
          case (_, nil): "Only the first schema has the \(what) \(one.type).\(name)."
          case (let first?, let second?):
            "The \(what) \(one.type).\(name) is \(first) in the first schema, \(second) in the second."
          }
        findings.append(Finding(about: "schema", sentence: sentence))
      }
    }
    compare("field", words(one.fields), words(other.fields))
    compare("reference", words(one.references), words(other.references))
    compare("relationship", words(one.relationships), words(other.relationships))
    if one.deleteWins != other.deleteWins {
      findings.append(Finding(about: "schema", sentence: "Deletes of \(one.type) win in one schema only."))
    }
    return findings
  }

  private static func words(_ fields: [FieldSchema]) -> [String: String] {
    Dictionary(fields.map { ($0.wireName, $0.kind.rawValue) }, uniquingKeysWith: { first, _ in first })
  }

  private static func words(_ references: [ReferenceSchema]) -> [String: String] {
    Dictionary(
      references.map { ($0.name, "to \($0.to), \($0.onDelete.rawValue)") }, uniquingKeysWith: { first, _ in first })
  }

  private static func words(_ relationships: [RelationshipSchema]) -> [String: String] {
    Dictionary(relationships.map { ($0.name, "to \($0.to)") }, uniquingKeysWith: { first, _ in first })
  }

  // MARK: Vector

  private static func vector(_ one: StoreReport, _ other: StoreReport) -> [Finding] {
    let replicas = Set(one.vector.keys).union(other.vector.keys).sorted()
    return replicas.compactMap { replica in
      let (mine, theirs) = (one.vector[replica] ?? 0, other.vector[replica] ?? 0)
      guard mine != theirs else { return nil }
      let (lacking, has) = mine < theirs ? ("first", theirs) : ("second", mine)
      let first = min(mine, theirs) + 1
      let range = first == has ? "#\(has)" : "#\(first)–#\(has)"
      let device = replica == one.replica ? "first" : "second"
      let whose = [one.replica, other.replica].contains(replica) ? " (the \(device) device)" : ""
      return Finding(
        about: "vector", sentence: "The \(lacking) store lacks \(range) of the replica \(replica.prefix(8))\(whose).")
    }
  }
}
