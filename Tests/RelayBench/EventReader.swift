#if Relay
  import Foundation

  /// Reads many streams of events in one thread, and says when each has got something.
  final class EventReader {
    private let connections: [LoadConnection]
    private var polled: [pollfd]
    private var buffer = [UInt8](repeating: 0, count: 1 << 16)

    init(_ connections: [LoadConnection]) {
      self.connections = connections
      polled = connections.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
    }

    /// Reads until so many streams have got something that has a text in it. `onEvent` is told the number of each such
    /// stream.
    /// - Returns: whether that came within the time.
    func read(until count: Int, containing text: String, within limit: Duration, onEvent: (Int) -> Void) -> Bool {
      let (end, wanted) = (ContinuousClock.now + limit, Array(text.utf8))
      var missing = count
      while missing > 0 {
        let rest = end - ContinuousClock.now
        guard rest > .zero, poll(&polled, nfds_t(polled.count), Int32(rest / .milliseconds(1)) + 1) >= 0 else {
          return false
        }
        for index in polled.indices where polled[index].revents != 0 {
          let count = recv(polled[index].fd, &buffer, buffer.count, 0)
          guard count > 0 else { return false }
          guard buffer[..<count].firstRange(of: wanted) != nil else { continue }
          missing -= 1
          onEvent(index)
        }
      }
      return true
    }
  }
#endif
