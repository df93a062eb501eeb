import Foundation
import GRDB
import TallyAssets
import TallyCRDT
import TallyFaults
import TallyStore
import TallySync
import TallyTesting
import TallyWire

/// Random histories on devices whose records name files, which travel through one place and in sessions: files are
/// added, named, deleted with their records, brought back, evicted, collected and checked; passes and sessions end
/// anywhere; processes are killed and disks are full at any operation on the files; and disks, backups and other
/// programs lose, cut, change and replace files on devices and in the place.
///
/// No device shows or passes on a file that is not what its name says, unless its own disk has just changed it. Nothing
/// but a removal that is allowed makes a file go, and nothing that is done to files changes a row. At the end each
/// device can get every file that a record names, unless the disk has destroyed a copy and none is left.
package final class AssetHistory {
  package static let schema = Schema([
    EntitySchema("Person", .text("name"), .asset("photo"), .asset("avatar", download: .eager))
  ])
  private static let people = (1...4).map { "Person|~|\($0)" }

  struct Device {
    var store: Store
    let options: StoreOptions
    let path: String
    /// When its last pass was that came to its end.
    var synced: Double = 0
  }

  var random: SplitMix64
  var devices: [Device] = []
  var specification: AssetSpecification
  var log: [String] = []
  let folder: URL
  let place: AssetPlace
  /// Whether the disks of the devices and of the place do what they like.
  let hasBadDisks: Bool
  /// Whether the disk or the process of a device ends in this step.
  var endsDisk = false
  /// Whether a person has had content removed for good, and its files with it.
  var hasPurged = false
  /// Whether deleted records have been emptied after their time: their files go with them, here and where that arrives.
  var hasCompacted = false
  /// A copy of a device's folder of files, with what was known of it.
  var backups: [Int: (files: [String: (bytes: Data, time: Date)], known: AssetSpecification.Device)] = [:]
  /// Seconds since the history began.
  let time = Elapsed()

  final class Elapsed: @unchecked Sendable {
    private let lock = NSLock()
    private var seconds = 0.0
    var value: Double {
      get { lock.withLock { seconds } }
      set { lock.withLock { seconds = newValue } }
    }
  }

  private init(_ seed: UInt64, _ planted: PlantedFault) throws {
    random = SplitMix64(seed: seed)
    folder = Self.newFolder()
    hasBadDisks = random.chance(75)
    let count = 2 + random.below(2)
    specification = AssetSpecification(devices: count)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    place = try AssetPlace(random.pick(AssetPlace.Kind.allCases), in: folder.appendingPathComponent("shared"))
    for number in 0..<count {
      var options = StoreOptions()
      options.plant(planted)
      options.compaction = .automatic(restoreWindow: .days(3))
      options.mintReplica = { ReplicaID(high: UInt64(number + 1), low: 7) }
      let time = time
      options.now = { Date(timeIntervalSince1970: 1_800_000_000 + time.value + Double(number) * 60) }
      let path = folder.appendingPathComponent("\(number).tally").path
      let store = try Store(path: path, schema: Self.schema, options: options)
      devices.append(Device(store: store, options: options, path: path))
    }
  }

  deinit {
    for device in devices { try? device.store.close() }
    try? FileManager.default.removeItem(at: folder)
  }

  /// Where a history's files are: in memory where the system has a place for that, as each of them is synced.
  static func newFolder() -> URL {
    let memory = "/dev/shm"
    let base =
      FileManager.default.isWritableFile(atPath: memory)
      ? URL(fileURLWithPath: memory) : FileManager.default.temporaryDirectory
    return base.appendingPathComponent("tally-assets-\(UUID().uuidString)")
  }

  func assets(_ device: Int) -> Assets { devices[device].store.assets }

  // MARK: Steps

  private func run(steps: Int) throws {
    for _ in 0..<steps {
      time.value += Double(random.below(600))
      let device = random.below(devices.count)
      try step(device)
      try check(device)
    }
    try end()
  }

  private func step(_ device: Int) throws {
    let person = random.pick(Self.people)
    switch random.below(38) {
    case 0..<5: try put(device, person, try add(device))
    case 5:
      // A file for a row that never comes.
      _ = try add(device)
    case 6:
      guard let name = try shown(device).randomElement(using: &random) else { return }
      try put(device, person, name)
    case 7:
      try write(
        device, "UPDATE Person SET \(random.pick(["photo", "avatar"])) = NULL WHERE id = ?", [person.databaseValue])
    case 8: try write(device, "DELETE FROM Person WHERE id = ?", [person.databaseValue])
    case 9, 10: try restore(device, person)
    case 11: try purge(device, person)
    case 12:
      guard let name = try shown(device).randomElement(using: &random) else { return }
      log.append("\(device) wants \(name)")
      try assets(device).want(name)
    case 13, 14: try evict(device, keeping: random.below(2) * random.below(5_000))
    case 15: try collect(device, isUrgent: false)
    case 16: try verify(device)
    case 17: try list(device)
    case 18: try restart(device)
    case 19:
      log.append("\(device) compacts")
      hasCompacted = true
      try watch(device) { try devices[device].store.compact() }
    case 20, 21: try wait()
    case 22, 23: try kill(device, person)
    case 24, 25: hasBadDisks ? try harmDisk(device) : try pass(device, mayFail: true)
    case 26: hasBadDisks ? try harmPlace() : try pass(device, mayFail: true)
    case 27..<32:
      try meet(device, (device + 1 + random.below(devices.count - 1)) % devices.count, mayFail: true)
    default: try pass(device, mayFail: true)
    }
  }

  func restart(_ device: Int) throws {
    log.append("\(device) starts again")
    try devices[device].store.close()
    let (path, options) = (devices[device].path, devices[device].options)
    devices[device].store = try Store(path: path, schema: Self.schema, options: options)
  }

  /// A few contents, so that devices add the same ones.
  func add(_ device: Int) throws -> AssetName {
    let number = random.below(12)
    let content = Data((0..<number * 331).map { UInt8(truncatingIfNeeded: $0 &* number) })
    let type = random.pick(["bin", "jpg"])
    let hash = Hexadecimal.text(SHA256.hash(Array(content)))
    guard let right = AssetName(hash: hash, byteCount: content.count, type: type) else {
      throw AssetFailure("\(type) is no type")
    }
    specification.note(right, content)
    log.append("\(device) adds \(right)")
    let name = try assets(device).add(content, type: type)
    guard name == right else { throw AssetFailure("it is added as \(name)") }
    guard try found(device)[name] == content else { throw AssetFailure("\(device) has something else as \(name)") }
    specification.devices[device].added[name] = time.value
    return name
  }

  func put(_ device: Int, _ person: String, _ name: AssetName) throws {
    let field = random.pick(["photo", "avatar"])
    try write(
      device, "INSERT INTO Person(id, \(field)) VALUES(?1, ?2) ON CONFLICT DO UPDATE SET \(field) = ?2",
      [person.databaseValue, name.databaseValue])
  }

  private func write(_ device: Int, _ sql: String, _ values: [DatabaseValue]) throws {
    log.append("\(device) \(sql) \(values)")
    try devices[device].store.write { try $0.execute(sql: sql, arguments: StatementArguments(values)) }
  }

  private func restore(_ device: Int, _ name: String) throws {
    log.append("\(device) restores \(name)")
    do {
      try devices[device].store.restore(try AnyRecordName(name))
    } catch let error as StoreError where [.noSuchRecord, .notDeleted, .purged].contains(error.code) {}
  }

  private func purge(_ device: Int, _ name: String) throws {
    log.append("\(device) purges \(name)")
    hasPurged = true
    try watch(device) {
      do {
        try devices[device].store.purge(try AnyRecordName(name))
      } catch let error as StoreError where [.noSuchRecord, .notDeleted, .purged].contains(error.code) {}
    }
    if random.chance(50) { try collect(device, isUrgent: true) }
  }

  /// Hours, and no device is away for longer than files stay that nothing names.
  private func wait() throws {
    time.value += Double(1 + random.below(30)) * 3_600
    log.append("\(Int(time.value / 3_600)) hours")
    for device in devices.indices where time.value - devices[device].synced > 86_400 {
      try pass(device, mayFail: false)
      // As an engine does.
      try collect(device, isUrgent: false)
    }
  }

  // MARK: What rows show

  func shown(_ device: Int, eagerOnly: Bool = false) throws -> [AssetName] {
    let photos = eagerOnly ? "" : "SELECT photo FROM Person WHERE photo NOT NULL UNION "
    return try devices[device].store.read {
      try AssetName.fetchAll($0, sql: "\(photos)SELECT avatar FROM Person WHERE avatar NOT NULL ORDER BY 1")
    }
  }

  // MARK: The end

  private func meetAll() throws {
    for one in devices.indices {
      for other in devices.indices where one < other { try meet(one, other, mayFail: false) }
    }
  }

  private func end() throws {
    place.heal()
    // What the disk has changed is found and comes again.
    for device in devices.indices { try verify(device) }
    for round in 0..<3 {
      // What was wrong is asked for again after an hour, and a log after a week whether it still has a file.
      time.value += round == 0 ? 8 * 86_400 : 4_000
      for device in devices.indices {
        try pass(device, mayFail: false)
        for name in try shown(device) { try assets(device).want(name) }
      }
      if round > 0 { try meetAll() }
    }
    let first = try devices[0].store.summary()
    for device in devices.indices {
      guard try devices[device].store.summary().fingerprint == first.fingerprint else {
        throw AssetFailure("devices differ at the end")
      }
    }
    try checkAllHaveAll()
    // What can be restored can be restored with its files.
    let hidden = try Self.people.filter { person in
      try devices[0].store.history(of: AnyRecordName(person))?.isVisible == false
    }
    guard !hidden.isEmpty else { return }
    for person in hidden { try restore(0, person) }
    for _ in 0..<2 {
      try meetAll()
      for device in devices.indices {
        try pass(device, mayFail: false)
        for name in try shown(device) { try assets(device).want(name) }
      }
    }
    try meetAll()
    try checkAllHaveAll()
  }

  /// What a history finds, with its steps; nil if all is well.
  package static func failure(_ seed: UInt64, planted: PlantedFault = []) -> String? {
    var history: AssetHistory?
    do {
      let new = try AssetHistory(seed, planted)
      history = new
      try new.run(steps: new.random.pick([10, 20, 40]))
      return nil
    } catch {
      return "TALLY_SEED=\(seed)\n\(history?.log.joined(separator: "\n") ?? "")\n\(error)"
    }
  }
}

/// A check that has failed.
struct AssetFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
