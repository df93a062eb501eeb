import GRDB
import Tally
import TallyStore

/// Puts the lines of a file, batch by batch, and at the end what had to wait for a later line.
final class Importer {
  /// A batch also ends when its lines have this many bytes.
  private static let batchBytes = 16 << 20

  private let store: Store
  private let schema: Schema
  private let lines: RecordLineReader
  private let batchSize: Int
  private let progress: Progress
  private let waiting = LineSpool()
  /// The number of lines that are committed.
  private(set) var committed = 0
  /// How many of them name a record by a UUID in other letters than apps write, which is another record.
  private(set) var unusual = 0

  init(store: Store, schema: Schema, batchSize: Int, progress: Progress) throws {
    self.store = store
    self.schema = schema
    lines = try RecordLineReader(schema)
    self.batchSize = batchSize
    self.progress = progress
  }

  func run(_ file: InputFile) throws {
    defer { progress.end() }
    do {
      try forEachBatch(LineReader(file), parse: lines.record) { batch in
        try putFirst(batch)
        committed += batch.count
        unusual += batch.count { $0.name.inSmallLetters != nil }
        progress.show(file.fractionRead, "\(count(committed, "line")), \(progress.rate(committed)) a second")
      }
      let total = waiting.count
      var done = 0
      try forEachBatch(try waiting.reader(), parse: lines.waiting) { batch in
        try putWaiting(batch)
        done += batch.count
        progress.show(Double(done) / Double(total), "references and links to later lines")
      }
    } catch let error as LineFailure {
      throw Failure(
        ExitStatus(of: error.reason),
        "line \(error.number): \(Failure.message(of: error.reason)); \(count(committed, "line")) committed")
    } catch {
      throw Failure(ExitStatus(of: error), "\(Failure.message(of: error)); \(count(committed, "line")) committed")
    }
  }

  private func forEachBatch(
    _ reader: LineReader, parse: (LineReader.Line) throws -> RecordLine, _ body: ([RecordLine]) throws -> Void
  ) throws {
    var reader = reader
    var batch: [RecordLine] = []
    var byteCount = 0
    while let line = try reader.next() {
      guard !line.isBlank else { continue }
      batch.append(try at(line.number) { try parse(line) })
      byteCount += line.bytes.count
      if batch.count >= batchSize || byteCount >= Self.batchBytes {
        try body(batch)
        batch.removeAll(keepingCapacity: true)
        byteCount = 0
      }
    }
    if !batch.isEmpty { try body(batch) }
  }

  // MARK: The lines of the file

  /// Puts what can be put; the rest waits. Within the batch the order does not matter.
  private func putFirst(_ batch: [RecordLine]) throws {
    let isLinked = lines.tables.contains(where: \.isLinked)
    let names = isLinked ? Set(batch.map(\.name)) : []
    var later: [RecordLine] = []
    try store.write { db in
      let writer = RecordWriter(schema, in: db)
      var linked: [RecordLine] = []
      for line in batch {
        try at(line.number) {
          guard isLinked, !line.links.isEmpty || !lines.tables[line.entity].references.isEmpty else {
            return try writer.put(line.name, line.entity, line.values)
          }
          let (now, rest) = try split(line, writer) { names.contains($0) }
          try writer.put(now.name, now.entity, now.values)
          if !now.links.isEmpty { linked.append(now) }
          if !rest.values.isEmpty || !rest.links.isEmpty { later.append(rest) }
        }
      }
      for line in linked { try at(line.number) { try putLinks(line, writer) } }
    }
    for line in later { try waiting.append(RecordLineReader.waiting(line)) }
  }

  private func putLinks(_ line: RecordLine, _ writer: RecordWriter) throws {
    for link in line.links { try writer.link(line.name, line.entity, link.relationship, to: link.target) }
  }

  /// Divides a record into what can be put now and what names records that are not there. `comes` says whether a record
  /// comes in the same transaction.
  private func split(
    _ line: RecordLine, _ writer: RecordWriter, comes: (AnyRecordName) -> Bool
  ) throws -> (now: RecordLine, later: RecordLine) {
    let table = lines.tables[line.entity]
    var now = RecordLine(number: line.number, name: line.name, entity: line.entity)
    var later = now
    now.values.reserveCapacity(line.values.count)
    for assignment in line.values {
      guard let type = table.references[assignment.column], case .text(let text) = assignment.value else {
        now.values.append(assignment)
        continue
      }
      let target = try recordName(text)
      // A value under a wrong type is not what the column takes, and is refused there.
      let isThere = try !target.hasType(lines.tables[type].entity.type) || comes(target) || writer.isThere(target, type)
      if isThere { now.values.append(assignment) } else { later.values.append(assignment) }
    }
    for link in line.links {
      let type = table.relationships[link.relationship]
      let isThere =
        try !link.target.hasType(lines.tables[type].entity.type) || comes(link.target)
        || writer.isThere(link.target, type)
      if isThere { now.links.append(link) } else { later.links.append(link) }
    }
    return (now, later)
  }

  // MARK: What had to wait

  private func putWaiting(_ batch: [RecordLine]) throws {
    try store.write { db in
      let writer = RecordWriter(schema, in: db)
      for line in batch {
        try at(line.number) {
          let (_, missing) = try split(line, writer) { _ in false }
          let targets = missing.values.map { if case .text(let text) = $0.value { text } else { "" } }
          if let target = (targets + missing.links.map(\.target.text)).min() {
            throw StoreError(.danglingReference, "\(line.name) refers to \(target), which is not there")
          }
          if !line.values.isEmpty { try writer.put(line.name, line.entity, line.values) }
          try putLinks(line, writer)
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
