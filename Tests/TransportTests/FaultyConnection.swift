import Foundation
import Tally
import TallySync

/// A connection with a planted fault.
actor FaultyConnection: SyncConnection {
  enum Fault: CaseIterable {
    case cutsLongMessages, takesOversized, swaps, dropsTheLast, takesAfterClose, repeats
  }

  private let base: MemoryConnection
  private let fault: Fault
  private var held: [UInt8]?
  private var count = 0
  private var isClosed = false

  init(_ base: MemoryConnection, _ fault: Fault) {
    self.base = base
    self.fault = fault
  }

  static func pair(_ fault: Fault) -> (FaultyConnection, FaultyConnection) {
    let (a, b) = MemoryConnection.pair()
    return (FaultyConnection(a, fault), FaultyConnection(b, fault))
  }

  func send(_ message: [UInt8]) async throws {
    count += 1
    switch fault {
    case .cutsLongMessages: try await base.send(Array(message.prefix(65_536)))
    case .takesOversized: if message.count <= SyncLimits.messageBytes { try await base.send(message) }
    case .swaps:
      if count == 20 {
        held = message
      } else {
        try await base.send(message)
        if let late = held { try await base.send(late) }
        held = nil
      }
    case .dropsTheLast:
      if let held { try await base.send(held) }
      held = message
    case .takesAfterClose: if !isClosed { try await base.send(message) }
    case .repeats:
      try await base.send(message)
      if count == 20 { try await base.send(message) }
    }
  }

  nonisolated func receive() async throws -> [UInt8]? { try await base.receive() }

  func close() async {
    isClosed = true
    await base.close()
  }
}

extension StreamConnection {
  /// Two ends over one socket each, which reads and writes.
  static func sockets() throws -> (StreamConnection, StreamConnection) {
    var ends: [Int32] = [-1, -1]
    #if os(Linux)
      let type = Int32(SOCK_STREAM.rawValue)
    #else
      let type = SOCK_STREAM
    #endif
    guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw POSIXError(.EMFILE) }
    return (
      try StreamConnection(reading: ends[0], writing: ends[0]), try StreamConnection(reading: ends[1], writing: ends[1])
    )
  }
}
