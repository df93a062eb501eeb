#if Spaces
  /// The records that came before those that they name, in a bounded room. First come the records that a member has
  /// signed and what they name, directly or through others that wait; the rest gives way to them.
  struct EarlyRecords: Sendable {
    private var records: [SpaceDigest: SignedRecord] = [:]
    private var byteCount = 0
    /// The records that wait, by one of those that each lacks.
    private var waiting: [SpaceDigest: [SpaceDigest]] = [:]
    /// What members' records name.
    private var wanted: Set<SpaceDigest> = []
    /// The records that give way.
    private var others: Set<SpaceDigest> = []
    var room: SpaceRoom

    init(_ room: SpaceRoom) { self.room = room }

    var count: Int { records.count }
    var wantedCount: Int { wanted.count }

    func contains(_ id: SpaceDigest) -> Bool { records[id] != nil }

    /// Whether a member's record that waits names a record, also through others.
    func isWanted(_ id: SpaceDigest) -> Bool { wanted.contains(id) }

    /// Adds a record that lacks one of those that it names.
    /// - Returns: the records for which there is no room: others that gave way, or the new one.
    mutating func add(_ record: SignedRecord, lacking parent: SpaceDigest, isMembers: Bool) -> [SpaceDigest] {
      let id = record.record.id
      let comesFirst = isMembers || wanted.contains(id)
      var gone: [SpaceDigest] = []
      while !hasRoom(for: record) {
        guard comesFirst, let other = others.first else { return gone + [id] }
        forget(other)
        gone.append(other)
      }
      records[id] = record
      byteCount += record.bytes.count
      waiting[parent, default: []].append(id)
      if comesFirst { want(record.record.parents) } else { others.insert(id) }
      return gone
    }

    private func hasRoom(for record: SignedRecord) -> Bool {
      records.isEmpty || records.count < room.early && byteCount + record.bytes.count <= room.earlyBytes
    }

    /// Removes the records that lack nothing any more since one is here.
    mutating func take(after id: SpaceDigest, isHere: (SpaceDigest) -> Bool) -> [SignedRecord] {
      wanted.remove(id)
      var ready: [SignedRecord] = []
      for next in waiting.removeValue(forKey: id) ?? [] {
        guard let record = records[next] else { continue }
        if let parent = record.record.parents.first(where: { !isHere($0) }) {
          waiting[parent, default: []].append(next)
        } else {
          forget(next)
          ready.append(record)
        }
      }
      return ready
    }

    private mutating func forget(_ id: SpaceDigest) {
      byteCount -= records.removeValue(forKey: id)?.bytes.count ?? 0
      others.remove(id)
    }

    private mutating func want(_ ids: [SpaceDigest]) {
      var next = ids
      while let id = next.popLast() {
        guard wanted.insert(id).inserted, let record = records[id] else { continue }
        others.remove(id)
        next += record.record.parents
      }
    }
  }
#endif
