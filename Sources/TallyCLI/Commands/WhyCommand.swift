import ArgumentParser
import Tally
import TallyCRDT
import TallyInspection
import TallyStore

struct WhyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "why",
    abstract: "Prints who wrote a record's fields and when, and what lost.",
    discussion: """
      Times are those of the writers' clocks, in ISO 8601; who is the replica and the number of its transaction.
      Of a counter it says what it was set to, less what had been added by then, and what each device has added.
      It begins with whether the app sees the record, and if not, why.
      Of default data it says which version shows, which are here, whether the newest retires the record, and whether it \
      belongs to the user; of a duplicate that gave way, to which record.

      Example: tally why scores.tally 'SBGame|~|chess' rating
      """)

  @OptionGroup var store: StoreArguments
  @Argument(help: "The record's name.") var name: String
  @Argument(help: "One field of it; without it all.") var field: String?
  @Flag(help: "Print one line of JSON.") var json = false

  func run() throws {
    let name = try recordName(name)
    try store.reading { store in
      let name = try store.meant(name)
      let explanation: Explanation
      do {
        explanation = try Explanation(of: name, field: field, in: store)
      } catch let error as StoreError where json && [.noSuchRecord, .unknownType].contains(error.code) {
        // A reader of JSON gets the reason in it; the exit code is that of the error.
        try Output.run { try $0.line(Explanation.absence(of: name, in: store).text) }
        throw error
      }
      try Output.run { output in
        for line in json ? [explanation.json.text] : explanation.lines.map(printable) { try output.line(line) }
      }
    }
  }

}

/// The history of a record, to be printed.
struct Explanation {
  private let history: RecordHistory
  private let entity: EntitySchema?
  private let own: ReplicaID?
  private let isOfField: Bool
  private let presence: PresenceReport
  /// The record that has the value for which this one is not shown.
  private let holder: AnyRecordName?
  /// The removal of content that what the record holds now is later than; nil if there was none.
  private let emptying: Stamp?

  /// - Throws: `StoreError.unknownType`, `.unknownField`, `.noSuchRecord`.
  init(of name: AnyRecordName, field: String? = nil, in store: Store) throws {
    entity = try store.schema[name.type]
    guard var history = try store.history(of: name) else {
      if entity == nil { _ = try store.schema.entity(of: name) }
      throw StoreError(.noSuchRecord, "no record named \(name), not even a deleted one")
    }
    if let field {
      let wireName = entity?.fields.first { $0.name == field }?.wireName ?? field
      if !history.fields.contains(where: { $0.field == wireName }) { _ = try entity?.fieldType(field) }
      history.fields.removeAll { $0.field != wireName }
      history.conflicts.removeAll { $0.field != wireName }
    }
    self.history = history
    own = try store.summary().replica
    let found = try store.presence(of: name)
    presence = PresenceReport(of: name, found, try ReplicaDirectory([("this store", store)]))
    emptying = try found.emptying ?? store.emptying(of: name)?.stamp
    holder = found.code == .setAside ? try store.holder(keepingOut: name) : nil
    isOfField = field != nil
  }

  /// The answer for a record of which this store has nothing.
  static func absence(of name: AnyRecordName, in store: Store) throws -> JSON {
    let presence = PresenceReport(
      of: name, try store.presence(of: name), try ReplicaDirectory([("this store", store)]))
    return .object(["name": .string(name.text), "isVisible": .bool(false), "presence": Self.json(presence)])
  }

  private static func json(_ presence: PresenceReport) -> JSON {
    .object([
      "code": .string(presence.code.rawValue), "sentence": .string(presence.sentence),
      "owners": .array(presence.owners.map { .string($0) }),
    ])
  }

  var json: JSON {
    let fields = history.fields.map { field in
      JSON.object([
        "field": .string(column(field.field)), "value": type(field.field).json(field.value),
        "isAddition": .bool(field.isAddition), "written": StampOutput.json(field.stamp),
        "hiddenBecause": .string(field.hiddenReason),
      ])
    }
    let deletes = history.deletes.map { delete in
      JSON.object([
        "written": StampOutput.json(delete.stamp),
        "context": .object(
          Dictionary(uniqueKeysWithValues: delete.context.entries.map { ("\($0.replica)", .integer($0.sequence)) })),
      ])
    }
    return .object([
      "name": .string(history.name.text), "isAlive": .bool(history.isAlive), "isVisible": .bool(history.isVisible),
      "existence": history.existence.map(StampOutput.json) ?? .null, "fields": .array(fields),
      "deletes": .array(deletes), "seed": history.seedJSON, "gaveWayTo": .string(history.replacedBySeed?.text),
      "conflicts": .array(history.conflicts.map { ConflictOutput(conflict: $0, entity: entity).json }),
      "presence": Self.json(presence), "holder": .string(holder?.text),
    ])
  }

  var lines: [String] {
    var lines = ["\(history.name)  \(presence.headline)"]
    // The first line says the rest.
    if ![.visible, .deleted, .retired, .gaveWay].contains(presence.code) { lines.append("  \(presence.sentence)") }
    if let holder { lines.append("  \(holder) has the value, which is unique") }
    lines += history.seedLines
    if let existence = history.existence { lines.append("  inserted \(text(existence))") }
    // What lost stands once: with the register of a counter, and not with what each device has added.
    var tellers: [String: Int] = [:]
    for (index, field) in history.fields.enumerated() where !field.isAddition || tellers[field.field] == nil {
      tellers[field.field] = index
    }
    for (index, field) in history.fields.enumerated() {
      let said = assignment(column(field.field), field.value, type(field.field))
      lines.append(field.isAddition ? "  added to \(said)" : "  \(said)")
      lines.append("    written \(text(field.stamp))")
      if let reason = field.hiddenReason { lines.append("    not shown: \(reason)") }
      for lost in history.conflicts where lost.field == field.field && tellers[field.field] == index {
        lines.append("    lost: \(assignment(column(lost.field), lost.loserValue, type(lost.field)))")
        lines.append("      written \(text(lost.loser))")
      }
    }
    for delete in history.deletes { lines.append("  deleted \(text(delete.stamp))") }
    if let emptying { lines.append("  content removed for good \(text(emptying))") }
    if isOfField, history.fields.isEmpty { lines.append("  never written; it reads as its default") }
    return lines
  }

  private func text(_ stamp: Stamp) -> String {
    StampOutput.text(stamp) + (stamp.dot.replica == own ? " (this store)" : "")
  }

  private func column(_ wireName: String) -> String { entity?.column(wireName) ?? wireName }
  private func type(_ wireName: String) -> FieldType { entity?.type(wireName: wireName) ?? .field(.text) }
}
