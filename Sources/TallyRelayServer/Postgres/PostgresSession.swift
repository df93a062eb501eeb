#if Postgres
  import CLibPQ
  import Foundation

  /// A connection to PostgreSQL. All of libpq that the relay uses is here. It blocks, so it belongs to a thread of its
  /// own and never to Swift's pool.
  final class PostgresSession {
    private let connection: OpaquePointer
    /// The names of prepared statements.
    private var statements: [String: String] = [:]

    /// Connects.
    /// - Throws: `PostgresError`.
    init(_ address: PostgresAddress) throws {
      let made = PostgresSession.withPointers(to: address) { names, values -> OpaquePointer? in
        PQconnectdbParams(names, values, 0)
      }
      guard let connection = made else {
        throw PostgresError(state: nil, message: "there is no memory for a connection", isDisconnected: true)
      }
      self.connection = connection
      guard PQstatus(connection) == CONNECTION_OK else {
        let message = address.masked(Self.line(PQerrorMessage(connection)))
        throw PostgresError(state: nil, message: "cannot connect: \(message)", isDisconnected: true)
      }
      // Otherwise libpq prints what the server has to remark.
      PQsetNoticeProcessor(connection, { _, _ in }, nil)
    }

    deinit { PQfinish(connection) }

    /// Calls the body with an address as libpq takes it: keywords and values.
    private static func withPointers<T>(
      to address: PostgresAddress, _ body: ([UnsafePointer<CChar>?], [UnsafePointer<CChar>?]) -> T
    ) -> T {
      let keywords = address.parameters.map(\.keyword) + [""]
      let strings = (keywords + address.parameters.map(\.value)).map { strdup($0) }
      defer { for string in strings { free(string) } }
      let names = strings.prefix(keywords.count - 1).map { UnsafePointer($0) } + [nil]
      let values = strings.dropFirst(keywords.count).map { UnsafePointer($0) } + [nil]
      return body(names, values)
    }

    /// Whether no server is there, none that is open as yet, or none of the kind that the address asks for, when a
    /// connection has failed: then time may help. A server that is there and refuses a connection of any kind refuses
    /// the user, the password or the database.
    static func isAway(_ address: PostgresAddress) -> Bool {
      // For that question neither user, password nor database need be right.
      let answer = withPointers(to: address) { names, values in PQpingParams(names, values, 0) }
      if answer == PQPING_NO_RESPONSE || answer == PQPING_REJECT { return true }
      // A server that takes this one has come in between, or is a standby that was not promoted as yet.
      do {
        _ = try PostgresSession(address.ofAnyKind)
        return true
      } catch {
        return false
      }
    }

    /// The server's process.
    var processID: Int32 { PQbackendPID(connection) }

    /// A statement and its parameters.
    struct Statement: Sendable {
      let sql: String
      var values: [PostgresValue] = []
    }

    /// Keeps the plans of statements from now on, for a session whose statements all find rows by an index. A plan is
    /// made once, perhaps while the tables are empty, so it is told to look up each row by its whole key, and not to
    /// read, collect or hash a whole table or index, which is cheap only then. Where nothing else is left, a plan that
    /// was told not to seems so expensive that the server would compile it.
    func keepPlans() throws {
      try script(
        """
        SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_bitmapscan = off;
        SET enable_material = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off
        """)
    }

    /// Runs a statement.
    @discardableResult
    func execute(_ sql: String, _ values: [PostgresValue] = []) throws -> [PostgresRow] {
      let name = try prepared(sql, values)
      return try withParameters(values) { pointers, lengths, formats in
        try rows(PQexecPrepared(connection, name, Int32(values.count), pointers, lengths, formats, 1))
      }
    }

    /// Runs several statements, one after the other, and waits for the server once: libpq's pipeline mode.
    /// - Returns: the rows of each.
    /// - Throws: the error of the first that fails. The server leaves out those after it, and a transaction that is
    ///   open can only be rolled back.
    func execute(_ statements: [Statement]) throws -> [[PostgresRow]] {
      let names = try statements.map { try prepared($0.sql, $0.values) }
      guard PQenterPipelineMode(connection) == 1 else { throw failure() }
      defer { PQexitPipelineMode(connection) }
      for (name, statement) in zip(names, statements) {
        let isSent = withParameters(statement.values) { pointers, lengths, formats in
          PQsendQueryPrepared(connection, name, Int32(statement.values.count), pointers, lengths, formats, 1)
        }
        guard isSent == 1 else { throw failure() }
      }
      guard PQpipelineSync(connection) == 1 else { throw failure() }
      var results: [[PostgresRow]] = []
      var first: (any Error)?
      for _ in statements {
        do { results.append(try rows(PQgetResult(connection))) } catch { first = first ?? error }
        // Each statement's results end with a null.
        PQclear(PQgetResult(connection))
      }
      // The end of the pipeline.
      PQclear(PQgetResult(connection))
      if let first { throw first }
      return results
    }

    /// The error of a connection that does not take anything.
    private func failure() -> PostgresError {
      PostgresError(state: nil, message: Self.line(PQerrorMessage(connection)), isDisconnected: true)
    }

    private func withParameters<T>(
      _ values: [PostgresValue],
      _ body: ([UnsafePointer<CChar>?], [Int32], [Int32]) throws -> T
    ) rethrows -> T {
      let binaries = values.map(\.binary)
      let buffer = binaries.flatMap { $0 ?? [] }
      return try buffer.withUnsafeBufferPointer { buffer in
        var offset = 0
        // An empty value must not look like null.
        let start = buffer.baseAddress.map { UnsafeRawPointer($0) } ?? UnsafeRawPointer(bitPattern: 1)
        let pointers = binaries.map { binary -> UnsafePointer<CChar>? in
          defer { offset += binary?.count ?? 0 }
          return binary == nil ? nil : start?.advanced(by: offset).assumingMemoryBound(to: CChar.self)
        }
        return try body(pointers, binaries.map { Int32($0?.count ?? 0) }, values.map { _ in Int32(1) })
      }
    }

    private func prepared(_ sql: String, _ values: [PostgresValue]) throws -> String {
      if let name = statements[sql] { return name }
      let name = "tally\(statements.count + 1)"
      _ = try rows(PQprepare(connection, name, sql, Int32(values.count), values.map(\.type)))
      statements[sql] = name
      return name
    }

    /// Runs one or several statements without parameters.
    func script(_ sql: String) throws { _ = try rows(PQexec(connection, sql)) }

    /// Asks for one value, as text, without preparing anything: what is between may keep no statements.
    /// - Returns: nil if there was no answer within so many milliseconds. Then the session is of no further use.
    func ask(_ sql: String, within milliseconds: Int32) throws -> String? {
      guard PQsendQuery(connection, sql) == 1 else { throw failure() }
      while PQisBusy(connection) == 1 {
        var descriptor = pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
        let count = poll(&descriptor, 1, milliseconds)
        if count == 0 { return nil }
        guard count > 0 || errno == EINTR, PQconsumeInput(connection) == 1 else { throw failure() }
      }
      var value: String?
      var first: (any Error)?
      while let result = PQgetResult(connection) {
        do { value = try rows(result).first?.text(0) ?? value } catch { first = first ?? error }
      }
      if let first { throw first }
      return value
    }

    /// Runs the body in a transaction. An error undoes it; `PostgresError.mayRepeat` is false if it may nevertheless
    /// have been committed.
    func transaction<T>(_ mode: String = "", _ body: () throws -> T) throws -> T {
      try script("BEGIN \(mode)")
      let value = try undoing(body)
      do {
        try script("COMMIT")
      } catch var error as PostgresError {
        error.mayRepeat = error.isConflict
        throw error
      }
      return value
    }

    /// The same, waiting for the server twice: the transaction begins with `reads`, and ends with what the body makes
    /// of their rows.
    func transaction<T>(
      reads: [Statement], _ body: ([[PostgresRow]]) throws -> (value: T, writes: [Statement])
    ) throws -> T {
      let (value, writes) = try undoing {
        try body(Array(try execute([Statement(sql: "BEGIN")] + reads).dropFirst()))
      }
      do {
        _ = try execute(writes + [Statement(sql: "COMMIT")])
      } catch var error as PostgresError {
        // Whether it was the last that failed is not known if there was no answer.
        if error.isDisconnected {
          error.mayRepeat = false
        } else {
          error.mayRepeat = error.isConflict
          try script("ROLLBACK")
        }
        throw error
      }
      return value
    }

    private func undoing<T>(_ body: () throws -> T) throws -> T {
      do {
        return try body()
      } catch let error as PostgresError where error.isDisconnected {
        // The server undoes what it has not committed.
        throw error
      } catch {
        try script("ROLLBACK")
        throw error
      }
    }

    private func rows(_ result: OpaquePointer?) throws -> [PostgresRow] {
      defer { PQclear(result) }
      let status = PQresultStatus(result)
      guard let result, status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK else {
        let state = PQresultErrorField(result, Int32(UInt8(ascii: "C"))).map { String(cString: $0) }
        let message = PQresultErrorField(result, Int32(UInt8(ascii: "M"))).map { Self.line($0) }
        // What libpq says by itself has no state, and is about the connection, whose status it may change only later;
        // class 57P is a server that ends or begins.
        let isDisconnected = PQstatus(connection) != CONNECTION_OK || state?.hasPrefix("57P") ?? true
        throw PostgresError(
          state: state, message: message ?? "the server has closed the connection", isDisconnected: isDisconnected)
      }
      return (0..<PQntuples(result)).map { PostgresRow(result, $0) }
    }

    private static func line(_ text: UnsafePointer<CChar>?) -> String {
      text.map { String(cString: $0).split(whereSeparator: \.isNewline).joined(separator: " ") } ?? "no reason is known"
    }

    // MARK: Notifications

    /// A notification that somebody has sent by `NOTIFY`.
    struct Notification: Sendable {
      let text: String
      /// The server's process for whoever has said it.
      let sender: Int32
    }

    /// Waits for notifications on channels that are listened to.
    /// - Parameter end: a descriptor that can be read when there is no need to wait any longer.
    /// - Returns: nil if that was so.
    /// - Throws: `PostgresError` if the connection is gone.
    func notifications(until end: Int32) throws -> [Notification]? {
      var descriptors = [PQsocket(connection), end].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      guard poll(&descriptors, 2, -1) >= 0 || errno == EINTR else {
        throw PostgresError(state: nil, message: "cannot wait for the server", isDisconnected: true)
      }
      if descriptors[1].revents != 0 { return nil }
      guard PQconsumeInput(connection) == 1 else {
        throw PostgresError(state: nil, message: "the server has closed the connection", isDisconnected: true)
      }
      var notifications: [Notification] = []
      while let notification = PQnotifies(connection) {
        notifications.append(
          Notification(text: String(cString: notification.pointee.extra), sender: notification.pointee.be_pid))
        PQfreemem(notification)
      }
      return notifications
    }
  }
#endif
