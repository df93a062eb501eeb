import Foundation
import GRDB
import TallyAssets
import TallyCRDT
import TallyFaults
import TallySchema
import TallyStore
import TallySync
import TallyTesting
import TallyWire

/// Random histories of old versions of an app, which keep pictures in a field of the kind blob, and of new ones, which
/// move them into files: choices and removals in both, deletes, default data, moves in slices that are killed or come
/// upon other writes, collections, updates of the app, and deltas, sessions and a folder between them.
///
/// After each step a device shows what `BlobSpecification` says. Where deletes win, or records are purged or restored,
/// a move does to each row what the times of its two fields say. At the end all show the picture that was chosen last,
/// with its file.
package final class BlobHistory {
  typealias Field = BlobSpecification.Field
  static let devices = 3
  static let seedSet = SeedSet(
    "pictures", version: 1,
    records: [SeedRecord("first", of: SeededGame.self, ["image": .blob(Array(contents[3].bytes))])])

  /// The app's two versions. A card without a picture has the bytes `-`.
  package static let schemas: [Schema] = [false, true].map { isNew in
    func fields(_ start: Value) -> [FieldSchema] {
      let fields = [FieldSchema("note", .text), FieldSchema("image", .blob, default: start)]
      return fields + (isNew ? [FieldSchema("picture", .asset)] : [])
    }
    return Schema([
      EntitySchema(type: "Game", fields: fields(.null)),
      EntitySchema(type: "Card", fields: fields(.blob(Array("-".utf8)))),
      EntitySchema(type: "Memo", fields: fields(.null), deleteWins: true),
    ])
  }

  /// What pictures there are, with the type that their first bytes say.
  static let contents: [(bytes: Data, type: String)] = [
    (Data([0xFF, 0xD8, 0xFF]) + Data("small".utf8), "jpg"),
    (Data([0xFF, 0xD8, 0xFF]) + Data((0..<4_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }), "jpg"),
    (Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1]), "png"),
    (Data("neither".utf8), "bin"), (Data([0]), "bin"), (Data("%PDF-1".utf8), "pdf"),
  ]
  private static let hashes = contents.map { Hexadecimal.text(SHA256.hash(Array($0.bytes))) }

  struct Device {
    var store: Store
    let path: String
    let options: StoreOptions
    let skew: Int64
    var version: Int
  }

  var devices: [Device] = []
  var specification = BlobSpecification(devices: BlobHistory.devices)
  var random: SplitMix64
  var log: [String] = []
  /// Whether records may be purged and restored, and the specification says nothing of them.
  let purges: Bool
  /// Whether all clocks are right. Then the latest choice is the one that was made last.
  private let isPunctual: Bool
  private let clock = ShredStage.Clock(1_800_000_000_000)
  private let folder: URL
  private let mailbox = MemoryMailbox()
  private let records: [String]
  private let seeded: String

  private init(_ seed: UInt64, _ planted: PlantedFault) throws {
    random = SplitMix64(seed: seed)
    purges = random.chance(25)
    isPunctual = random.chance(50)
    seeded = RecordName<SeededGame>(seed: "first", of: "pictures").name.text
    records = ["Game|~|a", "Game|~|b", "Card|~|a", "Memo|~|a", seeded]
    folder = AssetHistory.newFolder()
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for number in 0..<Self.devices {
      var options = StoreOptions()
      options.plant(planted)
      options.chooseCapture(by: seed, device: number)
      options.mintReplica = { ReplicaID(high: UInt64(number + 1), low: seed) }
      let (skew, clock) = (isPunctual ? 0 : Int64(random.below(5)) * 900 - 1_800, clock)
      options.now = { Date(timeIntervalSince1970: Double(clock.value + skew) / 1000) }
      let path = folder.appendingPathComponent("\(number).tally").path
      let version = number == 1 ? 2 : 1
      let store = try Store(path: path, schema: Self.schemas[version - 1], options: options)
      devices.append(Device(store: store, path: path, options: options, skew: skew, version: version))
    }
  }

  deinit {
    for device in devices { try? device.store.close() }
    try? FileManager.default.removeItem(at: folder)
  }

  // MARK: Steps

  private func run(steps: Int) throws {
    for _ in 0..<steps {
      clock.value += 1_000
      let device = random.below(Self.devices)
      try step(device)
      try check(device)
    }
    try end()
  }

  private func step(_ device: Int) throws {
    let record = random.pick(records)
    switch random.below(32) {
    case 0..<8: try choose(device, record)
    case 8, 9: try remove(device, record)
    case 10: try write(device, record, [.note: random.pick(["x", "y"])])
    case 11: try delete(device, record)
    case 12: try open(device, version: 2)
    case 13: try open(device, version: devices[device].version)
    case 14:
      log.append("\(device) has the default data")
      try devices[device].store.seed(Self.seedSet)
      specification.seed(device, seeded, image: "3")
    case 15: try collect(device)
    case 16 where purges: try restore(device, record)
    case 17 where purges: try purge(device, record)
    case 16..<23:
      let other = (device + 1 + random.below(Self.devices - 1)) % Self.devices
      try exchange(device, other)
    default:
      guard devices[device].version == 2 else { return try choose(device, record) }
      let type = random.pick(["Game", "Game", "Card", "Memo"])
      let way = MoveWay(keepsOldApps: random.chance(25), type: random.chance(20) ? "img" : nil)
      switch random.below(4) {
      case 0: try moveInSlices(device, type, way)
      case 1: try moveKilled(device, type, way)
      default: try move(device, type, way)
      }
    }
  }

  /// An app of an older or newer version, or another device, opens the file.
  private func open(_ device: Int, version: Int) throws {
    log.append("\(device) starts version \(version)")
    try devices[device].store.close()
    let (path, options) = (devices[device].path, devices[device].options)
    devices[device].store = try Store(path: path, schema: Self.schemas[version - 1], options: options)
    devices[device].version = version
  }

  func restart(_ device: Int) throws { try open(device, version: devices[device].version) }

  /// Two devices learn all that the other has heard of.
  private func exchange(_ one: Int, _ other: Int) throws {
    let (mine, theirs) = (devices[one].store, devices[other].store)
    switch random.below(4) {
    case 0:
      log.append("\(one) and \(other) sync")
      try mine.sync(with: theirs)
      specification.meet(one, other)
    case 1:
      log.append("\(one) and \(other) meet")
      let outcome = try SteppedSession.play(mine, theirs, limit: 100_000, &random)
      guard outcome.isFinished else { throw BlobFailure("a session of \(one) and \(other) stands still") }
      specification.meet(one, other)
    case 2:
      log.append("\(one), then \(other), then \(one) pass")
      for device in [one, other, one] {
        let report = try devices[device].store.sync(through: mailbox)
        guard report.isComplete || purges else {
          throw BlobFailure("\(device) has left \(report.pending + report.refused)")
        }
        known.formUnion(specification.known[device])
        specification.known[device] = known
      }
    default:
      log.append("\(one) pulls from \(other)")
      try mine.apply(try theirs.delta(since: random.chance(15) ? StateVector() : try mine.vector))
      specification.known[one].formUnion(specification.known[other])
    }
  }

  /// What the folder has heard of.
  private var known = Set<Int>()

  // MARK: Writes

  func choose(_ device: Int, _ record: String) throws {
    let content = random.below(Self.contents.count)
    guard devices[device].version == 2 else {
      // An old version may keep a picture without any bytes.
      return try write(device, record, [.image: random.chance(6) ? BlobSpecification.empty : "\(content)"])
    }
    let type = random.pick([Self.contents[content].type, "img"])
    let name = try devices[device].store.assets.add(Self.contents[content].bytes, type: type)
    guard name == Self.name("\(content).\(type)") else { throw BlobFailure("\(content) is added as \(name)") }
    var values: [Field: String] = [.picture: "\(content).\(type)"]
    // A new version that goes on writing what old ones show, but not always the same.
    if random.chance(12) { values[.image] = "\(random.chance(70) ? content : random.below(Self.contents.count))" }
    try write(device, record, values)
  }

  private func remove(_ device: Int, _ record: String) throws {
    guard try row(device, record) != nil else { return }
    try write(device, record, [devices[device].version == 2 && random.chance(70) ? .picture : .image: ""])
  }

  private func write(_ device: Int, _ record: String, _ values: [Field: String]) throws {
    let before = try row(device, record)
    // Nobody makes a record of default data by hand.
    guard record != seeded || before != nil else { return }
    let fields = values.keys.sorted { $0.rawValue < $1.rawValue }
    log.append("\(device) writes \(fields.map { "\($0) \(values[$0] ?? "")" }) of \(record)")
    let type = Self.type(of: record)
    let columns = fields.map(\.rawValue)
    let sql = """
      INSERT INTO \(type)(id, \(columns.joined(separator: ", "))) VALUES(?\(columns.map { _ in ", ?" }.joined()))
      ON CONFLICT DO UPDATE SET \(columns.map { "\($0) = excluded.\($0)" }.joined(separator: ", "))
      """
    let arguments = [record.databaseValue] + fields.map { Self.databaseValue(values[$0] ?? "", of: $0, in: type) }
    try devices[device].store.write { try $0.execute(sql: sql, arguments: StatementArguments(arguments)) }
    try note(device, record, from: before)
  }

  func delete(_ device: Int, _ record: String) throws {
    let before = try row(device, record)
    guard record != seeded, before != nil else { return }
    log.append("\(device) deletes \(record)")
    try devices[device].store.write {
      try $0.execute(sql: "DELETE FROM \(Self.type(of: record)) WHERE id = ?", arguments: [record])
    }
    try note(device, record, from: before)
  }

  private func note(_ device: Int, _ record: String, from before: [Field: String]?) throws {
    specification.note(
      device, record, from: before, to: try row(device, record), version: devices[device].version,
      clock: clock.value + devices[device].skew)
  }

  private func restore(_ device: Int, _ record: String) throws {
    log.append("\(device) restores \(record)")
    do {
      try devices[device].store.restore(try AnyRecordName(record))
    } catch let error as StoreError where [.noSuchRecord, .notDeleted, .purged].contains(error.code) {}
  }

  private func purge(_ device: Int, _ record: String) throws {
    log.append("\(device) purges \(record)")
    do {
      try devices[device].store.purge(try AnyRecordName(record))
    } catch let error as StoreError where [.noSuchRecord, .notDeleted, .purged].contains(error.code) {}
  }

  /// Also at once what nothing names; where records are purged, another device may still have the name.
  func collect(_ device: Int) throws {
    log.append("\(device) collects \(try devices[device].store.assets.collect(isUrgent: !purges))")
  }

  // MARK: Rows

  /// A type for its seeds' names.
  struct SeededGame: Entity {
    static let schema = BlobHistory.schemas[1].entities[0]
    var id = RecordName<SeededGame>()
  }

  static func type(of record: String) -> String { String(record.prefix { $0 != "|" }) }

  static func name(_ value: String) -> AssetName? {
    let parts = value.split(separator: ".")
    guard parts.count == 2, let number = Int(parts[0]) else { return nil }
    return AssetName(hash: hashes[number], byteCount: contents[number].bytes.count, type: String(parts[1]))
  }

  private static func databaseValue(_ value: String, of field: Field, in type: String) -> DatabaseValue {
    switch field {
    case .note: value.databaseValue
    case .image where value == "": type == "Card" ? Data("-".utf8).databaseValue : .null
    case .image: (Int(value).map { contents[$0].bytes } ?? Data()).databaseValue
    case .picture: name(value)?.databaseValue ?? .null
    }
  }

  private static func value(_ value: DatabaseValue, of field: Field, in type: String) -> String {
    switch (field, value.storage) {
    case (_, .null): return ""
    case (.note, .string(let text)): return text
    case (.image, .blob(let bytes)):
      if type == "Card", bytes == Data("-".utf8) { return "" }
      if bytes.isEmpty { return BlobSpecification.empty }
      return contents.firstIndex { $0.bytes == bytes }.map { "\($0)" } ?? "unknown bytes"
    case (.picture, .string(let text)):
      guard let name = AssetName(text), let number = hashes.firstIndex(of: name.hash) else { return "unknown \(text)" }
      return "\(number).\(name.type)"
    default: return "unknown \(value)"
    }
  }

  func row(_ device: Int, _ record: String) throws -> [Field: String]? {
    let type = Self.type(of: record)
    return try devices[device].store.read { db in
      guard let row = try Row.fetchOne(db, sql: "SELECT * FROM \(type) WHERE id = ?", arguments: [record]) else {
        return nil
      }
      let fields = Field.allCases.filter { $0.version <= devices[device].version }
      return Dictionary(
        uniqueKeysWithValues: fields.map { ($0, Self.value(row[$0.rawValue] as DatabaseValue, of: $0, in: type)) })
    }
  }

  /// The records of a type, as a move comes upon them.
  func records(of type: String) -> [String] { records.filter { Self.type(of: $0) == type }.sorted() }

  /// Whether the specification says what a type's records show.
  func isExact(_ type: String) -> Bool { !purges && type != "Memo" }

  // MARK: Checks

  private func check(_ device: Int) throws {
    for record in records {
      let shown = try row(device, record)
      if let picture = shown?[.picture] { try checkFile(device, record, picture, mustBeHere: false) }
      guard isExact(Self.type(of: record)) else { continue }
      let right =
        specification.isVisible(device, record)
        ? specification.row(device, record, version: devices[device].version) : nil
      guard shown == right else {
        let events = specification.known[device].sorted().map { specification.events[$0] }
        log += events.filter { $0.record == record }.map {
          "\($0.act) by \($0.moment.author) at \($0.moment.time) in \($0.moment.transaction)"
        }
        throw BlobFailure("\(record) on \(device) is \(shown ?? [:]), and should be \(right ?? [:])")
      }
    }
  }

  /// A file that is here is the picture that the row names.
  func checkFile(_ device: Int, _ record: String, _ picture: String, mustBeHere: Bool) throws {
    guard let name = Self.name(picture) else {
      guard picture == "" else { throw BlobFailure("\(record) on \(device) names \(picture)") }
      return
    }
    guard let url = try devices[device].store.assets.url(of: name) else {
      guard !mustBeHere else { throw BlobFailure("\(device) lacks the picture \(picture) of \(record)") }
      return
    }
    guard let number = Int(BlobSpecification.content(of: picture)),
      try Data(contentsOf: url) == Self.contents[number].bytes
    else { throw BlobFailure("\(device) has something else as \(picture)") }
  }

  private func syncAll() throws {
    for one in devices.indices {
      for other in devices.indices where one < other {
        try devices[one].store.sync(with: devices[other].store)
        specification.meet(one, other)
      }
    }
  }

  private func end() throws {
    for _ in 0..<2 { try syncAll() }
    for device in devices.indices { try check(device) }
    // All as the new version: each moves what is left, at the same time as the others.
    for device in devices.indices {
      try open(device, version: 2)
      for type in ["Game", "Card", "Memo"] { try move(device, type, MoveWay(keepsOldApps: false, type: nil)) }
      try check(device)
    }
    for _ in 0..<2 { try syncAll() }
    // What one has moved and another has deleted comes back, and a null may come after a picture: once more.
    for device in devices.indices {
      for type in ["Game", "Card", "Memo"] { try move(device, type, MoveWay(keepsOldApps: false, type: nil)) }
    }
    for _ in 0..<2 { try syncAll() }
    try checkEnd()
  }

  private func checkEnd() throws {
    let first = try devices[0].store.summary()
    for device in devices.indices {
      let store = devices[device].store
      let summary = try store.summary()
      guard summary.vector == first.vector, summary.fingerprint == first.fingerprint else {
        throw BlobFailure("devices differ at the end")
      }
      let report = try store.verify()
      guard report.isSound else { throw BlobFailure("\(device): " + report.problems.joined(separator: "; ")) }
      try check(device)
      for record in records {
        guard let row = try row(device, record) else { continue }
        guard row[.image] == "" else { throw BlobFailure("\(record) on \(device) still has \(row)") }
        let picture = row[.picture] ?? ""
        // A purge takes files along, and another device may still have had the name.
        try checkFile(device, record, picture, mustBeHere: !purges)
        guard isPunctual, isExact(Self.type(of: record)), let choice = specification.latestChoice(of: record) else {
          continue
        }
        guard BlobSpecification.content(of: picture) == choice else {
          throw BlobFailure("\(record) shows \(picture), and \(choice) was chosen last")
        }
      }
      let files = try store.assets.verify()
      guard files.damaged == [], files.unreadable == [] else { throw BlobFailure("\(device): \(files)") }
    }
  }

  /// What a history finds, with its steps; nil if all is well.
  package static func failure(_ seed: UInt64, planted: PlantedFault = []) -> String? {
    var history: BlobHistory?
    do {
      let new = try BlobHistory(seed, planted)
      history = new
      try new.run(steps: new.random.pick([10, 20, 40]))
      return nil
    } catch {
      return "TALLY_SEED=\(seed)\n\(history?.log.joined(separator: "\n") ?? "")\n\(error)"
    }
  }
}

/// A check that has failed.
struct BlobFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
