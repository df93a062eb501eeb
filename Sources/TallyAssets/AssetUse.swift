import Foundation
import GRDB
import TallySchema
import TallyStore

/// Which files a store's records name.
package struct AssetUse: Sendable {
  /// The names in rows that the app sees.
  package var shown = Set<AssetName>()
  /// Those of them that devices get without being asked.
  package var eager = Set<AssetName>()
  /// The hashes of files that anything names, with the sizes in these names: rows, records that can be restored, fields
  /// that only a newer app knows, the conflict journal.
  fileprivate var sizes: [String: Set<Int>] = [:]
  /// Whether another program has written what is not captured yet: a row that it has removed may come to be hidden.
  fileprivate(set) var isPending = false

  /// Whether anything names a file with this hash.
  package func names(_ hash: String) -> Bool { sizes[hash] != nil }

  /// Whether a file has another size than all names of its hash say: it has lost its end, or is on its way.
  func knowsOtherSize(of file: AssetFolder.File) -> Bool {
    sizes[file.hash].map { !$0.isEmpty && !$0.contains(file.byteCount) } ?? false
  }
}

extension Assets {
  /// Reads which files are named. What another program has just written is captured first.
  ///
  /// Cost: the columns of assets, all hidden records, and the conflict journal.
  /// - Throws: `AssetError` of code `damaged` while the store is damaged: rows that will come back may be missing.
  package func use() throws -> AssetUse {
    try store.captureChanges()
    guard try store.doubt()?.level != .damaged else {
      throw AssetError(.damaged, "the store is damaged, so it is not known which files it names")
    }
    return try namedNow()
  }

  /// The same without a capture: it waits for no writer.
  func namedNow() throws -> AssetUse {
    let schema = try store.schema
    return try store.read { db in
      var use = try AssetUse(rowsOf: schema, db)
      let pending = "SELECT 1 FROM main.tally_pending WHERE op < 4 LIMIT 1"
      use.isPending = try Bool.fetchOne(db, sql: pending) != nil
      // Bodies have texts as they are, so a hash is found without knowing what is around it.
      for (table, column) in [
        ("tally_hidden", "body"), ("tally_extra", "body"), ("tally_conflict", "loser_value"),
        ("tally_conflict", "winner_value"),
      ] {
        let rows = try Data.fetchCursor(
          db,
          sql: """
            SELECT CAST(\(column) AS BLOB) FROM main.\(table)
            WHERE instr(\(column), CAST('sha256-' AS BLOB)) OR instr(\(column), 'sha256-')
            """)
        while let bytes = try rows.next() { use.insert(hashesIn: Array(bytes)) }
      }
      return use
    }
  }

  /// Reads only which files rows name that the app sees.
  ///
  /// Cost: the columns of assets.
  package func shown() throws -> AssetUse {
    let schema = try store.schema
    return try store.read { try AssetUse(rowsOf: schema, $0) }
  }

  /// The files that are here, that something names, and that no place has said to have within the last days.
  ///
  /// Cost: nothing without a folder for files; otherwise that of ``use()``.
  package func unsent() throws -> [AssetName] {
    guard store.file != nil, !store.options.isReadOnly, try folder.exists else { return [] }
    let places = try places()
    let reached = try places.reached(since: store.now)
    guard try folder.files().contains(where: { $0.name.map { !reached.contains($0) } ?? false }) else { return [] }
    let use = try use()
    try places.noteNamed(use)
    return try folder.named(use).filter { !reached.contains($0) }
  }

  /// Whether any row names a file. Reads the columns of assets up to the first name.
  package func areNamed() throws -> Bool {
    let schema = try store.schema
    return try store.read { db in
      for entity in schema.entities {
        for field in entity.fields where field.kind == .asset {
          let sql = "SELECT 1 FROM main.\"\(entity.type)\" WHERE \"\(field.name)\" NOT NULL LIMIT 1"
          if try Bool.fetchOne(db, sql: sql) != nil { return true }
        }
      }
      return false
    }
  }

  /// Copies to another store's folder what that one names, is here and is not there. A file that is not what its name
  /// says, or cannot be read, keeps no other from being copied: it is missing there, and ``verify()`` here finds it.
  ///
  /// Cost: that of ``use()`` of the other store, and the files.
  package func give(to other: Assets) throws {
    guard store.file != nil, other.store.file != nil, try folder.exists else { return }
    let (source, target) = (try folder, try other.folder)
    // Before these are read: what is removed later may name a file that is given.
    let removals = try other.removals()
    let use = try other.use()
    if !store.options.isReadOnly { try places().noteNamed(use) }
    var given: [AssetName] = []
    for name in try source.named(use) where !target.has(name) {
      if try other.add(name, from: source.path(of: name)) { given.append(name) }
    }
    _ = try other.takeBack(given, since: removals)
  }
}

extension AssetUse {
  /// Reads the names in rows that the app sees.
  fileprivate init(rowsOf schema: Schema, _ db: Database) throws {
    for entity in schema.entities {
      for field in entity.fields where field.kind == .asset {
        let names = try String.fetchCursor(
          db, sql: "SELECT DISTINCT \"\(field.name)\" FROM main.\"\(entity.type)\" WHERE \"\(field.name)\" NOT NULL")
        while let text = try names.next() {
          guard let name = AssetName(text) else { continue }
          shown.insert(name)
          sizes[name.hash, default: []].insert(name.byteCount)
          if field.download == .eager { eager.insert(name) }
        }
      }
    }
  }

  /// Finds each `sha256-` that 64 hexadecimal digits follow, and the size after them. The bytes alone do not say where
  /// the name ends.
  fileprivate mutating func insert(hashesIn bytes: [UInt8]) {
    let mark = Array("sha256-".utf8)
    var index = 0
    while index + mark.count + 64 <= bytes.count {
      if bytes[index] == mark[0], bytes[index..<index + mark.count].elementsEqual(mark) {
        let digits = bytes[(index + mark.count)..<(index + mark.count + 64)]
        if digits.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }) {
          let rest = bytes[(index + mark.count + 64)...]
          let size = rest.dropFirst().prefix(11).prefix { (0x30...0x39).contains($0) }
          let hash = String(decoding: digits, as: UTF8.self)
          sizes[hash, default: []].formUnion(Int(String(decoding: size, as: UTF8.self)).map { [$0] } ?? [])
        }
      }
      index += 1
    }
  }
}

extension AssetFolder {
  /// The files that are here with their whole length and that anything names.
  package func named(_ use: AssetUse) throws -> [AssetName] {
    try files().filter { use.names($0.hash) && !use.knowsOtherSize(of: $0) }.compactMap(\.name)
  }
}
