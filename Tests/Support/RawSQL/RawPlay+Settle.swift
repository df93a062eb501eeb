import GRDB
import TallyCRDT
import TallyStore
import TallySync

/// The end of a history: everybody meets, everybody writes once more, and nothing may be missing or different.
extension RawPlay {
  /// How often everybody syncs with everybody until all hold the same: triggers of the app's answer merges with writes.
  private static let rounds = 8

  mutating func settle() throws {
    try hangUp()
    for device in devices { try open(device, nil) }
    try heal()
    if try upgrade() { try heal() }
    try compare()
    let tokens = try writeOnceMore()
    try heal()
    try compare()
    try look(for: tokens)
    if try clearClashes() { try compare() }
  }

  /// Gives every note that some store shows a body of its own. What an index or a rule has kept out must show itself
  /// then: `compare` excuses nothing that nothing keeps out.
  private mutating func clearClashes() throws -> Bool {
    guard !history.features.isDisjoint(with: [.uniqueIndex, .validation]) else { return false }
    for _ in 0..<Self.rounds {
      let hasAny = try devices.contains { device in
        try device.store?.status().setAside.contains { $0.row.hasPrefix("N|~|") } ?? false
      }
      guard hasAny else { return true }
      for device in devices {
        try write(["UPDATE main.N SET body = 'free ' || hex(id) WHERE body IS NOT 'free ' || hex(id)"], device)
        try heal()
      }
    }
    return true
  }

  /// All apps are of the newest version in the end.
  private mutating func upgrade() throws -> Bool {
    guard history.has(.upgrades) || history.has(.rules) else { return false }
    for device in devices {
      try device.close()
      try open(device, RawVersion(isLater: history.has(.upgrades), cascades: history.has(.rules)))
    }
    return true
  }

  private mutating func heal() throws {
    if try meet() { return }
    // An app that answers every merge with a write never comes to rest; somebody repairs the app. So does one that
    // brings back a row which has to give way to an older claim.
    guard history.has(.loopTrigger) || history.features.isSuperset(of: [.undead, .uniqueIndex]) else {
      throw RawFinding("the stores do not come to hold the same")
    }
    for device in devices {
      for name in [RawAppObjects.loopName, RawAppObjects.undeadTrigger] {
        try device.store?.write { db in try db.execute(sql: "DROP TRIGGER IF EXISTS \(name)") }
      }
    }
    guard try meet() else { throw RawFinding("the stores do not come to hold the same") }
  }

  /// - Returns: whether all hold the same, after everybody has met everybody twice.
  private mutating func meet() throws -> Bool {
    for round in 0..<Self.rounds {
      for one in devices.indices {
        for other in devices.indices where other > one { try exchange(devices[one], devices[other]) }
      }
      guard round > 0, try areEqual() else { continue }
      for device in devices {
        device.hasDrifted = false
        try verify(device)
      }
      return true
    }
    return false
  }

  private func areEqual() throws -> Bool {
    let summaries = try devices.compactMap { try $0.store?.summary() }
    return summaries.allSatisfy { $0.vector == summaries[0].vector && $0.fingerprint == summaries[0].fingerprint }
  }

  // MARK: Comparison

  private mutating func compare() throws {
    let rows = try devices.map { try shown($0) }
    let aside = try devices.map { Set(try $0.store?.status().setAside.map(\.row) ?? []) }
    for (index, other) in rows.enumerated().dropFirst() {
      for (table, id) in rows[0].differences(to: other) {
        let isExcused =
          isExcused(table, id, rows[0], other, aside[index]) || isExcused(table, id, other, rows[0], aside[0])
        guard isExcused else {
          throw RawFinding("stores 0 and \(index) differ in \(rows[0].difference(at: table, id, to: other))")
        }
        reached.insert(.setAside)
      }
    }
    for (index, device) in devices.enumerated() { try checkClaims(rows[index], aside[index], device) }
    if aside[0].isEmpty, let loss = ledger.loss(in: rows[0]) { throw RawFinding("lost: \(loss)") }
    for device in devices { try inspect(device) }
  }

  private func shown(_ device: RawDevice) throws -> RawRows {
    guard let store = device.store else { throw RawFinding("store \(device.index) is closed") }
    return try store.read { try RawRows.all($0, device.version) }
  }

  /// Whether a row that one store shows may be missing or different in another: it says that it has set it aside, and
  /// there is a reason.
  private func isExcused(
    _ table: String, _ id: String, _ here: RawRows, _ there: RawRows, _ aside: Set<String>
  ) -> Bool {
    // A row that the app's own table refers to without a rule cannot go, and what it owns stays with it.
    if history.has(.referringTable), aside.contains(where: { $0.hasPrefix("P|~|") }) { return true }
    let key = id.replacingOccurrences(of: " -> ", with: "\n")
    return aside.contains(key) && isSetAside(table, id, here, there)
  }

  /// Of two records that claim one value the one with the later stamp gives way. Said only of an index on a column as
  /// it is.
  private func checkClaims(_ rows: RawRows, _ aside: Set<String>, _ device: RawDevice) throws {
    guard history.has(.uniqueIndex), let store = device.store else { return }
    let sql = try store.read {
      try String.fetchOne($0, sql: "SELECT sql FROM main.sqlite_master WHERE name = 'app_one'")
    }
    guard sql?.hasSuffix("ON N(body)") == true else { return }
    func claim(_ id: String) throws -> (value: Value, stamp: Stamp)? {
      let record = try store.history(of: AnyRecordName(id))
      guard let field = record?.fields.first(where: { $0.field == "body" }) else { return nil }
      // An insert or a restore elsewhere may be later than what the column has from here.
      return (field.value, max(field.stamp, record?.existence ?? field.stamp))
    }
    for id in aside where id.hasPrefix("N|~|") {
      guard let mine = try claim(id), case .text(let body) = mine.value else { continue }
      for (rival, row) in rows.tables["N"] ?? [:] where rival != id && row["body"] == body.hexadecimal {
        // A row that a trigger inserts again as soon as it goes cannot give way.
        if history.has(.undead), rival == RawAppObjects.undeadName { continue }
        guard let theirs = try claim(rival), theirs.value == mine.value, mine.stamp < theirs.stamp else { continue }
        throw RawFinding("store \(device.index) shows \(rival), though \(id) has claimed its body before")
      }
    }
  }

  /// Whether a rule of the app's keeps out what one store shows.
  private func isSetAside(_ table: String, _ id: String, _ here: RawRows, _ there: RawRows) -> Bool {
    guard let row = here.tables[table]?[id] else { return false }
    if table == "N", history.has(.validation), row["body"] == RawAppObjects.refused.hexadecimal { return true }
    if table == "N", history.has(.uniqueIndex), let body = row["body"], body != "NULL" {
      return there.tables[table]?.contains { $0.key != id && $0.value["body"]?.folded == body.folded } ?? false
    }
    if table == "G_players", history.has(.linkIndex) { return true }
    return false
  }

  /// SQLite's own checks. References from the app's own tables are the app's.
  private func inspect(_ device: RawDevice) throws {
    guard let store = device.store else { return }
    try store.read { db in
      let result = try String.fetchAll(db, sql: "PRAGMA main.integrity_check")
      guard result == ["ok"] else { throw RawFinding("store \(device.index): integrity_check says \(result)") }
      let later = ("G", "stars IS NOT NULL AND typeof(stars) <> 'integer'")
      for (what, condition) in Self.misfits + (device.version.isLater ? [later] : []) {
        guard let id = try String.fetchOne(db, sql: "SELECT id FROM main.\(what) WHERE \(condition)") else { continue }
        throw RawFinding("store \(device.index): \(id) holds a value that no field of its kind takes: \(condition)")
      }
      for row in try Row.fetchAll(db, sql: "PRAGMA main.foreign_key_check") {
        let table: String = row[0]
        guard table.hasPrefix("app_") || table.hasPrefix("kept_") else {
          throw RawFinding("store \(device.index): a reference of \(table) names nothing")
        }
      }
    }
    guard history.has(.fullText) else { return }
    try device.outside(0).write { db in
      guard try db.tableExists("app_text") else { return }
      do {
        try db.execute(sql: "INSERT INTO app_text(app_text, rank) VALUES('integrity-check', 1)")
      } catch { throw RawFinding("store \(device.index): the full-text index is out of step: \(error)") }
    }
  }

  /// Values that must have been refused.
  private static let misfits = [
    ("N", "due IS NOT NULL AND (typeof(due) <> 'text' OR julianday(due) IS NULL)"),
    ("N", "meta IS NOT NULL AND (typeof(meta) <> 'text' OR NOT json_valid(meta))"),
    ("N", "done IS NOT NULL AND done NOT IN (0, 1)"), ("N", "pic IS NOT NULL AND typeof(pic) <> 'blob'"),
    ("P", "pos IS NOT NULL AND typeof(pos) <> 'integer'"), ("P", "name IS NOT NULL AND typeof(name) <> 'text'"),
    ("G", "rating IS NOT NULL AND typeof(rating) <> 'real'"),
  ]

  // MARK: One more write

  private struct Token {
    var table: String
    var id: String
    var column: String
    var text: String
  }

  /// Everybody has seen everything, so what each store writes now must be there everywhere afterwards.
  private mutating func writeOnceMore() throws -> [Token] {
    var tokens: [Token] = []
    let rows = try shown(devices[0])
    for device in devices {
      let number = device.index
      tokens.append(Token(table: "P", id: "P|~|last\(number)", column: "name", text: "token \(number)"))
      var statements = ["INSERT INTO main.P(id, name) VALUES ('P|~|last\(number)', 'token \(number)')"]
      for table in RawVersion.tables where !(table == "N" && history.has(.undead)) {
        let ids = (rows.tables[table] ?? [:]).keys.filter { !isKept(out: table, $0) }.sorted()
        let column = table == "N" ? "body" : "name"
        for (index, id) in ids.enumerated() where index % devices.count == number {
          let text = "token \(number) of \(id)"
          tokens.append(Token(table: table, id: id, column: column, text: text))
          statements.append("UPDATE main.\(table) SET \(column) = '\(text)' WHERE id = '\(id)'")
        }
      }
      try write(statements, device)
    }
    return tokens
  }

  /// Whether some store does not show a row that another shows.
  private func isKept(out table: String, _ id: String) -> Bool {
    (table == "N" && !history.features.isDisjoint(with: [.uniqueIndex, .validation]))
      || (table == "P" && history.has(.referringTable))
  }

  private mutating func write(_ statements: [String], _ device: RawDevice) throws {
    func run(_ db: Database) throws -> (RawRows, RawRows) {
      let before = try RawRows.records(db, device.version)
      for sql in statements { try db.execute(sql: sql) }
      return (before, try RawRows.records(db, device.version))
    }
    do {
      // A loop without end is an error where triggers recurse.
      let isPossible = !history.features.isSuperset(of: [.loopTrigger, .recursiveTriggers])
      let isOutside = history.has(.outside) && isPossible && device.index % 2 == Int(history.seed % 2)
      guard let (before, after) = try isOutside ? device.outside(0).write(run) : device.store?.write(run) else {
        return
      }
      ledger.note(device.index, from: before, to: after, isOutside: isOutside, isFirst: !device.hasOutsideWrites)
      device.hasOutsideWrites = isOutside
    } catch {
      throw RawFinding("store \(device.index) takes no more writes: \(error)")
    }
  }

  private func look(for tokens: [Token]) throws {
    for device in devices {
      let rows = try shown(device)
      for token in tokens {
        let found = rows.tables[token.table]?[token.id]?[token.column]
        guard found != token.text.hexadecimal else { continue }
        throw RawFinding(
          "lost: store \(device.index) shows \(found ?? "nothing") as \(token.id).\(token.column), "
            + "which should be \(token.text)")
      }
    }
  }
}

extension String {
  /// As `RawRows` shows a text.
  var hexadecimal: String {
    utf8.map { String(UInt8($0), radix: 16, uppercase: true).leftPadded }.joined()
  }
  private var leftPadded: String { count == 1 ? "0\(self)" : self }
  /// ASCII capitals in hexadecimal as small letters, as lower() has them.
  fileprivate var folded: [UInt8] {
    let digits = Array(utf8)
    guard digits.count % 2 == 0 else { return digits }
    return stride(from: 0, to: digits.count, by: 2).map { index in
      let byte = UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16) ?? 0
      return (0x41...0x5A).contains(byte) ? byte + 32 : byte
    }
  }
}
