/// Reads a text's state from its bytes, column beside column. Beside what it makes it keeps the names of the runs and a
/// bit for each, and of each replica what its latest row had.
struct TextDecoder {
  private let limits: [Dot]
  private var reader: TextReader
  private var names: [TextRunID] = []
  private var characters: [Unicode.Scalar] = []
  /// How many of the characters belong to what has been made.
  private var used: UInt32 = 0
  private var hasVias = false
  private var isViaNeeded = false
  /// Of each replica the source of its latest row.
  private var sources: [Int: TextDots.Source] = [:]

  init(_ bytes: [UInt8], limits: [Dot]) { (reader, self.limits) = (TextReader(bytes), limits) }

  mutating func state() throws(TextCodingError) -> TextState {
    let flags = try reader.number()
    guard flags < 8, flags & 3 != 2 else { throw .unknownFlag }
    var (latest, via): (Stamp?, Dot?)
    if flags & 1 != 0 {
      let (rank, time) = try rankAndTime(&reader)
      latest = Stamp(rank: rank, time: time, dot: try dot(&reader))
    }
    if flags & 2 != 0 {
      via = try dot(&reader)
      guard via != latest?.dot else { throw .needlessVia }
    }
    hasVias = flags & 4 != 0
    return TextState(latest: latest, latestVia: via, runs: try runs())
  }

  // MARK: Numbers

  private func replica(_ reader: inout TextReader) throws(TextCodingError) -> Int {
    let number = try reader.number()
    guard number < UInt64(limits.count) else { throw .unknownReplica }
    return Int(number)
  }

  private func dot(of replica: Int, _ sequence: UInt64) throws(TextCodingError) -> Dot {
    guard sequence > 0, sequence <= limits[replica].sequence else { throw .beyondTarget }
    return Dot(replica: limits[replica].replica, sequence: sequence)
  }

  private func dot(_ reader: inout TextReader) throws(TextCodingError) -> Dot {
    let replica = try replica(&reader)
    return try dot(of: replica, try reader.number())
  }

  private func rankAndTime(_ reader: inout TextReader) throws(TextCodingError) -> (Rank, HybridTime) {
    let (rank, time) = (try reader.number(), try reader.number())
    guard rank <= UInt64(UInt8.max), time <= HybridTime.maximum else { throw .time }
    return (Rank(rawValue: UInt8(rank)), HybridTime(milliseconds: time))
  }

  // MARK: Runs

  private mutating func runs() throws(TextCodingError) -> [TextRun] {
    var (replicas, pieceCounts, total) = try readNames()
    // Where each column begins follows from the ones before it.
    var (counts, parents) = (pieceCounts, reader)
    var (hanging, stamped) = (0, 0)
    var isParent = [Bool](repeating: false, count: names.count)
    for index in names.indices where try counts.number() > 0 {
      if let parent = try parent(of: index, &reader) {
        isParent[parent] = true
        hanging += 1
      } else if names[index].hasStamp {
        stamped += 1
      }
    }
    var offsets = try reader.column(of: hanging)
    var stamps = try reader.column(of: 2 * stamped)
    var pieces = TextRowReader(steps: TextDots.writing, reader)
    (pieces.gaps, pieces.lengths) = (try reader.column(of: total), try reader.column(of: total))
    pieces.sequences = try reader.column(of: total)
    var deletionCounts = reader
    let (deletedTotal, known) = try readDeletionCounts(pieceCounts, isParent)
    var deletions = TextRowReader(steps: TextDots.deleting, reader)
    (deletions.gaps, deletions.lengths) = (try reader.column(of: deletedTotal), try reader.column(of: deletedTotal))
    deletions.replicas = try reader.column(of: deletedTotal)
    deletions.sequences = try reader.column(of: deletedTotal)
    var vias = reader
    if hasVias { try skipVias(of: total + deletedTotal, &reader) }
    characters = try reader.characters()

    var runs: [TextRun] = []
    runs.reserveCapacity(known)
    var replica = 0
    for index in names.indices {
      let (pieceCount, deletionCount) = (Int(try pieceCounts.number()), Int(try deletionCounts.number()))
      replica += Int(try replicas.number())
      var origin: TextRun.Origin?
      if pieceCount > 0 { origin = try self.origin(of: index, &parents, &offsets, &stamps) }
      guard pieceCount + deletionCount > 0 else { continue }
      pieces.begin(pieceCount, of: replica, from: names[index].dot.sequence, vias)
      if hasVias { try skipVias(of: pieceCount, &vias) }
      deletions.begin(deletionCount, vias)
      if hasVias { try skipVias(of: deletionCount, &vias) }
      runs.append(TextRun(id: names[index], origin: origin, stretches: try stretches(&pieces, &deletions)))
    }
    guard !hasVias || isViaNeeded else { throw .unknownFlag }
    guard Int(used) == characters.count else { throw .bytesBehind }
    // Other lists of replicas than sorted ones have runs in another order.
    if !zip(runs, runs.dropFirst()).allSatisfy({ $0.id < $1.id }) { runs.sort { $0.id < $1.id } }
    return runs
  }

  /// Reads the names of the runs. Returns where their replicas and their numbers of pieces begin, and how many pieces
  /// there are.
  private mutating func readNames() throws(TextCodingError) -> (TextReader, TextReader, Int) {
    let count = try reader.count(ofBytes: 5)
    let start = try reader.column(of: count)
    var (replicas, sequences, numbers) = (start, try reader.column(of: count), try reader.column(of: count))
    let pieceCounts = reader
    var total = 0
    for _ in 0..<count {
      total += try reader.count(ofBytes: 3)
      guard total <= reader.remaining / 3 else { throw .tooMany }
    }
    names.reserveCapacity(count)
    var (replica, last): (UInt64, TextRunID?) = (0, nil)
    for _ in 0..<count {
      let more = try replicas.number()
      let (sum, isTooLarge) = replica.addingReportingOverflow(more)
      guard !isTooLarge, sum < UInt64(limits.count) else { throw .unknownReplica }
      replica = sum
      if more > 0 { last = nil }
      let (sequence, isTooFar) = (last?.dot.sequence ?? 0).addingReportingOverflow(try sequences.number())
      guard !isTooFar else { throw .beyondTarget }
      let dot = try dot(of: Int(replica), sequence)
      let (number, isTooGreat) = Int64(last?.number ?? 0).addingReportingOverflow(try numbers.signed())
      guard !isTooGreat, number >= 0, number <= Int64(TextRunID.base) else { throw .runOrder }
      let id = TextRunID(dot: dot, number: UInt64(number))
      if let last, id <= last { throw .runOrder }
      names.append(id)
      last = id
    }
    return (start, pieceCounts, total)
  }

  /// The place of the run that a run hangs at; nil if it stands by itself. None hangs at itself: that would be 0.
  private func parent(of index: Int, _ reader: inout TextReader) throws(TextCodingError) -> Int? {
    let difference = try reader.signed()
    guard difference != 0 else { return nil }
    let (other, isTooLarge) = Int64(index).subtractingReportingOverflow(difference)
    guard !isTooLarge, other >= 0, other < Int64(names.count) else { throw .unknownParent }
    return Int(other)
  }

  private func origin(
    of index: Int, _ parents: inout TextReader, _ offsets: inout TextReader, _ stamps: inout TextReader
  ) throws(TextCodingError) -> TextRun.Origin {
    if let parent = try parent(of: index, &parents) {
      let number = try offsets.number()
      guard number >> 1 < UInt64(TextStretch.limit) else { throw .range }
      let element = TextElement(run: names[parent], offset: UInt32(number >> 1))
      return .init(number & 1 == 0 ? .left : .right, of: element)
    }
    guard names[index].hasStamp else { return .init(stamp: nil) }
    let (rank, time) = try rankAndTime(&stamps)
    return .init(stamp: Stamp(rank: rank, time: time, dot: names[index].dot))
  }

  /// Returns how many deleted rows there are, and of how many runs anything is known.
  private mutating func readDeletionCounts(
    _ pieceCounts: TextReader, _ isParent: [Bool]
  ) throws(TextCodingError) -> (total: Int, known: Int) {
    var (pieceCounts, total, known) = (pieceCounts, 0, 0)
    for index in names.indices {
      let count = try reader.count(ofBytes: 4)
      total += count
      guard total <= reader.remaining / 4 else { throw .tooMany }
      let isKnown = try pieceCounts.number() > 0 || count > 0
      guard isKnown || isParent[index] else { throw .unusedRun }
      if isKnown { known += 1 }
    }
    return (total, known)
  }

  // MARK: Rows

  private func skipVias(of count: Int, _ reader: inout TextReader) throws(TextCodingError) {
    for _ in 0..<count where try reader.number() > 0 { _ = try reader.number() }
  }

  /// The stretches of a run, as many as its rows make: what was written and what was deleted put together.
  private mutating func stretches(
    _ pieces: inout TextRowReader, _ deletions: inout TextRowReader
  ) throws(TextCodingError) -> [TextStretch] {
    var count = pieces.rest + deletions.rest
    if pieces.rest > 0, deletions.rest > 0 {
      var (others, gone) = (pieces, deletions)
      count = 0
      try forEachPart(&others, &gone) { _, _, _, _ in count += 1 }
    }
    var stretches: [TextStretch] = []
    stretches.reserveCapacity(count)
    let (characters, limit) = (characters, UInt64(characters.count))
    var used = used
    var isTooFar = false
    try forEachPart(&pieces, &deletions) { place, count, written, deleted in
      if let deleted {
        stretches.append(TextStretch(first: place, count: count, written: written, deleted: deleted))
      } else if let written {
        guard UInt64(used) + UInt64(count) <= limit else {
          isTooFar = true
          return
        }
        stretches.append(
          TextStretch(first: place, count: count, written: written, buffer: characters, from: used))
        used += count
      }
    }
    guard !isTooFar else { throw .characters }
    self.used = used
    return stretches
  }

  /// Calls `body` for each part whose elements have the same dots: its place, its length, and the dots.
  private mutating func forEachPart(
    _ pieces: inout TextRowReader, _ deletions: inout TextRowReader,
    _ body: (UInt32, UInt32, TextDots?, TextDots?) -> Void
  ) throws(TextCodingError) {
    try advance(&pieces)
    try advance(&deletions)
    var place: UInt32 = 0
    while pieces.row != nil || deletions.row != nil {
      let (piece, deletion) = (pieces.row, deletions.row)
      place = max(place, min(piece?.first ?? .max, deletion?.first ?? .max))
      var end = UInt32.max
      for row in [piece, deletion] {
        guard let row else { continue }
        end = min(end, row.first > place ? row.first : row.end)
      }
      func part(_ row: TextColumns.Row?) -> TextDots? {
        guard let row, row.first <= place else { return nil }
        return row.dots.part(from: place - row.first, count: end - place)
      }
      body(place, end - place, part(piece), part(deletion))
      place = end
      if let piece, piece.end <= place { try advance(&pieces) }
      if let deletion, deletion.end <= place { try advance(&deletions) }
    }
  }

  /// Reads the next row of a run: so many elements, so far behind the row before, with sequences from so much beyond
  /// another one on.
  private mutating func advance(_ rows: inout TextRowReader) throws(TextCodingError) {
    guard rows.rest > 0 else {
      rows.row = nil
      return
    }
    rows.rest -= 1
    let (limit, gap) = (UInt64(TextStretch.limit), try rows.gaps.number())
    let (count, step) = rows.countAndStep(try rows.lengths.number())
    let replica = if let replica = rows.replica { replica } else { try replica(&rows.replicas) }
    guard count > 0, count <= limit, gap <= limit, UInt64(rows.end) + gap + count <= limit else { throw .range }
    guard count > 1 || step == 0 else { throw .notLongest }
    // Sequences are at most 2^63 - 1.
    let (first, isTooLarge) = Int64(bitPattern: rows.last).addingReportingOverflow(try rows.sequences.signed())
    let (last, isTooFar) = first.addingReportingOverflow(Int64(step) * Int64(count - 1))
    guard !isTooLarge, !isTooFar, first > 0, last > 0, UInt64(max(first, last)) <= limits[replica].sequence else {
      throw .beyondTarget
    }
    var via: Dot?
    if hasVias {
      let number = try rows.vias.number()
      if number > 0 {
        guard number - 1 < UInt64(limits.count) else { throw .unknownReplica }
        via = try dot(of: Int(number - 1), try rows.vias.number())
        isViaNeeded = true
      }
    }
    let dots = TextDots(source(of: replica, via: via), UInt64(first), step: step)
    if let via, dots.contains(via, count: UInt32(count)) { throw .needlessVia }
    let row = TextColumns.Row(first: rows.end + UInt32(gap), count: UInt32(count), dots: dots)
    if let before = rows.row, TextColumns.isTooShort(before, before: row, within: rows.steps) { throw .notLongest }
    (rows.row, rows.end) = (row, row.end)
    rows.last = UInt64(rows.isWritten ? last : first)
  }

  private mutating func source(of replica: Int, via: Dot?) -> TextDots.Source {
    if let known = sources[replica], known.via == via { return known }
    let source = TextDots.Source(limits[replica].replica, via: via)
    sources[replica] = source
    return source
  }
}

/// The rows of one kind, as they are read: those that were written, or those that were deleted.
private struct TextRowReader {
  let steps: ClosedRange<Int64>
  var gaps, lengths, sequences, replicas, vias: TextReader
  /// The replica of all rows of the run; nil if each row has its own.
  var replica: Int?
  /// How many rows of the run are still to be read.
  var rest = 0
  /// The latest row; nil before the first one and behind the last one.
  var row: TextColumns.Row?
  /// The place behind it.
  var end: UInt32 = 0
  /// The sequence that the next one is told by.
  var last: UInt64 = 0

  init(steps: ClosedRange<Int64>, _ reader: TextReader) {
    self.steps = steps
    (gaps, lengths, sequences, replicas, vias) = (reader, reader, reader, reader, reader)
  }

  var isWritten: Bool { replica != nil }

  /// Begins the rows of a run that one replica has written.
  mutating func begin(_ count: Int, of replica: Int, from sequence: UInt64, _ vias: TextReader) {
    begin(count, vias)
    (self.replica, last) = (replica, sequence)
  }

  mutating func begin(_ count: Int, _ vias: TextReader) {
    (rest, self.vias, row, end) = (count, vias, nil, 0)
  }

  /// The count and the step that a coded length holds: of what was written the lowest bit is the step; of what was
  /// deleted the remainder by three is the step plus one.
  func countAndStep(_ length: UInt64) -> (UInt64, Int8) {
    isWritten ? (length >> 1, Int8(length & 1)) : (length / 3, Int8(length % 3) - 1)
  }
}

extension TextDots {
  /// Whether one of the first `count` elements has a dot.
  fileprivate func contains(_ dot: Dot, count: UInt32) -> Bool {
    guard dot.replica == replica else { return false }
    let last = self[count - 1].sequence
    return dot.sequence >= min(sequence, last) && dot.sequence <= max(sequence, last)
  }
}
