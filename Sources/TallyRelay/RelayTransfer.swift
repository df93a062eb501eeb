import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Makes requests, and takes in no more of an answer than was asked for: a server that sends without an end costs
/// nothing. Follows no redirection, since the token would go with it.
final class RelayTransfer: NSObject, URLSessionDataDelegate {
  private struct Pending {
    var response: HTTPURLResponse?
    var body: [UInt8] = []
    var limit: Int
    var isTooLong = false
    var continuation: CheckedContinuation<RelayAnswer, any Error>
  }

  private let pending = Mutex<[Int: Pending]>([:])

  func answer(to request: URLRequest, in session: URLSession, limit: Int) async throws -> RelayAnswer {
    try Task.checkCancellation()
    let task = session.dataTask(with: request)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        pending.withLock { $0[task.taskIdentifier] = Pending(limit: limit, continuation: continuation) }
        task.resume()
        // It may have been cancelled before it was begun.
        if Task.isCancelled { task.cancel() }
      }
    } onCancel: {
      task.cancel()
    }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    pending.withLock { $0[dataTask.taskIdentifier]?.response = response as? HTTPURLResponse }
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    let isTooLong = pending.withLock { pending in
      guard let limit = pending[dataTask.taskIdentifier]?.limit,
        let count = pending[dataTask.taskIdentifier]?.body.count
      else { return false }
      guard count + data.count <= limit else {
        pending[dataTask.taskIdentifier]?.isTooLong = true
        return true
      }
      pending[dataTask.taskIdentifier]?.body += data
      return false
    }
    if isTooLong { dataTask.cancel() }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    guard let done = pending.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
    if done.isTooLong {
      return done.continuation.resume(throwing: RelayError(.notARelay, "the answer is longer than a relay's"))
    }
    if let error {
      // Of a part that was asked for, what has come is as good as the rest; a task that was cancelled wants nothing.
      guard let response = done.response, response.statusCode == 206, !done.body.isEmpty,
        (error as NSError).code != NSURLErrorCancelled
      else { return done.continuation.resume(throwing: error) }
      return done.continuation.resume(returning: RelayAnswer(response, done.body, isCut: true))
    }
    guard let response = done.response else {
      return done.continuation.resume(throwing: RelayError(.notARelay, "what answers does not speak HTTP"))
    }
    done.continuation.resume(returning: RelayAnswer(response, done.body))
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }
}
