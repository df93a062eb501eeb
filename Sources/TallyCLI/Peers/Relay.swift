#if Relay
  import Foundation
  import GRDB
  import TallyRelayServer

  extension RelayServeCommand {
    /// Requests that are under way get twenty seconds to end, and the rest a few.
    private static let patience = 25.0

    func serve() throws {
      try Output.requireOpen(besides: file.data)
      let (host, port) = try Self.address(listen)
      var settings = RelaySettings(address: .init(host: host, port: port))
      if let admin {
        let (host, port) = try Self.address(admin)
        settings.admin = .init(host: host, port: port)
      }
      for path in [certificate, key].compactMap({ $0 }) where access(path, R_OK) != 0 {
        throw Failure(errno: errno, .read, path)
      }
      if let certificate, let key { settings.certificate = .init(chainPath: certificate, keyPath: key) }
      settings.logFormat = log == "json" ? .json : .text
      settings.limits.requestsPerSecond = Double(rate)
      settings.limits.requestBurst = 4 * rate
      settings.keep = .seconds(try keepSeconds())
      settings.limits.connections = try Self.connections(settings.limits.connections)
      settings.limits.spaceBytes = try quota.map { try RelayTokenCommand.amount($0, RelayTokenCommand.bytes, "") }
      settings.limits.fileBytes = try fileLimit.map { try RelayTokenCommand.amount($0, RelayTokenCommand.bytes, "") }
      let logFile = try logFile.map { try RelayLogFile($0) }
      let lines = LineQueue(logFile)
      settings.log = { lines.write($0) }
      guard let store = try RelayPlace.openWhenThere(file) else { return }
      let server = RelayServer(storage: store, settings)
      let hangups = Hangups {
        try logFile?.reopen()
        try RelayPlace.naming { try server.reloadCertificate() }
      }
      defer { hangups?.stop() }
      try Waiting.run(within: Self.patience) {
        try await RelayPlace.naming(listen) {
          try await server.run { address in
            Self.say("health and metrics on \(address.host):\(address.port)")
          } onListening: { address in
            Self.say("listening on \(address.host):\(address.port)")
          }
        }
      }
      try store.close()
    }

    /// The descriptors that files, databases, event loops and the administrator's connections take.
    private static let otherDescriptors = 160

    /// As many connections as the system lets this process have descriptors: each device that waits holds one. A
    /// process that has none left does not go on.
    private static func connections(_ wanted: Int) throws -> Int {
      var limit = rlimit()
      guard getrlimit(.openFiles, &limit) == 0 else { return wanted }
      if limit.rlim_cur < limit.rlim_max {
        limit.rlim_cur = limit.rlim_max
        // Where more are not to be had, the limit stays.
        if setrlimit(.openFiles, &limit) != 0, getrlimit(.openFiles, &limit) != 0 { return wanted }
      }
      let most = Int(clamping: limit.rlim_cur) - otherDescriptors
      guard most < wanted else { return wanted }
      guard most > 0 else {
        throw Failure(.usage, "a relay needs more than \(otherDescriptors) file descriptors: ulimit -n")
      }
      complain("\(most) connections at most, since the system lets this process have \(limit.rlim_cur) descriptors")
      return most
    }

    /// It cannot be read; that is no reason to stop serving.
    private static func say(_ line: String) {
      do { try Output.run { try $0.line(line) } } catch { complain(Failure.message(of: error)) }
    }
  }

  extension RelayTokenCommand {
    func make() throws {
      try Output.requireOpen(besides: file.data)
      let store = try RelayPlace.open(file, for: .administration)
      let (role, quota) = (RelayRole(rawValue: role) ?? .reader, try quota.map { try Self.amount($0, Self.bytes, "") })
      let lifetime = try expires.map { try Self.amount($0, Self.seconds, "") }
      let space = space == "new" ? nil : space
      try RelayPlace.give(output, at: url, isJSON: json) {
        try RelayPlace.naming {
          try Waiting.run {
            // By the clock that will end it.
            var end: Int64?
            if let lifetime { end = try await store.time() + lifetime }
            return try await store.makeToken(space: space, role: role, quota: quota, expires: end)
          }
        }
      }
      try store.close()
    }
  }

  extension RelayRevokeCommand {
    func revoke() throws {
      let store = try RelayPlace.open(file, for: .administration, mayCreate: false)
      try RelayPlace.naming { try Waiting.run { try await store.revoke(token) } }
      try store.close()
    }
  }

  extension RelayDeleteCommand {
    func delete() throws {
      let store = try RelayPlace.open(file, for: .administration, mayCreate: false)
      try RelayPlace.naming {
        try Waiting.run {
          if restore { try await store.restoreSpace(space) } else { try await store.deleteSpace(space) }
        }
      }
      try store.close()
    }
  }

  extension RelayListCommand {
    func list() throws {
      let store = try RelayPlace.open(file, for: .administration, mayCreate: false)
      let tokens = try RelayPlace.naming { try Waiting.run { try await store.tokens() } }
      try Output.run { output in
        for token in tokens {
          var fields = [("id", token.id), ("space", token.space), ("role", token.role.rawValue)]
          fields.append(("created", RelayPlace.date(token.created)))
          if let expires = token.expires { fields.append(("expires", RelayPlace.date(expires))) }
          if let revoked = token.revoked { fields.append(("revoked", RelayPlace.date(revoked))) }
          if let deleted = token.spaceDeleted { fields.append(("spaceDeleted", RelayPlace.date(deleted))) }
          let line =
            try json
            ? RelayPlace.json(Dictionary(uniqueKeysWithValues: fields))
            : ([token.id, token.space] + fields.dropFirst(2).map { "\($0.0)=\($0.1)" }).joined(separator: " ")
          try output.line(line)
        }
      }
      try store.close()
    }
  }

  /// The file or the database of a relay, for the tool.
  enum RelayPlace {
    static func open(_ options: RelayFileOptions, for purpose: RelayStore.Purpose, mayCreate: Bool = true) throws
      -> any RelayStorage
    {
      guard let path = options.data else { return try openDatabase(options, purpose, mayCreate) }
      return try naming { try RelayStore(path: path, for: purpose, mayCreate: mayCreate) }
    }

    /// Opens the file or the database for serving. Waits for a database that cannot be reached: where both start with
    /// the machine, it may be the later one.
    /// - Returns: nil if the tool was asked to end meanwhile.
    static func openWhenThere(_ options: RelayFileOptions) throws -> (any RelayStorage)? {
      #if Postgres
        if let url = try options.database() {
          let store = try naming { try Waiting.run { try await databaseWhenThere(url) } }
          guard Ending.signal != nil else { return store }
          try store?.close()
          return nil
        }
      #endif
      return try open(options, for: .serving)
    }

    #if Postgres
      /// The time between two attempts to reach a database.
      private static let pause = Duration.seconds(1)

      /// Opens a database for serving, as soon as it can be reached.
      /// - Returns: nil if the task was cancelled while it waited.
      private static func databaseWhenThere(_ url: String) async throws -> (any RelayStorage)? {
        var isWaiting = false
        while true {
          do {
            return try await PostgresRelayStore(url, for: .serving)
          } catch let error as RelayStoreError where error.code == .unreachable {
            if !isWaiting { complain("waits for the database, which cannot be reached: \(error.message)") }
            isWaiting = true
          }
          do { try await Task.sleep(for: pause) } catch is CancellationError { return nil }
        }
      }

      private static func openDatabase(
        _ options: RelayFileOptions, _ purpose: RelayStore.Purpose, _ mayCreate: Bool
      ) throws -> any RelayStorage {
        guard let url = try options.database() else { throw Failure(.usage, "no database") }
        return try naming {
          try Waiting.run { try await PostgresRelayStore(url, for: purpose, mayCreate: mayCreate) }
        }
      }
    #else
      private static func openDatabase(
        _ options: RelayFileOptions, _ purpose: RelayStore.Purpose, _ mayCreate: Bool
      ) throws -> any RelayStorage {
        throw Failure(.usage, "this tally was built without PostgreSQL: swift build --traits Postgres")
      }
    #endif

    /// Runs the body, and says in the tool's words what the storage's errors mean.
    static func naming<T>(_ body: () throws -> T) throws -> T {
      do {
        return try body()
      } catch let error as RelayStoreError {
        throw failure(error)
      } catch let error as any RelayStorageFailure {
        throw Failure(.unreachable, error.fault)
      }
    }

    /// Runs the body, and says of what keeps it from listening where that was.
    static func naming(_ address: String, _ body: () async throws -> Void) async throws {
      do {
        try await body()
      } catch let error as RelayStoreError {
        throw failure(error)
      } catch let error as Failure {
        throw error
      } catch let error where !(error is CancellationError || error is DatabaseError) {
        throw Failure(.unreachable, "cannot listen on \(address): \(error)")
      }
    }

    private static func failure(_ error: RelayStoreError) -> Failure {
      let status: ExitStatus =
        switch error.code {
        case .noSuchFile, .noSuchSpace, .noSuchToken: .notFound
        case .notARelay: .badData
        case .newerFormat: .newerFormat
        case .inUse: .busy
        case .cannotLock: .cannotCreate
        case .readOnly: .inputOutput
        case .badAddress: .usage
        case .badCertificate: .badData
        case .unreachable: .unreachable
        case .refused, .pooled: .noPermission
        }
      return Failure(status, error.message)
    }

    /// Makes a token, and hands it over with the address of its space: on standard output, or in a new file, which is
    /// there before the token is.
    static func give(_ path: String?, at url: String, isJSON: Bool, _ make: () throws -> RelayStore.NewToken) throws {
      func address(_ token: RelayStore.NewToken) -> String {
        "\(url.hasSuffix("/") ? String(url.dropLast()) : url)/s/\(token.space)"
      }
      let token =
        if let path {
          try SecretFile.create(path) {
            let token = try make()
            return ("\(address(token))\n\(token.token)\n", token)
          }
        } else {
          try make()
        }
      try Output.run { output in
        if isJSON {
          var members = ["url": address(token), "space": token.space, "id": token.id]
          if path == nil { members["token"] = token.token }
          return try output.line(try json(members))
        }
        try output.line(address(token))
        if path == nil { try output.line(token.token) }
      }
    }

    static func json(_ members: [String: String]) throws -> String {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      return String(decoding: try encoder.encode(members), as: UTF8.self)
    }

    static func date(_ seconds: Int64) -> String { Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601) }
  }

  #if canImport(Glibc)
    extension __rlimit_resource_t {
      fileprivate static var openFiles: Self { __rlimit_resource_t(RLIMIT_NOFILE.rawValue) }
    }
  #else
    extension Int32 {
      fileprivate static var openFiles: Self { Int32(RLIMIT_NOFILE) }
    }
  #endif
#endif
