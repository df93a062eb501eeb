import Tally
import TallyStore

/// The output of `tally why` about seeds.
extension RecordHistory {
  /// Whether the app sees the record, in words.
  var presence: String {
    if isVisible { return "visible" }
    if isAlive { return "hidden: what owns it is deleted" }
    if replacedBySeed != nil { return "gave way to its seed" }
    return deletes.isEmpty && seed?.isRetired == true ? "retired by its seed" : "deleted"
  }

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
