#if Relay
  import HTTPTypes
  import Hummingbird
  import TallyRelayProtocol

  /// The subject of a request.
  struct RelayRoute: Sendable {
    /// The kinds of requests. Their names stand in logs and metrics.
    enum Kind: String, Sendable, CaseIterable {
      case status, deleteSpace, changes, events, readEntry, putEntry, removeEntry, uploadState, putPiece
      /// Several entries at once.
      case writeEntries, readEntries
      /// Anything else.
      case other

      /// Whether a token with that role may do it.
      func isAllowed(to role: RelayRole) -> Bool {
        switch self {
        case .deleteSpace: role.mayDeleteSpace
        case .status, .changes, .events, .readEntry, .readEntries, .uploadState, .other: true
        case .putEntry, .removeEntry, .putPiece, .writeEntries: role.mayWrite
        }
      }

      /// Whether it is a write in whose transaction the token is looked at.
      var isWrite: Bool { !isAllowed(to: .reader) && self != .deleteSpace }
    }

    let kind: Kind
    /// The space's id as the path has it; nil if the path is none of a space.
    let space: String?
    /// The entry's name; empty where there is none.
    let name: String
    /// Whether there is something at the path for another method.
    let isKnownPath: Bool

    init(_ request: Request) {
      let path = request.uri.path
      // The first part stands before the first slash, and is empty.
      let parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      guard parts.count >= 4, parts[1].elementsEqual("v1".utf8), parts[2].elementsEqual("spaces".utf8) else {
        (kind, space, name, isKnownPath) = (.other, nil, "", false)
        return
      }
      space = String(Substring(parts[3]))
      name = parts.count == 6 ? String(Substring(parts[5])) : ""
      let kind = Self.kind(request.method, parts.count - 1, parts.count > 4 ? Substring(parts[4]) : "")
      isKnownPath = kind != nil
      self.kind = kind ?? .other
    }

    /// The route for a method and a path, or nil if the path does not exist.
    private static func kind(_ method: HTTPRequest.Method, _ count: Int, _ word: Substring) -> Kind? {
      switch (count, word) {
      case (3, _): method == .get ? .status : method == .delete ? .deleteSpace : .other
      case (4, "changes"): method == .get ? .changes : .other
      case (4, "events"): method == .get ? .events : .other
      case (4, "entries"): method == .post ? .writeEntries : .other
      case (4, "contents"): method == .post ? .readEntries : .other
      case (5, "entries"):
        switch method {
        case .get: .readEntry
        case .put: .putEntry
        case .delete: .removeEntry
        default: .other
        }
      case (5, "uploads"): method == .head ? .uploadState : method == .patch ? .putPiece : .other
      default: nil
      }
    }

    /// The entry's name.
    /// - Throws: `RelayProblem` if it cannot be one.
    func entryName() throws -> String {
      guard RelayNames.isEntry(name) else { throw RelayProblem(.badRequest, "the entry's name is malformed") }
      return name
    }
  }
#endif
