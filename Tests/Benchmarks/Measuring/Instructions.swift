import Foundation
import GRDB
import Tally

/// Runs one workload on one side and nothing else, for a counter of instructions around the process:
/// `Scripts/instructions.sh`.
///
/// What it takes to start falls out, since the script runs it with two numbers of rows; so does what it takes to make
/// the rows.
enum Instructions {
  static let workloads = [
    "rows", "insert", "update", "first", "commit", "change", "delta", "again", "apply", "delete", "empty",
    "open", "seed", "both", "edited", "edits", "settled", "deletes", "exchange", "refused", "close",
    "owned-rows", "owned", "owned-delete", "moved", "nested-rows", "nested", "nested-delete", "owned-single",
    "counted", "beside", "teams", "linked", "listed", "placed", "named", "lensed-rows", "lensed",
    "lensed-insert", "lensed-edited", "lensed-settled", "used-insert", "used-first", "used-delete",
    "used-apply",
  ]

  static func run(_ workload: String, onStore isStore: Bool, records: Int, in folder: URL) throws {
    let round = try Round(1, rows: Rows(count: records), ledger: Ledger(), folder: folder)
    defer { try? round.remove() }
    // Every run fills the same, so that only the workload differs.
    let pair = try round.emptyPair()
    let side: any Side = isStore ? pair.store : pair.plain
    let isUsed = workload.hasPrefix("used-")
    if isUsed, isStore { try use(pair.store) }
    switch isUsed ? String(workload.dropFirst(5)) : workload {
    // What all of them need, and the script subtracts.
    case "rows": break
    case "insert": try side.insertThroughC(round.rows.items)
    case "update":
      // No record twice in a transaction, whose net effect is what is captured.
      let names = round.rows.items.prefix(1000).map(\.id)
      try side.insertThroughC(Array(round.rows.items.prefix(1000)))
      for start in stride(from: 0, to: records, by: 1000) {
        try side.updateThroughC((start..<min(start + 1000, records)).map { (1_000_000 + $0, names[$0 % names.count]) })
      }
    case "first":
      try side.insertThroughC(round.rows.items)
      try edit(side, round.rows.items[...], to: -1)
    case "commit":
      let items = round.firstItems
      try side.insertThroughC(items)
      for index in 0..<records { try side.updateThroughC([changed(index, items)]) }
    case "change":
      try side.insertThroughC(round.firstItems)
      try changes(records, round, pair, onStore: isStore)
    case "delta":
      try side.insertThroughC(round.rows.items)
      guard isStore else { return try pair.plain.reading { try FirstSyncWorkload.readThroughC($0) } }
      _ = try pair.store.delta()
    case "again":
      try side.insertThroughC(round.rows.items)
      guard isStore else { return try side.insertAtOnceThroughC([], round.rows.items, or: "OR IGNORE") }
      _ = try pair.store.apply(try pair.store.delta(), isRepair: true)
    case "apply":
      guard isStore else { return try side.insertAtOnceThroughC([], round.rows.items) }
      try side.insertThroughC(round.rows.items)
      let other = try round.emptyStore()
      if isUsed { try use(other) }
      try other.apply(try pair.store.delta())
    // What those after it need: two replicas with all rows.
    case "both", "edited", "edits", "settled", "deletes", "exchange":
      let replicas = try replicas(round, pair, onStore: isStore)
      guard workload != "both" else { break }
      try told(workload, round.rows.items, replicas)
      if workload == "exchange" { try exchange(round.rows.items, replicas) }
    case "open", "close":
      try side.insertThroughC(round.firstItems)
      try opens(records, round, pair, onStore: isStore, writes: workload == "open")
    case "refused":
      try side.insertThroughC(round.rows.items)
      if isStore { try refuse(pair.store) }
      try edit(side, round.rows.items[...], to: -1)
    case "owned-rows", "owned", "owned-delete", "moved": try own(.owned, workload, round, pair, onStore: isStore)
    case "counted", "beside": try count(workload, round, pair, onStore: isStore)
    case "lensed-rows": _ = TypedRows.lensed.items(round.rows.items[...], side)
    case "lensed", "lensed-insert", "lensed-edited", "lensed-settled": try lens(workload, round, pair, onStore: isStore)
    case "teams", "linked", "listed", "placed": try list(workload, round, pair, onStore: isStore)
    case "named":
      let side: any Side = isStore ? try Store(path: round.newPath(), schema: ListRows.schema) : pair.plain
      if isStore { try side.insertOwners(round.rows.owners) }
      try side.run("CREATE UNIQUE INDEX Item_by_name ON Item(name)", isStore ? 0 : 1) { _ in [] }
      try side.insertThroughC(ListRows.named(round.rows.items, side), into: isStore ? "Named" : "Item")
    case "owned-single":
      // For the files of one delete, Scripts/walk.py: each in a transaction of its own.
      let store = try Store(path: round.newPath(), schema: OwnedRows.schema)
      let items = try OwnedRows.owned.insert(Rows(count: firstCount), into: store).prefix(records)
      try store.delete(items, from: OwnedRows.owned.rawValue, inTransactionsOf: 1)
    case "nested-rows", "nested", "nested-delete": try own(.nested, workload, round, pair, onStore: isStore)
    case "seed":
      let rows = Rows(count: seedCount).items
      let set = SeedWorkload.set(of: rows)
      for _ in 0...records {
        if isStore { try pair.store.seed(set) } else { try pair.plain.insert(rows, or: "OR IGNORE") }
      }
    default:
      try side.insertThroughC(round.rows.items)
      try side.delete(round.rows.items[...])
      if workload == "empty", isStore { try pair.store.empty(ripe: nil) }
    }
  }

  /// One change, its delta, and the delta applied; each in a transaction of its own.
  private static func changes(_ count: Int, _ round: Round, _ pair: Pair, onStore isStore: Bool) throws {
    let (store, plain) = (try round.emptyStore(), try round.emptyPair().plain)
    let items = round.firstItems
    if isStore {
      try store.apply(try pair.store.delta())
    } else {
      try plain.insertThroughC(round.firstItems)
    }
    for index in 0..<count {
      guard isStore else {
        for plain in [pair.plain, plain] { try plain.updateThroughC([changed(index, items)]) }
        continue
      }
      let base = try store.vector
      try pair.store.updateThroughC([changed(index, items)])
      try store.apply(try pair.store.delta(since: base))
    }
  }

  /// Two databases with all rows; the second store has them from the first.
  private static func replicas(_ round: Round, _ pair: Pair, onStore isStore: Bool) throws -> [any Side] {
    let other: any Side = isStore ? try round.emptyStore() : try round.emptyPair().plain
    try (isStore ? pair.store : pair.plain as any Side).insertThroughC(round.rows.items)
    if let store = other as? Store {
      try store.apply(try pair.store.delta())
    } else {
      try other.insertThroughC(round.rows.items)
    }
    return [isStore ? pair.store : pair.plain, other]
  }

  /// Each row edited or deleted on one replica, a thousand in a transaction, and the other told, or ("edited") not.
  private static func told(
    _ workload: String, _ rows: [ItemRow], of table: String = "Item", _ replicas: [any Side]
  ) throws {
    let stores = replicas.compactMap { $0 as? Store }
    let base = try stores.last?.vector
    let isTold = !workload.hasSuffix("edited")
    for side in stores.isEmpty && isTold ? replicas : [replicas[0]] {
      if workload == "deletes" { try side.delete(rows[...]) } else { try edit(side, rows[...], of: table, to: -1) }
    }
    if let base, isTold { try stores[1].apply(try stores[0].delta(since: base)) }
  }

  /// As many edits as there are rows: of half of the rows on each replica, and half of those the same, which then tell
  /// each other.
  private static func exchange(_ rows: [ItemRow], _ replicas: [any Side]) throws {
    let half = rows.count / 2
    let edits = [(rows[..<half], -2), (rows[(half / 2)...].prefix(half), -3)]
    guard let one = replicas[0] as? Store, let other = replicas[1] as? Store else {
      for side in replicas { for (rows, value) in edits { try edit(side, rows, to: value) } }
      return
    }
    let base = try other.vector
    for (store, (rows, value)) in zip([one, other], edits) { try edit(store, rows, to: value) }
    let (there, back) = (try one.delta(since: base), try other.delta(since: base))
    try other.apply(there)
    try one.apply(back)
  }

  private static func edit(
    _ side: any Side, _ rows: ArraySlice<ItemRow>, of table: String = "Item", to value: Int
  ) throws {
    for start in stride(from: rows.startIndex, to: rows.endIndex, by: 1000) {
      try side.updateThroughC(rows[start...].prefix(1000).map { (value, $0.id) }, of: table)
    }
  }

  /// Writes a value that is no date from outside, where no store can stop it. The next write of the store refuses it.
  private static func refuse(_ store: Store) throws {
    let outside = try DatabaseQueue(path: store.path)
    try outside.write { db in
      try db.execute(sql: "UPDATE Item SET day = 'no date' WHERE rowid = (SELECT min(rowid) FROM Item)")
    }
    try outside.close()
    try store.write { db in try db.execute(sql: "UPDATE Owner SET name = 'refused' WHERE rowid = 1") }
  }

  /// Makes a file one that has been in use: an item was deleted, and an owner that another item still refers to.
  private static func use(_ store: Store) throws {
    let (owner, items) = (RecordName<Owner>(), [RecordName<Item>(), RecordName<Item>()])
    try store.write { db in
      try db.execute(sql: "INSERT INTO Owner(id, name) VALUES(?, 'gone')", arguments: ["\(owner)"])
      for item in items {
        try db.execute(sql: "INSERT INTO Item(id, owner) VALUES(?, ?)", arguments: ["\(item)", "\(owner)"])
      }
    }
    try store.write { db in
      try db.execute(sql: "DELETE FROM Item WHERE id = ?", arguments: ["\(items[0])"])
      try db.execute(sql: "DELETE FROM Owner WHERE id = ?", arguments: ["\(owner)"])
    }
  }

  /// Edits, deletes or gives another owner to each record of a type that is owned.
  private static func own(
    _ rows: OwnedRows, _ workload: String, _ round: Round, _ pair: Pair, onStore isStore: Bool
  ) throws {
    let store = try Store(path: round.newPath(), schema: OwnedRows.schema)
    let side: any Side = isStore ? store : pair.plain
    let (items, table) = (try rows.insert(round.rows, into: side), rows.table(side))
    if workload == "\(rows)" { try edit(side, items[...], of: table, to: -1) }
    if workload == "\(rows)-delete" { try side.delete(items[...], from: table) }
    if workload == "moved" {
      try side.run("UPDATE \(table) SET owner = ? WHERE id = ?", items.count) {
        [items[($0 + 1) % items.count].owner, items[$0].id]
      }
    }
  }

  /// What "update" does, on records to whose counter something was added: adds, or edits another field.
  private static func count(_ workload: String, _ round: Round, _ pair: Pair, onStore isStore: Bool) throws {
    let store = try Store(path: round.newPath(), schema: TypedRows.counted.schema)
    let side: any Side = isStore ? store : pair.plain
    let (items, table) = (TypedRows.counted.items(round.rows.items.prefix(1000), side), TypedRows.counted.table(side))
    if isStore { try side.insertOwners(round.rows.owners) }
    try side.insertThroughC(items, into: table)
    if isStore { try side.run("UPDATE Counted SET score = score + 1 WHERE id = ?", items.count) { [items[$0].id] } }
    let column = isStore && workload == "counted" ? "score" : "count"
    for start in stride(from: 0, to: round.rows.items.count, by: 1000) {
      let changes = (start..<min(start + 1000, round.rows.items.count)).map {
        (1_000_000 + $0, items[$0 % items.count].id)
      }
      try side.updateThroughC(changes, of: table, setting: column)
    }
  }

  /// The workloads "insert", "update", "edited" and "edits", on records with a field that takes the place of another.
  private static func lens(_ workload: String, _ round: Round, _ pair: Pair, onStore isStore: Bool) throws {
    let side: any Side = isStore ? try Store(path: round.newPath(), schema: TypedRows.lensed.schema) : pair.plain
    if isStore { try side.insertOwners(round.rows.owners) }
    let (rows, table) = (TypedRows.lensed.items(round.rows.items[...], side), TypedRows.lensed.table(side))
    guard workload == "lensed" else {
      try side.insertThroughC(rows, into: table)
      guard workload != "lensed-insert" else { return }
      let other: any Side =
        isStore ? try Store(path: round.newPath(), schema: TypedRows.lensed.schema) : try round.emptyPair().plain
      if let store = side as? Store, let other = other as? Store {
        try other.apply(try store.delta())
      } else {
        try other.insertThroughC(rows, into: table)
      }
      return try told(workload, rows, of: table, [side, other])
    }
    let items = Array(rows.prefix(1000))
    try side.insertThroughC(items, into: table)
    for start in stride(from: 0, to: rows.count, by: 1000) {
      let changes = (start..<min(start + 1000, rows.count)).map { (1_000_000 + $0, items[$0 % items.count].id) }
      try side.updateThroughC(changes, of: table, setting: "count")
    }
  }

  /// Adds members to teams, a hundred to each: to a relationship without an order, or to the end of one with; or moves
  /// each to the beginning.
  private static func list(_ workload: String, _ round: Round, _ pair: Pair, onStore isStore: Bool) throws {
    let side: any Side = isStore ? try Store(path: round.newPath(), schema: ListRows.schema) : pair.plain
    if isStore { try side.insertOwners(round.rows.owners) }
    if !isStore { try side.run("ALTER TABLE Team_members ADD COLUMN position INTEGER", 1) { _ in [] } }
    let members = ListRows.Members(round.rows, ordered: workload != "linked", side)
    try members.insertTeams(into: side)
    if workload != "teams" { try members.insertLinks(into: side) }
    if workload == "placed" { try members.move(in: side) }
  }

  /// Opens the file, writes once or not at all, closes it.
  private static func opens(
    _ count: Int, _ round: Round, _ pair: Pair, onStore isStore: Bool, writes: Bool
  ) throws {
    try pair.store.close()
    try pair.plain.close()
    let items = round.firstItems
    for index in 0..<count {
      let row = items[index % firstCount]
      guard isStore else {
        let plain = try PlainDatabase.open(pair.plain.path)
        if writes { try OpenWorkload.write(plain, row) }
        try plain.close()
        continue
      }
      let store = try Store(path: pair.store.path, schema: Tables.schema)
      if writes { try OpenWorkload.write(store, row) }
      try store.close()
    }
  }

  /// A new value for one of the first items, and its name.
  private static func changed(_ index: Int, _ items: [ItemRow]) -> (Int, String) {
    (1_000_000 + index, items[index % firstCount].id)
  }

  /// How many there are of the records that are changed, whatever the number of changes: what it takes to make them is
  /// in both runs.
  static let firstCount = 300
  /// How many records the seed set has.
  private static let seedCount = 1000
}

extension Round {
  fileprivate var firstItems: [ItemRow] { Rows(count: Instructions.firstCount).items }
}
