import TallyRelayProtocol

/// Reads `text/event-stream` piece by piece, as the HTML standard says: lines end with LF, CR or both, an empty one
/// ends an event, one that begins with a colon says nothing.
package struct EventStreamParser: Sendable {
  /// An event.
  package struct Event: Sendable, Hashable {
    package var kind = ""
    package var id = ""
    package var data = ""
  }

  private var line: [UInt8] = []
  private var event = Event()
  private var hasData = false
  private var isAfterReturn = false
  private var isAtStart = true

  /// At the beginning of a stream.
  package init() {}

  /// The events that end within these bytes.
  /// - Throws: `RelayError` if a line or an event's data is longer than `RelayLimits.eventLineBytes`.
  package mutating func parse(_ bytes: [UInt8]) throws -> [Event] {
    var events: [Event] = []
    for byte in bytes {
      defer { isAfterReturn = byte == 0x0D }
      switch byte {
      case 0x0A where isAfterReturn: continue
      case 0x0A, 0x0D:
        if let event = try endLine() { events.append(event) }
      default:
        guard line.count < RelayLimits.eventLineBytes else { throw Self.tooLong }
        line.append(byte)
      }
    }
    return events
  }

  private static var tooLong: RelayError {
    RelayError(.notARelay, "not a relay: an event is longer than the protocol allows")
  }

  private mutating func endLine() throws -> Event? {
    if isAtStart, line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
    isAtStart = false
    defer { line.removeAll(keepingCapacity: true) }
    guard !line.isEmpty else {
      defer { (event, hasData) = (Event(id: event.id), false) }
      return hasData ? event : nil
    }
    let colon = line.firstIndex(of: 0x3A) ?? line.endIndex
    var value = line[min(colon + 1, line.endIndex)...]
    if value.first == 0x20 { value.removeFirst() }
    try set(String(decoding: line[..<colon], as: UTF8.self), String(decoding: value, as: UTF8.self))
    return nil
  }

  private mutating func set(_ field: String, _ value: String) throws {
    switch field {
    case "event": event.kind = value
    case "id": event.id = value
    case "data":
      guard event.data.utf8.count + value.utf8.count < RelayLimits.eventLineBytes else { throw Self.tooLong }
      event.data += (hasData ? "\n" : "") + value
      hasData = true
    default: break
    }
  }
}
