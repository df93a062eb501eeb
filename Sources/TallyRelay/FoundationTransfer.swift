#if !(HTTPClient && os(Linux))
  import Foundation
  import Synchronization

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  /// The `URLSession` delegate that collects answers and enforces their limits.
  final class FoundationTransfer: NSObject, URLSessionDataDelegate {
    private struct Pending {
      var response: HTTPURLResponse?
      var body: [UInt8] = []
      var limit: Int
      var isTooLong = false
      var asksForPassword = false
      var continuation: CheckedContinuation<RelayAnswer, any Error>
    }

    private let pending = Mutex<[ObjectIdentifier: Pending]>([:])
    private let streams = Mutex<[ObjectIdentifier: AsyncThrowingStream<RelayPart, any Error>.Continuation]>([:])

    func parts(
      of request: URLRequest, in session: URLSession, limit: Int
    ) -> AsyncThrowingStream<RelayPart, any Error> {
      let task = session.dataTask(with: request)
      return AsyncThrowingStream(bufferingPolicy: .bufferingOldest(limit)) { continuation in
        continuation.onTermination = { _ in task.cancel() }
        streams.withLock { $0[ObjectIdentifier(task)] = continuation }
        task.resume()
      }
    }

    func answer(to request: URLRequest, in session: URLSession, limit: Int) async throws -> RelayAnswer {
      try Task.checkCancellation()
      let task = session.dataTask(with: request)
      return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          pending.withLock { $0[ObjectIdentifier(task)] = Pending(limit: limit, continuation: continuation) }
          task.resume()
          // It may have been cancelled before that, and then nothing else ends it.
          if Task.isCancelled { cancel(task) }
        }
      } onCancel: {
        cancel(task)
      }
    }

    private func cancel(_ task: URLSessionDataTask) {
      task.cancel()
      pending.withLock { $0.removeValue(forKey: ObjectIdentifier(task)) }?.continuation.resume(
        throwing: CancellationError())
    }

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
      completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
      pending.withLock { $0[ObjectIdentifier(dataTask)]?.response = response as? HTTPURLResponse }
      if let response = response as? HTTPURLResponse { yield(.head(RelayAnswer(response, [])), dataTask) }
      completionHandler(.allow)
    }

    /// - Returns: whether the task's answer is one that goes on.
    @discardableResult private func yield(_ part: RelayPart, _ task: URLSessionTask) -> Bool {
      guard let stream = streams.withLock({ $0[ObjectIdentifier(task)] }) else { return false }
      if case .dropped = stream.yield(part) {
        stream.finish(throwing: RelayTransportError.tooFast)
      }
      return true
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      guard !yield(.bytes(Array(data)), dataTask) else { return }
      let isTooLong = pending.withLock { pending in
        guard let limit = pending[ObjectIdentifier(dataTask)]?.limit,
          let count = pending[ObjectIdentifier(dataTask)]?.body.count
        else { return false }
        guard count + data.count <= limit else {
          pending[ObjectIdentifier(dataTask)]?.isTooLong = true
          return true
        }
        pending[ObjectIdentifier(dataTask)]?.body += data
        return false
      }
      if isTooLong { dataTask.cancel() }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
      if let stream = streams.withLock({ $0.removeValue(forKey: ObjectIdentifier(task)) }) {
        return stream.finish(throwing: error.map(FoundationTransport.meaning))
      }
      guard let done = pending.withLock({ $0.removeValue(forKey: ObjectIdentifier(task)) }) else { return }
      if done.isTooLong {
        return done.continuation.resume(throwing: RelayTransportError.tooLong)
      }
      if done.asksForPassword {
        return done.continuation.resume(throwing: RelayTransportError.asksForPassword)
      }
      if let error {
        // Of a part that was asked for, what has come is as good as the rest; a task that was cancelled wants nothing.
        guard let response = done.response, response.statusCode == 206, !done.body.isEmpty,
          (error as NSError).code != NSURLErrorCancelled
        else { return done.continuation.resume(throwing: FoundationTransport.meaning(error)) }
        return done.continuation.resume(returning: RelayAnswer(response, done.body, isCut: true))
      }
      guard let response = done.response else {
        return done.continuation.resume(throwing: RelayTransportError.notHTTP)
      }
      done.continuation.resume(returning: RelayAnswer(response, done.body))
    }

    /// A relay asks for a token and nothing else. A server that asks for a password gets none, and the answer is what
    /// it says.
    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      #if canImport(Darwin)
        // Certificates are the system's to judge.
        let isTransport = [NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodClientCertificate]
          .contains(challenge.protectionSpace.authenticationMethod)
        completionHandler(isTransport ? .performDefaultHandling : .rejectProtectionSpace, nil)
      #else
        // That ends the request, as if it had been cancelled.
        pending.withLock { $0[ObjectIdentifier(task)]?.asksForPassword = true }
        completionHandler(.cancelAuthenticationChallenge, nil)
      #endif
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      completionHandler(nil)
    }
  }
#endif
