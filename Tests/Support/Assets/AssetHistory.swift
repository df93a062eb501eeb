import Foundation
import GRDB
import TallyAssets
import TallyCRDT
import TallyFaults
import TallyStore
import TallySync
import TallyTesting
import TallyWire

/// Random histories on devices whose records name files, which travel through one folder and in sessions: files are
/// added, named, deleted with their records, brought back, evicted, collected and damaged; passes and sessions end
/// anywhere.
///
/// No device shows a file that is not what its name says. At the end each device can get every file that a record
/// names, unless the disk has damaged the only one.
package final class AssetHistory {
  package static let schema = Schema([
    EntitySchema("Person", .text("name"), .asset("photo"), .asset("avatar", download: .eager))
  ])
  private static let devices = 3
  private static let people = (1...4).map { "Person|~|\($0)" }

  private struct Device {
    var store: Store
    let options: StoreOptions
    let path: String
    /// When its last pass was that came to its end.
    var synced: Double = 0
  }

  private var random: SplitMix64
  private var devices: [Device] = []
  private var log: [String] = []
  private let folder: URL
  private let mailbox = MemoryMailbox()
  /// Seconds since the history began.
  private let time = Elapsed()

  private final class Elapsed: @unchecked Sendable {
    private let lock = NSLock()
    private var seconds = 0.0
    var value: Double {
      get { lock.withLock { seconds } }
      set { lock.withLock { seconds = newValue } }
    }
  }

  private init(_ seed: UInt64, _ planted: PlantedFault) throws {
    random = SplitMix64(seed: seed)
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-assets-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for number in 0..<Self.devices {
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

  private func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }
  private func one<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }
  private func assets(_ device: Int) -> Assets { devices[device].store.assets }

  // MARK: Steps

  private func run(steps: Int) throws {
    for _ in 0..<steps {
      time.value += Double(below(600))
      try step(below(Self.devices))
      try check()
    }
    try end()
  }

  private func step(_ device: Int) throws {
    let person = one(Self.people)
    switch below(34) {
    case 0, 1, 2, 3, 4: try add(device, person)
    case 5:
      // A file for a row that never comes.
      log.append("\(device) adds \(try assets(device).add(content(), type: "bin"))")
    case 6:
      guard let name = try shown(device).randomElement(using: &random) else { return }
      try put(device, person, name)
    case 7:
      try write(device, "UPDATE Person SET \(one(["photo", "avatar"])) = NULL WHERE id = ?", [person.databaseValue])
    case 8: try write(device, "DELETE FROM Person WHERE id = ?", [person.databaseValue])
    case 9, 10: try restore(device, person)
    case 11: try purge(device, person)
    case 12:
      guard let name = try shown(device).randomElement(using: &random) else { return }
      log.append("\(device) wants \(name)")
      try assets(device).want(name)
    case 13:
      let kept = below(2) * below(5_000)
      log.append("\(device) evicts to \(kept): \(try assets(device).evict(keeping: kept).map(\.text))")
    case 14: log.append("\(device) collects \(try assets(device).collect())")
    case 15: try damage(device)
    case 16:
      log.append("\(device) starts again")
      try devices[device].store.close()
      let (path, options) = (devices[device].path, devices[device].options)
      devices[device].store = try Store(path: path, schema: Self.schema, options: options)
    case 17: try devices[device].store.compact()
    case 18, 19, 20: try wait()
    case 28, 29, 30, 31, 32, 33: try meet(device, (device + 1 + below(Self.devices - 1)) % Self.devices, mayFail: true)
    default: try pass(device, mayFail: true)
    }
  }

  /// A few contents, so that devices add the same ones.
  private func content() -> Data {
    let number = below(12)
    return Data((0..<number * 331).map { UInt8(truncatingIfNeeded: $0 &* number) })
  }

  private func add(_ device: Int, _ person: String) throws {
    try put(device, person, try assets(device).add(content(), type: one(["bin", "jpg"])))
  }

  private func put(_ device: Int, _ person: String, _ name: AssetName) throws {
    let field = one(["photo", "avatar"])
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
    do {
      try devices[device].store.purge(try AnyRecordName(name))
    } catch let error as StoreError where [.noSuchRecord, .notDeleted, .purged].contains(error.code) {}
  }

  /// Hours, and nobody is away for longer than files stay that nothing names.
  private func wait() throws {
    time.value += Double(1 + below(30)) * 3_600
    log.append("\(Int(time.value / 3_600)) hours")
    for device in devices.indices where time.value - devices[device].synced > 86_400 {
      try pass(device, mayFail: false)
      // As an engine does.
      log.append("\(device) collects \(try assets(device).collect())")
    }
  }

  // MARK: Faults

  /// The disk changes a byte of a file that is elsewhere as well, and somebody looks.
  private func damage(_ device: Int) throws {
    let here = try assets(device).list().filter { $0.isHere && $0.name.byteCount > 0 }
    guard !here.isEmpty else { return }
    let name = one(here).name
    guard try copies(of: name) > 1, let url = try assets(device).url(of: name) else { return }
    var bytes = try Data(contentsOf: url)
    bytes[below(bytes.count)] ^= 1
    try bytes.write(to: url)
    let report = try assets(device).verify()
    log.append("\(device) finds \(report.damaged) damaged")
    guard report.damaged == [name] else { throw AssetFailure("\(name) is damaged, and \(report.damaged) were found") }
  }

  /// The number of devices and places that have a whole file.
  private func copies(of name: AssetName) throws -> Int {
    let entry = "asset1-default-\(name.hash)-\(name.byteCount).\(name.type)"
    return try devices.indices.count { try assets($0).url(of: name) != nil }
      + mailbox.files.count { $0.name == entry && $0.bytes.count == name.byteCount }
  }

  /// A pass, in which the place may end, or give other bytes than it has.
  private func pass(_ device: Int, mayFail: Bool) throws {
    var faults = MemoryMailbox.Faults()
    if mayFail, below(3) == 0 { faults.callsLeft = below(12) }
    if mayFail {
      for file in mailbox.files where file.name.hasPrefix("asset1") && below(6) == 0 {
        switch below(3) {
        case 0: faults.cut[file.name] = below(file.bytes.count + 1)
        case 1: faults.zeroed[file.name] = 1 + below(100)
        default: faults.unreadable.insert(file.name)
        }
      }
    }
    mailbox.faults = faults
    defer { mailbox.faults = MemoryMailbox.Faults() }
    do {
      let report = try devices[device].store.sync(through: mailbox)
      log.append(
        "\(device) passes: took \(report.assets.taken.map(\.text)), put \(report.assets.written.map(\.text)), "
          + "removed \(report.assets.removed.map(\.text)), \(report.assets.issues.map(\.message)) "
          + "\(report.assets.failure ?? "")")
      devices[device].synced = time.value
    } catch let error as MailboxError {
      log.append("\(device) passes until \(error.code)")
    }
  }

  /// A session of two devices, which may end after any message, and whose pieces of files may be changed on their way.
  private func meet(_ device: Int, _ other: Int, mayFail: Bool) throws {
    let limit = mayFail && below(2) == 0 ? below(40) : 100_000
    let changed = mayFail && below(4) == 0 ? 1 + below(3) : 0
    var pieces = 0
    let (mine, theirs) = (devices[device].store, devices[other].store)
    let outcome = try SteppedSession.play(mine, theirs, limit: limit, &random) { message in
      guard case .piece(let number, let offset, var bytes) = message else { return message }
      pieces += 1
      if pieces == changed { bytes[bytes.count / 2] ^= 1 }
      return .piece(number, offset: offset, bytes: bytes)
    }
    log.append(
      "\(device) meets \(other), \(outcome.messages) messages: took "
        + outcome.assets.map { "\($0?.taken.map(\.text) ?? []) \($0?.issues.map(\.message) ?? [])" }
        .joined(separator: ", "))
    guard outcome.isFinished || outcome.messages == limit else {
      throw AssetFailure("a session of \(device) and \(other) stands still")
    }
    guard outcome.isFinished, changed == 0 else { return }
    guard try mine.summary().fingerprint == theirs.summary().fingerprint else {
      throw AssetFailure("\(device) and \(other) differ after they met")
    }
    // What one of both has, eager fields bring to the other.
    for (store, peer) in [(mine, theirs), (theirs, mine)] {
      let wrong = try store.assets.places().wrong(at: "peer-\(peer.summary().replica.map { "\($0)" } ?? "")", store.now)
      for name in try store.assets.use().eager where try store.assets.url(of: name) == nil && !wrong.contains(name) {
        guard try peer.assets.url(of: name) == nil else { throw AssetFailure("\(name) did not come with the records") }
      }
    }
  }

  // MARK: Checks

  private func shown(_ device: Int) throws -> [AssetName] {
    try devices[device].store.read {
      try AssetName.fetchAll(
        $0,
        sql: """
          SELECT photo FROM Person WHERE photo NOT NULL UNION SELECT avatar FROM Person WHERE avatar NOT NULL ORDER BY 1
          """)
    }
  }

  /// What is here is what its name says.
  private func check() throws {
    for device in devices.indices {
      for file in try assets(device).list() where file.isHere {
        guard let url = try assets(device).url(of: file.name) else {
          throw AssetFailure("\(file.name) is listed and not here")
        }
        guard try Hexadecimal.text(SHA256.hash(Array(Data(contentsOf: url)))) == file.name.hash else {
          throw AssetFailure("what \(device) has as \(file.name) is something else")
        }
      }
    }
  }

  private func end() throws {
    for round in 0..<4 {
      // What was wrong is asked for again after an hour.
      time.value += 4_000
      for device in devices.indices {
        try pass(device, mayFail: false)
        if round == 1 { try meet(device, (device + 1) % Self.devices, mayFail: false) }
        if round > 1 { for name in try shown(device) { try assets(device).want(name) } }
      }
    }
    let first = try devices[0].store.summary()
    for device in devices.indices {
      guard try devices[device].store.summary().fingerprint == first.fingerprint else {
        throw AssetFailure("devices differ at the end")
      }
      for name in try shown(device) where try assets(device).url(of: name) == nil {
        throw AssetFailure("\(device) cannot get \(name); there are \(try copies(of: name))")
      }
    }
    // What can be restored can be restored with its files.
    for person in Self.people {
      guard try devices[0].store.history(of: AnyRecordName(person))?.isVisible == false else { continue }
      try restore(0, person)
    }
    for _ in 0..<2 {
      for device in devices.indices {
        try pass(device, mayFail: false)
        for name in try shown(device) { try assets(device).want(name) }
      }
    }
    for name in try shown(0) where try assets(0).url(of: name) == nil {
      throw AssetFailure("a restored record has lost \(name)")
    }
    try check()
  }

  /// What a history finds, with its steps; nil if all is well.
  package static func failure(_ seed: UInt64, planted: PlantedFault = []) -> String? {
    var history: AssetHistory?
    do {
      let new = try AssetHistory(seed, planted)
      history = new
      try new.run(steps: [20, 40, 80][Int(seed % 3)])
      return nil
    } catch {
      return "TALLY_SEED=\(seed)\n\(history?.log.joined(separator: "\n") ?? "")\n\(error)"
    }
  }
}

/// A check that has failed.
private struct AssetFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
