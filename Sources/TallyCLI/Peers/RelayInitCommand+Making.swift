#if Relay
  import Foundation
  import TallyRelayServer

  extension RelayInitCommand {
    func make() throws {
      try Output.requireOpen(besides: file.data)
      let owner = try user.map { try SystemUser($0, home: file.data.map(Self.folder(of:)) ?? "/nonexistent") }
      let unitText = try unit.map { _ in
        try RelayUnit(
          user: user ?? "", tool: RelayUnit.tool(), data: file.data.map(Self.absolute),
          database: file.postgresFile.map(Self.absolute), listen: listen, admin: admin
        ).text()
      }
      try refuseWhatIsThere()
      if let data = file.data { try Self.makeFolder(Self.folder(of: data), owner) }
      let quota = try quota.map { try RelayTokenCommand.amount($0, RelayTokenCommand.bytes, "") }
      let role = RelayRole(rawValue: role) ?? .reader
      let store = try RelayPlace.open(file, for: .administration)
      try RelayPlace.give(output, at: url, isJSON: false) {
        try RelayPlace.naming {
          try Waiting.run { try await store.makeToken(space: nil, role: role, quota: quota, expires: nil) }
        }
      }
      try store.close()
      if let data = file.data, let owner {
        for end in ["", "-wal", "-shm", "-reserve", "-serving"] where access(data + end, F_OK) == 0 {
          try owner.give(data + end)
        }
      }
      guard let unit, let unitText else { return }
      let new = try NewFile(unit)
      try new.write(Array(unitText.utf8))
      try new.finish()
      // systemd reads it as anybody.
      guard chmod(unit, 0o644) == 0 else { throw Failure(errno: errno, .write, unit) }
      let name = URL(fileURLWithPath: unit).lastPathComponent
      complain("next: systemctl daemon-reload && systemctl enable --now \(name)")
    }

    /// A second relay in the place of one that is there would lose its spaces.
    private func refuseWhatIsThere() throws {
      var status = stat()
      // Before anything is made: what is made first would keep a second attempt from being one.
      if let output, lstat(output, &status) == 0 { throw Failure(errno: EEXIST, .create, output) }
      if let data = file.data {
        guard lstat(data, &status) != 0 else {
          throw Failure(.cannotCreate, "cannot create \(data): there is a file; tally relay token makes further tokens")
        }
      } else {
        do {
          try RelayPlace.open(file, for: .administration, mayCreate: false).close()
        } catch let failure as Failure where failure.status == .notFound {
          return
        }
        throw Failure(.cannotCreate, "there is a relay in the database; tally relay token makes further tokens")
      }
    }

    private static func absolute(_ path: String) -> String { URL(fileURLWithPath: path).standardizedFileURL.path }

    private static func folder(of path: String) -> String {
      URL(fileURLWithPath: path).standardizedFileURL.deletingLastPathComponent().path
    }

    private static func makeFolder(_ path: String, _ owner: SystemUser?) throws {
      guard access(path, F_OK) != 0 else { return }
      guard mkdir(path, 0o700) == 0 else { throw Failure(errno: errno, .create, path) }
      try owner?.give(path)
    }
  }

  /// A user of the system, who is to own a relay's files.
  struct SystemUser {
    private let user: uid_t
    private let group: gid_t

    /// Looks the user up, and makes one without a password, a shell or a home that is made, if there is none.
    /// - Throws: `Failure` unless root asks, or if there is no program to make one.
    init(_ name: String, home: String) throws {
      guard geteuid() == 0 else { throw Failure(.noPermission, "--user needs root, who may give files away") }
      if getpwnam(name) == nil { try Self.make(name, home) }
      guard let entry = getpwnam(name) else { throw Failure(.notFound, "the user \(name) could not be made") }
      (user, group) = (entry.pointee.pw_uid, entry.pointee.pw_gid)
    }

    private static func make(_ name: String, _ home: String) throws {
      let places = ["/usr/sbin/useradd", "/sbin/useradd"]
      guard let program = places.first(where: FileManager.default.isExecutableFile(atPath:)) else {
        throw Failure(.notFound, "there is no user \(name), and no useradd to make one")
      }
      let process = Process()
      process.executableURL = URL(fileURLWithPath: program)
      process.arguments = [
        "--system", "--user-group", "--no-create-home", "--home-dir", home, "--shell", "/usr/sbin/nologin", name,
      ]
      process.standardInput = FileHandle.nullDevice
      process.standardOutput = FileHandle.nullDevice
      try process.run()
      process.waitUntilExit()
      guard process.terminationStatus == 0 else {
        throw Failure(.cannotCreate, "useradd could not make the user \(name): \(process.terminationStatus)")
      }
    }

    /// Gives a file or folder to the user.
    func give(_ path: String) throws {
      guard chown(path, user, group) == 0 else { throw Failure(errno: errno, .write, path) }
    }
  }
#endif
