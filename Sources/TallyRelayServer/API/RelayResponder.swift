#if Relay
  import Foundation
  import GRDB
  import HTTPTypes
  import Hummingbird
  import TallyRelayProtocol

  /// Answers every request, and writes a line about it.
  struct RelayResponder: HTTPResponder {
    typealias Context = RelayContext

    let api: RelayAPI
    let metrics: RelayMetrics
    let log: RelayRequestLog

    func respond(to request: Request, context: RelayContext) async throws -> Response {
      let route = RelayRoute(request)
      guard route.kind == .events else { return try await answer(request, route, context) }
      // A task never returns the memory of its async frames, and the connection's task lives as long as the stream. A
      // task of its own checks the request, and is cancelled with this one. A task group would do that by itself; its
      // frames took 1 KiB more for each stream.
      let checking = Task { try await answer(request, route, context) }
      return try await withTaskCancellationHandler {
        try await checking.value
      } onCancel: {
        checking.cancel()
      }
    }

    private func answer(_ request: Request, _ route: RelayRoute, _ context: RelayContext) async throws -> Response {
      let start = api.time()
      var problem: RelayProblem?
      var response: Response
      do {
        response = try await api.answer(request, route, on: context.channel)
        problem = response.headers[.relayProblem].flatMap { RelayProblem.Code(rawValue: $0) }.map {
          RelayProblem($0, "")
        }
      } catch {
        let known = Self.problem(error, metrics, log)
        problem = known
        response = try Response(known, isHead: request.method == .head)
      }
      // A client that may still be sending is told to stop. What comes nevertheless is read and dropped.
      if let problem, [.tooLarge, .badRequest, .headersTooLarge].contains(problem.code) {
        response.headers[.connection] = "close"
      }
      response.noteEnd(after: request)
      let duration = api.time() - start
      metrics.count(route.kind, response.status.code, problem?.code, duration)
      log.note(request, route, response, problem?.code, duration)
      return response
    }

    /// Returns an error as the client sees it. Details go to the log, not to the client.
    static func problem(_ error: any Error, _ metrics: RelayMetrics, _ log: RelayRequestLog) -> RelayProblem {
      switch error {
      case let problem as RelayProblem: return problem
      case is CancellationError: return RelayProblem(.busy, "the request was ended", retryAfter: 1)
      case let error as DatabaseError:
        metrics.countStorageError()
        log.fault("SQLite: \(error.message ?? "error") (\(error.extendedResultCode.rawValue))")
        if error.resultCode == .SQLITE_FULL { return RelayProblem(.storageFull, "the relay's disk is full") }
        if error.resultCode == .SQLITE_BUSY {
          return RelayProblem(.busy, "the relay's file is in use", retryAfter: 1)
        }
        return RelayProblem(.storageFailed, "the relay cannot read or write its file", retryAfter: 5)
      case let failure as any RelayStorageFailure:
        metrics.countStorageError()
        log.fault(failure.fault)
        return failure.problem
      default:
        log.fault("\(type(of: error))")
        return RelayProblem(.internal, "the relay has a fault")
      }
    }
  }
#endif
