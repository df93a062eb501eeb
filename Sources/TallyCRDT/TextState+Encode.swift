/// The bytes of a text's state. Columns of numbers, then the characters:
///
/// 1. a number of flags: 1 if the latest edit has a stamp here, 2 if that travels by another dot, 4 if anything else
///    does; the stamp (rank, time, replica, sequence), and the dot
/// 2. the number of runs; each that is known, and each that one hangs at, ascending by replica, sequence and number
/// 3. for each run the replica, less that of the one before; the sequence, within a replica less that of the one
///    before; the number, signed, within a replica less that of the one before
/// 4. for each run the number of its pieces; for each that has any 0 if it stands by itself, or else its place less
///    that of its parent, signed; for each that hangs the parent's offset and, in the lowest bit, the side; for each
///    insert or base that stands by itself the rank and the time of its stamp, whose dot is that of the run
/// 5. for each piece the gap before it; for each the length and, in the lowest bit, the step; for each the sequence,
///    signed, less that of the run or of the last element before it
/// 6. for each run the number of deleted rows; for each of these the gap; for each three times the length plus the step
///    and one; for each the replica; for each the sequence, signed, less that of the row before
/// 7. if flag 4 is set, for each piece and each deleted row 0, or 1 and a replica, and a sequence: the dot that it
///    travels by
/// 8. as UTF-8 the characters that are not deleted, in the order of runs and offsets
///
/// Rows are the longest that there are, so that equal states have equal bytes.
extension TextState {
  /// The replicas that the state names, ascending.
  package var replicas: [ReplicaID] {
    var replicas = Set<ReplicaID>()
    for dot in [latest?.dot, latestVia] { if let dot { replicas.insert(dot.replica) } }
    for run in runs {
      replicas.insert(run.id.dot.replica)
      if let parent = run.origin?.parent { replicas.insert(parent.run.dot.replica) }
      for stretch in run.stretches {
        if let via = stretch.written?.via { replicas.insert(via.replica) }
        if let deleted = stretch.deleted { replicas.insert(deleted.replica) }
        if let via = stretch.deleted?.via { replicas.insert(via.replica) }
      }
    }
    return replicas.sorted()
  }

  /// Writes the state as bytes, which `init(_:limits:)` reads. Equal states have equal bytes.
  /// - Parameter replicas: the replicas by number, each once; all that the state names are among them.
  /// - Returns: the bytes, not compressed.
  package func encoded(replicas: [ReplicaID]) -> [UInt8] {
    var encoder = Encoder(replicas)
    encoder.putHead(self)
    let names = encoder.names(self)
    encoder.putRuns(names, self)
    return encoder.bytes()
  }

  private struct Encoder {
    private var numbers: [ReplicaID: UInt64] = [:]
    private var columns = [TextColumn](repeating: TextColumn(), count: Column.allCases.count)
    private var characters: [UInt8] = []
    private var hasVias = false

    private enum Column: Int, CaseIterable {
      case head, replica, sequence, number, pieces, parent, offset, stamp
      case gap, length, written, deletions, deletedGap, deletedLength, deleter, deleted, via
    }

    init(_ replicas: [ReplicaID]) {
      for (number, replica) in replicas.enumerated() { numbers[replica] = UInt64(number) }
      precondition(numbers.count == replicas.count, "a replica has two numbers")
    }

    private func number(_ replica: ReplicaID) -> UInt64 {
      guard let number = numbers[replica] else { preconditionFailure("a replica has no number") }
      return number
    }

    private mutating func put(_ column: Column, _ number: UInt64) { columns[column.rawValue].put(number) }
    private mutating func put(_ column: Column, signed number: Int64) { columns[column.rawValue].put(signed: number) }

    mutating func putHead(_ state: TextState) {
      hasVias = state.runs.contains { run in
        run.stretches.contains { $0.written?.via != nil || $0.deleted?.via != nil }
      }
      put(.head, (state.latest == nil ? 0 : 1) | (state.latestVia == nil ? 0 : 2) | (hasVias ? 4 : 0))
      if let latest = state.latest {
        put(.head, UInt64(latest.rank.rawValue))
        put(.head, latest.time.milliseconds)
        put(.head, number(latest.dot.replica))
        put(.head, latest.dot.sequence)
      }
      if let via = state.latestVia {
        put(.head, number(via.replica))
        put(.head, via.sequence)
      }
    }

    /// The runs that are written, ascending by the number of their replica.
    func names(_ state: TextState) -> [TextRunID] {
      var names = Set(state.runs.map { $0.id })
      for run in state.runs { if let parent = run.origin?.parent { names.insert(parent.run) } }
      return names.sorted { a, b in
        a.dot.replica != b.dot.replica ? number(a.dot.replica) < number(b.dot.replica) : a < b
      }
    }

    mutating func putRuns(_ names: [TextRunID], _ state: TextState) {
      put(.head, UInt64(names.count))
      var places: [TextRunID: Int] = [:]
      for (place, name) in names.enumerated() { places[name] = place }
      var last: TextRunID?
      var deleted: UInt64 = 0
      for (place, name) in names.enumerated() {
        let (replica, before) = (number(name.dot.replica), last.map { number($0.dot.replica) } ?? 0)
        let previous = last.flatMap { $0.dot.replica == name.dot.replica ? $0 : nil }
        put(.replica, replica - before)
        put(.sequence, name.dot.sequence - (previous?.dot.sequence ?? 0))
        put(.number, signed: Int64(name.number) - Int64(previous?.number ?? 0))
        last = name
        let run = state[name]
        var (pieces, deletions): ([TextColumns.Row], [TextColumns.Row]) = ([], [])
        for stretch in run?.stretches ?? [] {
          let range = stretch.first..<stretch.end
          if let dots = stretch.written { TextColumns.append(dots, range, to: &pieces, within: TextDots.writing) }
          if let dots = stretch.deleted { TextColumns.append(dots, range, to: &deletions, within: TextDots.deleting) }
          characters.append(utf8: stretch.characters)
        }
        put(.pieces, UInt64(pieces.count))
        if let origin = run?.origin { put(origin, at: place, named: name, places) }
        putPieces(pieces, of: name)
        putDeletions(deletions, &deleted)
      }
    }

    private mutating func put(
      _ origin: TextRun.Origin, at place: Int, named name: TextRunID, _ places: [TextRunID: Int]
    ) {
      guard let parent = origin.parent, let other = places[parent.run] else {
        put(.parent, 0)
        if name.hasStamp {
          put(.stamp, UInt64(origin.stamp?.rank.rawValue ?? 0))
          put(.stamp, origin.stamp?.time.milliseconds ?? 0)
        }
        return
      }
      put(.parent, signed: Int64(place - other))
      put(.offset, UInt64(parent.offset) << 1 | UInt64(origin.side.rawValue))
    }

    private mutating func putPieces(_ pieces: [TextColumns.Row], of name: TextRunID) {
      var (end, last) = (UInt32(0), name.dot.sequence)
      for piece in pieces {
        put(.gap, UInt64(piece.first - end))
        put(.length, UInt64(piece.count) << 1 | UInt64(piece.dots.step))
        put(.written, signed: Int64(bitPattern: piece.dots.sequence &- last))
        (end, last) = (piece.end, piece.dots[piece.count - 1].sequence)
        if hasVias { put(via: piece.dots.via) }
      }
    }

    private mutating func putDeletions(_ rows: [TextColumns.Row], _ last: inout UInt64) {
      put(.deletions, UInt64(rows.count))
      var end: UInt32 = 0
      for row in rows {
        put(.deletedGap, UInt64(row.first - end))
        put(.deletedLength, UInt64(row.count) * 3 + UInt64(row.dots.step + 1))
        put(.deleter, number(row.dots.replica))
        put(.deleted, signed: Int64(bitPattern: row.dots.sequence &- last))
        (end, last) = (row.end, row.dots.sequence)
        if hasVias { put(via: row.dots.via) }
      }
    }

    private mutating func put(via: Dot?) {
      guard let via else { return put(.via, 0) }
      put(.via, 1 + number(via.replica))
      put(.via, via.sequence)
    }

    func bytes() -> [UInt8] { columns.flatMap { $0.bytes } + characters }
  }
}
