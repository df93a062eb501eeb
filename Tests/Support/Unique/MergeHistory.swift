import Foundation
import GRDB
import TallyCRDT
import TallyFaults
import TallySchema
import TallyStore
import TallyTesting

/// Random histories on devices that merge records with one unique value, whenever they like, while others edit, delete
/// and refer to them.
///
/// A merge takes no name away, nor what refers to it, nor what it owns. What nobody has deleted is there at the end, by
/// itself or by the record that it gave way to; all devices show the same, and nothing is left to merge.
///
/// In every fourth history stores are files: apps are started again, some with a newer schema, other programs write
/// plain SQL, and a trigger of the app's keeps a log. In half of these, two of the devices begin with an app that knows
/// no rule `.merge`: the rule comes to rows that are there already, and have equal names.
///
/// In every eighth history the database of one device refuses rows for a time (`MergeHistory+Refusals.swift`), and in
/// every sixteenth deletes win. Between the steps of some are others (`OtherSteps`): any SQL that an app may write, and
/// clocks that are set back while a record begins another life (`MergeHistory+SQL.swift`).
package final class MergeHistory {
  package static let schema = Schema([
    EntitySchema(
      "Tag", unique: [.on("name", .merge), .on("code")], .text("name"), .integer("code"), .text("color"),
      .reference("parent", to: "Tag"), .toMany("related", to: "Tag")),
    EntitySchema(
      "Note", .text("text"), .reference("tag", to: "Tag"), .toMany("tags", to: "Tag"),
      .toMany("ranked", to: "Tag", ordered: true)),
    EntitySchema("Icon", .text("file"), .reference("tag", to: "Tag", onDelete: .cascade)),
  ])
  /// The schema of the app's next version.
  static let laterSchema = Schema(
    with(schema) { $0.fields += EntitySchema("Tag", .text("hint")).fields }.entities
      + [EntitySchema("Shelf", .toMany("tags", to: "Tag"))])
  /// Those of versions before the rule.
  static let earlierSchemas = [with(schema) { $0.unique = [] }, with(schema) { $0.unique[0] = .on("name", .rename) }]

  /// A schema with other tags.
  private static func with(_ schema: Schema, _ change: (inout EntitySchema) -> Void) -> Schema {
    var schema = schema
    change(&schema.entities[0])
    return schema
  }

  static let names = ["Work", "Home"]
  static let devices = 3
  static let tags = (1...6).map { "Tag|~|\($0)" }
  static let notes = (1...3).map { "Note|~|\($0)" }
  private static let icons = (1...3).map { "Icon|~|\($0)" }

  struct Device {
    var store: Store
    var clock: ShredStage.Clock
    var options: StoreOptions
    var path: String?
    var schema: Schema
    var plain: UniqueOracle.PlainDevice
  }

  private var random: SplitMix64
  /// What is played between the steps.
  var others: OtherSteps
  /// The device whose database refuses rows at times; nil if none does.
  let refusing: Int?
  /// What it refuses now.
  var refusals: Refusals = []
  var devices: [Device] = []
  var log: [String] = []
  let time = ShredStage.Clock(1_000_000)
  /// The tags that a person has deleted, each with all that the device knew to have given way to it.
  var deleted = Set<String>()
  /// For each deleted tag, the tags that the deleting device knew to have been merged into that tag or another one.
  var knownMerges: [String: Set<String>] = [:]
  /// Where the stores are; nil if they are in memory.
  let folder: URL?

  private init(_ seed: UInt64, _ planted: PlantedFault) throws {
    random = SplitMix64(seed: seed)
    others = OtherSteps(seed)
    refusing = seed % 8 == 5 ? 0 : nil
    let place = FileManager.default.temporaryDirectory.appendingPathComponent("tally-merge-\(UUID().uuidString)")
    folder = seed % 4 == 2 ? place : nil
    if let folder { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }
    for number in 0..<Self.devices {
      let clock = ShredStage.Clock(Int64(number) * 20_000 - 20_000)
      var options = StoreOptions()
      options.plant(planted)
      options.chooseCapture(by: seed, device: number)
      options.mintReplica = { ReplicaID(high: UInt64(number + 1), low: 7) }
      let time = time
      options.now = { Date(timeIntervalSince1970: Double(max(1, time.value + clock.value)) / 1000) }
      let path = folder?.appendingPathComponent("\(number).tally").path
      let isEarlier = seed % 8 == 6 && Self.earlierSchemas.indices.contains(number)
      let schema =
        isEarlier ? Self.earlierSchemas[number] : Self.with(Self.schema) { $0.deleteWins = seed % 16 == 7 }
      let store = try path.map { try Store(path: $0, schema: schema, options: options) }
      devices.append(
        Device(
          store: try store ?? Store(inMemory: schema, options: options), clock: clock, options: options, path: path,
          schema: schema, plain: UniqueOracle.PlainDevice(schema)))
    }
  }

  deinit {
    guard let folder else { return }
    for device in devices { try? device.store.close() }
    try? FileManager.default.removeItem(at: folder)
  }

  func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }
  func one<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

  // MARK: Steps

  private func run(steps: Int) throws {
    for _ in 0..<steps {
      let device = below(Self.devices)
      time.value += 1000
      try step(device)
      // The oracle reads the whole store.
      if below(4) == 0 { try check(device) }
      if others.isNext(25) { try another() }
    }
    try end()
  }

  private func step(_ device: Int) throws {
    if folder != nil, below(4) == 0 { return try happen(to: device) }
    let (tag, note) = (one(Self.tags), one(Self.notes))
    switch below(24) {
    case 0, 1, 2, 3:
      let values = [tag.databaseValue, one(Self.names).databaseValue, someNumber(), someColor()]
      try write(device, "INSERT INTO Tag(id, name, code, color) VALUES(?, ?, ?, ?)", values)
    case 4:
      try write(device, "UPDATE Tag SET name = ? WHERE id = ?", [one(Self.names).databaseValue, tag.databaseValue])
    case 5: try write(device, "UPDATE Tag SET color = ? WHERE id = ?", [someColor(), tag.databaseValue])
    case 6:
      let parent = one(try shown(device, "Tag") + [tag])
      try write(device, "UPDATE Tag SET parent = ? WHERE id = ?", [parent.databaseValue, tag.databaseValue])
    case 7: try write(device, "UPDATE Tag SET code = ? WHERE id = ?", [someNumber(), tag.databaseValue])
    case 8, 9: try refer(device, note)
    case 10:
      guard let owner = try someTag(device) else { return }
      try write(
        device, "INSERT INTO Icon(id, file, tag) VALUES(?, ?, ?)",
        [one(Self.icons).databaseValue, "\(log.count)".databaseValue, owner.databaseValue])
    case 11, 12: try link(device)
    case 13: try delete(device, tag)
    case 14: try restore(device, tag)
    case 15:
      switch below(8) {
      case 0: try purge(device, tag)
      case 1: try seed(device)
      default: try claimAgain(device, tag)
      }
    case 16: if below(3) == 0 { try seed(device) }
    case 17: try merge(device)
    case 18: try mergeBesideAnother(device)
    default:
      let other = below(Self.devices)
      if other != device { try pull(device, other) }
    }
  }

  private func someNumber() -> DatabaseValue { below(3) > 0 ? .null : Int64(below(2)).databaseValue }
  func someColor() -> DatabaseValue { below(2) == 0 ? .null : "\(log.count)".databaseValue }

  func shown(_ device: Int, _ type: String) throws -> [String] {
    try devices[device].store.read { try String.fetchAll($0, sql: "SELECT id FROM \(type) ORDER BY id") }
  }

  func someTag(_ device: Int) throws -> String? {
    let tags = try shown(device, "Tag")
    return tags.isEmpty ? nil : one(tags)
  }

  private func refer(_ device: Int, _ note: String) throws {
    guard let tag = try someTag(device) else { return }
    try write(
      device, "INSERT INTO Note(id, text, tag) VALUES(?, ?, ?) ON CONFLICT DO UPDATE SET tag = excluded.tag",
      [note.databaseValue, "\(log.count)".databaseValue, tag.databaseValue])
  }

  private func link(_ device: Int) throws {
    let table = one(["Note_tags", "Note_ranked", "Tag_related"])
    let sources = try shown(device, table.hasPrefix("Note") ? "Note" : "Tag")
    guard !sources.isEmpty, let tag = try someTag(device) else { return }
    let isRemoval = below(3) == 0
    let sql =
      isRemoval
      ? "DELETE FROM \(table) WHERE source = ? AND target = ?"
      : "INSERT OR IGNORE INTO \(table)(source, target) VALUES(?, ?)"
    try write(device, sql, [one(sources).databaseValue, tag.databaseValue])
  }

  /// One statement. What SQLite refuses for a value that is not admitted changes nothing.
  func write(_ device: Int, _ sql: String, _ values: [DatabaseValue]) throws {
    log.append("\(device) \(sql) \(values)")
    do {
      try devices[device].store.write { try $0.execute(sql: sql, arguments: StatementArguments(values)) }
    } catch let error where isRefusal(error, on: device) {
      log[log.count - 1] += " (refused)"
    }
  }

  /// A name that is taken off a record and given back is another claim, later than those of others.
  func claimAgain(_ device: Int, _ tag: String) throws {
    try write(device, "UPDATE Tag SET name = 'x' WHERE id = ?", [tag.databaseValue])
    try write(device, "UPDATE Tag SET name = ? WHERE id = ?", [one(Self.names).databaseValue, tag.databaseValue])
  }

  func delete(_ device: Int, _ tag: String) throws {
    let store = devices[device].store
    deleted.formUnion(try Self.tags.filter { try successor(store, $0) == tag } + [tag])
    knownMerges[tag, default: []].formUnion(try Self.tags.filter { try knowsMerge(store, $0) })
    try write(device, "DELETE FROM Tag WHERE id = ?", [tag.databaseValue])
  }

  /// Whether a device may know that a tag gave way to another, now or before. Of a tag that was also deleted its
  /// history does not tell, since a delete stands for all that its author had seen.
  func knowsMerge(_ store: Store, _ tag: String) throws -> Bool {
    try store.history(of: try AnyRecordName(tag))?.deletes.isEmpty == false
  }

  /// Whether a tag was deleted, or counts as deleted: it gave way to two records on two devices, and one of the two was
  /// deleted with knowledge of the other merge.
  private func countsAsDeleted(_ tag: String) throws -> Bool {
    if deleted.contains(tag) { return true }
    return try path(devices[0].store, tag).contains { knownMerges[$0]?.contains(tag) == true }
  }

  /// The record that stands for a tag in the end.
  func successor(_ store: Store, _ tag: String) throws -> String { try path(store, tag).last ?? tag }

  /// The records to which a tag gave way, in turn.
  private func path(_ store: Store, _ tag: String) throws -> [String] {
    var path = [tag]
    while let next = try store.history(of: try AnyRecordName(path[path.count - 1]))?.replacedBySeed {
      guard !path.contains(next.text) else { throw MergeFailure("\(tag) has given way to itself") }
      path.append(next.text)
    }
    return path
  }

  func restore(_ device: Int, _ name: String) throws {
    log.append("\(device) restores \(name)")
    do {
      try devices[device].store.restore(try AnyRecordName(name))
    } catch let error as StoreError where [.noSuchRecord, .notDeleted, .purged].contains(error.code) {
    } catch let error where refuses(device) && isRefusal(error, on: device) {}
  }

  func purge(_ device: Int, _ name: String) throws {
    log.append("\(device) purges \(name)")
    let store = devices[device].store
    let names = try Self.tags.filter { try successor(store, $0) == name }
    do {
      try store.purge(try AnyRecordName(name))
      deleted.formUnion(names + [name])
    } catch let error as StoreError where [.noSuchRecord, .notDeleted, .purged].contains(error.code) {
    } catch let error where refuses(device) && isRefusal(error, on: device) {}
  }

  /// Default data with one of the names; the second version withdraws it.
  private func seed(_ device: Int) throws {
    let isFirst = below(3) > 0
    log.append("\(device) seeds version \(isFirst ? 1 : 2)")
    let records = isFirst ? [SeedRecord("work", type: "Tag", ["name": "Work"])] : []
    let set = SeedSet(
      "tags", version: isFirst ? 1 : 2, records: records, retired: isFirst ? [] : [SeedKey("work", type: "Tag")])
    do {
      try devices[device].store.seed(set)
    } catch let error as StoreError where error.code == .seedVersionBackwards {
    } catch let error where refuses(device) && isRefusal(error, on: device) {}
  }

  func pull(_ device: Int, _ other: Int) throws {
    log.append("\(device) takes in \(other)")
    let (mine, theirs) = (devices[device].store, devices[other].store)
    try mine.apply(try theirs.delta(since: below(6) == 0 ? StateVector() : mine.vector))
    for tag in Self.tags { _ = try successor(mine, tag) }
  }

  // MARK: Checks

  func check(_ device: Int) throws {
    let store = devices[device].store
    let report = try store.verify()
    guard report.isSound else { throw MergeFailure(report.problems.joined(separator: "; ")) }
    // What its database refuses does not show there, and nothing that refers to it.
    guard !refuses(device) else { return }
    guard report.setAside.isEmpty else { throw MergeFailure("\(report.setAside) are set aside") }
    let schema = devices[device].schema
    let due = try UniqueOracle(store, on: devices[device].plain, types: ["Tag"]).rows(schema.entities[0])
    let shown = try tagRows(store)
    for name in Set(due.keys).union(shown.keys).sorted() where due[name] != shown[name] {
      throw MergeFailure("\(name) shows \(shown[name] ?? [:]) on \(device), and should show \(due[name] ?? [:])")
    }
    for note in try self.shown(device, "Note") {
      guard let tag = try reference(store, note) else { continue }
      let (seen, remaining) = (try seenReference(store, "Note", note), try successor(store, tag))
      guard shown[remaining] == nil || seen == remaining else {
        throw MergeFailure("\(note) refers to \(tag), which is \(remaining), and shows \(seen ?? "nothing")")
      }
    }
  }

  /// The tag that a record refers to, whether it shows or gave way.
  private func reference(_ store: Store, _ name: String) throws -> String? {
    guard let history = try store.history(of: try AnyRecordName(name)),
      case .text(let tag)? = history.fields.first(where: { $0.field == "tag" })?.value, Self.tags.contains(tag)
    else { return nil }
    return tag
  }

  private func seenReference(_ store: Store, _ table: String, _ name: String) throws -> String? {
    try store.read { try String.fetchOne($0, sql: "SELECT tag FROM \(table) WHERE id = ?", arguments: [name]) }
  }

  private func tagRows(_ store: Store) throws -> [String: [String: Value]] {
    try store.read { db in
      var found: [String: [String: Value]] = [:]
      for row in try Row.fetchAll(db, sql: "SELECT * FROM Tag") {
        var fields: [String: Value] = [:]
        for (column, value) in row where !["id", "tally_clock"].contains(column) { fields[column] = Value(value) }
        found[row["id"]] = fields
      }
      return found
    }
  }

  private func rows(_ store: Store) throws -> [String] {
    try store.read { db in
      try ["Tag", "Note", "Icon", "Note_tags", "Note_ranked", "Tag_related", "tally_unique"].flatMap { table in
        let columns = try db.columns(in: table).map(\.name).filter { $0 != "tally_clock" }
        return try Row.fetchAll(db, sql: "SELECT \(columns.joined(separator: ", ")) FROM \(table)")
          .map { "\(table) \($0)" }.sorted()
      }
    }
  }

  private func pullAll() throws {
    for _ in 0..<2 {
      for one in devices.indices {
        for other in devices.indices where one != other { try pull(one, other) }
      }
    }
  }

  private func end() throws {
    if let refusing, !refusals.isEmpty { try admit(on: refusing) }
    if folder != nil { for device in devices.indices { try open(device, Self.laterSchema) } }
    try pullAll()
    for round in 0... {
      var hasMerged = false
      // In some histories all merge at once.
      let merging = below(2) == 0 ? Array(devices.indices) : [below(Self.devices)]
      for device in merging { hasMerged = try merge(device)?.isEmpty == false || hasMerged }
      try pullAll()
      for device in devices.indices { try check(device) }
      guard hasMerged else { break }
      guard round < 8 else { throw MergeFailure("merges do not end") }
    }
    let store = devices[0].store
    let (first, all) = (try store.summary(), try rows(store))
    for device in devices.dropFirst() {
      let summary = try device.store.summary()
      guard summary.vector == first.vector, summary.fingerprint == first.fingerprint else {
        throw MergeFailure("devices differ at the end")
      }
      guard try rows(device.store) == all else { throw MergeFailure("devices with equal states show different rows") }
    }
    let contested = try store.read {
      try String.fetchAll($0, sql: "SELECT name FROM tally_unique WHERE field = 'name'")
    }
    if let name = contested.first { throw MergeFailure("\(name) is still to be merged") }
    try checkWhatIsThere()
  }

  /// What nobody has deleted is there, by itself or by the record that it gave way to, with what refers to it.
  private func checkWhatIsThere() throws {
    let store = devices[0].store
    let shown = Set(try shown(0, "Tag"))
    for name in Self.notes + Self.icons {
      guard let tag = try reference(store, name), try !countsAsDeleted(tag) else { continue }
      let seen = try seenReference(store, name.hasPrefix("Note") ? "Note" : "Icon", name)
      guard let seen, shown.contains(seen) else {
        throw MergeFailure("\(name) has lost \(tag), and shows \(seen ?? "nothing")")
      }
    }
    for tag in Self.tags where try !shown.contains(tag) && !countsAsDeleted(tag) {
      guard try store.history(of: try AnyRecordName(tag)) != nil else { continue }
      let successor = try successor(store, tag)
      guard shown.contains(successor) else {
        throw MergeFailure("nobody has deleted \(tag), and neither it nor \(successor) is there")
      }
    }
  }

  /// What a history finds, with its steps; nil if all is well.
  package static func failure(_ seed: UInt64, planted: PlantedFault = []) -> String? {
    var history: MergeHistory?
    do {
      let new = try MergeHistory(seed, planted)
      history = new
      try new.run(steps: [20, 40, 80][Int(seed % 3)])
      return nil
    } catch {
      return "TALLY_SEED=\(seed)\n\(history?.log.joined(separator: "\n") ?? "")\n\(error)"
    }
  }
}

/// A check that has failed.
struct MergeFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
