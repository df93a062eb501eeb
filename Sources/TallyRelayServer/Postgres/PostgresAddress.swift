#if Postgres
  import CLibPQ

  /// The address of a database and the credentials for it, in libpq's form:
  /// `postgres://USER@HOST/DATABASE?sslmode=verify-full`. It shows nothing of itself, since it may hold a password.
  struct PostgresAddress: Sendable, CustomStringConvertible, CustomReflectable {
    /// Keywords and values, as `PQconnectdbParams` takes them.
    let parameters: [(keyword: String, value: String)]

    /// The parameters of a connection unless the address specifies others: one that hangs is noticed within half a
    /// minute.
    private static let usual = [
      ("connect_timeout", "5"), ("keepalives_idle", "10"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
      ("tcp_user_timeout", "20000"), ("fallback_application_name", "tally relay"),
    ]

    /// - Throws: `RelayStoreError` if libpq does not understand it.
    init(_ url: String) throws {
      // What libpq says of a malformed URL repeats it, so nobody gets to see that.
      var complaint: UnsafeMutablePointer<CChar>?
      let options = PQconninfoParse(url, &complaint)
      defer {
        PQconninfoFree(options)
        PQfreemem(complaint)
      }
      guard var option = options else {
        throw RelayStoreError(.badAddress, "the address of the database is malformed: postgres://USER@HOST/DATABASE")
      }
      var given: [(String, String)] = []
      while let keyword = option.pointee.keyword {
        if let value = option.pointee.val { given.append((String(cString: keyword), String(cString: value))) }
        option += 1
      }
      let usual = Self.usual.filter { usual in !given.contains { $0.0 == usual.0 } }
      parameters = usual + given.filter { $0.0 != "client_encoding" } + [("client_encoding", "UTF8")]
    }

    private init(parameters: [(keyword: String, value: String)]) { self.parameters = parameters }

    /// The same, for a server of any kind: a standby, too.
    var ofAnyKind: PostgresAddress {
      let kind = "target_session_attrs"
      return PostgresAddress(parameters: parameters.filter { $0.keyword != kind } + [(keyword: kind, value: "any")])
    }

    /// Returns libpq's message about a connection without the password, should that ever be in it.
    func masked(_ message: String) -> String {
      let secrets = parameters.filter { $0.keyword.hasSuffix("password") && !$0.value.isEmpty }
      return secrets.reduce(message) { text, secret in
        text.split(separator: secret.value, omittingEmptySubsequences: false).joined(separator: "***")
      }
    }

    var description: String { "PostgreSQL" }
    var customMirror: Mirror { Mirror(self, children: []) }
  }
#endif
