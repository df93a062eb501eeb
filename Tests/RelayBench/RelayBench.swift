import ArgumentParser
import Foundation
import RelayRig

/// What a relay costs, beside what it cannot do without: `make bench-relay`.
///
/// The relay is a process of its own, of the same build; the clients are this one. Nothing leaves the machine, and
/// every loop has an end.
@main
struct RelayBench: AsyncParsableCommand {
  @Option(help: "How many entries are put.") var appends = 20_000
  @Option(help: "How many spaces are followed while entries come at a steady rate.") var spaces = 1_000
  @Option(help: "How many entries a second come then.") var rate = 100
  @Option(help: "For how many seconds they come.") var seconds = 20
  @Option(help: "How many streams follow one space.") var streams = 10_000
  @Option(help: "How many records a first sync has.") var records = 100_000
  @Option(help: "How many MB of files a first sync has.") var assets = 60
  @Option(help: "How many KB a file has.") var assetSize = 3_000
  @Option(help: "What chooses the bytes at which devices are killed.") var seed: UInt64 = 1
  @Option(help: "How many MiB are removed while others put, with --load.") var removed = 1_024
  @Option(help: "How many answers are not read, with --load.") var unread = 1_000
  @Option(help: "Only some of: append, push, streams, sync, assets, postgres; with --load: load, faults, assets.")
  var only: String?
  @Flag(help: "One table of a relay under load, with its floor: make relay-load.") var load = false
  @Option(help: "How many streams return after a restart, with --load.") var returning = 5_000
  @Flag(help: .hidden) var serveNothing = false
  @Option(help: .hidden) var assetDevice: String?
  @Option(help: .hidden) var at: String?
  @Option(help: .hidden) var token: String?
  @Option(help: "Write the table of the page to a file.") var markdown: String?

  func validate() throws {
    guard assets > 0, assetSize > 0, assets <= 100_000, assetSize <= 1_000_000 else {
      throw ValidationError("--assets is 1 to 100000 MB, --asset-size 1 to 1000000 KB")
    }
    guard (1...1_024).contains(removed), (1...15_000).contains(unread) else {
      throw ValidationError("--removed is 1 to 1024 MiB, --unread 1 to 15000")
    }
  }

  func run() async throws {
    #if Relay
      if serveNothing { return try await BareServer.serve() }
      if let assetDevice, let at, let token { return try await AssetDevice.run(assetDevice, at, token) }
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("relay-bench-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let wanted = only.map { Set($0.split(separator: ",").map(String.init)) }
      var figures: [Figure] = []
      func measure(_ name: String, _ body: () async throws -> [Figure]) async throws {
        guard wanted?.contains(name) ?? true else { return }
        for figure in try await body() {
          print(load ? figure.row : figure.line)
          figures.append(figure)
        }
      }
      let files = AssetBench(
        folder: folder, byteCount: assets * 1_000_000, fileByteCount: assetSize * 1_000, seed: seed)
      if load {
        try await measure("load") {
          try await LoadBench(folder: folder, appends: appends / 10, streams: streams, returning: returning).run()
        }
        try await measure("faults", FaultBench(folder: folder, removed: removed, unread: unread).run)
        try await measure("assets", files.run)
        return try write(figures)
      }
      try await measure("append") { try await AppendBench(folder: folder).run(count: appends) }
      try await measure("push") {
        try await PushBench(folder: folder).run(spaces: spaces, rate: rate, seconds: seconds)
      }
      try await measure("streams") { try await StreamBench(folder: folder).run(count: streams) }
      try await measure("sync") { try await SyncBench(folder: folder).run(records: records) }
      try await measure("assets", files.run)
      #if Postgres
        if PostgresServer.programs == nil {
          print("postgres: not measured, since no PostgreSQL server is installed (Debian: postgresql)")
        } else {
          try await measure("postgres") {
            try await PostgresBench(folder: folder).run(count: appends, spaces: spaces, rate: rate, seconds: seconds)
          }
        }
      #else
        print("postgres: not measured, since this build is without the trait Postgres (Debian: libpq-dev)")
      #endif
      try write(figures)
    #else
      throw ValidationError("the relay is behind a package trait: make bench-relay")
    #endif
  }

  private func write(_ figures: [Figure]) throws {
    guard let markdown else { return }
    let rows = ["| figure | | to reach |", "| --- | --- | --- |"] + figures.map(\.row)
    try (rows.joined(separator: "\n") + "\n").write(toFile: markdown, atomically: true, encoding: .utf8)
  }
}

/// A line of the table.
struct Figure {
  let name: String
  let value: String
  let target: String

  var line: String { "\(name): \(value) (\(target))" }
  var row: String { "| \(name) | \(value) | \(target) |" }
}

func milliseconds(_ duration: Duration) -> String { String(format: "%.1f ms", duration / .milliseconds(1)) }
