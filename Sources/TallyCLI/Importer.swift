import GRDB
import Tally

/// Puts the lines of a file, batch by batch, and at the end what had to wait for a later line.
final class Importer {
  /// A batch also ends when its lines have this many bytes.
  private static let batchBytes = 16 << 20

  private let store: Store
  private let schema: Schema
  private let batchSize: Int
  let progress: Progress
  private let waiting = LineSpool()
  /// How many lines are committed.
  private(set) var committed = 0

  private struct Entry {
    var number: Int
    var record: RecordInput
  }

  init(store: Store, schema: Schema, batchSize: Int, progress: Progress) {
    self.store = store
    self.schema = schema
    self.batchSize = batchSize
    self.progress = progress
  }

  func run(_ file: InputFile) throws {
    do {
      try forEachBatch(LineReader(file), parse: parse) { batch in
        try putFirst(batch)
        committed += batch.count
        progress.show("\(committed) lines")
      }
      try forEachBatch(try waiting.reader(), parse: parseWaiting) { batch in
        try putWaiting(batch)
        progress.show("\(committed) lines; references and links to later lines")
      }
    } catch let error as LineFailure {
      progress.end()
      throw Failure(
        ExitStatus(of: error.reason),
        "line \(error.number): \(Failure.message(of: error.reason)); \(count(committed, "line")) committed")
    } catch {
      progress.end()
      throw Failure(ExitStatus(of: error), "\(Failure.message(of: error)); \(count(committed, "line")) committed")
    }
  }

  private func forEachBatch(
    _ reader: LineReader, parse: (LineReader.Line) throws -> Entry, _ body: ([Entry]) throws -> Void
  ) throws {
    var reader = reader
    var batch: [Entry] = []
    var byteCount = 0
    while let line = try reader.next() {
      guard !line.isBlank else { continue }
      batch.append(try parse(line))
      byteCount += line.bytes.count
      if batch.count >= batchSize || byteCount >= Self.batchBytes {
        try body(batch)
        batch = []
        byteCount = 0
      }
    }
    if !batch.isEmpty { try body(batch) }
  }

  // MARK: The lines of the file

  private func parse(_ line: LineReader.Line) throws -> Entry {
    try at(line.number) {
      guard !line.isTooLong else { throw Failure(.badData, "longer than \(LineReader.limit) bytes") }
      return Entry(
        number: line.number, record: try RecordInput(json: JSONParser.parse(line.bytes), schema: schema))
    }
  }

  /// Puts what can be put; the rest waits. Within the batch the order does not matter.
  private func putFirst(_ batch: [Entry]) throws {
    let names = Set(batch.map(\.record.name))
    var later: [Entry] = []
    try store.write { db in
      var linked: [Entry] = []
      for entry in batch {
        try at(entry.number) {
          let (now, rest) = try split(entry.record, names, in: db)
          try schema.put(now.name, now.fields, in: db)
          if !now.links.isEmpty { linked.append(Entry(number: entry.number, record: now)) }
          if !rest.isEmpty { later.append(Entry(number: entry.number, record: rest)) }
        }
      }
      for entry in linked { try at(entry.number) { try entry.record.putLinks(schema, in: db) } }
    }
    for entry in later { try wait(entry) }
  }

  /// Divides a record into what can be put now and what names records that are not there.
  private func split(
    _ record: RecordInput, _ names: Set<AnyRecordName>, in db: Database
  ) throws -> (now: RecordInput, later: RecordInput) {
    var now = record
    var later = RecordInput(record.name)
    for reference in try schema.entity(of: record.name).references {
      guard case .text(let text)? = record.fields[reference.name] else { continue }
      let target = try recordName(text)
      if try !names.contains(target) && !isThere(target, in: db) {
        later.fields[reference.name] = now.fields.removeValue(forKey: reference.name)
      }
    }
    now.links = []
    for link in record.links {
      if try names.contains(link.target) || isThere(link.target, in: db) {
        now.links.append(link)
      } else {
        later.links.append(link)
      }
    }
    return (now, later)
  }

  private func isThere(_ name: AnyRecordName, in db: Database) throws -> Bool {
    let entity = try schema.entity(of: name)
    let query = try db.cachedStatement(sql: "SELECT EXISTS(SELECT 1 FROM \"\(entity.type)\" WHERE id = ?)")
    return try Bool.fetchOne(query, arguments: [name.text]) ?? false
  }

  // MARK: What had to wait

  private func wait(_ entry: Entry) throws {
    let json = try entry.record.json(try schema.entity(of: entry.record.name))
    try waiting.append("\(entry.number) \(json.text)")
  }

  private func parseWaiting(_ line: LineReader.Line) throws -> Entry {
    let parts = line.bytes.split(separator: 0x20, maxSplits: 1)
    guard parts.count == 2, let number = Int(String(decoding: parts[0], as: UTF8.self)) else {
      throw Failure(.software, "the waiting lines are not readable")
    }
    return Entry(number: number, record: try RecordInput(json: JSONParser.parse(Array(parts[1])), schema: schema))
  }

  private func putWaiting(_ batch: [Entry]) throws {
    try store.write { db in
      for entry in batch {
        try at(entry.number) {
          let (_, missing) = try split(entry.record, [], in: db)
          let targets = missing.fields.values.map { if case .text(let text) = $0 { text } else { "" } }
          if let target = (targets + missing.links.map(\.target.text)).min() {
            throw StoreError(.danglingReference, "\(entry.record.name) refers to \(target), which is not there")
          }
          try entry.record.put(schema, in: db)
        }
      }
    }
  }

  private func at<T>(_ number: Int, _ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch let error as LineFailure {
      throw error
    } catch {
      throw LineFailure(number: number, reason: error)
    }
  }
}

/// An error and the line that it is about.
private struct LineFailure: Error {
  var number: Int
  var reason: any Error
}
