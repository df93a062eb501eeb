#if Postgres
  import TallyRelayProtocol

  /// The combined effect of several writes on what is there: decided in memory, while the spaces' rows are locked, and
  /// then saved in few statements. The rules are those of `RelayStore`.
  struct PostgresGroup {
    /// An entry that is there.
    struct Entry {
      let position: Int64
      let size: Int64
    }

    /// An upload that is not at its end.
    struct Upload: Equatable {
      var received: Int64
      var length: Int64
      var expires: Int64
      /// Its bytes, if all of it will be small enough for a row.
      var staged: [UInt8] = []
    }

    /// A row of `entry` that is new.
    struct NewRow {
      let space: Int64
      var row: LogRow
    }

    /// The changes to `chunk` and `removed`, in this order.
    enum ChunkChange {
      case drop(EntryKey)
      case insert(EntryKey, start: Int, bytes: [UInt8])
      /// Leaves all to the sweeper.
      case leave(EntryKey)
      /// Nothing is left to the sweeper any more.
      case forget(EntryKey)
    }

    /// The rows of a name in `chunk`.
    struct Chunks {
      /// The most rows that are dropped at once; more are left to the sweeper.
      static let mostDropped = RemovalSlice.mostBytes / RelayStore.chunkBytes
      /// How many there are; more than may be dropped are not counted.
      var count: Int
      /// Whether they are left to the sweeper.
      var isLeft: Bool
    }

    /// The database's time.
    let time: Int64
    private(set) var spaces: [Int64: SpaceRow]
    private var entries: [EntryKey: Entry]
    private(set) var uploads: [EntryKey: Upload]
    private var chunks: [EntryKey: Chunks]
    /// The tokens of those who write, by their hashes.
    private let tokens: [[UInt8]: RelayWriter.Found]

    private(set) var changedSpaces: Set<Int64> = []
    private(set) var changedUploads: Set<EntryKey> = []
    private(set) var newRows: [NewRow] = []
    /// The places of entries that have gone and were there before.
    private(set) var stubs: [(space: Int64, position: Int64)] = []
    private(set) var chunkChanges: [ChunkChange] = []
    /// Which new row has a position.
    private var newIndices: [EntryKey: Int] = [:]
    /// The quota of a space without one of its own, for the request that is done.
    private var quota: Int64?

    init(
      time: Int64, spaces: [Int64: SpaceRow], entries: [EntryKey: Entry], uploads: [EntryKey: Upload],
      chunks: [EntryKey: Chunks], tokens: [[UInt8]: RelayWriter.Found] = [:]
    ) {
      (self.time, self.spaces, self.entries, self.uploads) = (time, spaces, entries, uploads)
      (self.chunks, self.tokens) = (chunks, tokens)
    }

    /// The positions of the logs that have something new.
    var heads: [Int64: Int64] {
      newRows.reduce(into: [:]) { heads, new in heads[new.space] = max(heads[new.space] ?? 0, new.row.position) }
    }

    /// Does what a request asks for, if its token permits it.
    mutating func run(_ request: PostgresRequest) -> PostgresRequest.Outcome {
      do throws(RelayProblem) {
        try request.writer.check(request.writer.token.flatMap { tokens[$0] }, time)
        _ = try space(request.writer.space)
      } catch {
        return .failure(error)
      }
      quota = request.writer.quota
      // Where a write of the request has left the log, if nothing else has come after the cursor that it was made with.
      var own: RelayCursor?
      return .success(
        request.writes.map { write -> PostgresWrite.Result in
          do throws(RelayProblem) {
            let outcome = try run(own.map(write.after) ?? write)
            if case .put(let put) = outcome, !put.isKnown { own = put.cursor }
            return .success(outcome)
          } catch {
            return .failure(error)
          }
        })
    }

    /// Does a write.
    /// - Throws: what is wrong with it; then it has changed nothing, but that it may have dropped an upload whose bytes
    ///   are in its way.
    mutating func run(_ write: PostgresWrite) throws(RelayProblem) -> PostgresWrite.Outcome {
      _ = try space(write.key.space)
      return switch write {
      case .put(let key, let body, let cursor): .put(try put(key, body, cursor))
      case .piece(let key, let piece, let offset, let length, let cursor):
        .piece(try put(key, piece, offset, length, cursor))
      case .remove(let key): .removed(try remove(key))
      }
    }

    /// Drops uploads that were left alone; the sweeper removes their bytes.
    mutating func dropExpired(_ keys: Set<EntryKey>) {
      for key in keys.sorted(by: { ($0.space, $0.name) < ($1.space, $1.name) })
      where uploads[key].map({ $0.expires <= time }) ?? false {
        chunks[key, default: Chunks(count: 0, isLeft: false)].count = .max
        dropUpload(key)
      }
    }

    private mutating func put(_ key: EntryKey, _ body: [UInt8], _ cursor: RelayCursor?) throws(RelayProblem)
      -> RelayStore.Put
    {
      if let known = entries[key] { return RelayStore.Put(isKnown: true, position: known.position, cursor: nil) }
      let staged = uploads[key]?.received ?? 0
      try check(key.space, growsBy: Int64(body.count) + RelayStore.overhead - staged)
      dropUpload(key)
      let isInline = body.count <= RelayStore.inlineBytes
      if !isInline {
        try clearPlace(key)
        insertChunks(key, body, from: 0)
      }
      return append(key, body.count, isInline ? body : nil, growth: Int64(body.count), cursor)
    }

    private mutating func put(
      _ key: EntryKey, _ piece: [UInt8], _ offset: Int, _ length: Int, _ cursor: RelayCursor?
    ) throws(RelayProblem) -> RelayStore.Piece {
      if let known = entries[key] {
        return .put(RelayStore.Put(isKnown: true, position: known.position, cursor: nil))
      }
      let there = uploads[key].flatMap { $0.expires > time ? $0 : nil }
      // A piece at offset 0 replaces one of another length.
      let continued = there?.length == Int64(length) ? there : nil
      let received = Int(continued?.received ?? 0)
      guard offset == received, !piece.isEmpty || length == 0 else { return .elsewhere(received) }
      let rest = Int64(length - received) + RelayStore.overhead
      let staged = continued == nil ? uploads[key]?.received ?? 0 : 0
      try check(key.space, growsBy: rest - staged)
      if continued == nil {
        dropUpload(key)
        try clearPlace(key)
      }
      var upload = continued ?? Upload(received: 0, length: Int64(length), expires: 0)
      insertChunks(key, piece, from: offset)
      grow(key.space, by: Int64(piece.count))
      upload.received += Int64(piece.count)
      upload.expires = time + RelayStore.uploadSeconds
      if length <= RelayStore.inlineBytes { upload.staged += piece }
      changedUploads.insert(key)
      guard upload.received == upload.length else {
        uploads[key] = upload
        return .taken(Int(upload.received))
      }
      uploads[key] = nil
      let isInline = length <= RelayStore.inlineBytes
      if isInline { dropChunks(key) }
      return .put(append(key, length, isInline ? upload.staged : nil, growth: 0, cursor))
    }

    private mutating func remove(_ key: EntryKey) throws(RelayProblem) -> Bool {
      guard let known = entries.removeValue(forKey: key) else { return false }
      let space = try space(key.space)
      if let index = newIndices.removeValue(forKey: key) {
        let row = newRows[index].row
        newRows[index].row = LogRow(
          position: row.position, kind: EntryKind.stub, name: row.name, chain: row.chain, size: row.size, body: nil)
      } else {
        stubs.append((key.space, known.position))
      }
      if known.size > RelayStore.inlineBytes { dropChunks(key) }
      let chain = RelayChain.next(space.chain, removal: key.name)
      add(key, EntryKind.removal, chain, 0, nil, entries: -1, bytes: RelayStore.overhead - known.size)
      return true
    }

    // MARK: Steps

    private func space(_ number: Int64) throws(RelayProblem) -> SpaceRow {
      try SpaceRow.live(spaces[number])
    }

    private func check(_ space: Int64, growsBy bytes: Int64) throws(RelayProblem) {
      try RelayStore.check(try self.space(space).limited(to: quota), growsBy: bytes)
    }

    /// Appends an entry. The space has `growth` bytes more then, beside the place in the log.
    private mutating func append(
      _ key: EntryKey, _ size: Int, _ body: [UInt8]?, growth: Int64, _ cursor: RelayCursor?
    ) -> RelayStore.Put {
      guard let space = spaces[key.space] else { preconditionFailure("a space that is not there was looked at") }
      let chain = RelayChain.next(space.chain, entry: key.name)
      let isNext = cursor != nil && cursor == space.cursor
      add(key, EntryKind.entry, chain, size, body, entries: 1, bytes: growth + RelayStore.overhead)
      let position = space.head + 1
      newIndices[key] = newRows.count - 1
      entries[key] = Entry(position: position, size: Int64(size))
      return RelayStore.Put(
        isKnown: false, position: position,
        cursor: isNext ? RelayCursor(position: UInt64(position), chain: chain) : nil)
    }

    /// A row at the end of the log.
    private mutating func add(
      _ key: EntryKey, _ kind: Int, _ chain: [UInt8], _ size: Int, _ body: [UInt8]?, entries: Int, bytes: Int64
    ) {
      guard var space = spaces[key.space] else { preconditionFailure("a space that is not there was looked at") }
      (space.head, space.chain) = (space.head + 1, chain)
      space.entries += entries
      space.bytes += bytes
      spaces[key.space] = space
      changedSpaces.insert(key.space)
      newRows.append(
        NewRow(
          space: key.space,
          row: LogRow(position: space.head, kind: kind, name: key.name, chain: chain, size: size, body: body)))
    }

    private mutating func grow(_ space: Int64, by bytes: Int64) {
      spaces[space]?.bytes += bytes
      changedSpaces.insert(space)
    }

    private mutating func dropUpload(_ key: EntryKey) {
      guard let upload = uploads.removeValue(forKey: key) else { return }
      changedUploads.insert(key)
      dropChunks(key)
      grow(key.space, by: -upload.received)
    }

    /// Drops the bytes of a name, or leaves them to the sweeper if there are many: others wait.
    private mutating func dropChunks(_ key: EntryKey) {
      guard let there = chunks[key], there.count > Chunks.mostDropped else {
        chunks[key] = nil
        return chunkChanges.append(.drop(key))
      }
      chunks[key]?.isLeft = true
      chunkChanges.append(.leave(key))
    }

    /// Sees to it that other bytes can stand under a name.
    /// - Throws: `RelayProblem` if many are left there to the sweeper.
    private mutating func clearPlace(_ key: EntryKey) throws(RelayProblem) {
      guard let there = chunks[key], there.isLeft else { return }
      guard there.count <= Chunks.mostDropped else { throw RelayStore.stillThere }
      chunks[key] = nil
      // In this order: whoever sweeps has locked the row of `removed`.
      chunkChanges += [.forget(key), .drop(key)]
    }

    private mutating func insertChunks(_ key: EntryKey, _ bytes: [UInt8], from offset: Int) {
      for start in stride(from: 0, to: bytes.count, by: RelayStore.chunkBytes) {
        let chunk = Array(bytes[start..<min(start + RelayStore.chunkBytes, bytes.count)])
        chunkChanges.append(.insert(key, start: offset + start, bytes: chunk))
        chunks[key, default: Chunks(count: 0, isLeft: false)].count += 1
      }
    }
  }
#endif
