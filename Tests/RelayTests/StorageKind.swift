#if Relay
  import Foundation
  import TallyRelayServer
  import Testing

  /// What a relay of a test keeps its spaces in. Tests of what both have in common run on each that is there.
  enum StorageKind: String, Sendable, CustomTestStringConvertible {
    case sqlite, postgres

    var testDescription: String { rawValue }

    /// Those that this build and this machine have.
    static let available: [StorageKind] = PostgresCluster.isAvailable ? [.sqlite, .postgres] : [.sqlite]
  }

  /// The file or the database of a test's relay.
  struct StoragePlace: Sendable {
    /// Everything that stands in files is in here.
    let folder: URL
    /// A database's address; nil for a file.
    let database: String?

    /// A new one, on a server of the test's own, or on the one that tests share.
    init(_ kind: StorageKind, in cluster: PostgresCluster? = nil) async throws {
      folder = try RelayFixture.newFolder()
      let backup = Self.backup(of: folder)
      Leftovers.note { try RelayFixture.removeIfThere(backup) }
      guard kind == .postgres else {
        database = nil
        return
      }
      let server = if let cluster { cluster } else { try await PostgresCluster.shared() }
      database = try await server.newDatabase()
    }

    var path: String { folder.appendingPathComponent("relay.sqlite").path }

    /// Opens it. `time` is in seconds since 1970; nil for the real ones.
    func open(_ purpose: RelayStore.Purpose, time: (@Sendable () -> Int64)? = nil) async throws -> any RelayStorage {
      #if Postgres
        if let database {
          var settings = PostgresRelayStore.Settings()
          settings.time = time
          return try await PostgresRelayStore(database, for: purpose, settings)
        }
      #endif
      return try RelayStore(path: path, for: purpose, now: time ?? RelayStore.systemTime)
    }

    /// The options with which the tool finds it, in its folder.
    func options() throws -> [String] {
      guard let database else { return ["--data", "relay.sqlite"] }
      let file = folder.appendingPathComponent("database")
      try Data("\(database)\n".utf8).write(to: file)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
      return ["--postgres-file", "database"]
    }

    /// Copies everything, for `restore`.
    func backUp() async throws {
      if let database { return try await PostgresCluster.dump(database, to: backup.path) }
      if FileManager.default.fileExists(atPath: backup.path) { try FileManager.default.removeItem(at: backup) }
      try FileManager.default.copyItem(at: folder, to: backup)
    }

    /// Sets everything back.
    func restore() async throws {
      if let database { return try await PostgresCluster.restore(database, from: backup.path) }
      try FileManager.default.removeItem(at: folder)
      try FileManager.default.copyItem(at: backup, to: folder)
    }

    private var backup: URL { Self.backup(of: folder) }

    private static func backup(of folder: URL) -> URL {
      folder.deletingLastPathComponent().appendingPathComponent(folder.lastPathComponent + "-backup")
    }
  }
#endif
