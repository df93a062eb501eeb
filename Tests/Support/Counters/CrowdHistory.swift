import Foundation
import GRDB
import TallyCRDT
import TallyFaults
import TallyStore
import TallySync
import TallyTesting
import TallyWire

/// Random histories of devices in a group in which many replicas have written before, so that the header of a file is
/// larger than what it says. Then a pass names another file instead of listing them all, where that makes the file
/// noticeably smaller and all devices know version 3: as apps do it, and not wherever it is possible.
///
/// Devices count, pass through a mailbox whose listings lag, exchange deltas without it, hear of more replicas, and
/// take new ids. After each step a number is the sum of what its device has heard of; in the end all are equal.
package final class CrowdHistory {
  private struct Failure: Error, CustomStringConvertible { var description: String }

  private static let schema = Schema([EntitySchema("Tile", .text("text"), .counter("count"))])
  private static let tile = "Tile|~|1"

  private var random: SplitMix64
  private let mailbox = MemoryMailbox()
  private let stores: [Store]
  private let clock = ShredStage.Clock(1_000_000)
  private var settings = MailboxSettings()
  /// What was added, in order, and for each device and each file which of it is known there.
  private var added: [Int64] = []
  private var known: [Set<Int>] = [[], [], []]
  private var shelved: [String: Set<Int>] = [:]
  private var log: [String] = []
  /// How many files were so small that they cannot have listed their group.
  private var relative = 0

  private init(_ seed: UInt64, _ planted: PlantedFault) throws {
    random = SplitMix64(seed: seed &* 11)
    let clock = clock
    stores = try (0..<3).map { device in
      var options = StoreOptions()
      options.plant(planted)
      options.chooseCapture(by: seed, device: device)
      let ids = ShredStage.Clock(0)
      options.mintReplica = {
        ids.value += 1
        return ReplicaID(high: UInt64(device + 1) << 32 | UInt64(ids.value), low: seed)
      }
      options.now = { Date(timeIntervalSince1970: Double(clock.value + Int64(device) * 700) / 1000) }
      return try Store(inMemory: Self.schema, options: options)
    }
    // In half of them snapshots are replaced and removed soon.
    if random.chance(50) { (settings.deltaBytes, settings.minimumDeltaWeight) = (1 << 11, 1 << 8) }
  }

  private func run() throws {
    try stores[0].write { try $0.execute(sql: "INSERT INTO Tile(id) VALUES(?)", arguments: [Self.tile]) }
    for store in stores.dropFirst() { try store.apply(stores[0].delta()) }
    // From a group whose header is small to one whose header is many times the size of what is written.
    try hear(random.below(3), of: 2 + random.below(90))
    for _ in 0..<(20 + random.below(30)) {
      clock.value += 1000
      let device = random.below(3)
      switch random.below(16) {
      case 0..<5: try add(device)
      case 5: try write(device)
      case 6..<12: try pass(device)
      case 12:
        let names = mailbox.files.map(\.name).sorted()
        mailbox.faults.unlisted = names.isEmpty ? [] : [random.pick(names)]
        log.append("listings leave out \(mailbox.faults.unlisted)")
      case 13: try apply(device, random.below(3))
      case 14: try hear(device, of: 1 + random.below(8))
      default:
        if random.chance(30) {
          log.append("\(device) takes a new id")
          try stores[device].renewReplica(because: "a step of the history")
        }
      }
      try check(device)
    }
    mailbox.faults.unlisted = []
    // Whoever has only heard of others has nothing to put.
    for device in stores.indices { try add(device) }
    for _ in 0..<3 { for device in stores.indices { try pass(device) } }
    let summaries = try stores.map { try $0.summary() }
    guard summaries.allSatisfy({ $0.vector == summaries[0].vector && $0.fingerprint == summaries[0].fingerprint })
    else { throw Failure(description: "devices differ at the end") }
    for device in stores.indices {
      guard known[device].count == added.count else {
        throw Failure(description: "\(device) has not heard of everything at the end")
      }
      try check(device)
      let problems = try stores[device].verify().problems
      guard problems.isEmpty else { throw Failure(description: problems.joined(separator: "; ")) }
    }
  }

  /// A device hears that so many replicas have written, of which nothing is left.
  private func hear(_ device: Int, of count: Int) throws {
    log.append("\(device) hears of \(count) replicas")
    let replicas = (0..<count).map { _ in (ReplicaID.random(using: &random), UInt64(1 + random.below(1_000_000))) }
    var header = DeltaHeader(base: StateVector(), target: StateVector(replicas), version: 3)
    header.fingerprint = nil
    var bytes: [UInt8] = []
    var writer = try DeltaWriter(header: header) { bytes += $0 }
    try writer.finish()
    try stores[device].apply(bytes)
  }

  private func add(_ device: Int) throws {
    let amount = Int64(1 + random.below(9))
    log.append("\(device) adds \(amount)")
    try stores[device].write {
      try $0.execute(sql: "UPDATE Tile SET count = count + ? WHERE id = ?", arguments: [amount, Self.tile])
    }
    known[device].insert(added.count)
    added.append(amount)
  }

  /// Another record, small or large beside a header.
  private func write(_ device: Int) throws {
    let text = (0..<(random.chance(50) ? 3 : 400)).map { _ in String(random.below(10_000_000), radix: 36) }.joined()
    log.append("\(device) writes a text of \(text.utf8.count) bytes")
    let name = "Tile|~|\(log.count)"
    try stores[device].write {
      try $0.execute(sql: "INSERT INTO Tile(id, text) VALUES(?, ?)", arguments: [name, text])
    }
  }

  private func pass(_ device: Int) throws {
    let report = try stores[device].sync(through: mailbox, settings)
    log.append("\(device) takes \(report.taken) and puts \(report.written), \(report.bytesWritten) bytes")
    for name in report.taken { known[device].formUnion(shelved[name] ?? []) }
    for name in report.written { shelved[name, default: []].formUnion(known[device]) }
    if report.written.count == 1, report.bytesWritten < 512, try stores[device].vector.entries.count > 40 {
      relative += 1
    }
  }

  private func apply(_ one: Int, _ other: Int) throws {
    guard one != other else { return }
    log.append("\(one) takes in \(other)")
    try stores[one].apply(try stores[other].delta(since: stores[one].vector))
    known[one].formUnion(known[other])
  }

  private func check(_ device: Int) throws {
    let count = try stores[device].read {
      try Int64.fetchOne($0, sql: "SELECT count FROM Tile WHERE id = ?", arguments: [Self.tile])
    }
    let due = known[device].reduce(0) { $0 + added[$1] }
    guard count == due else {
      throw Failure(description: "\(device) shows \(count.map(String.init) ?? "nothing"), and should show \(due)")
    }
  }

  /// How many files of a seed's history name another one for certain.
  package static func relativeFiles(_ seed: UInt64) throws -> Int {
    let history = try CrowdHistory(seed, [])
    try history.run()
    return history.relative
  }

  /// What a history finds, with its steps; nil if all is well.
  package static func failure(_ seed: UInt64, planted: PlantedFault = []) -> String? {
    var history: CrowdHistory?
    do {
      let new = try CrowdHistory(seed, planted)
      history = new
      try new.run()
      return nil
    } catch {
      return "TALLY_SEED=\(seed), in a crowd\n\(history?.log.joined(separator: "\n") ?? "")\n\(error)"
    }
  }
}
