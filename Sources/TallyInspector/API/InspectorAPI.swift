#if Inspector
  import Foundation
  import NIOHTTP1
  import TallyAssets
  import TallyCRDT
  import TallyInspection
  import TallyStore
  import TallySync

  /// The JSON behind the pages. `Docs/Inspector.md` describes it.
  struct InspectorAPI: Sendable {
    let room: InspectorRoom

    init(_ room: InspectorRoom) { self.room = room }

    /// Why a question has no answer.
    struct Refusal: Error {
      var status: HTTPResponseStatus
      var code: String
      var message: String

      static let noPicture = Refusal(status: .notFound, code: "noPicture", message: "no picture is there")

      static func malformed(_ message: String) -> Refusal {
        Refusal(status: .badRequest, code: "malformed", message: message)
      }
    }

    func answer(
      _ method: HTTPMethod, _ path: String, _ parameters: [String: String], _ body: [UInt8], _ client: InspectorClient
    ) async -> InspectorResponse {
      do {
        let question = InspectorQuestion(parameters: parameters, body: body, room: room, client: client)
        switch method {
        case .GET where path == "/api/picture": return try await BlockingWork.run { try question.picture() }
        case .GET where path == "/api/asset":
          // A page asks for all of its pictures at once, and each waits for its turn.
          return try await alone("asset", "another picture is being read; wait for it", patience: .seconds(30)) {
            try question.asset()
          }
        case .GET: return InspectorResponse(json: try await read(path, question))
        case .POST: return InspectorResponse(json: try await act(path, question))
        default: throw Refusal(status: .methodNotAllowed, code: "method", message: "GET reads, and POST changes")
        }
      } catch {
        return Self.failure(of: error)
      }
    }

    private func read(_ path: String, _ question: InspectorQuestion) async throws -> Data {
      switch path {
      case "/api/stores": try await InspectionJSON.bytes(stores(question))
      case "/api/search": try await blocking { try question.search() }
      case "/api/rows" where question.parameters["sort"]?.isEmpty == false:
        try await long("sort", "rows are being sorted; wait for it", patience: .seconds(2)) { try question.rows() }
      case "/api/rows": try await blocking { try question.rows() }
      case "/api/record": try await blocking { try question.record() }
      case "/api/conflicts": try await blocking { try question.conflicts() }
      case "/api/timeline": try await blocking { try question.timeline() }
      case "/api/storage" where question.parameters["measure"] == "1":
        try await long("measure", "a store is being measured; wait for it") { try question.storage() }
      case "/api/storage": try await blocking { try question.storage() }
      case "/api/diff": try await blocking { try question.difference() }
      case "/api/peers": try await InspectionJSON.bytes(peers())
      case "/api/report": try await InspectionJSON.bytes(report(question), isPretty: true)
      case "/api/log": try InspectionJSON.bytes(room.log.entries(after: question.number("after") ?? 0))
      case "/api/controls": try await InspectionJSON.bytes(room.controls?.list() ?? [])
      default: throw Refusal(status: .notFound, code: "noSuchPath", message: "there is no \(path)")
      }
    }

    private func act(_ path: String, _ question: InspectorQuestion) async throws -> Data {
      switch path {
      case "/api/query":
        // One that was given up a moment ago is about to end.
        return try await long(
          "query", "another query is running, which ends within five seconds", patience: .milliseconds(300)
        ) {
          try question.query()
        }
      case "/api/report/compare": return try await blocking { try question.comparison() }
      case "/api/verify":
        return try await long("verify", "a store is being verified; wait for it") { try question.verification() }
      case "/api/sync":
        guard let engine = try question.inspected().engine else {
          throw Refusal(status: .conflict, code: "noEngine", message: "no engine of this store is at hand")
        }
        await engine.syncNow()
        return try InspectionJSON.bytes(["done": true])
      case "/api/controls": return try await control(question)
      case "/api/conflicts/restore", "/api/conflicts/dismiss", "/api/record/restore", "/api/record/delete":
        guard room.settings.allowsWrites else {
          throw Refusal(
            status: .forbidden, code: "readOnly", message: "the inspector only reads; start it with --allow-writes")
        }
        // It may wait for another writer, and others must not wait for it.
        return try await long("change", "another change is waiting for its turn; try again when it is done") {
          try question.change(path)
        }
      default: throw Refusal(status: .notFound, code: "noSuchPath", message: "there is no \(path)")
      }
    }

    /// Reads a store, on a thread that may block.
    private func blocking<T: Encodable & Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> Data {
      try await BlockingWork.run { try InspectionJSON.bytes(body()) }
    }

    /// Reads a store for seconds, one of a kind at a time: it has a connection to the store for as long as it runs.
    private func long<T: Encodable & Sendable>(
      _ kind: String, _ refusal: String, patience: Duration = .zero, _ body: @escaping @Sendable () throws -> T
    ) async throws -> Data {
      try await alone(kind, refusal, patience: patience) { try InspectionJSON.bytes(body()) }
    }

    /// Works for seconds, one of a kind at a time. A request that finds one running tries again for as long as
    /// `patience` says, and is refused then.
    private func alone<T: Sendable>(
      _ kind: String, _ refusal: String, patience: Duration, _ body: @escaping @Sendable () throws -> T
    ) async throws -> T {
      let isLate = Clocks.limit(patience)
      while !room.running.withLock({ $0.insert(kind).inserted }) {
        if isLate() { throw Refusal(status: .tooManyRequests, code: "busy", message: refusal) }
        try await Task.sleep(for: .milliseconds(10))
      }
      defer { _ = room.running.withLock { $0.remove(kind) } }
      return try await LongWork.run(body)
    }

    // MARK: What asks engines

    private struct Stores: Encodable {
      struct Entry: Encodable {
        var overview: StoreOverview?
        var name: String
        var error: String?
        /// A reason to distrust the overview.
        var warning: String?
        var hasEngine: Bool
      }
      var stores: [Entry]
      var names: [String: String]
      /// The conflicts of all stores together, of which one that several have is one; the least that they may be if
      /// the number is not exact.
      var conflicts: Int, isConflictsExact: Bool
      var allowsWrites: Bool
      var hasControls: Bool
    }

    private func stores(_ question: InspectorQuestion) async throws -> Stores {
      let room = room
      return try await BlockingWork.run {
        // One store that cannot be read is shown as that, beside those that can.
        let entries = room.stores.map { inspected in
          let overview = Result { try StoreOverview(of: inspected.store, named: inspected.name) }
          var entry = Stores.Entry(name: inspected.name, hasEngine: inspected.engine != nil)
          switch overview {
          case .success(let found):
            entry.overview = found
            if (try? inspected.store.isInPlace()) == false { entry.warning = Self.gone }
          case .failure(let error): entry.error = "\(error)"
          }
          return entry
        }
        let missing = room.unreadable.map { Stores.Entry(name: $0.name, error: $0.reason, hasEngine: false) }
        let names = room.directory()
        let conflicts = DistinctConflicts(in: room.stores.map(\.store))
        return Stores(
          stores: entries + missing,
          names: Dictionary(uniqueKeysWithValues: names.names.map { ("\($0.key)", $0.value) }),
          conflicts: conflicts.count, isConflictsExact: conflicts.isExact,
          allowsWrites: room.settings.allowsWrites, hasControls: room.controls != nil)
      }
    }

    /// The warning for a store whose file was deleted, renamed or replaced while it was open.
    static let gone =
      "the file that is open is not the one at its path any more: somebody has deleted, renamed or replaced it. What is "
      + "shown is the old one; start the inspector again to see the new one"

    private struct Peers: Encodable {
      var store: Int
      var hasEngine: Bool
      var isPaused: Bool
      var isUpToDate: Bool
      var peers: [PeerReport]
    }

    private func peers() async -> [Peers] {
      var result: [Peers] = []
      for (number, inspected) in room.stores.enumerated() {
        let status = await inspected.engine?.status()
        result.append(
          Peers(
            store: number, hasEngine: status != nil, isPaused: status?.isPaused ?? true,
            isUpToDate: status?.isUpToDate ?? false, peers: status?.peers.map { PeerReport($0) } ?? []))
      }
      return result
    }

    private func report(_ question: InspectorQuestion) async throws -> StoreReport {
      let inspected = try question.inspected()
      let status = await inspected.engine?.status()
      let hasValues = question.parameters["values"] == "1"
      return try await BlockingWork.run {
        try StoreReport(of: inspected.store, at: Clocks.now, status, hasValues: hasValues)
      }
    }

    private func control(_ question: InspectorQuestion) async throws -> Data {
      guard let controls = room.controls else {
        throw Refusal(status: .notFound, code: "noControls", message: "nothing can be switched here")
      }
      let wish = try question.body(InspectorQuestion.Wish.self)
      guard await controls.list().contains(where: { $0.id == wish.id }) else {
        throw Refusal(status: .notFound, code: "noSuchControl", message: "no such switch")
      }
      // Whether it is done or not, what can be switched may be something else now.
      defer { room.tell("controls", store: nil) }
      do {
        try await controls.perform(wish.id, wish.isOn ?? true)
      } catch {
        throw Refusal(status: .conflict, code: "notDone", message: "\(error)")
      }
      return try await InspectionJSON.bytes(controls.list())
    }

    // MARK: Failures

    private struct Failure: Encodable {
      struct Detail: Encodable {
        var code: String
        var message: String
      }
      var error: Detail
    }

    static func failure(_ status: HTTPResponseStatus, _ code: String, _ message: String) -> InspectorResponse {
      let detail = "\(JSONText.quoted(code)),\"message\":\(JSONText.quoted(message))"
      return InspectorResponse(status, json: Data("{\"error\":{\"code\":\(detail)}}".utf8))
    }

    private static func failure(of error: any Error) -> InspectorResponse {
      switch error {
      case let error as Refusal: failure(error.status, error.code, error.message)
      case let error as StoreError: failure(.unprocessableEntity, error.code.rawValue, error.message)
      case let error as AssetError:
        failure(error.code == .missing ? .notFound : .unprocessableEntity, error.code.rawValue, error.message)
      case let error as QueryRefusal: failure(.badRequest, error.rawValue, words(error))
      case is CancellationError: failure(.serviceUnavailable, "givenUp", "nobody waited for the answer")
      case is RecordNameError: failure(.badRequest, "invalidName", "the name is not Type|~|key")
      case is DecodingError: failure(.badRequest, "malformed", "the body is not what was expected")
      case _ where StoreLock.isHeld(error):
        failure(.serviceUnavailable, "busy", "somebody else is writing to the store; try again when they are done")
      case _ where StoreDamage.isShown(by: error):
        failure(.unprocessableEntity, "damaged", "the store cannot be read, since its file is damaged: \(error)")
      default: failure(.internalServerError, "failed", "\(error)")
      }
    }

    private static func words(_ refusal: QueryRefusal) -> String {
      switch refusal {
      case .notAQuery: "only SELECT, VALUES and WITH are run here, and EXPLAIN of these"
      case .severalStatements: "one query at a time"
      case .tookTooLong: "the query took too long and was ended"
      case .tooLarge: "the query needs more memory than there is for it"
      case .incomplete: "the query has a parameter, which nothing fills, or a character with the code 0"
      case .patternTooLong: "a pattern of LIKE or GLOB has at most 64 bytes here"
      case .tooLong:
        "a value is longer than 16 MiB, or longer than 32 KiB in a query that calls a function such as instr, replace "
          + "or json, which can take hours for long ones; substr and LIKE take long ones"
      }
    }
  }
#endif
