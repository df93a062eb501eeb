#if os(macOS) || os(Linux)
  import Foundation
  import Tally
  import TallySync
  import TallyWire
  import Testing

  @Suite(.timeLimit(.minutes(5))) struct ProcessTests {
    @Test func aCommandThatCannotBeFoundIsUnreachable() async throws {
      let connection = try await ProcessTransport(command: "exec /no/such/program 2>/dev/null").open()
      let error = await #expect(throws: SyncError.self) { try await connection.receive() }
      #expect(error?.code == .unreachable)
      #expect(error?.message.contains("exit status 127") == true)
      await connection.close()
    }

    @Test func aCommandThatFailsSaysWithWhat() async throws {
      let site = try Site(notes: 1)
      let error = await #expect(throws: SyncError.self) {
        try await site.using { store in
          try await store.sync(over: try await ProcessTransport(command: "cat >/dev/null & exit 42").open())
        }
      }
      #expect(error?.message.contains("exit status 42") == true)
    }

    @Test func whatIsNoPeerIsFoundOut() async throws {
      let site = try Site(notes: 1)
      let before = try site.dump()
      for (command, code) in [
        ("yes 'Welcome to the machine, where nobody speaks this protocol'", nil),
        ("head -c 100000 /dev/zero | tr '\\0' '\\377'; cat >/dev/null", SyncError.Code.limitExceeded),
      ] {
        do {
          _ = try await site.using { try await $0.sync(over: try await ProcessTransport(command: command).open()) }
          Issue.record("a session with \(command)")
        } catch let error as SyncError {
          #expect(code == nil || error.code == code)
        } catch is WireError { #expect(code == nil) }
      }
      #expect(try site.dump() == before)
    }

    @Test func aCommandThatDoesNotEndIsAskedTo() async throws {
      let pid = FileManager.default.temporaryDirectory.appendingPathComponent("tally-pid-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: pid) }
      let connection = try await ProcessTransport(command: "echo $$ > '\(pid.path)'; exec sleep 600").open()
      while !FileManager.default.fileExists(atPath: pid.path) { await Task.yield() }
      await connection.close()
      let text = try String(contentsOf: pid, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
      let number = try #require(Int32(text))
      // Signal 0 only asks whether the process is there.
      while kill(number, 0) == 0 { await Task.yield() }
    }

    /// By default the signal ends a process that writes to a pipe without a reader.
    @Test func aPeerThatGoesAwayIsAnErrorAndNoSignal() async {
      await #expect(processExitsWith: .success) {
        signal(SIGPIPE, SIG_DFL)
        let (here, there) = try StreamConnection.pair()
        await there.close()
        do {
          for _ in 0..<100 { try await here.send([UInt8](repeating: 1, count: 10_000)) }
          exit(3)
        } catch { exit(error is SyncError ? 0 : 4) }
      }
    }

    /// A connection takes four descriptors and a thread; after closing, none. In a process of its own, since other
    /// tests open files.
    @Test func closingGivesBackDescriptors() async {
      await #expect(processExitsWith: .success) {
        func count() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/dev/fd").count }
        let before = try count()
        for _ in 0..<100 {
          let (here, there) = try StreamConnection.pair()
          try await here.send([1])
          guard try await there.receive() == [1] else { exit(3) }
          await here.close()
          await there.close()
        }
        // The last few threads may still be on their way out.
        exit(try count() < before + 50 ? 0 : 4)
      }
    }
  }
#endif
