import Foundation
import GRDB
import TallyCRDT
import TallyStore
import TallyWire

/// The outcome of recovering a damaged file.
public struct RecoveryReport: Sendable, Equatable {
  /// Records and links that were read, with all that was known of them.
  public var recovered = 0
  /// One line for each record or link that could not be read, as far as its name is known, and for each part of the
  /// file. At most a thousand.
  public var losses: [String] = []
  /// The total number of losses, listed or not.
  public var lossCount = 0

  /// A report of a recovery that has done nothing yet.
  public init() {}
}

extension Store {
  /// Makes a new store of whatever can be read in a damaged one, and leaves the damaged one as it is.
  ///
  /// Content that was read keeps its author and time, so it joins with other devices like the store that it came from.
  /// Content that was not read comes again with the next sync, if another device has it: the new store is in doubt
  /// until then (`Store.doubt()`), and where a device without a doubt holds something else, that counts. It takes a
  /// replica id of its own with its first write.
  ///
  /// Cost: a copy of the file, beside the new one while it lasts; reads everything once; memory for the addresses of
  /// what was read.
  /// - Parameters:
  ///   - damaged: the file. Nobody may be using it.
  ///   - path: the place where the new store is made; there must be nothing.
  ///   - schema: the schema to go by if the one in the file cannot be read.
  ///   - options: the options with which the new store is opened.
  ///   - onProgress: called with the number of records and links that have been found so far, after each thousand.
  /// - Returns: the number of records and links that were read, and a line for each that could not be.
  /// - Throws: `StoreError.notAStore` if nothing at all can be read; `.newerFormat` and `.olderFormat` for the file of
  ///   another version; `.pathTaken`; GRDB's `DatabaseError` if it cannot be written. Then there is no new store.
  public static func recover(
    _ damaged: String, to path: String, schema: Schema? = nil, options: StoreOptions = StoreOptions(),
    onProgress: ((Int) -> Void)? = nil
  ) throws -> RecoveryReport {
    guard options.files.kind(of: path) == .nothing || (options.files.head(1, of: path) ?? []).isEmpty else {
      throw StoreError(.pathTaken, "there is something at \(path)")
    }
    guard options.files.kind(of: damaged) == .file else {
      throw StoreError(.noSuchStore, "there is no file at \(damaged)")
    }
    try StoreFile.refuseOtherFormat(damaged, options.files)
    let copy = path + "-damaged"
    let suffixes = ["", "-wal", "-journal"]
    func removeAll(_ path: String) {
      // What is left behind is in nobody's way: the next attempt replaces it.
      for suffix in suffixes + ["-shm", "-incarnation"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    }
    removeAll(copy)
    defer { removeAll(copy) }
    for suffix in suffixes where options.files.kind(of: damaged + suffix) == .file {
      do {
        try FileManager.default.copyItem(atPath: damaged + suffix, toPath: copy + suffix)
      } catch {
        throw DatabaseError(writing: copy + suffix, error)
      }
    }
    do {
      return try Salvage.run(copy, path, schema, options, onProgress)
    } catch {
      removeAll(path)
      throw error
    }
  }
}

/// Reads a damaged file as far as it goes.
private final class Salvage {
  private static let limit = 1000
  private let connection: Connection
  private let reader: StateReader
  private var report = RecoveryReport()
  private static let step = 1000
  private var onProgress: ((Int) -> Void)?
  /// The hashes of the addresses of what was read; sorted as soon as everything has been read.
  private var seen = HashList()
  private var target: StateVector
  /// Whether the vector is what was last written: then what it does not cover was written by nobody.
  private var isVectorSound = false
  /// The newest entries of the vector and of the log.
  private var tail = LogTail()
  /// Fields whose numbers were lost with their names. A row says its values by name; what says them by number counts
  /// only if all that was read adds up to the sum that was kept.
  private let guesses: Set<FieldID>
  private var keptSum: Fingerprint?
  /// The tables whose definitions had to be made anew.
  private let madeAnew: [String]
  /// Whether the file has the table of stubs: one from before there was one lacks it.
  private let hasStubs: Bool
  /// The progress of imports, as it was kept.
  private let imports: String?
  private var distrustsGuesses = false
  private var catalog: Catalog { reader.catalog }

  static func run(
    _ copy: String, _ path: String, _ schema: Schema?, _ options: StoreOptions, _ onProgress: ((Int) -> Void)?
  ) throws -> RecoveryReport {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    do {
      let fault = try SchemaSalvage.run(copy)
      // Before GRDB looks at the list of tables, which may not be readable at all.
      let queue = try DatabaseQueue(path: copy, configuration: configuration)
      return try queue.writeWithoutTransaction { db in
        try db.execute(sql: "PRAGMA writable_schema = ON; PRAGMA temp_store = MEMORY")
        let salvage = try Salvage(Connection(try db.handle()), schema)
        salvage.onProgress = onProgress
        if let fault { salvage.lose("sqlite_master: the list of tables was rebuilt from the pages, since \(fault)") }
        return try salvage.run(path, options)
      }
    } catch let error as DatabaseError
      where [.SQLITE_NOTADB, .SQLITE_CORRUPT].contains(error.resultCode.primaryResultCode)
    {
      throw StoreError(.notAStore, "nothing can be read: \(error.message ?? "")")
    }
  }

  private init(_ connection: Connection, _ schema: Schema?) throws {
    self.connection = connection
    let reading = TolerantReading(connection)
    var catalog = Catalog()
    catalog.version = 0
    reading.read("tally_meta", "SELECT value FROM tally_meta WHERE key = 'schema'", hasRowID: false) { query in
      catalog.schema = try Schema(json: Data(query.blob(0)))
    }
    var imports: String?
    reading.read("tally_meta", "SELECT value FROM tally_meta WHERE key = 'imports'", hasRowID: false) { query in
      imports = query.text(0)
    }
    self.imports = imports
    if catalog.schema.entities.isEmpty { catalog.schema = schema ?? Schema() }
    guard !catalog.schema.entities.isEmpty else { throw StoreError(.notAStore, "the schema cannot be read; give one") }
    guesses = catalog.salvage(reading)
    hasStubs = reading.takes("SELECT key, body FROM tally_stub")
    madeAnew = catalog.orderedKinds.filter { SchemaSalvage.putRight($0, reading, connection) }.map(\.type)
    reader = StateReader(connection, catalog: catalog)
    var vector = StateVector()
    reading.read("tally_vector", "SELECT replica, sequence FROM tally_vector WHERE zone = 0", hasRowID: false) {
      query in
      if let replica = catalog.replicas[query.number(0)] { vector[replica] = try query.sequence(1) }
    }
    var zone: (sums: KeptSums, tail: LogTail)?
    reading.read("tally_zone", "SELECT * FROM tally_zone WHERE n = 0", hasRowID: false) { query in
      zone = (KeptSums(query.blob(2)), query.columnCount > 5 ? LogTail(query.blob(5)) : LogTail())
    }
    if let zone {
      for entry in zone.tail.vector {
        if let replica = catalog.replicas[entry.replica] { vector[replica] = entry.sequence }
      }
      (tail, keptSum) = (zone.tail, zone.sums.fingerprint)
      isVectorSound = zone.sums.vector == VectorCheck(vector) && !tail.isDamaged
    }
    target = vector
    note(reading)
  }

  private func run(_ path: String, _ options: StoreOptions) throws -> RecoveryReport {
    let spool = try Spool(besides: path)
    defer { spool.remove() }
    // Twice: what the vector must cover is known when everything has been read, and stands before it.
    try look()
    if !guesses.isEmpty, sum != keptSum {
      distrustsGuesses = true
      try look()
    }
    if sum != keptSum {
      for type in madeAnew {
        lose(
          "\(type): its table's definition was lost and made anew; if an app had rebuilt it, values are in other columns"
        )
      }
    }
    try findLost()
    var writer = try DeltaWriter(header: catalog.marks.header(to: target), to: spool.append)
    var builder = BlockBuilder(catalog: catalog, base: StateVector(), strangers: [])
    try read { name, kind, state in
      try builder.add(name, kind, state) { try writer.append($0) }
    } link: { key, kind, element in
      try builder.add(key, kind, element) { try writer.append($0) }
    }
    try builder.handOut { try writer.append($0) }
    try writer.finish()
    let store = try Store(path: path, schema: catalog.schema, options: options)
    defer { try? store.close() }
    try store.apply(from: try spool.reader())
    if try !RecoveredStore.note(store, imports: imports) {
      lose("tally_meta: the progress of imports cannot be read; an import would begin again")
    }
    return report
  }

  // MARK: Reading

  private var sum = Fingerprint()

  /// Reads everything for the first time.
  private func look() throws {
    (seen, sum, report.recovered) = (HashList(), Fingerprint(), 0)
    try read { name, kind, state in
      self.cover(state.dots)
      for delete in state.deletes { self.target.merge(delete.context) }
      if let life = state.life { self.target.merge(life.context) }
      self.count(kind.number, name.text)
      self.sum += self.catalog.fingerprint(name, kind, from: nil, to: state)
    } link: { key, kind, element in
      self.cover(element.dots)
      self.count(kind.number, key.text)
      self.sum += self.catalog.fingerprint(key, kind, from: ORSetElement(), to: element)
    }
    seen.sort()
    report.recovered = seen.distinctCount
  }

  private func read(
    record: (AnyRecordName, RecordKind, RecordState) throws -> Void,
    link: (LinkKey, LinkKind, ORSetElement) throws -> Void
  ) throws {
    let reading = TolerantReading(connection)
    for kind in catalog.records.values.sorted(by: { $0.number < $1.number }) {
      if kind.isKnown {
        try reading.readRows(kind.type, kind.rowSQL) { query in
          guard let name = try reader.name(in: query), name.type == kind.type else { return }
          let isBody = try query.clock(2).extra != nil
          let stored = try reader.record(in: query, kind)
          let state = within(try named(stored.state.sound, isBody: isBody))
          check { () throws(StoreError) in try catalog.check(stored, name, kind) }
          if !state.isEmpty { try record(name, kind, state) }
        }
      }
      func take(_ name: AnyRecordName, _ stored: StoredRecord) throws {
        let state = within(try named(stored.state.sound, isBody: true))
        guard name.type == kind.type else { throw StoreError(.corrupt, "\(name): its type's number is another's") }
        check { () throws(StoreError) in try catalog.check(stored, name, kind) }
        if !state.isEmpty { try record(name, kind, state) }
      }
      try reading.readRows("tally_hidden", "SELECT n, kind, key, body FROM tally_hidden") { query in
        guard query.number(1) == kind.number else { return }
        let stored = try query.withBlob(3) { try reader.hiddenRecord(0, $0) }
        try take(try AnyRecordName(query.text(2) ?? ""), stored)
      }
      guard hasStubs else { continue }
      try reading.readKeyed("tally_stub", "SELECT key, body FROM tally_stub WHERE kind = \(kind.number)") { query in
        guard let name = query.name(0, kind.type) else { throw StoreError(.corrupt, "a key is malformed") }
        try take(name, try query.withBlob(1) { try reader.stub($0) })
      }
    }
    for kind in catalog.links.values.sorted(by: { $0.number < $1.number }) {
      if kind.isKnown {
        try reading.readRows(kind.table, kind.rowSQL) { query in
          guard let key = try reader.key(in: query) else { return }
          let stored = try reader.link(in: query, kind)
          let element = within(stored.element.sound)
          check { () throws(StoreError) in try catalog.check(stored, key, kind) }
          if !element.isEmpty { try link(key, kind, element) }
        }
      }
      let cut = "SELECT source, target, body FROM tally_cut WHERE kind = \(kind.number)"
      try reading.readKeyed("tally_cut", by: ["source", "target"], cut) { query in
        guard let key = query.linkKey(0, kind) else { throw StoreError(.corrupt, LinkKind.malformedKey) }
        let stored = try query.withBlob(2) { try reader.hiddenLink($0) }
        let element = within(stored.element.sound)
        check { () throws(StoreError) in try catalog.check(stored, key, kind) }
        if !element.isEmpty { try link(key, kind, element) }
      }
    }
    try readNameless(reading)
    note(reading)
  }

  /// Reports hidden records and links whose types the catalog does not have any more.
  private func readNameless(_ reading: TolerantReading) throws {
    try reading.readRows("tally_hidden", "SELECT n, kind, key FROM tally_hidden") { query in
      guard catalog.records[query.number(1)] == nil else { return }
      throw StoreError(.corrupt, "\(printable(query.text(2) ?? "")): its type's name is lost")
    }
    try reading.readKeyed("tally_cut", by: ["source", "target"], "SELECT source, target, kind FROM tally_cut") {
      query in
      guard catalog.links[query.number(2)] == nil else { return }
      throw StoreError(.corrupt, "links that are not shown: the name of their relationship is lost")
    }
    guard hasStubs else { return }
    try reading.readKeyed("tally_stub", "SELECT key, kind FROM tally_stub") { query in
      guard catalog.records[query.number(1)] == nil else { return }
      throw StoreError(.corrupt, "what was deleted and emptied: its type's name is lost")
    }
  }

  /// - Throws: `StoreError.corrupt` if a state has fields whose names are lost.
  private func named(_ state: RecordState, isBody: Bool) throws -> RecordState {
    try catalog.checkNames(in: state, except: isBody && distrustsGuesses ? guesses : [])
    return state
  }

  /// Reports what does not match its checksum; it is taken as it was found. Where numbers were guessed, checksums say
  /// nothing.
  private func check(_ body: () throws(StoreError) -> Void) {
    guard guesses.isEmpty else { return }
    do throws(StoreError) {
      try body()
    } catch {
      let line = "\(error.message); it was recovered as it was found"
      if !report.losses.contains(line) { lose(line) }
    }
  }

  private func within(_ state: RecordState) -> RecordState {
    guard isVectorSound else { return state }
    return state.within(target).having(seen: target)
  }

  private func within(_ element: ORSetElement) -> ORSetElement { isVectorSound ? element.within(target) : element }

  private func cover(_ dots: Set<Dot>) { for dot in dots { target.include(dot) } }

  private func count(_ kind: KindNumber, _ key: String) {
    seen.append(Self.address(kind, key))
    if seen.count % Self.step == 0 { onProgress?(seen.count) }
  }

  private static func address(_ kind: KindNumber, _ key: String) -> UInt64 { SipHash.hash("\(kind.rawValue) \(key)") }

  // MARK: What is lost

  private func lose(_ line: String) {
    report.lossCount += 1
    if report.losses.count < Self.limit { report.losses.append(line) }
  }

  private func note(_ reading: TolerantReading) {
    for line in reading.faults where !report.losses.contains(line) { lose(line) }
  }

  /// Names that an index or the change log has, and of which nothing was read.
  private func findLost() throws {
    let reading = TolerantReading(connection)
    var lost = Set<String>()
    func look(_ kind: KindNumber, _ key: String) {
      if !seen.contains(Self.address(kind, key)) { lost.insert(printable(key.replacing("\n", with: " with "))) }
    }
    func look(_ items: [UInt8]) throws {
      try ChangeLog.decode(items, catalog) { kind, name, target in
        look(kind, target.map { LinkKey(source: name, target: $0).text } ?? name.text)
      }
    }
    for kind in catalog.orderedKinds {
      reading.read(kind.type, "SELECT id FROM main.\"\(kind.type)\" ORDER BY id", hasRowID: false) {
        look(kind.number, $0.text(0) ?? "")
      }
    }
    reading.read("tally_log", "SELECT \(LogRow.columns) FROM tally_log", hasRowID: true) { query in
      for entry in try LogRow(query).entries() {
        try look(entry.items)
      }
    }
    for entry in tail.entries { try? look(entry.items) }
    for line in lost.sorted() { lose("\(line): nothing of it can be read") }
    seen = HashList()
  }
}

extension RecordState {
  /// Without what no version writes: a rank that nothing has, and a sequence of zero, would not be taken by the new
  /// store.
  fileprivate var sound: RecordState {
    var result = self
    func isUnsound(_ stamp: Stamp) -> Bool { stamp.rank > .user || stamp.dot.sequence == 0 }
    if let existence, isUnsound(existence) { result.existence = nil }
    result.fields.removeAll { isUnsound($0.stamp) }
    result.deletes.removeAll { isUnsound($0.stamp) }
    if let life, life.dot.sequence == 0 {
      result.life = nil
      result.fields.removeAll { !$0.field.isPresence }
    }
    return result
  }
}

extension ORSetElement {
  /// Without tags, removals and a place that no version writes.
  fileprivate var sound: ORSetElement {
    var result = self
    result.tags.removeAll { $0.added.dot.sequence == 0 }
    result.tags = result.tags.map { $0.removed?.dot.sequence == 0 ? .init(added: $0.added) : $0 }
    if place?.stamp.dot.sequence == 0 { result.place = nil }
    return result
  }
}
