#if Inspector
  import Foundation
  import Tally
  import TallyInspector

  extension InspectCommand {
    /// Serves until the tool is asked to end.
    func serve() throws { try open(Array(zip(Self.names(of: stores), stores)), []) }

    /// Opens one store after the other, each for as long as the next are open.
    private func open(_ rest: [(name: String, path: String)], _ opened: [InspectedStore]) throws {
      guard let next = rest.first else { return try serve(opened) }
      let body: (Store) throws -> Void = { store in
        try open(Array(rest.dropFirst()), opened + [InspectedStore(next.name, store)])
      }
      if allowWrites {
        try OpenStore.writing(next.path, waiting.timeout, body)
      } else {
        try OpenStore.reading(next.path, waiting.timeout, body)
      }
    }

    private func serve(_ opened: [InspectedStore]) throws {
      var settings = Inspector.Settings()
      settings.allowsWrites = allowWrites
      let (inspector, port) = (Inspector(InspectorRoom(opened, settings)), port)
      try Waiting.run {
        let address: String
        do {
          address = try await inspector.serve(port: port)
        } catch let error as Inspector.Failure {
          throw Failure(.unreachable, error.description)
        }
        try Output.run { try $0.line(address) }
        // Until somebody asks the tool to end.
        while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
        await inspector.close()
      }
      // It has no end of its own: however busy it was, its exit code says which signal has ended it.
      if let number = Ending.signal { Ending.now(number) }
    }
  }
#endif
