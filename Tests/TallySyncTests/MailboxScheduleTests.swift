import Foundation
import Tally
import TestEffort
import Testing

@testable import TallySync

/// Devices that write and sync in random order through a mailbox that misbehaves.
@Suite(.timeLimit(.minutes(5))) struct MailboxScheduleTests {
  @Test func whateverTheMailboxDoesAllBecomeEqualAndNothingIsLost() throws {
    for seed in Effort.seeds(8) {
      do {
        try MailboxSchedule(seed: seed, isInFolder: seed % 8 == 0, restores: seed % 4 == 1).run()
      } catch {
        Issue.record("TALLY_SEED=\(seed)\n\(error)")
        return
      }
    }
  }
}

/// One run: its steps follow from the seed.
private final class MailboxSchedule {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private var random: Randomness
  private let memory = MemoryMailbox()
  private let folder: SharedFolder?
  private var stores: [Store] = []
  /// A closed copy's file of the device with the same number, if one was made.
  private let backups: SharedFolder?
  private var hasBackup: Set<Int> = []
  private var texts: Set<String> = []
  private var old: [(name: String, bytes: [UInt8])] = []
  private var log: [String] = []

  init(seed: UInt64, isInFolder: Bool, restores: Bool) throws {
    random = Randomness(state: seed)
    folder = isInFolder ? try SharedFolder() : nil
    backups = restores ? try SharedFolder() : nil
    for _ in 0..<(2 + random.below(2)) { try join() }
  }

  private var mailbox: any FileMailbox { if let folder { folder.mailbox } else { memory } }

  func run() throws {
    do {
      for _ in 0..<(15 + random.below(25)) { try step() }
      memory.faults = MemoryMailbox.Faults()
      try settle()
    } catch {
      throw Failure(description: "\(error)\n\(log.joined(separator: "\n"))")
    }
  }

  private func step() throws {
    let index = random.below(stores.count)
    switch random.below(100) {
    case 0..<40: try write(index)
    case 40..<85: try sync(index)
    case 85..<93: if folder == nil { disturb() }
    case 93..<96: try backUpOrRestore(index)
    default:
      guard stores.count < 4 else { return }
      log.append("device \(stores.count) joins")
      try join()
    }
  }

  private func join() throws {
    stores.append(try backups.map { try $0.store("device \(stores.count)") } ?? World.store())
  }

  private func write(_ index: Int) throws {
    let text = "\(index) \(texts.count)"
    texts.insert(text)
    log.append("device \(index) writes \(text)")
    let isUpdate = random.below(3) == 0
    try stores[index].write { db in
      try Note(text: text, stars: 0).insert(db)
      // An update of what others may be updating as well; the note that it adds must never be lost.
      if isUpdate { try db.execute(sql: "UPDATE Note SET stars = \(texts.count) WHERE text < '1'") }
    }
  }

  private func sync(_ index: Int) throws {
    let settings = random.below(2) == 0 ? MailboxWorld.eager : MailboxSettings()
    do {
      let report = try stores[index].sync(through: mailbox, settings)
      log.append(
        "device \(index) syncs: took \(report.taken.count), put \(report.written), removed \(report.removed.count)"
          + ", pending \(report.pending.map(\.reason.rawValue)), repaired \(report.repaired)")
    } catch let error as MailboxError {
      log.append("device \(index) fails to sync: \(error)")
    }
    if random.below(4) == 0 { old += folder == nil ? memory.files : [] }
  }

  /// Something goes wrong with the mailbox, or is right again.
  private func disturb() {
    let files = memory.files
    guard !files.isEmpty else { return }
    var faults = MemoryMailbox.Faults()
    let file = files[random.below(files.count)]
    let what = random.below(8)
    switch what {
    case 0: faults.unlisted = [file.name]
    case 1: faults.notDownloaded = [file.name]
    case 2: faults.cut[file.name] = random.below(file.bytes.count)
    case 3: faults.zeroed[file.name] = random.below(file.bytes.count + 1)
    case 4: faults.unreadable = Set(files.map(\.name))
    case 5: faults.callsLeft = random.below(12)
    case 6:
      guard !old.isEmpty else { return }
      let again = old[random.below(old.count)]
      memory.place(again.bytes, as: again.name)
    default: break
    }
    log.append("fault \(what) \(file.name)")
    memory.faults = faults
  }

  /// A device is set back to an earlier state of its file, and does not know.
  private func backUpOrRestore(_ index: Int) throws {
    guard let backups else { return }
    let name = "device \(index)"
    if hasBackup.insert(index).inserted {
      log.append("device \(index) is backed up")
      try stores[index].close()
      try backups.copyStore(name, to: "backup \(index)")
    } else {
      // What it had not yet put is gone with it; so it puts first.
      memory.faults = MemoryMailbox.Faults()
      try sync(index)
      log.append("device \(index) is restored")
      try stores[index].close()
      try backups.copyStore("backup \(index)", to: name)
    }
    stores[index] = try backups.store(name)
  }

  private func settle() throws {
    for round in 0... {
      guard round < 15 else { throw Failure(description: "they do not come to rest") }
      let reports = try stores.map { try $0.sync(through: mailbox) }
      log.append("round \(round): \(reports.map { "took \($0.taken.count) put \($0.written)" })")
      if reports.allSatisfy({ $0.taken.isEmpty && $0.written.isEmpty }) { break }
    }
    let late = try World.store()
    try late.sync(through: mailbox)
    let first = try World.dump(late)
    for (index, store) in stores.enumerated() {
      guard try World.dump(store) == first else { throw Failure(description: "device \(index) differs from a new one") }
      let problems = try store.verify().problems
      guard problems.isEmpty else { throw Failure(description: "device \(index): \(problems)") }
    }
    let found = try late.read { try Set(Note.fetchAll($0).compactMap(\.text)) }
    guard found == texts else {
      throw Failure(description: "lost: \(texts.subtracting(found).sorted())")
    }
  }
}

/// SplitMix64 (Steele, Lea and Flood, 2014): its numbers stay the same, so seeds stay valid.
private struct Randomness {
  var state: UInt64

  mutating func below(_ bound: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int((word ^ (word >> 31)) % UInt64(bound))
  }
}
