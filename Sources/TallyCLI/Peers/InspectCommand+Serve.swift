#if Inspector
  import Foundation
  import Tally
  import TallyInspector

  extension InspectCommand {
    /// Serves until the tool is asked to end.
    func serve() throws { try open(Array(zip(Self.names(of: stores), stores)), [], []) }

    /// The failures that concern one store: the others are shown all the same.
    private static let reasons: Set<ExitStatus> = [
      .badData, .notFound, .noPermission, .newerFormat, .busy, .inputOutput,
    ]

    /// Opens one store after the other, each for as long as the next are open. One that is missing or damaged is shown
    /// as that, beside those that are not.
    private func open(
      _ rest: [(name: String, path: String)], _ opened: [InspectedStore], _ bad: [(name: String, error: any Error)]
    ) throws {
      guard let next = rest.first else {
        if opened.isEmpty, let error = bad.first?.error { throw error }
        return try serve(opened, bad.map { ($0.name, Failure.message(of: $0.error)) })
      }
      let others = Array(rest.dropFirst())
      var isOpen = false
      let body: (Store) throws -> Void = { store in
        isOpen = true
        try open(others, opened + [InspectedStore(next.name, store, queries: QueryProcess.run)], bad)
      }
      do {
        if allowWrites {
          try OpenStore.writing(next.path, waiting.timeout, body)
        } else {
          try OpenStore.reading(next.path, waiting.timeout, body)
        }
      } catch  where !isOpen && Self.reasons.contains(ExitStatus(of: error)) {
        try open(others, opened, bad + [(next.name, error)])
      }
    }

    private func serve(_ opened: [InspectedStore], _ bad: [(name: String, reason: String)]) throws {
      var settings = Inspector.Settings()
      settings.allowsWrites = allowWrites
      let (inspector, port) = (Inspector(InspectorRoom(opened, settings, unreadable: bad)), port)
      try Waiting.run {
        let address: String
        do {
          address = try await inspector.serve(port: port)
        } catch let error as Inspector.Failure {
          throw Failure(.unreachable, error.description)
        }
        try Output.run { try $0.line(address) }
        let isListening = EnterKey.follow {
          // Standard output is closed.
          try? Output.run { try $0.line(inspector.newAddress()) }
        }
        if isListening { complain("each address lets in one browser, once; Enter prints another") }
        // Until the tool is asked to end.
        while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
        await inspector.close()
      }
      // It has no end of its own: however busy it was, its exit code says which signal has ended it.
      if let number = Ending.signal { Ending.now(number) }
    }
  }
#endif
