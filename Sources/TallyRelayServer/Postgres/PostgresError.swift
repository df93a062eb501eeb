#if Postgres
  import TallyRelayProtocol

  /// An error that PostgreSQL or libpq reports.
  struct PostgresError: RelayStorageFailure, CustomStringConvertible {
    /// The five characters of `SQLSTATE`; nil if there was no answer.
    let state: String?
    /// One line, without values and without the address.
    let message: String
    /// Whether the connection is gone.
    var isDisconnected = false
    /// Whether nothing was committed, so that the same can be tried again.
    var mayRepeat = true

    /// Whether two transactions stood in each other's way: this one was undone.
    var isConflict: Bool { state == "40001" || state == "40P01" }

    package var fault: String { "PostgreSQL: \(message)" + (state.map { " (\($0))" } ?? "") }
    var description: String { fault }

    package var problem: RelayProblem {
      switch state {
      case "53100": RelayProblem(.storageFull, "the disk of the relay's database is full")
      case "40001", "40P01", "55P03", "57014":
        RelayProblem(.busy, "the relay's database has too much to do", retryAfter: 1)
      default: RelayProblem(.storageFailed, "the relay cannot read or write its database", retryAfter: 2)
      }
    }
  }
#endif
