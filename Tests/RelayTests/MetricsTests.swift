#if Relay
  import Foundation
  import RelayRig
  import TallyRelay
  import TallyRelayServer
  import TallySync
  import Testing

  /// What an owner watches: the numbers are right, and what is shown and warned of is there.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct MetricsTests {
    private static let hosting = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Examples/Relay/Hosting").standardizedFileURL

    private func text(_ relay: RelayFixture) async throws -> String {
      try await RawHTTP.send("GET", "/metrics", port: relay.adminPort).text
    }

    private func value(_ name: String, in text: String) -> Double? {
      text.split(separator: "\n").first { $0.hasPrefix("\(name) ") }.flatMap { Double($0.dropFirst(name.count + 1)) }
    }

    /// What is held is counted as spaces count it, and what the disk has as the disk does.
    @Test(arguments: StorageKind.available) func whatIsHeldIsCounted(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) { relay in
        let tokens = [try await relay.token(), try await relay.token(), try await relay.token()]
        var bytes = 0
        for token in tokens.prefix(2) {
          let mailbox = try relay.mailbox(token)
          _ = try await mailbox.put(MailboxUpload(name: "small", bytes: [1]))
          _ = try await mailbox.put(MailboxUpload(name: "large", bytes: [UInt8](repeating: 1, count: 300_000)))
          bytes += try await mailbox.status().bytes
        }
        try await relay.store.deleteSpace(tokens[2].space)
        let text = try await text(relay)
        #expect(value("tally_relay_spaces", in: text) == 2)
        #expect(value("tally_relay_deleted_spaces", in: text) == 1)
        #expect(value("tally_relay_entries", in: text) == 4)
        #expect(value("tally_relay_content_bytes", in: text) == Double(bytes))
        #expect(value("tally_relay_write_seconds_count", in: text) == 4)
        #expect(try #require(value("tally_relay_write_seconds_sum", in: text)) > 0)
        #expect(text.contains("\ntally_relay_write_seconds_bucket{le=\"+Inf\"} 4\n"))
        if kind == .sqlite {
          func size(_ path: String) throws -> Double {
            Double(try #require(FileManager.default.attributesOfItem(atPath: path)[.size] as? Int))
          }
          let (file, log) = (try size(relay.place.path), try size(relay.place.path + "-wal"))
          #expect(value("tally_relay_file_bytes", in: text) == file)
          #expect(value("tally_relay_log_bytes", in: text) == log)
          let path = relay.folder.path
          let disk = try await RawHTTP.onThread { try Program.run("df", ["-B1", "--output=size", path]) }
          #expect(
            value("tally_relay_disk_bytes", in: text) == Double(disk.split(whereSeparator: \.isWhitespace).last ?? ""))
          #expect(value("tally_relay_file_limit_bytes", in: text) == nil)
        } else {
          #expect(try #require(value("tally_relay_database_bytes", in: text)) > 600_000)
          #expect(value("tally_relay_file_bytes", in: text) == nil)
        }
      }
    }

    #if os(Linux)
      /// As the system has them.
      @Test func aProcessSaysWhatItTakes() async throws {
        try await RelayFixture.run { relay in
          let text = try await text(relay)
          let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
          let resident = try #require(Double(pages[1])) * Double(sysconf(Int32(_SC_PAGESIZE)))
          #expect(
            (resident / 2...resident * 2).contains(try #require(value("process_resident_memory_bytes", in: text))))
          #expect(try #require(value("process_virtual_memory_bytes", in: text)) > resident)
          let start = try #require(value("process_start_time_seconds", in: text))
          let age = Date().timeIntervalSince1970 - start
          let mine = try await RawHTTP.onThread { try Program.run("ps", ["-o", "etimes=", "-p", "\(getpid())"]) }
          #expect(abs(age - (Double(mine) ?? -100)) < 3, "\(age) \(mine)")
          #expect(try #require(value("process_cpu_seconds_total", in: text)) > 0)
          let open = try #require(value("process_open_fds", in: text))
          var descriptors: [Int32] = []
          for _ in 0..<50 { descriptors.append(Foundation.open("/dev/null", O_RDONLY)) }
          let crowded = try await self.text(relay)
          for descriptor in descriptors { close(descriptor) }
          let more = try #require(value("process_open_fds", in: crowded))
          let most = try #require(value("process_max_fds", in: crowded))
          #expect(more > open + 20 && more < most)
        }
      }
    #endif

    /// Each family says what it is once, before its numbers, as the format demands.
    @Test func theTextIsOfPrometheusForm() async throws {
      try await RelayFixture.run {
        $0.limits.fileBytes = 1 << 30
      } _: { relay in
        let text = try await text(relay)
        var families: [Substring] = []
        for line in text.split(separator: "\n") {
          if line.hasPrefix("# TYPE ") { families.append(line.split(separator: " ")[2]) }
          guard !line.hasPrefix("#") else { continue }
          let family = try #require(families.last)
          #expect(line.hasPrefix(family) && line.split(separator: " ").count == 2, "\(line)")
          #expect(Double(line.split(separator: " ")[1]) != nil, "\(line)")
        }
        #expect(Set(families).count == families.count && text.hasSuffix("\n"))
        #expect(value("tally_relay_file_limit_bytes", in: text) == Double(1 << 30))
      }
    }

    /// The dashboard and the alerts ask for nothing that no relay has.
    @Test(arguments: ["grafana.json", "alerts.yml"]) func whatIsWatchedIsThere(_ file: String) async throws {
      let watched = try String(contentsOf: Self.hosting.appendingPathComponent(file), encoding: .utf8)
      var known: Set<String> = []
      for kind in StorageKind.available {
        try await RelayFixture.run(kind) {
          $0.limits.fileBytes = kind == .sqlite ? 1 << 30 : nil
        } _: { relay in
          let token = try await relay.token()
          _ = try await relay.mailbox(token).put(MailboxUpload(name: "a", bytes: [1]))
          for line in try await text(relay).split(separator: "\n") where line.hasPrefix("# TYPE ") {
            let words = line.split(separator: " ")
            for end in words[3] == "histogram" ? ["_bucket", "_sum", "_count"] : [""] {
              known.insert("\(words[2])\(end)")
            }
          }
        }
      }
      if StorageKind.available == [.sqlite] { known.insert("tally_relay_database_bytes") }
      let names = watched.matches(of: /\b(tally_relay|process)_[a-z_]+/).map { String($0.output.0) }
      #expect(names.count > 10)
      for name in names { #expect(known.contains(name), "\(file) asks for \(name)") }
    }

    private static let promtool = ["/usr/bin/promtool", "/usr/local/bin/promtool"].first {
      FileManager.default.isExecutableFile(atPath: $0)
    }

    @Test(.enabled(if: promtool != nil, "no promtool is installed (Debian: prometheus)"))
    func prometheusTakesTheAlerts() async throws {
      let path = Self.hosting.appendingPathComponent("alerts.yml").path
      let said = try await RawHTTP.onThread { try Program.run(Self.promtool ?? "", ["check", "rules", path]) }
      #expect(said.contains("SUCCESS: 10 rules found"), "\(said)")
    }
  }
#endif
