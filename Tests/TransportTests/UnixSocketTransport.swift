import Foundation
import Tally
import TallySync

/// Reaches a peer on the same machine through a socket in the file system.
struct UnixSocketTransport: Transport {
  let path: String
  var name: String { path }

  func open() async throws -> any SyncConnection {
    let socket = try UnixSocket(path)
    guard socket.withAddress({ connect(socket.descriptor, $0, $1) }) == 0 else {
      socket.end()
      throw SyncError(.unreachable, "nobody listens at \(path)")
    }
    return try StreamConnection(reading: socket.descriptor, writing: socket.descriptor)
  }
}

/// Listens at a path, and hands each peer over as a connection.
final class UnixSocketListener: Sendable {
  private let socket: UnixSocket

  init(path: String, serve: @escaping @Sendable (any SyncConnection) async -> Void) throws {
    unlink(path)
    socket = try UnixSocket(path)
    guard socket.withAddress({ bind(socket.descriptor, $0, $1) }) == 0, listen(socket.descriptor, 16) == 0 else {
      socket.end()
      throw SyncError(.unreachable, "cannot listen at \(path)")
    }
    let descriptor = socket.descriptor
    // `accept` blocks, so it gets a thread of its own and not one of Swift's few.
    Thread.detachNewThread {
      while true {
        let peer = accept(descriptor, nil, nil)
        guard peer >= 0, let connection = try? StreamConnection(reading: peer, writing: peer) else { break }
        Task {
          await serve(connection)
          await connection.close()
        }
      }
    }
  }

  deinit { socket.end() }
}

/// A socket and its address.
struct UnixSocket: Sendable {
  let descriptor: Int32
  private let path: String

  init(_ path: String) throws {
    #if canImport(Darwin)
      let kind = SOCK_STREAM
    #else
      let kind = Int32(SOCK_STREAM.rawValue)
    #endif
    descriptor = socket(AF_UNIX, kind, 0)
    self.path = path
    guard descriptor >= 0 else { throw SyncError(.unreachable, "there are no sockets left") }
  }

  func withAddress(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, size) }
    }
  }

  /// Wakes whoever waits in `accept`, and gives the descriptor back.
  func end() {
    _ = shutdown(descriptor, Int32(SHUT_RDWR))
    _ = close(descriptor)
  }
}
