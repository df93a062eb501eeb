#if Relay
  import Foundation
  import TallyRelayServer

  extension RelaySpacesCommand {
    func list() throws {
      let store = try RelayPlace.open(file, for: .administration, mayCreate: false)
      let spaces = try RelayPlace.naming { try Waiting.run { try await store.spaces() } }
      try Output.run { output in
        for space in spaces { try output.line(json ? try Line(space).json() : Self.text(space)) }
      }
      try store.close()
    }

    private static func text(_ space: RelayStore.SpaceInfo) -> String {
      var fields = [
        "entries=\(space.entries)", "bytes=\(space.bytes)", "quota=\(space.quota.map(String.init) ?? "none")",
        "devices=\(space.devices)", "tokens=\(space.tokens)", "created=\(RelayPlace.date(space.created))",
        "lastWrite=\(space.lastWrite.map(RelayPlace.date) ?? "never")",
      ]
      if let deleted = space.deleted { fields.append("deleted=\(RelayPlace.date(deleted))") }
      return "\(space.id) \(fields.joined(separator: " "))"
    }

    /// A line of JSON.
    private struct Line: Encodable {
      let space: String
      let entries: Int
      let bytes: Int64
      let quota: Int64?
      let devices: Int
      let tokens: Int
      let created: String
      let lastWrite: String?
      let deleted: String?

      init(_ info: RelayStore.SpaceInfo) {
        (space, entries, bytes, quota) = (info.id, info.entries, info.bytes, info.quota)
        (devices, tokens, created) = (info.devices, info.tokens, RelayPlace.date(info.created))
        (lastWrite, deleted) = (info.lastWrite.map(RelayPlace.date), info.deleted.map(RelayPlace.date))
      }

      func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
      }
    }
  }

  extension RelayBackupCommand {
    func copy() throws {
      try NewStore(output).create { path in
        guard chmod(path, 0o600) == 0 else { throw Failure(errno: errno, .create, output) }
        try RelayPlace.naming { try RelayStore.backUp(data, to: path) }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure(errno: errno, .read, output) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw Failure(errno: errno, .write, output) }
      }
    }
  }

  extension RelayCheckCommand {
    func check() throws {
      let store = try RelayPlace.naming { try RelayStore(path: data, for: .administration, mayCreate: false) }
      let findings = try Waiting.run { try await store.findings(mends: mend) }
      try store.close()
      try Output.run { output in
        for finding in findings {
          let place = finding.space.map { "space \($0): " } ?? ""
          let what =
            if let remedy = finding.remedy {
              remedy
            } else {
              mend ? "mended" : "--mend mends it"
            }
          try output.line(printable("\(place)\(finding.message): \(what)"))
        }
        if findings.isEmpty { try output.line("\(data) is sound") }
      }
      let rest = findings.filter { !mend || !$0.isMendable }
      guard rest.isEmpty else {
        throw Failure(
          .badData, mend ? "\(rest.count) of \(findings.count) findings are not mended" : "findings: \(rest.count)")
      }
    }
  }
#endif
