#if Relay
  import TallyRelayProtocol

  /// The storage of a relay for spaces, their logs, and tokens' rights: `RelayStore` in a file, and with the package
  /// trait `Postgres` `PostgresRelayStore` in a database.
  ///
  /// Each of them assigns positions without gaps in the order of commits, keeps the chain, and returns from a write
  /// when it is durable. Requests throw `RelayProblem`, or an error with the answer for the client
  /// (`RelayStorageFailure`); then nothing was changed, or it is not known whether it was.
  package protocol RelayStorage: Sendable {
    /// The machine's clock, for the log: seconds since 1970.
    var now: @Sendable () -> Int64 { get }
    /// Makes keys and tokens.
    var random: RelayStore.Random { get }
    /// What its owner should know about the file or the database when it begins to be served from.
    var warnings: [String] { get }
    /// Gives back memory that the storage keeps to be faster.
    func releaseMemory()
    /// The number of transactions that were committed, and the number of writes that they held.
    var commitCounts: (commits: Int, writes: Int) { get async }

    // MARK: Tokens

    /// The clock by which tokens expire: seconds since 1970.
    func time() async throws -> Int64
    /// Makes a token, and a space if there is to be a new one.
    func makeToken(space: String?, role: RelayRole, quota: Int64?, expires: Int64?) async throws -> RelayStore.NewToken
    /// All tokens, oldest first.
    func tokens() async throws -> [RelayStore.TokenInfo]
    /// Revokes a token, named by the beginning of its hash. Once this has returned, nothing more is put with it.
    func revoke(_ id: String) async throws
    /// A token, by its hash, with its space, whatever its state; nil if nobody has made it.
    func bearer(hash: [UInt8]) async throws -> RelayStore.Bearer?

    // MARK: Reading

    /// Whether it can be read.
    func check() async throws
    /// A space's numbers.
    func space(_ number: Int64) async throws -> SpaceRow
    /// A page of a space's log, of at most so many frames and bytes, but for the first frame; from the beginning if the
    /// cursor is nil or unknown.
    func page(of space: Int64, after cursor: RelayCursor?, limit: Int, bytes: Int) async throws -> RelayPage
    /// Whether there may be something after a cursor.
    func hasNews(in space: Int64, after cursor: RelayCursor?) async throws -> Bool
    /// An entry that is there.
    func entry(_ name: String, in space: Int64) async throws -> RelayStore.EntryRow
    /// What there is under some names, in their order: the contents of small entries, as long as they have no more than
    /// so many bytes together, but for the first.
    func contents(of names: [String], in space: Int64, bytes: Int) async throws -> [RelayStore.Content]
    /// The bytes of the large entry at a position from an offset on, as many as are at hand.
    func bytes(of name: String, in space: Int64, at position: Int64, from offset: Int) async throws -> [UInt8]
    /// Returns the progress of an upload; all of it if the entry is there.
    func upload(_ name: String, in space: Int64) async throws -> RelayStore.Upload

    // MARK: Writing

    /// Puts and removes entries, one after the other in one transaction. One that is refused has changed nothing, and
    /// the others are done all the same; making them again changes nothing. If nothing but what is put here has come
    /// after the cursor, the last put has another.
    /// - Throws: `RelayProblem` if the writer's token does not permit it any more, and nothing was done.
    func write(_ writes: [RelayWrites.Write], by writer: RelayWriter, after cursor: RelayCursor?) async throws
      -> [RelayStore.Outcome]
    /// Takes a piece of an upload; the last makes it an entry.
    func put(
      piece: [UInt8], at offset: Int, of length: Int, _ name: String, by writer: RelayWriter, after cursor: RelayCursor?
    ) async throws -> RelayStore.Piece

    // MARK: Deleted spaces

    /// Deletes a space: from now on it looks as if it had never been. Its rows stay until they are removed.
    /// - Throws: `RelayStoreError` if there is no such space, or it is deleted already.
    func deleteSpace(_ id: String) async throws
    /// Takes a deletion back; does nothing to a space that is not deleted.
    /// - Throws: `RelayStoreError` if there is no such space, or its rows are being removed already.
    func restoreSpace(_ id: String) async throws
    /// Those of the spaces that are deleted or not there.
    func missing(among spaces: [Int64]) async throws -> [Int64]
    /// Removes a bounded number of rows, of a large content that was removed, of uploads that have expired, or of a
    /// space that was deleted at least so many seconds ago, in a transaction of its own; the space's own row comes
    /// last. With nil, only what is being removed already.
    /// - Returns: whether there was something to remove, so that there may be more.
    func removeSlice(deletedFor seconds: Int64?) async throws -> Bool

    // MARK: For the owner

    /// All spaces, the oldest first.
    func spaces() async throws -> [RelayStore.SpaceInfo]
    /// Sums over all spaces, and what they take.
    func figures() async throws -> StorageFigures
    /// Keeps a file from growing beyond so many bytes.
    /// - Throws: `RelayStoreError` with `.refused` for a database.
    func limitFile(to bytes: Int64) async throws

    // MARK: Others

    /// Tells from now on of what others append. What this process appends is announced by whoever appends it.
    /// - Parameters:
    ///   - watched: the spaces that somebody waits for.
    ///   - announce: called with a space that may have something new.
    func follow(watched: @escaping @Sendable () -> [Int64], announce: @escaping @Sendable (Int64) -> Void)
    /// Waits until nobody reads or writes, and lets go of the file or the database.
    func close() throws
  }

  // What a storage must do has no defaults here: one that passes on to another would be taken to do what it leaves out.
  extension RelayStorage {
    /// A page as large as one may be.
    package func page(of space: Int64, after cursor: RelayCursor?, limit: Int) async throws -> RelayPage {
      try await page(of: space, after: cursor, limit: limit, bytes: RelayLimits.pageBytes)
    }
  }

  /// An error of a storage that knows what it is to whoever has asked.
  package protocol RelayStorageFailure: Error {
    /// The problem to answer with.
    var problem: RelayProblem { get }
    /// The message for the owner's log; nothing secret.
    var fault: String { get }
  }

  extension RelayStore: RelayStorage {
    package var commitCounts: (commits: Int, writes: Int) {
      get async { commits.counts }
    }

    package func time() async throws -> Int64 { now() }

    package func releaseMemory() { pool.releaseMemoryEventually() }

    /// One process serves from a file: nobody else appends.
    package func follow(
      watched: @escaping @Sendable () -> [Int64], announce: @escaping @Sendable (Int64) -> Void
    ) {}
  }
#endif
