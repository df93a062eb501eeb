import ArgumentParser
import Foundation
import Tally
import TallyCRDT

struct ConflictsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "conflicts",
    abstract: "Prints the conflict journal, newest first: overwritten values, undone deletes, cleared references.",
    discussion: "Example: tally conflicts scores.tally --limit 10")

  @OptionGroup var store: StoreArguments
  @Option(help: "At most this many.") var limit = 100
  @Flag(help: "Print one line of JSON each.") var json = false

  func validate() throws {
    guard limit >= 0 else { throw ValidationError("--limit is negative") }
  }

  func run() throws {
    try store.reading { store in
      let schema = try store.schema
      let conflicts = try store.conflicts(limit: limit)
      try Output.run { output in
        for conflict in conflicts {
          let entry = ConflictOutput(conflict: conflict, entity: schema[conflict.name.type])
          for line in json ? [entry.json.text] : entry.lines.map(printable) { try output.line(line) }
        }
      }
    }
  }
}

/// A conflict, to be printed.
struct ConflictOutput {
  let conflict: Conflict
  let entity: EntitySchema?

  private var type: FieldType { entity?.type(wireName: conflict.field) ?? .field(.text) }
  private var column: String { entity?.column(conflict.field) ?? conflict.field }

  var json: JSON {
    .object([
      "kind": .string(conflict.kind.rawValue), "name": .string(conflict.name.text),
      "field": conflict.field.isEmpty ? .null : .string(column),
      "loser": side(isDelete: conflict.kind == .deleteUndone, conflict.loserValue, conflict.loser),
      "winner": side(isDelete: winnerIsDelete, conflict.winnerValue, conflict.winner),
      "noticed": .string(
        ISODate.iso(milliseconds: UInt64(max(0, (conflict.noticed.timeIntervalSince1970 * 1000).rounded())))),
    ])
  }

  private var winnerIsDelete: Bool { conflict.kind == .deleted || conflict.kind == .referenceCleared }

  private func side(isDelete: Bool, _ value: Value, _ stamp: Stamp) -> JSON {
    .object([
      isDelete ? "deleted" : "value": isDelete ? .bool(true) : type.json(value), "written": StampOutput.json(stamp),
    ])
  }

  var lines: [String] {
    let (lost, won) =
      switch conflict.kind {
      case .overwritten:
        (assignment(column, conflict.loserValue, type), assignment(column, conflict.winnerValue, type))
      case .deleted: (assignment(column, conflict.loserValue, type), "a delete")
      case .deleteUndone: ("a delete", "an edit of the record, of its members, or of what it owns")
      case .referenceCleared: (assignment(column, conflict.loserValue, type), "a delete of what it refers to")
      }
    return [
      conflict.field.isEmpty ? "\(conflict.name)" : "\(conflict.name) \(column)",
      "  lost: \(lost)", "    written \(StampOutput.text(conflict.loser))",
      "  won:  \(won)", "    written \(StampOutput.text(conflict.winner))",
    ]
  }
}

/// A stamp, to be printed.
enum StampOutput {
  /// The time of a seed's stamp is the version of its set. What keeps the greatest or the least has no time until it is
  /// set.
  static func json(_ stamp: Stamp) -> JSON {
    let isSeed = stamp.rank == .seed
    return .object([
      "at": isSeed || stamp.time == .earliest ? .null : .string(ISODate.iso(milliseconds: stamp.time.milliseconds)),
      "by": .string(stamp.dot.replica.description), "sequence": .integer(stamp.dot.sequence),
      "seedVersion": isSeed ? .integer(stamp.time.milliseconds) : .null,
    ])
  }

  static func text(_ stamp: Stamp) -> String {
    if stamp.rank == .seed { return "in version \(stamp.time.milliseconds) of the default data, by \(stamp.dot)" }
    let note = stamp.rank == .adopted ? ", adopting" : ""
    guard stamp.time != .earliest else { return "by \(stamp.dot)\(note)" }
    return "\(ISODate.iso(milliseconds: stamp.time.milliseconds)) by \(stamp.dot)\(note)"
  }
}

extension EntitySchema {
  /// The column of a wire name, if the schema has it.
  func column(_ wireName: String) -> String? {
    fields.first { $0.wireName == wireName }?.name ?? references.first { $0.name == wireName }?.name
  }

  /// The type of a wire name's column, if the schema has it.
  func type(wireName: String) -> FieldType? { column(wireName).flatMap { try? fieldType($0) } }
}
