#if Inspector && Relay
  import Foundation
  import Tally
  import TallyInspector
  import TallySync

  /// The stage of the show: a relay, two devices, and an inspector over their files.
  enum Stage {
    private static let names = ["phone", "tablet"]

    /// The port that was asked for is taken, or nobody may listen there.
    private struct NoPort: Error, CustomStringConvertible { let description: String }

    static func run(port: Int) async throws {
      do {
        try await Inspector.checkPort(port)
      } catch let failure as Inspector.Failure {
        throw NoPort(description: "\(failure); choose another one: PORT=8490 make show")
      }
      // From now on a signal ends the show once it stands, so that nothing of it is left.
      let ending = Ending()
      defer { ending.cancel() }
      let folder = try Folder(nil, isKept: false)
      defer { folder.clean() }
      let relay = try await LiveRelay(folder.url)
      var actors: [Actor] = []
      for name in names { actors.append(try await Actor(name, folder.url, relay)) }
      // The files are there once the devices have told how they stand.
      let stores = try names.map { try Store(existing: folder.url.appendingPathComponent("\($0).tally").path) }
      var settings = Inspector.Settings()
      (settings.allowsWrites, settings.logger.logLevel) = (true, .warning)
      let inspected = zip(actors, stores).map { InspectedStore($0.name, $1, $0.view) }
      let inspector = Inspector(InspectorRoom(inspected, settings, controls(actors, relay)))
      let address = try await inspector.serve(port: port)
      say("Open \(address)")
      say("A phone and a tablet keep a scorebook through a relay, and edit by themselves. Ctrl-C ends the show.")
      let isListening = EnterKey.follow {
        do {
          say("Open \(try inspector.newAddress())")
        } catch {
          say("\(error)")
        }
      }
      if isListening { say("The address lets in one browser, once. Enter prints another.") }
      await ending.wait()
      await inspector.close()
      for store in stores { try store.close() }
      for actor in actors { await actor.end() }
      await relay.end()
    }

    /// Prints a line at once, also where nobody's terminal is.
    private static func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

    /// The signals that end the show: SIGINT, SIGTERM and SIGHUP.
    private struct Ending {
      private let asked: AsyncStream<Void>
      private let sources: [any DispatchSourceSignal]

      init() {
        let (asked, feed) = AsyncStream.makeStream(of: Void.self)
        self.asked = asked
        sources = [SIGINT, SIGTERM, SIGHUP].map { number in
          signal(number, SIG_IGN)
          let source = DispatchSource.makeSignalSource(signal: number)
          source.setEventHandler { feed.yield() }
          source.resume()
          return source
        }
      }

      /// Returns when one has come, perhaps already.
      func wait() async { for await _ in asked { break } }
      func cancel() { for source in sources { source.cancel() } }
    }

    private static func controls(_ actors: [Actor], _ relay: LiveRelay) -> InspectorControls {
      InspectorControls(
        list: {
          var controls: [InspectorControls.Control] = []
          for actor in actors { controls += await actor.controls }
          return controls + [
            .init(
              "relay", group: "relay", await relay.isRunning ? "Running" : "Stopped", isOn: await relay.isRunning)
          ]
        },
        perform: { id, isOn in
          if id == "relay" { return try await relay.turn(isOn: isOn) }
          let words = id.split(separator: " ").map(String.init)
          guard words.count == 2, let actor = actors.first(where: { $0.name == words[0] }) else { return }
          try await actor.perform(words[1], isOn)
        })
    }
  }

  /// A device of the show, seen from the stage: its process, its switches, and how its sync stands.
  actor Actor {
    nonisolated let name: String
    private let process: LiveProcess
    private var isOn = ["network": true, "clock": false, "edits": true]
    private var status = SyncStatus()
    private var followers: [Int: AsyncStream<SyncStatus>.Continuation] = [:]
    private var followerCount = 0
    /// Whether the process has ended, which is not the show's doing.
    private var isGone = false

    init(_ name: String, _ folder: URL, _ relay: LiveRelay) async throws {
      self.name = name
      guard let executable = Bundle.main.executableURL else { throw CocoaError(.fileNoSuchFile) }
      process = try LiveProcess(executable, ["device", name, folder.path, relay.address, relay.token])
      var lines = process.lines.makeAsyncIterator()
      guard let first = await lines.next() else { throw LiveProcess.Ended(name: name) }
      note(first)
      Task { [weak self, lines = process.lines] in
        for await line in lines { await self?.note(line) }
        await self?.noteEnd()
      }
    }

    private func note(_ line: String) {
      guard let line = try? JSONDecoder().decode(StatusLine.self, from: Data(line.utf8)) else { return }
      tell(line.status)
    }

    private func noteEnd() {
      isGone = true
      var last = status
      last.peers = last.peers.map { peer in
        var peer = peer
        (peer.phase, peer.nextRetry) = (.blocked, nil)
        (peer.lastError, peer.errorCode) = (LiveProcess.Ended(name: name).description, "closed")
        return peer
      }
      tell(last)
    }

    private func tell(_ status: SyncStatus) {
      self.status = status
      for follower in followers.values { follower.yield(status) }
    }

    private func current() -> SyncStatus { status }

    private func follow() -> AsyncStream<SyncStatus> {
      let (stream, continuation) = AsyncStream.makeStream(of: SyncStatus.self, bufferingPolicy: .bufferingNewest(1))
      followerCount += 1
      let number = followerCount
      followers[number] = continuation
      continuation.onTermination = { [weak self] _ in Task { await self?.forget(number) } }
      continuation.yield(status)
      return stream
    }

    private func forget(_ follower: Int) { followers[follower] = nil }

    nonisolated var view: EngineView {
      EngineView(
        status: { await self.current() }, updates: { await self.follow() },
        syncNow: { try? await self.perform("sync", true) })
    }

    /// None once the process has ended.
    var controls: [InspectorControls.Control] {
      guard !isGone else { return [] }
      func toggle(_ id: String, _ label: String) -> InspectorControls.Control {
        .init("\(name) \(id)", group: name, label, isOn: isOn[id] ?? false)
      }
      func button(_ id: String, _ label: String) -> InspectorControls.Control {
        .init("\(name) \(id)", group: name, label)
      }
      return [
        toggle("network", isOn["network"] == true ? "Network" : "Network cut"), toggle("clock", "Clock 2 h ahead"),
        toggle("edits", "Edits by itself"),
        button("edit", "Edit"), button("delete", "Delete a game"), button("undelete", "Undelete"),
      ]
    }

    func perform(_ id: String, _ isOn: Bool) throws {
      guard !isGone else { throw LiveProcess.Ended(name: name) }
      if self.isOn[id] != nil { self.isOn[id] = isOn }
      try process.say("\(id) \(isOn ? "on" : "off")")
    }

    func end() { process.end() }
  }
#endif
