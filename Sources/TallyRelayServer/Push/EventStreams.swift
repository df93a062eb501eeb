#if Relay
  import NIOCore
  import Synchronization

  /// The streams of events that are open: sees to it that each says something now and then. `AnswerWatch` closes those
  /// that nobody reads.
  final class EventStreams: Sendable {
    private struct Stream {
      let space: Int64
      let channel: any Channel
      /// Since when it writes, or has nothing to write.
      var since: Duration
      var isWriting = false
    }

    private let news: RelayNews
    private let heartbeat: Duration
    private let time: @Sendable () -> Duration
    private let streams = Mutex<[Int: Stream]>([:])

    /// No streams as yet. None says nothing for longer than `heartbeat`.
    init(_ news: RelayNews, heartbeat: Duration, time: @escaping @Sendable () -> Duration) {
      (self.news, self.heartbeat, self.time) = (news, heartbeat, time)
    }

    /// The number of open streams.
    var count: Int { streams.withLock { $0.count } }

    /// Adds a stream. It ends when its connection does.
    /// - Returns: what names it here and among those who wait for news.
    func open(_ space: Int64, _ channel: any Channel) -> Int {
      let seat = news.seat()
      streams.withLock { $0[seat] = Stream(space: space, channel: channel, since: time()) }
      channel.closeFuture.whenComplete { [weak self] _ in self?.end(seat) }
      channel.eventLoop.execute {
        // A connection that has closed meanwhile has no handlers.
        do { try channel.pipeline.syncOperations.handler(type: InputWatch.self).closeWithInput(channel) } catch {
          channel.close(promise: nil)
        }
      }
      return seat
    }

    /// A stream has ended. Its connection may go on with other requests.
    func close(_ seat: Int) {
      let channel = streams.withLock { streams in
        news.leave(seat)
        return streams.removeValue(forKey: seat)?.channel
      }
      guard let channel, channel.isActive else { return }
      // Before the stream's end goes out, since this is called on the connection's loop before that is written.
      channel.eventLoop.execute {
        do { try channel.pipeline.syncOperations.handler(type: InputWatch.self).stayOpen() } catch {
          channel.close(promise: nil)
        }
      }
    }

    /// Nobody reads a stream any more. It may not wait just now, so its next wait ends too.
    private func end(_ seat: Int) {
      streams.withLock { streams in
        if let stream = streams[seat] { news.end(seat, in: stream.space) }
      }
    }

    /// Notes that a stream begins to write, or has written.
    func note(_ seat: Int, isWriting: Bool) {
      let now = time()
      streams.withLock { streams in
        streams[seat]?.since = now
        streams[seat]?.isWriting = isWriting
      }
    }

    /// Wakes the streams that have been silent for long.
    func tick() {
      let now = time()
      let silent = streams.withLock { streams in
        streams.filter { !$0.value.isWriting && now - $0.value.since >= heartbeat }.map { ($0.key, $0.value.space) }
      }
      for (seat, space) in silent { news.wake(seat, in: space) }
    }
  }
#endif
