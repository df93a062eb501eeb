#if Relay
  import HTTPTypes
  import Hummingbird
  import TallyRelayProtocol

  /// What a request is about.
  struct RelayRoute: Sendable {
    /// The kinds of requests. Their names stand in logs and metrics.
    enum Kind: String, Sendable, CaseIterable {
      case status, deleteSpace, changes, events, readEntry, putEntry, removeEntry, uploadState, putPiece
      /// Anything else.
      case other

      /// Whether a token with that role may do it.
      func isAllowed(to role: RelayRole) -> Bool {
        switch self {
        case .putEntry, .removeEntry, .putPiece: role.mayWrite
        case .deleteSpace: role.mayDeleteSpace
        case .status, .changes, .events, .readEntry, .uploadState, .other: true
        }
      }
    }

    let kind: Kind
    /// The space's id as the path has it; nil if the path is none of a space.
    let space: String?
    /// The entry's name; empty where there is none.
    let name: String
    /// Whether there is something at the path for another method.
    let isKnownPath: Bool

    init(_ request: Request) {
      let parts = request.uri.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
      guard parts.count >= 3, parts[0] == "v1", parts[1] == "spaces" else {
        (kind, space, name, isKnownPath) = (.other, nil, "", false)
        return
      }
      space = parts[2]
      name = parts.count == 5 ? parts[4] : ""
      let kinds: [HTTPRequest.Method: Kind] =
        switch (parts.count, parts.dropFirst(3).first) {
        case (3, _): [.get: .status, .delete: .deleteSpace]
        case (4, "changes"): [.get: .changes]
        case (4, "events"): [.get: .events]
        case (5, "entries"): [.get: .readEntry, .put: .putEntry, .delete: .removeEntry]
        case (5, "uploads"): [.head: .uploadState, .patch: .putPiece]
        default: [:]
        }
      kind = kinds[request.method] ?? .other
      isKnownPath = !kinds.isEmpty
    }

    /// The entry's name.
    /// - Throws: `RelayProblem` if it cannot be one.
    func entryName() throws -> String {
      guard RelayNames.isEntry(name) else { throw RelayProblem(.badRequest, "the entry's name is malformed") }
      return name
    }
  }
#endif
