/// Cuts a stream of bytes into messages: each is its length as a varint, then that many bytes. A length of 0 is the
/// orderly end: a stream that ends without it broke.
package struct FrameDecoder: Sendable {
  /// The frame that a stream consists of.
  package enum Frame: Sendable, Equatable {
    /// One whole message.
    case message([UInt8])
    /// The peer has closed in order.
    case end
  }

  /// The frame that ends a stream.
  package static let farewell: [UInt8] = [0]
  private static let compaction = 1 << 16
  private var buffer: [UInt8] = []
  private var position = 0

  package init() {}

  /// The number of bytes that wait for the rest of their frame.
  package var pendingBytes: Int { buffer.count - position }

  package mutating func append(_ bytes: [UInt8]) {
    if position == buffer.count {
      buffer = bytes
      position = 0
    } else {
      buffer += bytes
    }
  }

  /// The next whole frame; nil until more bytes come.
  /// - Throws: `SyncError` as soon as a length is known to be too large, before its bytes are waited for.
  package mutating func next() throws(SyncError) -> Frame? {
    guard let (count, start) = try length() else { return nil }
    guard buffer.count - start >= count else {
      buffer.reserveCapacity(start + count)
      return nil
    }
    position = start + count
    let frame: Frame = count == 0 ? .end : .message(Array(buffer[start..<position]))
    if position > Self.compaction {
      buffer.removeFirst(position)
      position = 0
    }
    return frame
  }

  /// The length of the frame at the position, and where its bytes begin.
  private func length() throws(SyncError) -> (Int, Int)? {
    var value = 0
    for (index, shift) in zip(position..<buffer.count, stride(from: 0, to: 28, by: 7)) {
      let byte = Int(buffer[index])
      value |= (byte & 0x7F) << shift
      guard byte >= 0x80 else {
        guard byte != 0 || shift == 0 else {
          throw SyncError(.protocolViolation, "the length of a message is not in its shortest form")
        }
        guard value <= SyncLimits.messageBytes else { throw FrameDecoder.tooLong(value) }
        return (value, index + 1)
      }
      // A fourth byte would make it 2 MiB or more.
      guard shift < 14 else { throw FrameDecoder.tooLong(1 << 21) }
    }
    return nil
  }

  private static func tooLong(_ count: Int) -> SyncError {
    SyncError(.limitExceeded, "the peer announces a message of \(count) bytes or more")
  }

  /// A message as a frame.
  /// - Throws: `SyncError` for a message that is empty or too large.
  package static func frame(_ message: [UInt8]) throws(SyncError) -> [UInt8] {
    try check(message)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(message.count + 3)
    var rest = message.count
    while rest >= 0x80 {
      bytes.append(UInt8(rest & 0x7F) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
    return bytes + message
  }

  /// Whether a connection may carry this message.
  package static func check(_ message: [UInt8]) throws(SyncError) {
    guard !message.isEmpty else { throw SyncError(.protocolViolation, "a message is empty") }
    guard message.count <= SyncLimits.messageBytes else {
      throw SyncError(.limitExceeded, "a message has \(message.count) bytes; \(SyncLimits.messageBytes) is the most")
    }
  }
}
