#if Inspector
  import Foundation
  import NIOHTTP1
  import TallyInspection
  import TallyStore

  /// Answers requests: the gate first, then a page or the API.
  struct InspectorResponder: Sendable {
    let room: InspectorRoom
    let gate: InspectorGate
    private let api: InspectorAPI

    init(_ room: InspectorRoom, _ gate: InspectorGate) {
      (self.room, self.gate) = (room, gate)
      api = InspectorAPI(room)
    }

    /// What is to be said without reading the body: a refusal, or the way in; nil for a request that is let in.
    func greeting(_ request: InspectorRequest) -> InspectorResponse? {
      let isHome = request.path == "/"
      switch gate.verdict(request.head, token: isHome ? request.parameters["token"] : nil) {
      case .refused(let why):
        room.settings.logger.notice("the inspector refused a request", metadata: ["reason": "\(why)"])
        return Self.refusal(.forbidden, why, isPage: isHome)
      case .welcome(let cookie):
        var page = Self.moving
        page.cookie = cookie
        return page
      case .allowed:
        // The token does not stay in the address bar.
        return isHome && request.parameters["token"] != nil ? Self.moving : nil
      }
    }

    /// The answer to a request that is let in, with its body.
    func answer(_ request: InspectorRequest, for client: InspectorClient) async -> InspectorAnswer {
      guard let path = request.path else { return .whole(Self.refusal(.badRequest, "the path is malformed")) }
      guard path.hasPrefix("/api/") else {
        guard [.GET, .HEAD].contains(request.head.method) else {
          return .whole(Self.refusal(.methodNotAllowed, "pages are read"))
        }
        return .whole(WebFiles.response(path) ?? Self.refusal(.notFound, "there is no such page"))
      }
      guard request.isWellFormed else {
        return .whole(InspectorAPI.failure(.badRequest, "malformed", "a parameter is not percent-encoded UTF-8"))
      }
      guard let body = request.body else {
        var refusal = Self.refusal(.payloadTooLarge, "the body is too large")
        refusal.closes = true
        return .whole(refusal)
      }
      if path == "/api/events" {
        guard request.head.method == .GET else {
          return .whole(InspectorAPI.failure(.methodNotAllowed, "method", "events are read"))
        }
        return .stream(room.listen())
      }
      return .whole(await api.answer(request.head.method, path, request.parameters, body, client))
    }

    /// Goes on to the page itself. A redirection would be counted as a step from the site that led here, and the cookie
    /// would not be sent along.
    private static let moving = InspectorResponse(
      type: "text/html",
      Array("<!doctype html><title>Tally</title><meta http-equiv=\"refresh\" content=\"0;url=/\">".utf8))

    private static func refusal(_ status: HTTPResponseStatus, _ why: String, isPage: Bool = false) -> InspectorResponse
    {
      let words = "Tally inspector: \(why).\n"
      return isPage
        ? InspectorResponse(status, type: "text/plain", Array(words.utf8))
        : InspectorAPI.failure(status, "refused", why)
    }
  }
#endif
