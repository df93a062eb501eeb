#if Network
  import NIOCore
  import NIOPosix
  import Tally
  import TallyNetwork
  import TallySync

  /// Sends bytes and closes, as somebody does who does not speak the protocol.
  enum RawClient {
    static func send(_ bytes: [UInt8], to port: Int) async throws {
      let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .connect(host: "127.0.0.1", port: port).get()
      // The server may have had enough before it has taken everything.
      try? await channel.writeAndFlush(ByteBuffer(bytes: bytes)).get()
      try? await channel.close().get()
    }
  }

  /// A server that answers each message with the next ones of a list, whatever was asked.
  final class RawServer: Sendable {
    private let listener: TCPListener
    var port: Int { listener.port }

    init(_ answers: @escaping @Sendable ([UInt8]) -> [[UInt8]]) async throws {
      listener = try await TCPListener(host: "127.0.0.1", port: 0, security: .none) { connection in
        var left = answers([])[...]
        while try await connection.receive() != nil {
          if let answer = left.popFirst() { try await connection.send(answer) }
        }
      }
    }

    func close() async { await listener.close() }
  }

  /// Somebody in between who passes messages on and keeps those of the client.
  actor Recorder {
    private(set) var messages: [[UInt8]] = []
    private let security: NetworkSecurity

    init(_ security: NetworkSecurity = .none) { self.security = security }

    func pass(_ client: TCPConnection, to port: Int) async throws {
      let server = try await TCPTransport(host: "127.0.0.1", port: port, security: security).connect()
      await withTaskGroup(of: Void.self) { group in
        group.addTask {
          while let message = try? await client.receive() {
            await self.keep(message)
            try? await server.send(message)
          }
          await server.close()
        }
        group.addTask {
          while let message = try? await server.receive() { try? await client.send(message) }
          await client.close()
        }
      }
    }

    private func keep(_ message: [UInt8]) { messages.append(message) }
  }
#endif
