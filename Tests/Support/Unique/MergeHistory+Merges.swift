import GRDB
import TallyCRDT
import TallyStore

/// Merges, and what people must still see after each.
extension MergeHistory {
  /// What people see: names, and under them what refers to them.
  private struct Sight {
    var names = Set<String>()
    var references: [String: String] = [:]
    var members = Set<String>()
    var icons = Set<String>()
  }

  private func sight(_ store: Store) throws -> Sight {
    try store.read { db in
      var (sight, names) = (Sight(), [String: String]())
      for row in try Row.fetchAll(
        db,
        sql: """
          SELECT id, coalesce((SELECT wanted FROM tally_unique u WHERE u.name = Tag.id AND u.field = 'name'), name) AS name
          FROM Tag
          """)
      {
        names[row["id"]] = row["name"]
        if let name: String = row["name"] { sight.names.insert(name) }
      }
      for row in try Row.fetchAll(db, sql: "SELECT id, tag FROM Note WHERE tag NOT NULL") {
        sight.references[row["id"]] = names[row["tag"]] ?? "-"
      }
      for table in ["Note_tags", "Note_ranked"] {
        for row in try Row.fetchAll(db, sql: "SELECT source, target FROM \(table)") {
          sight.members.insert("\(table) \(row["source"] as String) \(names[row["target"]] ?? "-")")
        }
      }
      sight.icons = Set(try String.fetchAll(db, sql: "SELECT id FROM Icon"))
      return sight
    }
  }

  /// Merges when another program has just written, so that rows do not show yet what follows.
  func mergeUncaptured(_ device: Int) throws {
    let report = try devices[device].store.mergeDuplicates()
    log.append("\(device) merges \(report.merged.map { "\($0) into \($1)" }.sorted()), restores \(report.restored)")
    try check(device)
  }

  @discardableResult
  func merge(_ device: Int) throws -> DuplicateReport? {
    let store = devices[device].store
    guard !refuses(device) else { return try mergeRefusing(device) }
    let before = try sight(store)
    let report = try store.mergeDuplicates()
    log.append("\(device) merges \(report.merged.map { "\($0) into \($1)" }.sorted()), restores \(report.restored)")
    let after = try sight(store)
    try check(device)
    guard before.names.isSubset(of: after.names), report.restored.isEmpty == false || before.names == after.names else {
      throw MergeFailure("a merge made names \(after.names) of \(before.names)")
    }
    for (note, name) in before.references where after.references[note] != name {
      throw MergeFailure("\(note) referred to \(name), and to \(after.references[note] ?? "nothing") after a merge")
    }
    guard before.members.isSubset(of: after.members), before.icons.isSubset(of: after.icons) else {
      throw MergeFailure(
        "a merge took \(before.members.subtracting(after.members).union(before.icons.subtracting(after.icons)))")
    }
    return report
  }

  /// Two devices merge, one of which knows of a claim that the other does not know, and take in each other's merge.
  func mergeBesideAnother(_ device: Int) throws {
    let other = (device + 1 + below(Self.devices - 1)) % Self.devices
    if let tag = try someTag(other) { try claimAgain(other, tag) }
    if below(4) > 0 { try pull(other, device) }
    let merged = try merge(device)?.merged ?? [:]
    if below(3) == 0 { return try delete(on: other, merged, by: device) }
    try merge(other)
    try pull(device, other)
    try pull(other, device)
    try check(device)
  }

  /// Deletes a record on a device that does not know what has just given way to it, and shows that as well. That stays,
  /// unless it had given way before: then the device knows of a merge, and that cannot be distinguished.
  private func delete(on other: Int, _ merged: [AnyRecordName: AnyRecordName], by device: Int) throws {
    let shown = Set(try shown(other, "Tag"))
    let pairs = try merged.filter { name, into in
      try shown.contains(name.text) && shown.contains(into.text) && !knowsMerge(devices[other].store, name.text)
    }
    guard let remaining = pairs.values.min() else { return }
    try delete(other, remaining.text)
    try pull(device, other)
    try merge(device)
    guard !refuses(device) else { return }
    let after = Set(try self.shown(device, "Tag"))
    for (name, into) in pairs where into == remaining {
      guard after.contains(try successor(devices[device].store, name.text)) else {
        throw MergeFailure("\(name) is deleted with \(into), which was deleted without knowledge of their merge")
      }
    }
  }
}
