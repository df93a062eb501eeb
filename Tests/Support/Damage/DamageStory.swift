import Foundation
import GRDB
import Logging
import Synchronization
import TallyCRDT
import TallyFaults
import TallyRecovery
import TallyStore
import TallySync
import TallyTesting
import TallyWire

/// Three devices, one of which the disk damages, and every sync that can follow: of two in a session, or of each with a
/// folder.
///
/// Beside them stands what they would have come to without damage: copies in memory, brought together before it.
/// Whatever happens then, a device that was not damaged holds nothing that those do not hold; but for records that only
/// the damaged device had written last, of which nobody can say what was right. In the end all hold the same and are
/// sound, perhaps after what a person can do: rebuild, recover.
package final class DamageStory {
  package struct Failure: Error, CustomStringConvertible {
    package var description: String
  }

  /// How the devices sync.
  package enum Route: String, CaseIterable, Sendable {
    /// Two at a time, in a session.
    case session
    /// One at a time, through a folder that all share. A new device comes to it at some time.
    case folder
  }

  static let schema = Schema([
    EntitySchema("P", .text("name"), .integer("pos")),
    EntitySchema(
      "G", .text("name"), .reference("owner", to: "P", onDelete: .cascade), .reference("friend", to: "P"),
      .toMany("players", to: "P")),
  ])
  static let count = 3

  let route: Route
  private let planted: PlantedFault
  private let seed: UInt64
  var random: SplitMix64
  private let mint: RawMint
  let folder: URL
  /// What the devices share; empty where they sync in sessions.
  let mailbox = MemoryMailbox(name: "folder", identity: "folder")
  var settings = MailboxSettings()
  var stores: [Store?] = []
  /// What happened, line by line: the same for the same seed.
  package internal(set) var log: [String] = []
  private let clock = StoryClock()
  /// What all would hold without damage.
  var twin: Store?
  /// Records that the damaged device alone had written last.
  var doubtful = Set<String>()
  var victim = 0
  /// What the damage led to.
  package internal(set) var outcomes = Set<String>()

  private init(seed: UInt64, _ route: Route, _ planted: PlantedFault) throws {
    (self.seed, self.route, self.planted) = (seed, route, planted)
    random = SplitMix64(seed: seed)
    mint = RawMint(seed: seed)
    if seed % 2 == 1 { settings.namesBases = .always }
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-damage-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// What one seed led to.
  package struct Outcome {
    /// What went wrong, after all that happened; nil if all is well.
    package var failure: String?
    /// What happened, line by line: the same for the same seed.
    package var log: [String] = []
    /// What the damage led to.
    package var reached = Set<String>()
  }

  /// Returns what goes wrong with one seed, and nil if all is well. Without a damage the seed chooses one.
  package static func failure(
    seed: UInt64, _ route: Route, _ damage: Damage? = nil, planted: PlantedFault = []
  ) -> String? {
    play(seed: seed, route, damage, planted: planted).failure
  }

  /// Plays one seed.
  package static func play(
    seed: UInt64, _ route: Route, _ damage: Damage? = nil, planted: PlantedFault = []
  ) -> Outcome {
    do {
      let story = try DamageStory(seed: seed, route, planted)
      var failure: String?
      do {
        try story.play(damage)
      } catch {
        failure = "TALLY_SEED=\(seed), by \(route.rawValue)\n" + (story.log + ["\(error)"]).joined(separator: "\n")
      }
      return Outcome(failure: failure, log: story.log, reached: story.outcomes)
    } catch {
      return Outcome(failure: "TALLY_SEED=\(seed) cannot begin: \(error)")
    }
  }

  // MARK: The story

  private func play(_ chosen: Damage?) throws {
    (settings.deltaBytes, settings.minimumDeltaWeight) = (1 << (8 + random.below(6)), 1 << random.below(10))
    for place in 0..<Self.count { stores.append(try open(place)) }
    for _ in 0..<10 + random.below(20) { try step() }
    if random.chance(60) { try meetAll() }
    if random.chance(60) { for _ in 0..<1 + random.below(5) { try write(random.below(Self.count)) } }
    if random.chance(30) { try remove(random.below(Self.count)) }
    let damage = chosen ?? Damage.any(&random)
    victim = random.below(Self.count)
    try remember()
    try strike(damage)
    for _ in 0..<3 + random.below(5) { try meetAny() }
    try settle()
    guard damage != .names || outcomes.isDisjoint(with: ["recovered", "begun anew"]) else {
      throw Failure(description: "a store with another name or number could only be recovered")
    }
    try checkEnd()
    for store in stores { try store?.close() }
  }

  func path(_ place: Int) -> String { folder.appendingPathComponent("store\(place)").path }

  func open(_ place: Int, at path: String? = nil) throws -> Store {
    try Store(path: path ?? self.path(place), schema: Self.schema, options: options())
  }

  func options() -> StoreOptions {
    var options = StoreOptions()
    options.flushesBeforeSync = false
    options.logger = Logger(label: "damage") { _ in SwiftLogNoOpLogHandler() }
    clock.advance(by: 60)
    let (clock, mint) = (clock, mint)
    options.now = { clock.now }
    options.mintReplica = { mint.next() }
    options.plant(planted)
    options.chooseCapture(by: seed)
    return options
  }

  private func step() throws {
    if random.chance(60) { return try write(random.below(Self.count)) }
    if random.chance(40) { return try remove(random.below(Self.count)) }
    try meetAny()
  }

  private func write(_ place: Int) throws {
    guard let store = stores[place] else { return }
    func name(_ type: String) -> String { SampleName.name(type, random.below(6)) }
    let (p, q, g) = (name("P"), name("P"), name("G"))
    let choice = random.below(9)
    let (word, number) = ("w\(random.below(1000))", random.below(1000))
    log.append("\(place) writes \(choice) \(p) \(q) \(g) \(word)")
    try store.write { db in
      func has(_ name: String) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT EXISTS(SELECT 1 FROM \(name.prefix(1)) WHERE id = ?)", arguments: [name])
          ?? false
      }
      let (hasP, hasQ, hasG) = (try has(p), try has(q), try has(g))
      switch choice {
      case 0, 1:
        if !hasP { try db.execute(sql: "INSERT INTO P VALUES(?, ?, ?, zeroblob(15))", arguments: [p, word, number]) }
      case 2, 3: try db.execute(sql: "UPDATE P SET name = ? WHERE id = ?", arguments: [word, p])
      case 4: try db.execute(sql: "UPDATE P SET pos = ? WHERE id = ?", arguments: [number, p])
      case 5:
        if !hasG, hasP {
          try db.execute(
            sql: "INSERT INTO G(id, name, owner, friend) VALUES(?, ?, ?, ?)",
            arguments: [g, word, p, hasQ ? q : nil])
        }
      case 6:
        try db.execute(sql: "UPDATE G SET name = ?, friend = ? WHERE id = ?", arguments: [word, hasQ ? q : nil, g])
      case 7:
        if hasG, hasQ {
          try db.execute(sql: "INSERT OR IGNORE INTO G_players(source, target) VALUES(?, ?)", arguments: [g, q])
        }
      default:
        try db.execute(
          sql: "DELETE FROM \(number % 2 == 0 ? "P" : "G") WHERE id = ?", arguments: [number % 2 == 0 ? p : g])
      }
    }
  }

  /// Purges, compacts or restores. If nothing is deleted, and in half of the other cases, it first deletes a record.
  private func remove(_ place: Int) throws {
    guard let store = stores[place] else { return }
    func deletedNames() throws -> [AnyRecordName] {
      try ["P", "G"].flatMap { try store.recentlyDeleted(ofType: $0).map(\.name) }
    }
    var deleted = try deletedNames()
    if deleted.isEmpty || random.chance(50) {
      let names = try store.read { try String.fetchAll($0, sql: "SELECT id FROM P UNION SELECT id FROM G ORDER BY id") }
      guard !names.isEmpty else { return }
      let name = names[random.below(names.count)]
      log.append("\(place) deletes \(name)")
      try store.write { try $0.execute(sql: "DELETE FROM \(name.prefix(1)) WHERE id = ?", arguments: [name]) }
      deleted = try deletedNames()
    }
    guard !deleted.isEmpty else { return }
    let name = deleted[random.below(deleted.count)]
    switch random.below(4) {
    case 0:
      log.append("\(place) restores \(name)")
      try store.restore(name)
    case 1:
      // The window begins with the first look at what is deleted.
      try store.compact(restoreWindow: .days(0))
      clock.advance(by: 86_400)
      log.append("\(place) empties all of \(deleted.map(\.text))")
      try note(store.compact(restoreWindow: .days(0)))
    default:
      log.append("\(place) purges \(name)")
      try note(store.purge(name))
    }
  }

  private func note(_ report: CompactionReport) {
    log.append("\(report.emptied) emptied")
    if report.emptied > 0 { outcomes.insert("emptied") }
  }

  // MARK: What would have been

  private func remember() throws {
    var copies = try stores.compactMap { $0 }.map { try Store(inMemoryCopyOf: $0, options: options()) }
    var others = StateVector()
    for place in 0..<Self.count where place != victim { others.merge(try copies[place].vector) }
    // What is in the folder reaches everybody, as it was.
    if route == .folder {
      let reached = try newcomer()
      others.merge(try reached.vector)
      copies.append(reached)
    }
    doubtful.formUnion(try names(in: try copies[victim].delta(since: others)))
    for _ in 0..<2 {
      for one in copies.indices { for other in 0..<one { try copies[one].sync(with: copies[other]) } }
    }
    twin = copies[0]
  }

  /// The names of the records and of the ends of the links that a delta is about.
  func names(in delta: [UInt8]) throws -> Set<String> {
    var names = Set<String>()
    var reader = try DeltaReader(delta)
    while let block = try reader.nextBlock() {
      for group in block.records { names.formUnion(group.items.map(\.name.text)) }
      for group in block.links { for item in group.items { names.formUnion([item.source.text, item.target.text]) } }
    }
    return names
  }

  /// Somebody who has read all that is in the folder, and nothing else.
  private func newcomer() throws -> Store {
    let store = try Store(inMemory: Self.schema, options: options())
    let copy = MemoryMailbox(name: "copy", identity: "copy")
    for (name, bytes) in mailbox.files { copy.place(bytes, as: name) }
    try store.sync(through: copy, settings)
    return store
  }

  /// A device that was not damaged holds nothing but what would have been.
  func checkIntact(_ places: [Int]) throws {
    guard let twin else { return }
    for place in places where place != victim {
      guard let store = stores[place] else { continue }
      let probe = try Store(inMemoryCopyOf: twin, options: options())
      let before = try Set(lines(probe))
      try probe.apply(store.delta(), isRepair: true)
      try explain(before, try Set(lines(probe)), "device \(place), which was not damaged, holds what nobody wrote")
    }
  }

  private func lines(_ store: Store) throws -> [String] {
    var lines: [String] = []
    try store.dump(.canonical) { lines.append($0) }
    return Array(lines.dropFirst())
  }

  /// Lines that only one of two has must be of records in doubt, or in a later life: what is said again there travels
  /// by the dot of whoever says it.
  private func explain(_ one: Set<String>, _ other: Set<String>, _ complaint: String) throws {
    func sure(_ lines: Set<String>) -> [String] {
      lines.filter { line in !line.contains(#""life":"#) && !doubtful.contains(where: line.contains) }.sorted()
    }
    let (left, right) = (sure(one.subtracting(other)), sure(other.subtracting(one)))
    guard left.isEmpty, right.isEmpty else {
      throw Failure(
        description: (["\(complaint):"] + left.map { "- \($0)" } + right.map { "+ \($0)" }).joined(separator: "\n"))
    }
  }

  // MARK: Damage

  private func strike(_ damage: Damage) throws {
    let path = path(victim)
    if damage.isOfLog {
      let image = try ["", "-wal"].map {
        (path + $0, try Data(contentsOf: URL(fileURLWithPath: path + $0)))
      }
      try stores[victim]?.close()
      for (path, bytes) in image { try bytes.write(to: URL(fileURLWithPath: path)) }
    } else {
      try stores[victim]?.close()
    }
    stores[victim] = nil
    log.append(
      "\(damage.rawValue) of \(victim): \(try damage.apply(to: path, &random)); it alone had written \(doubtful.sorted())"
    )
    attempt("opens") { stores[victim] = try open(victim) }
    if stores[victim] == nil { try recover() }
  }

  /// What a person does with a store that does not open, or that SQLite cannot read.
  func recover() throws {
    try? stores[victim]?.close()
    stores[victim] = nil
    let path = folder.appendingPathComponent("recovered\(random.next())").path
    attempt("recovers") {
      let report = try Store.recover(self.path(victim), to: path, schema: Self.schema, options: options())
      log.append("recovered \(report.recovered), lost \(report.losses)")
      stores[victim] = try open(victim, at: path)
      outcomes.insert("recovered")
    }
    guard stores[victim] == nil else { return }
    // Nothing to be had: a new device.
    log.append("\(victim) begins anew")
    outcomes.insert("begun anew")
    stores[victim] = try open(victim, at: path + "-new")
  }

  /// What an error says, without the place of the files, which is another each time.
  func words(_ error: any Error) -> String { "\(error)".replacingOccurrences(of: folder.path + "/", with: "") }

  func attempt(_ what: String, _ body: () throws -> Void) {
    do { try body() } catch {
      log.append("\(victim) \(what): \(words(error))")
    }
  }

  // MARK: The end

  private func checkEnd() throws {
    let all = stores.compactMap { $0 }
    let dumps = try all.map { try lines($0) }
    for place in 1..<all.count where dumps[place] != dumps[0] {
      let lines = Set(dumps[place]).symmetricDifference(dumps[0])
      throw Failure(description: "devices 0 and \(place) end with different content: \(lines.sorted())")
    }
    for (place, store) in all.enumerated() {
      let report = try store.verify()
      guard report.isSound else { throw Failure(description: "device \(place) ends unsound: \(report.problems)") }
    }
    let summaries = try all.map { try $0.summary() }
    for place in 1..<all.count
    where summaries[place].vector != summaries[0].vector || summaries[place].fingerprint != summaries[0].fingerprint {
      throw Failure(description: "vectors or sums differ at the end: \(summaries)")
    }
    if let twin { try explain(try Set(lines(twin)), Set(dumps[0]), "the end is not what would have been") }
  }
}

/// One clock for all devices of a story. It stands still but for what the story says.
private final class StoryClock: Sendable {
  private let time = Mutex(Date(timeIntervalSince1970: 1_700_000_000))

  var now: Date { time.withLock { $0 } }

  func advance(by seconds: TimeInterval) { time.withLock { $0 += seconds } }
}
