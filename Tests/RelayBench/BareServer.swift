#if Relay
  import Foundation
  import Hummingbird

  /// What the HTTP library alone costs: a server that takes in a body and answers that it was created. It is this
  /// program again, as a process of its own.
  final class BareServer {
    /// Serves until it is ended.
    static func serve() async throws {
      let application = Application(
        responder: Responder(), configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
        onServerRunning: { channel in
          FileHandle.standardOutput.write(Data("listening on 127.0.0.1:\(channel.localAddress?.port ?? 0)\n".utf8))
        })
      try await application.runService()
    }

    private struct Responder: HTTPResponder {
      func respond(to request: Request, context: BasicRequestContext) async throws -> Response {
        _ = try await request.body.collect(upTo: 4 << 20)
        return Response(status: .created)
      }
    }

    private let process = Process()
    let port: Int

    init() throws {
      let output = Pipe()
      process.executableURL = Bundle.main.executableURL
      process.arguments = ["--serve-nothing"]
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      try process.run()
      let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
      guard
        let port = line.split(separator: ":").last.flatMap({ Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) })
      else { throw LoadConnection.Failure(call: "the bare server") }
      self.port = port
    }

    /// The processor time that it has taken so far.
    var processorTime: Duration { ProcessTimes.duration(ProcessTimes(process.processIdentifier)?.own ?? 0) }

    func stop() {
      process.terminate()
      process.waitUntilExit()
    }
  }
#endif
