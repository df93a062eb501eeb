import Foundation
import Synchronization

/// Notifies the parts of one process of changes to a folder's files: a file was added, has arrived, or is waited for.
package final class AssetNews: Sendable {
  /// A file is waited for.
  package static let wishes = AssetNews()
  /// A file has come, or the app has added one.
  package static let arrivals = AssetNews()

  private struct Followers {
    var feeds: [Int: AsyncStream<Void>.Continuation] = [:]
    var next = 0
  }

  private let followers = Mutex<[String: Followers]>([:])

  private init() {}

  /// A stream with an element after each piece of news about a folder, until its task ends.
  package func stream(of folder: String) -> AsyncStream<Void> {
    let (stream, feed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let id = followers.withLock { followers in
      var known = followers[folder] ?? Followers()
      defer { followers[folder] = known }
      known.feeds[known.next] = feed
      known.next += 1
      return known.next - 1
    }
    feed.onTermination = { [weak self] _ in self?.followers.withLock { $0[folder]?.feeds[id] = nil } }
    return stream
  }

  /// Tells all who follow a folder.
  package func tell(_ folder: String) {
    for feed in followers.withLock({ Array(($0[folder] ?? Followers()).feeds.values) }) { feed.yield() }
  }
}
