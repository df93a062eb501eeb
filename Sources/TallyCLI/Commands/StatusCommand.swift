import ArgumentParser
import Foundation
import Tally
import TallyCRDT

struct StatusCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Prints how the store stands: replica, vector, counts, conflicts.",
    discussion: "Example: tally status scores.tally --json")

  @OptionGroup var store: StoreArguments
  @Flag(help: "Print one line of JSON.") var json = false

  func run() throws {
    try store.reading { store in
      let status = try store.status()
      let holders = try store.holders(of: status)
      try Output.run { output in
        for line in json ? [status.json(holders).text] : status.lines(holders).map({ brief($0) }) {
          try output.line(line)
        }
      }
    }
  }
}

extension StoreStatus {
  /// `holders` are those of the values for which rows are set aside, by the names of these rows.
  func json(_ holders: [String: AnyRecordName]) -> JSON {
    let vector = summary.vector.entries.map { ("\($0.replica)", JSON.integer($0.sequence)) }
    let counts = counts.map { count -> JSON in
      .object([
        "type": .string(count.type), "visible": .integer(count.visible), "hidden": .integer(count.hidden),
        "isKnown": .bool(count.isKnown),
      ])
    }
    return .object([
      "replica": .string(summary.replica?.description), "vector": .object(Dictionary(uniqueKeysWithValues: vector)),
      "fingerprint": .string(summary.fingerprint.description), "counts": .array(counts),
      "conflicts": .integer(conflicts), "rejectedWrites": .integer(rejectedWrites),
      "setAside": .array(
        setAside.map {
          .object([
            "row": .string($0.row), "isShown": .bool($0.isShown), "isEmptied": .bool($0.isEmptied),
            "showsRemoved": .bool($0.showsRemoved), "reason": .string($0.reason),
            "holder": .string(holders[$0.row]?.text),
          ])
        }),
      "contested": .array(
        contested.map {
          .object([
            "name": .string($0.name), "field": .string($0.field), "wanted": .string(Self.text($0.wanted)),
            "shown": .string($0.shown.isNull ? nil : Self.text($0.shown)), "holder": .string($0.holder),
          ])
        }), "hasTriggerLoop": .bool(hasTriggerLoop), "bytes": .integer(byteCount),
      "doubt": doubt.map { .object(["level": .string($0.level.rawValue), "reason": .string($0.reason)]) } ?? .null,
      "renewal": .string(renewal?.reason),
      "clockAhead": clockAhead.map {
        .object(["replica": .string($0.replica.description), "seconds": .integer(Int($0.seconds))])
      } ?? .null,
    ])
  }

  /// A value of a unique field, as JSON has it.
  private static func text(_ value: Value) -> String {
    switch value {
    case .null: "null"
    case .integer(let number): "\(number)"
    case .real(let number): "\(number)"
    case .text(let text): text
    case .blob(let bytes): "x'\(Hexadecimal.text(bytes))'"
    }
  }

  /// A value of a unique field, for people.
  private static func shown(_ value: Value) -> String {
    switch value {
    case .null: "nothing"
    case .text(let text): TallyCLI.shown(text)
    case .blob(let bytes): "\(bytes.count) bytes"
    case .integer, .real: text(value)
    }
  }

  private static func text(_ date: Date) -> String { date.formatted(.iso8601) }

  fileprivate func lines(_ holders: [String: AnyRecordName]) -> [String] {
    var lines = ["replica      \(summary.replica?.description ?? "none yet")"]
    lines += summary.vector.entries.enumerated().map { "\($0.offset == 0 ? "vector" : "      ")       \($0.element)" }
    lines.append("fingerprint  \(summary.fingerprint)")
    for count in counts {
      let hidden = count.hidden > 0 ? ", \(count.hidden) hidden" : ""
      lines.append("\(count.type): \(count.visible)\(hidden)\(count.isKnown ? "" : ", not in this schema")")
    }
    lines.append("conflicts    \(conflicts)")
    if rejectedWrites > 0 { lines.append("rejected     \(rejectedWrites) rows that cannot be replicated") }
    for row in setAside {
      let removed = row.showsRemoved ? "stays, and still shows what was removed for good" : "stays"
      let stays = row.isEmptied ? "stays, without its values" : removed
      let name = row.row.replacing("\n", with: " with ")
      let holder = holders[row.row].map { "; \($0) has the value, which is unique" } ?? ""
      lines.append("set aside    \(name) \(row.isShown ? stays : "is not shown"): \(brief(row.reason, 500))\(holder)")
    }
    for value in contested {
      let holder = value.holder ?? "a row that SQLite does not let go"
      let (wanted, shown) = (Self.shown(value.wanted), Self.shown(value.shown))
      lines.append("contested    \(value.name) \(value.field) \(wanted), which \(holder) has, and shows \(shown)")
    }
    if hasTriggerLoop {
      lines.append(
        "triggers     answer every change from peers with a write: guard them with WHEN NOT tally_applying()")
    }
    if let doubt {
      lines.append("in doubt     since \(Self.text(doubt.date)), \(doubt.level.rawValue): \(doubt.reason)")
    }
    if let renewal { lines.append("renewed      \(Self.text(renewal.date)): \(renewal.reason)") }
    if let clockAhead {
      lines.append(
        "clock        writes of \(clockAhead.replica) are \(Int(clockAhead.seconds)) s ahead of this device's clock")
    }
    lines.append("size         \(byteCount) bytes")
    return lines
  }
}
