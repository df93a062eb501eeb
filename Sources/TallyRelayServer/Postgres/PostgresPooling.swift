#if Postgres
  /// Notices a pooler before the database, such as PgBouncer, that hands its sessions on from one connection to the
  /// next: prepared statements, settings and `LISTEN` are then another connection's.
  ///
  /// A pooler gives its clients numbers of its own in place of the server's process. Where they are the same, nothing
  /// is in between. Where they are not, a session that belongs to one connection shows by its process: it stays the
  /// same, and no other connection that is open has it.
  enum PostgresPooling {
    /// The connections of a relay that serves: `Docs/Relay.md`. One that only administers has one, and this check
    /// takes two.
    static let servingConnections = 7
    private static let question = "SELECT pg_backend_pid()"

    /// Looks at the sessions behind a connection that was just made, and behind some more that are closed again.
    /// `patience` is the time that a pooler may take to find a session.
    /// - Throws: `RelayStoreError` with `.pooled`; `PostgresError`.
    static func check(
      _ session: PostgresSession, _ address: PostgresAddress, _ purpose: RelayStore.Purpose, patience: Duration
    ) throws {
      func answer(of session: PostgresSession) throws -> String {
        let milliseconds = Int32(patience / .milliseconds(1))
        guard let process = try session.ask(question, within: milliseconds) else { throw hasTooFew }
        return process
      }
      let process = try answer(of: session)
      guard process != "\(session.processID)" else { return }
      var sessions = [session]
      var seen = [process]
      for _ in 1..<(purpose == .serving ? servingConnections : 2) {
        let next = try PostgresSession(address)
        let process = try answer(of: next)
        guard !seen.contains(process) else { throw sharesSessions }
        sessions.append(next)
        seen.append(process)
      }
      // Backwards, so that one that hands out its sessions in turn does not come out even.
      for (session, process) in zip(sessions, seen).reversed() {
        guard try answer(of: session) == process else { throw sharesSessions }
      }
    }

    private static var sharesSessions: RelayStoreError {
      RelayStoreError(
        .pooled,
        "a pooler before the database gives each transaction another session, which a relay cannot work with: connect "
          + "to PostgreSQL itself, or set pool_mode = session for this database in PgBouncer")
    }

    private static var hasTooFew: RelayStoreError {
      RelayStoreError(
        .pooled,
        "a pooler before the database has too few sessions: a relay needs \(servingConnections) at a time "
          + "(default_pool_size in PgBouncer)")
    }
  }
#endif
