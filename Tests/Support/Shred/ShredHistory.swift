import TallyCRDT
import TallyFaults
import TallyStore
import TallyTesting

/// Random histories on devices that empty what is deleted, beside devices that do the same and empty nothing: today's
/// rules, which say what must show.
///
/// After each write and each delta: what is shown is what shows without emptying, less what `ShredExceptions`
/// excuses; a value that was shown and is still the value is shown; nothing that is deleted returns. At the end all
/// are equal, and nobody holds a value of anything that is hidden.
package final class ShredHistory {
  private static let keys = ["p", "q", "c", "d", "l"]
  /// Of which the last is seldom there.
  private static let devices = 4
  /// How many of the records may own others: in half of the histories two, so that much is below the same ones, in the
  /// other half all that can, so that chains are long and cycles close.
  private let owners: Int

  private let shredding: ShredStage
  private let plain: ShredStage
  private var random: SplitMix64
  private var log: [String] = []
  private var exceptions = ShredExceptions()

  private init(_ seed: UInt64, deleteWins: Bool, _ planted: PlantedFault) throws {
    random = SplitMix64(seed: seed)
    owners = seed % 2 == 0 ? 2 : 4
    shredding = try ShredStage(deleteWins: deleteWins) {
      $0.plant(planted)
      $0.chooseCapture(by: seed)
    }
    plain = try ShredStage(deleteWins: deleteWins) { $0.chooseCapture(by: seed, device: 1) }
    for z in [shredding, plain] {
      for (index, device) in z.all.enumerated() { device.clock.value = Int64(index) * 7_000 - 7_000 }
    }
  }

  private func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }

  /// A device: each of the first with nearly a third of the chances.
  private func someone() -> Int { below(8 * (Self.devices - 1)) * Self.devices / (8 * (Self.devices - 1)) }

  private func run(steps: Int) throws {
    for _ in 0..<steps { try step() }
    for _ in 0..<3 {
      for one in 0..<Self.devices {
        for other in 0..<Self.devices where one != other { try pull(one, other) }
      }
    }
    try checkEnd()
  }

  private func step() throws {
    let device = someone()
    let key = Self.keys[below(5)]
    switch below(14) {
    case 0, 1, 2:
      let other = someone()
      if other != device { try pull(device, other) }
    case 3: try shred(device)
    case 4, 5: try write(device, "insert", [key], { try $0.insertIfNew($1, key, x: $2) })
    case 6:
      let owner = Self.keys[below(owners)]
      let column = key == "l" && below(2) == 0 ? "second" : "owner"
      if owner != key {
        try write(device, column, [key, owner]) { z, d, _ in try z.moveIfThere(d, key, to: owner, column) }
      }
    case 7, 8: try write(device, "edit x", [key], { try $0.editIfThere($1, key, "x", $2) })
    case 9: try write(device, "edit y", [key], { try $0.editIfThere($1, key, "y", $2) })
    case 10: try write(device, "delete", [key], { z, d, _ in try z.deleteIfThere(d, key) })
    case 11, 12:
      let (member, isMember) = (Self.keys[below(4)], below(3) > 0)
      guard key != "l", key != member else { break }
      try write(device, isMember ? "put into" : "take from", [key, member]) { z, d, _ in
        try z.setPartIfThere(d, member, of: key, isMember: isMember)
      }
    default: try restore(device, key)
    }
  }

  /// The same write on both sides. Where one shows a record and the other does not, because it is hollow, a person
  /// would do different things.
  private func write(
    _ device: Int, _ what: String, _ keys: [String], _ body: (ShredStage, ShredStage.Device, Int) throws -> Void
  ) throws {
    let (mine, theirs) = (try view(shredding, device), try view(plain, device))
    guard keys.allSatisfy({ (mine[$0] == nil) == (theirs[$0] == nil) }) else { return }
    let value = log.count
    log.append("\(device) \(what) \(keys.joined(separator: " "))")
    let before = try vectors(device)
    for z in [shredding, plain] { try body(z, z.all[device], value) }
    try wrote(keys[0], device, before)
    try check(device, [:])
  }

  private func vectors(_ device: Int) throws -> ShredExceptions.Vectors {
    (try shredding.all[device].store.vector, try plain.all[device].store.vector)
  }

  private func wrote(_ key: String, _ device: Int, _ before: ShredExceptions.Vectors) throws {
    try exceptions.wrote(key, shredding.all[device].store, plain.all[device].store, since: before)
  }

  private func restore(_ device: Int, _ key: String) throws {
    let name = try ShredStage.name(key)
    log.append("\(device) restore \(key)")
    let before = try vectors(device)
    do {
      try shredding.all[device].store.restore(name)
    } catch let error as StoreError where [.noSuchRecord, .notDeleted, .purged].contains(error.code) {
      guard try error.code != .notDeleted || plain.see(plain.all[device], key) != nil else {
        throw ShredFailure("\(key) is shown on \(device), and without emptying it is deleted")
      }
      shredding.time.value += 1000
      plain.time.value += 1000
      return
    }
    try plain.all[device].store.restore(name)
    try wrote(key, device, before)
    shredding.time.value += 1000
    plain.time.value += 1000
    try check(device, [:])
  }

  private func shred(_ device: Int) throws {
    log.append("\(device) shreds")
    let store = shredding.all[device].store
    let (mine, shown) = (try view(shredding, device), try view(plain, device))
    let (author, before) = (try store.vector, try lives(device))
    // Without a window, or with one that is over for all that is here: both find the same.
    try store.empty(ripe: below(2) == 0 ? nil : (author, author))
    for (key, life) in try lives(device) where life != before[key] && shown[key] == nil {
      exceptions.emptied(key, by: author)
    }
    // The view is what the states say, though nobody has looked at it again.
    let report = try store.verify()
    guard report.isSound else { throw ShredFailure(report.problems.joined(separator: "; ")) }
    shredding.time.value += 1000
    plain.time.value += 1000
    try check(device, mine)
  }

  /// The present lives of the records that are in a later one than their first.
  private func lives(_ device: Int) throws -> [String: Life] {
    try shredding.all[device].store.snapshot { reader in
      var lives: [String: Life] = [:]
      for key in Self.keys {
        let name = try ShredStage.name(key)
        guard let kind = reader.catalog.kind(of: name.type) else { continue }
        lives[key] = try reader.record(name, kind)?.state.life
      }
      return lives
    }
  }

  private func pull(_ device: Int, _ other: Int) throws {
    log.append("\(device) takes in \(other)")
    let before = try view(shredding, device)
    try shredding.pull(shredding.all[device], from: shredding.all[other])
    try plain.pull(plain.all[device], from: plain.all[other])
    try check(device, before)
  }

  private func view(_ z: ShredStage, _ device: Int) throws -> [String: [String: Int]] {
    var view: [String: [String: Int]] = [:]
    for key in Self.keys { view[key] = try z.see(z.all[device], key) }
    return view
  }

  private func check(_ device: Int, _ before: [String: [String: Int]]) throws {
    let (now, due) = (try view(shredding, device), try view(plain, device))
    for key in Self.keys {
      switch (now[key], due[key]) {
      case (nil, nil): break
      case (_?, nil): throw ShredFailure("\(key) is back on \(device)")
      case (nil, _?):
        guard
          try exceptions.excuseAbsence(
            of: key, from: shredding.all[device].store, beside: plain.all[device].store)
        else { throw ShredFailure("\(key) is missing on \(device)") }
        guard before[key] == nil else { throw ShredFailure("\(key) went from view on \(device)") }
      case (let mine?, let theirs?):
        for field in ["x", "y"] where mine[field] != theirs[field] {
          guard exceptions.excuses(mine[field], inPlaceOf: theirs[field], of: key) else {
            throw ShredFailure("\(key).\(field) is \(String(describing: mine[field])) on \(device)")
          }
          guard before[key].map({ $0[field] != theirs[field] || theirs[field] == nil }) ?? true else {
            throw ShredFailure("\(key).\(field) went from view on \(device)")
          }
        }
      }
    }
    try checkParts(device, now)
  }

  /// Members are never removed by emptying: between records that both sides show they are the same.
  private func checkParts(_ device: Int, _ now: [String: [String: Int]]) throws {
    let names = Set(try now.keys.map { try ShredStage.name($0).text })
    let mine = try shredding.parts(shredding.all[device])
    let due = try plain.parts(plain.all[device]).filter { $0.allSatisfy(names.contains) }
    guard mine == due else { throw ShredFailure("on \(device) the members are \(mine), and should be \(due)") }
  }

  private func checkEnd() throws {
    let summaries = try shredding.all.map { try $0.store.summary() }
    guard summaries.allSatisfy({ $0.vector == summaries[0].vector && $0.fingerprint == summaries[0].fingerprint })
    else { throw ShredFailure("devices differ at the end") }
    try shredding.all[0].store.empty(ripe: nil)
    for other in 1..<Self.devices {
      try shredding.pull(shredding.all[other], from: shredding.all[0])
      for key in Self.keys where try shredding.see(shredding.all[other], key) == nil {
        guard try shredding.held(shredding.all[other], key) == 0 else {
          throw ShredFailure("\(other) still holds a value of \(key)")
        }
      }
    }
  }

  /// Returns the first check of a history that fails, with its steps; nil if none does.
  package static func failure(_ seed: UInt64, deleteWins: Bool, planted: PlantedFault = []) -> String? {
    var history: ShredHistory?
    do {
      let new = try ShredHistory(seed, deleteWins: deleteWins, planted)
      history = new
      try new.run(steps: [20, 40, 70][Int(seed % 3)])
      return nil
    } catch {
      let steps = history?.log.joined(separator: "\n") ?? ""
      return "TALLY_SEED=\(seed), deletes win: \(deleteWins)\n\(steps)\n\(error)"
    }
  }
}
