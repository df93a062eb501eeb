import Tally
import TallyInspection
import TallyStore

extension PresenceReport {
  /// Whether the app sees the record, in few words.
  var headline: String {
    switch code {
    case .visible: "visible"
    case .refused: "visible, with something that cannot be replicated"
    case .hiddenByOwner: "hidden: what owns it is \(deletes.isEmpty ? "not visible" : "deleted")"
    case .setAside: "\(isVisible ? "visible in an old state" : "hidden"): the database refuses its row"
    case .newerSchema: "hidden: its type is of a newer schema"
    case .deleted: emptying == nil ? "deleted" : "deleted, and its content removed for good"
    case .emptied: "its content removed for good"
    case .retired: "retired by its seed"
    case .gaveWay: "gave way to another record"
    case .notReceived: "not received"
    case .unknownType: "of an unknown type"
    case .unreadable: "cannot be read"
    }
  }
}

/// The output of `tally why` about seeds.
extension RecordHistory {
  /// The lines about its seed, and about the seed for which it gave way.
  var seedLines: [String] {
    var lines: [String] = []
    if let seed {
      let versions = seed.versions.map(String.init).joined(separator: ", ")
      lines.append("  default data: \(seed.shown.map { "shows version \($0)" } ?? "shows nothing"), here: \(versions)")
      if seed.isRetired { lines.append("    retired by the newest version") }
      if seed.belongsToUser { lines.append("    belongs to the user") }
    }
    if let replacedBySeed { lines.append("  gave way to \(replacedBySeed)") }
    return lines
  }

  /// The seed's part in the record; null if it is no seed's.
  var seedJSON: JSON {
    guard let seed else { return .null }
    return .object([
      "shown": seed.shown.map(JSON.integer) ?? .null, "versions": .array(seed.versions.map(JSON.integer)),
      "isRetired": .bool(seed.isRetired), "belongsToUser": .bool(seed.belongsToUser),
    ])
  }
}
