#if Relay
  import Foundation
  import GRDB
  import TallyRelayProtocol

  /// The file of a relay: spaces, their logs, and who may do what.
  ///
  /// Every acknowledged write is on the disk: WAL with `synchronous = FULL`. One process serves from a file; others
  /// may make and revoke tokens meanwhile.
  public final class RelayStore: Sendable {
    /// Whether a process serves from the file or only looks after tokens.
    public enum Purpose: Sendable {
      /// Serves, and lets no other process serve.
      case serving
      /// Makes, revokes and lists tokens; deletes and restores spaces.
      case administration
    }

    /// A source of random bytes.
    public typealias Random = @Sendable (_ count: Int) -> [UInt8]

    let pool: DatabasePool
    let commits: FileCommits
    let lookups: BearerLookups
    package let now: @Sendable () -> Int64
    package let random: Random
    let place: RelayFilePlace
    let reserve: RelayReserve
    /// What its owner should know about the file.
    package let warnings: [String]
    private let lock: RelayFileLock?

    /// Opens a relay's file; makes it if it is not there. A process opens a file once at a time: looking at its header
    /// ends the locks that POSIX gives a process.
    /// - Parameters:
    ///   - path: the path of the file; its log and its lock are beside it.
    ///   - purpose: whether the process serves, which one can do at a time, or only looks after tokens and spaces.
    ///   - mayCreate: whether to make the file if it is not there, which is an error otherwise.
    ///   - now: the seconds since 1970.
    ///   - random: makes ids and tokens; must not be guessable.
    /// - Throws: `RelayStoreError`, and `DatabaseError`.
    public init(
      path: String, for purpose: Purpose, mayCreate: Bool = true,
      now: @escaping @Sendable () -> Int64 = RelayStore.systemTime, random: @escaping Random = RelayStore.systemRandom
    ) throws {
      guard mayCreate || access(path, F_OK) == 0 else {
        throw RelayStoreError(.noSuchFile, "there is no file \(path)")
      }
      let isMarked = try Self.checkHeader(path)
      makePrivateFile(path)
      if purpose == .serving { try Self.requireWritable(path) }
      lock = purpose == .serving ? try RelayFileLock(on: path) : nil
      let reserve = RelayReserve(of: path)
      self.reserve = reserve
      do {
        pool = try reserve.whenFull { try Self.open(path, isMarked: isMarked) }
      } catch let error as DatabaseError where [.SQLITE_CANTOPEN, .SQLITE_READONLY].contains(error.resultCode) {
        // SQLite says as much of a disk that is read-only as of a folder that is not there.
        try Self.requireWritable(path)
        throw error
      }
      place = try RelayFilePlace(path)
      commits = FileCommits(pool, path, place, reserve)
      warnings = Self.exposed(path) + (purpose == .serving && !reserve.keep() ? [RelayDiskFull.message(path)] : [])
      lookups = BearerLookups(pool, now)
      (self.now, self.random) = (now, random)
    }

    /// The most bytes that the log beside the file keeps when what it holds is in the file.
    private static let logBytes = 2 * GroupLimits.groupBytes

    /// Opens a file, and brings its tables up to date. Nothing is written unless it has to be, since the disk may be
    /// full.
    private static func open(_ path: String, isMarked: Bool) throws -> DatabasePool {
      var configuration = Configuration()
      configuration.busyMode = .timeout(10)
      configuration.maximumReaderCount = 4
      configuration.label = "relay"
      let pool = try DatabasePool(path: path, configuration: configuration)
      try pool.writeWithoutTransaction { db in
        try RelaySchema.migrate(db)
        // GRDB sets NORMAL for a pool, which may lose the last commits in a power cut.
        try db.execute(sql: "PRAGMA synchronous = FULL; PRAGMA journal_size_limit = \(logBytes)")
        guard !isMarked else { return }
        // A file whose log is lost is a relay's all the same, and the log is there from now on.
        try db.checkpoint(.passive)
        try db.execute(sql: "BEGIN IMMEDIATE; PRAGMA user_version = \(RelaySchema.version); COMMIT")
      }
      return pool
    }

    /// A relay whose file cannot be written would acknowledge nothing and expire nothing; its owner should know that
    /// when it starts, and not from its devices.
    /// - Throws: `RelayStoreError` with `.readOnly` if the file is there and cannot be written.
    private static func requireWritable(_ path: String) throws {
      guard access(path, F_OK) == 0, access(path, W_OK) != 0 else { return }
      throw RelayStoreError(.readOnly, "cannot write to \(path): \(String(cString: strerror(errno)))")
    }

    /// A warning for each of the files that others than their owner may read or write: a backup that was restored is
    /// often one.
    private static func exposed(_ path: String) -> [String] {
      [path, path + "-wal"].filter { path in
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & 0o077 != 0
      }.map { "others can read \($0); chmod 600 keeps it" }
    }

    /// The time of the machine's clock, in seconds since 1970.
    public static let systemTime: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970) }

    /// Random bytes from the machine's own generator.
    public static let systemRandom: Random = { count in
      var generator = SystemRandomNumberGenerator()
      return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    /// Looks at the first bytes before SQLite does: opening a pool changes how a database keeps its journal.
    /// - Returns: whether it has a relay's mark.
    @discardableResult static func checkHeader(_ path: String) throws -> Bool {
      guard let file = FileHandle(forReadingAtPath: path) else { return false }
      defer { try? file.close() }
      let header: Data
      do {
        header = try file.read(upToCount: 72) ?? Data()
      } catch {
        throw RelayStoreError(.notARelay, "\(path) cannot be read as a file")
      }
      guard !header.isEmpty else { return false }
      let application = header.count == 72 ? header.suffix(4).reduce(0) { $0 << 8 | UInt32($1) } : 0
      let isSQLite = header.starts(with: Data("SQLite format 3\0".utf8))
      let isMarked = application == UInt32(RelaySchema.applicationID)
      guard isMarked || isSQLite && hasJournal(path) else {
        throw RelayStoreError(.notARelay, "the file is no relay's")
      }
      return isMarked
    }

    /// Then the first page may be in the journal as yet. It is a database in WAL already, and migrating looks again.
    private static func hasJournal(_ path: String) -> Bool {
      var status = stat()
      return stat(path + "-wal", &status) == 0 && status.st_size > 0
    }

    /// Waits until nobody reads or writes, closes the file, and lets another process serve from it. What is in the log
    /// beside the file is in the file then, unless somebody reads meanwhile or the disk is full.
    public func close() throws {
      // On a full disk the next process needs the log, which it could not make.
      if lock != nil, reserve.isThere {
        // GRDB closes what reads last, and that may not empty the log. What stays in it is safe there, too.
        do { _ = try pool.writeWithoutTransaction { try $0.checkpoint(.truncate) } } catch is DatabaseError {}
      }
      try pool.close()
      lock?.release()
    }
  }

  /// Only its owner may read what others trust a relay with. What keeps it from being made is SQLite's to say.
  func makePrivateFile(_ path: String) {
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    if descriptor >= 0 { close(descriptor) }
  }

  /// A space, as a request sees it.
  package struct SpaceRow: Sendable, Hashable {
    let number: Int64
    package let id: String
    var head: Int64
    var chain: [UInt8]
    package var entries: Int
    package var bytes: Int64
    let quota: Int64?
    /// When it was deleted, in seconds since 1970. Its rows are there until `--keep` is over.
    let deleted: Int64?

    /// The most positions of a log, and the most bytes of a space: what comes to that many was not counted, and what is
    /// added to them cannot overflow.
    static let mostPositions: Int64 = 1 << 48, mostBytes: Int64 = 1 << 60

    /// Whether the numbers can be those of a space.
    var isPossible: Bool {
      (0...Self.mostPositions).contains(head) && cursor != nil && entries >= 0 && entries <= head
        && bytes.magnitude <= Self.mostBytes
    }

    var cursor: RelayCursor? { UInt64(exactly: head).flatMap { RelayCursor(position: $0, chain: chain) } }

    /// The same space with a quota, unless it has one of its own.
    func limited(to quota: Int64?) -> SpaceRow {
      SpaceRow(
        number: number, id: id, head: head, chain: chain, entries: entries, bytes: bytes, quota: self.quota ?? quota,
        deleted: deleted)
    }

    /// - Throws: `RelayProblem` if it is deleted or not there.
    static func fetch(_ db: Database, _ number: Int64) throws -> SpaceRow {
      let statement = try db.cachedStatement(
        sql: "SELECT \(selected) FROM space WHERE number = ?")
      return try live(try Row.fetchOne(statement, arguments: [number]).map { SpaceRow($0) })
    }

    /// Returns the row of a space that is there and not deleted.
    /// - Throws: the same `RelayProblem` in both other cases, so that a client cannot tell them apart.
    static func live(_ row: SpaceRow?) throws(RelayProblem) -> SpaceRow {
      guard let row, row.deleted == nil else { throw RelayProblem(.noSuchSpace, "there is no such space") }
      guard row.isPossible else {
        throw RelayProblem(.storageFailed, "the row of a space is damaged")
      }
      return row
    }
  }

  extension SpaceRow {
    /// The columns that `init(_:)` reads first.
    static let selected =
      "space.number, space.id, space.head, space.chain, space.entries, space.bytes, space.quota, space.deleted"

    init(_ row: Row) {
      self.init(
        number: row[0], id: row[1], head: row[2], chain: Array(row[3] as Data), entries: row[4], bytes: row[5],
        quota: row[6], deleted: row[7])
    }
  }
#endif
