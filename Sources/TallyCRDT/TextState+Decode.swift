/// Reading the bytes of a text's state.
extension TextState {
  /// Reads what `encoded(replicas:)` writes, and nothing else: of each state one form. Every length is checked before
  /// memory is taken. Cost: n log n in what the bytes say.
  /// - Parameters:
  ///   - bytes: a state, from any sender.
  ///   - limits: the replicas by number, each once, with the last transaction of each that the sender has.
  /// - Throws: `TextCodingError`.
  package init(_ bytes: [UInt8], limits: [Dot]) throws(TextCodingError) {
    var decoder = Decoder(bytes: bytes, limits: limits)
    self = try decoder.state()
  }

  /// A run as it is read, part by part.
  private struct Part {
    var id: TextRunID
    /// The number of its replica.
    var replica: Int
    var pieceCount = 0
    var deletionCount = 0
    var parent: Int?
    var origin: TextRun.Origin?
    var pieces: [TextColumns.Row] = []
    var deletions: [TextColumns.Row] = []
    var isParent = false
  }

  private struct Decoder {
    let bytes: [UInt8]
    let limits: [Dot]
    var place = 0
    var parts: [Part] = []
    var hasVias = false

    init(bytes: [UInt8], limits: [Dot]) { (self.bytes, self.limits) = (bytes, limits) }

    private var remaining: Int { bytes.count - place }

    // MARK: Numbers

    private mutating func number() throws(TextCodingError) -> UInt64 {
      var (result, shift): (UInt64, UInt64) = (0, 0)
      while true {
        guard place < bytes.count else { throw .truncated }
        let byte = bytes[place]
        place += 1
        let bits = UInt64(byte & 0x7F)
        guard shift < 63 || shift == 63 && bits <= 1 else { throw .number }
        result |= bits << shift
        if byte & 0x80 == 0 {
          guard byte != 0 || shift == 0 else { throw .number }
          return result
        }
        shift += 7
      }
    }

    private mutating func signed() throws(TextCodingError) -> Int64 {
      let number = try number()
      return Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
    }

    /// A number of things of at least so many bytes each.
    private mutating func count(ofBytes size: Int = 1) throws(TextCodingError) -> Int {
      let number = try number()
      guard number <= UInt64(remaining / size) else { throw .tooMany }
      return Int(number)
    }

    private mutating func replica() throws(TextCodingError) -> Int {
      let number = try number()
      guard number < UInt64(limits.count) else { throw .unknownReplica }
      return Int(number)
    }

    private func dot(_ replica: ReplicaID, _ limit: UInt64, _ sequence: UInt64) throws(TextCodingError) -> Dot {
      guard sequence > 0, sequence <= limit else { throw .beyondTarget }
      return Dot(replica: replica, sequence: sequence)
    }

    private mutating func dot() throws(TextCodingError) -> Dot { try dot(of: replica()) }

    private mutating func dot(of replica: Int) throws(TextCodingError) -> Dot {
      let sequence = try number()
      return try dot(limits[replica].replica, limits[replica].sequence, sequence)
    }

    private mutating func stamp(_ dot: (inout Decoder) throws(TextCodingError) -> Dot) throws(TextCodingError) -> Stamp
    {
      let rank = try number()
      let time = try number()
      guard rank <= UInt64(UInt8.max), time <= HybridTime.maximum else { throw .time }
      return Stamp(
        rank: Rank(rawValue: UInt8(rank)), time: HybridTime(milliseconds: time), dot: try dot(&self))
    }

    // MARK: Columns

    mutating func state() throws(TextCodingError) -> TextState {
      let flags = try number()
      guard flags < 8, flags & 3 != 2 else { throw .unknownFlag }
      var latest: Stamp?
      var via: Dot?
      if flags & 1 != 0 {
        latest = try stamp { (decoder) throws(TextCodingError) in try decoder.dot() }
      }
      if flags & 2 != 0 {
        via = try dot()
        guard via != latest?.dot else { throw .needlessVia }
      }
      hasVias = flags & 4 != 0
      try readNames()
      try readOrigins()
      try readPieces()
      try readDeletions()
      try readVias()
      try check()
      let runs = try runs()
      guard remaining == 0 else { throw .bytesBehind }
      return TextState(latest: latest, latestVia: via, runs: runs)
    }

    private mutating func readNames() throws(TextCodingError) {
      let count = try count(ofBytes: 5)
      var replicas: [Int] = []
      var last: UInt64 = 0
      for _ in 0..<count {
        let (sum, isTooLarge) = last.addingReportingOverflow(try number())
        guard !isTooLarge, sum < UInt64(limits.count) else { throw .unknownReplica }
        replicas.append(Int(sum))
        last = sum
      }
      var dots: [Dot] = []
      for (index, replica) in replicas.enumerated() {
        let before = index > 0 && replicas[index - 1] == replica ? dots[index - 1].sequence : 0
        let (sum, isTooLarge) = before.addingReportingOverflow(try number())
        guard !isTooLarge else { throw .beyondTarget }
        dots.append(try dot(limits[replica].replica, limits[replica].sequence, sum))
      }
      for (index, dot) in dots.enumerated() {
        let before = index > 0 && replicas[index - 1] == replicas[index] ? parts[index - 1].id : nil
        let (sum, isTooLarge) = Int64(before?.number ?? 0).addingReportingOverflow(try signed())
        guard !isTooLarge, sum >= 0, sum <= Int64(TextRunID.base) else { throw .runOrder }
        let id = TextRunID(dot: dot, number: UInt64(sum))
        if let before, id <= before { throw .runOrder }
        parts.append(Part(id: id, replica: replicas[index]))
      }
      var total = 0
      for index in parts.indices {
        parts[index].pieceCount = try self.count(ofBytes: 3)
        total += parts[index].pieceCount
        guard total <= remaining / 3 else { throw .tooMany }
      }
    }

    private mutating func readOrigins() throws(TextCodingError) {
      for index in parts.indices where parts[index].pieceCount > 0 {
        let difference = try signed()
        guard difference != 0 else { continue }
        let (other, isTooLarge) = Int64(index).subtractingReportingOverflow(difference)
        guard !isTooLarge, other >= 0, other < Int64(parts.count) else { throw .unknownParent }
        parts[index].parent = Int(other)
        parts[Int(other)].isParent = true
      }
      for index in parts.indices {
        guard let parent = parts[index].parent else { continue }
        let number = try number()
        guard number >> 1 < UInt64(TextStretch.limit) else { throw .range }
        let element = TextElement(run: parts[parent].id, offset: UInt32(number >> 1))
        parts[index].origin = .init(number & 1 == 0 ? .left : .right, of: element)
      }
      for index in parts.indices where parts[index].pieceCount > 0 && parts[index].parent == nil {
        let id = parts[index].id
        parts[index].origin = .init(stamp: id.hasStamp ? try stamp { _ in id.dot } : nil)
      }
    }

    // MARK: Rows

    private mutating func numbers(_ count: Int) throws(TextCodingError) -> [UInt64] {
      guard count <= remaining else { throw .tooMany }
      var numbers: [UInt64] = []
      numbers.reserveCapacity(count)
      for _ in 0..<count { numbers.append(try number()) }
      return numbers
    }

    /// A row of elements: so many, so far behind the one before, with sequences from so much beyond another one on.
    private func row(
      gap: UInt64, after end: UInt32, count: UInt64, step: Int8, replica: Int, sequence: UInt64, difference: UInt64
    ) throws(TextCodingError) -> TextColumns.Row {
      let limit = UInt64(TextStretch.limit)
      guard count > 0, count <= limit, gap <= limit, UInt64(end) + gap + count <= limit else { throw .range }
      guard count > 1 || step == 0 else { throw .notLongest }
      let moved = Int64(bitPattern: difference >> 1) ^ -Int64(bitPattern: difference & 1)
      // Sequences are at most 2^63 - 1.
      let (first, isTooLarge) = Int64(bitPattern: sequence).addingReportingOverflow(moved)
      let (last, isTooFar) = first.addingReportingOverflow(Int64(step) * Int64(count - 1))
      guard !isTooLarge, !isTooFar, first > 0, last > 0, UInt64(max(first, last)) <= limits[replica].sequence else {
        throw .beyondTarget
      }
      var dots = TextDots(Dot(replica: limits[replica].replica, sequence: UInt64(first)))
      dots.step = step
      return TextColumns.Row(first: end + UInt32(gap), count: UInt32(count), dots: dots)
    }

    private mutating func readPieces() throws(TextCodingError) {
      let total = parts.reduce(0) { $0 + $1.pieceCount }
      let gaps = try numbers(total)
      let lengths = try numbers(total)
      let sequences = try numbers(total)
      var next = 0
      for index in parts.indices {
        var (end, last) = (UInt32(0), parts[index].id.dot.sequence)
        for _ in 0..<parts[index].pieceCount {
          let row = try row(
            gap: gaps[next], after: end, count: lengths[next] >> 1, step: Int8(lengths[next] & 1),
            replica: parts[index].replica, sequence: last, difference: sequences[next])
          parts[index].pieces.append(row)
          (end, last, next) = (row.end, row.dots[row.count - 1].sequence, next + 1)
        }
      }
    }

    private mutating func readDeletions() throws(TextCodingError) {
      var total = 0
      for index in parts.indices {
        parts[index].deletionCount = try count(ofBytes: 4)
        total += parts[index].deletionCount
        guard total <= remaining / 4 else { throw .tooMany }
      }
      let gaps = try numbers(total)
      let lengths = try numbers(total)
      var deleters: [Int] = []
      for _ in 0..<total { deleters.append(try replica()) }
      let sequences = try numbers(total)
      var (last, next): (UInt64, Int) = (0, 0)
      for index in parts.indices {
        var end: UInt32 = 0
        for _ in 0..<parts[index].deletionCount {
          let row = try row(
            gap: gaps[next], after: end, count: lengths[next] / 3, step: Int8(lengths[next] % 3) - 1,
            replica: deleters[next], sequence: last, difference: sequences[next])
          parts[index].deletions.append(row)
          (end, last, next) = (row.end, row.dots.sequence, next + 1)
        }
      }
    }

    private mutating func readVias() throws(TextCodingError) {
      guard hasVias else { return }
      var isNeeded = false
      for index in parts.indices {
        for row in parts[index].pieces.indices {
          parts[index].pieces[row].dots.via = try via(of: parts[index].pieces[row])
          if parts[index].pieces[row].dots.via != nil { isNeeded = true }
        }
        for row in parts[index].deletions.indices {
          parts[index].deletions[row].dots.via = try via(of: parts[index].deletions[row])
          if parts[index].deletions[row].dots.via != nil { isNeeded = true }
        }
      }
      guard isNeeded else { throw .unknownFlag }
    }

    private mutating func via(of row: TextColumns.Row) throws(TextCodingError) -> Dot? {
      let number = try number()
      guard number > 0 else { return nil }
      guard number - 1 < UInt64(limits.count) else { throw .unknownReplica }
      let via = try dot(of: Int(number - 1))
      guard !row.dots.contains(via, count: row.count) else { throw .needlessVia }
      return via
    }

    // MARK: The whole

    /// What the columns say together.
    private func check() throws(TextCodingError) {
      for part in parts {
        guard part.pieceCount + part.deletionCount > 0 || part.isParent else { throw .unusedRun }
        for (row, next) in zip(part.pieces, part.pieces.dropFirst())
        where TextColumns.isTooShort(row, before: next, within: TextDots.writing) { throw .notLongest }
        for (row, next) in zip(part.deletions, part.deletions.dropFirst())
        where TextColumns.isTooShort(row, before: next, within: TextDots.deleting) { throw .notLongest }
      }
      var way = [Int](repeating: -1, count: parts.count)
      for start in parts.indices {
        var next: Int? = start
        while let place = next, way[place] < 0 {
          way[place] = start
          next = parts[place].parent
        }
        if let place = next, way[place] == start { throw .circle }
      }
    }

    /// The runs, ascending by name, with the characters.
    private mutating func runs() throws(TextCodingError) -> [TextRun] {
      var live: UInt64 = 0
      var runs: [TextRun] = []
      for part in parts where part.pieceCount + part.deletionCount > 0 {
        var stretches: [TextStretch] = []
        TextStretch.join(part.pieces, part.deletions, into: &stretches)
        for stretch in stretches where stretch.isLive { live += UInt64(stretch.count) }
        runs.append(TextRun(id: part.id, origin: part.origin, stretches: stretches))
      }
      guard live <= UInt64(remaining) else { throw .characters }
      var (decoder, rest) = (UTF8(), bytes[place...].makeIterator())
      for run in runs.indices {
        for index in runs[run].stretches.indices where runs[run].stretches[index].isLive {
          let count = Int(runs[run].stretches[index].count)
          var characters: [Unicode.Scalar] = []
          characters.reserveCapacity(count)
          while characters.count < count {
            guard case .scalarValue(let character) = decoder.decode(&rest) else { throw .characters }
            characters.append(character)
            place += UTF8.width(character)
          }
          runs[run].stretches[index].characters = characters
        }
      }
      // Other lists of replicas than sorted ones have runs in another order.
      return zip(runs, runs.dropFirst()).allSatisfy { $0.id < $1.id } ? runs : runs.sorted { $0.id < $1.id }
    }
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

extension TextStretch {
  /// Puts together what was written and what was deleted. Stretches that are there have no characters yet.
  fileprivate static func join(
    _ pieces: [TextColumns.Row], _ deletions: [TextColumns.Row], into result: inout [TextStretch]
  ) {
    var (i, j): (Int, Int) = (0, 0)
    var place: UInt32 = 0
    while i < pieces.count || j < deletions.count {
      let piece = i < pieces.count ? pieces[i] : nil
      let deletion = j < deletions.count ? deletions[j] : nil
      place = max(place, min(piece?.first ?? .max, deletion?.first ?? .max))
      var end = UInt32.max
      for bound in [piece?.first, piece?.end, deletion?.first, deletion?.end] {
        if let bound, bound > place { end = min(end, bound) }
      }
      func part(_ row: TextColumns.Row?) -> TextDots? {
        guard let row, row.first <= place, place < row.end else { return nil }
        return row.dots.part(from: place - row.first, count: end - place)
      }
      if let deleted = part(deletion) {
        append(TextStretch(first: place, count: end - place, written: part(piece), deleted: deleted), to: &result)
      } else if let written = part(piece) {
        var stretch = TextStretch(first: place, characters: [], written: written)
        stretch.count = end - place
        append(stretch, to: &result)
      }
      place = end
      if let piece, piece.end <= place { i += 1 }
      if let deletion, deletion.end <= place { j += 1 }
    }
  }
}
