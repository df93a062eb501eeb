import ArgumentParser
import Foundation
import Tally

/// Measures what replication costs, each figure beside plain SQLite in the same run.
@main
struct Benchmarks: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "Benchmarks", abstract: "Measures what replication costs, beside plain SQLite.")

  @Option(help: "How many records; several numbers give a table each: 10000,100000.")
  var records = "100000"
  @Option(help: "How many rounds; a figure is their median.")
  var runs = 5
  @Option(help: "Only these workloads, such as W1,W3.")
  var only = ""
  @Option(help: ArgumentHelp("Writes all samples.", valueName: "file"))
  var json: String?
  @Option(help: ArgumentHelp("Writes the tables and charts between the markers of this page.", valueName: "file"))
  var markdown: String?
  @Option(help: ArgumentHelp("Shows the samples of an earlier run instead of measuring.", valueName: "json file"))
  var from: String?
  @Option(help: ArgumentHelp("Shows the figures of another program beside; more than once.", valueName: "json file"))
  var external: [String] = []
  @Option(help: ArgumentHelp("Writes the rows as a plain SQLite file, for another program.", valueName: "file"))
  var writeRows: String?
  @Option(help: ArgumentHelp("Writes the rows as a store, for Scripts/floors.sh.", valueName: "file"))
  var writeStore: String?
  @Flag(inversion: .prefixedNo, help: "Measures peak memory after the rounds, each figure's in a process of its own.")
  var memory = true
  @Flag(help: "Fails if a figure is more than twice its target, or than what is accepted where the target is missed.")
  var gate = false

  @Option(help: "Only this workload, for a counter of instructions: \(Instructions.workloads.joined(separator: ", ")).")
  var count: String?
  @Flag(help: "With --count: on a plain database, not a store.")
  var plain = false

  @Option(help: .hidden)
  var memoryOf: String?
  @Option(help: .hidden)
  var folder: String?

  func validate() throws {
    if let count { guard Instructions.workloads.contains(count) else { throw ValidationError("no such workload") } }
    guard sizes.count == records.split(separator: ",").count, let least = sizes.min(), runs >= 1,
      count != nil || writeStore != nil || least >= 1000
    else { throw ValidationError("at least 1,000 records and one run") }
    guard sizes.count == 1 || (count == nil && writeRows == nil && writeStore == nil) else {
      throw ValidationError("--count, --write-rows and --write-store take one number of records")
    }
    let known = Set(Workload.all.map(\.number))
    guard wanted.isSubset(of: known) else { throw ValidationError("workloads are \(known.sorted())") }
  }

  func run() throws {
    if let writeRows { return try Rows(count: sizes[0]).write(to: writeRows) }
    if let writeStore { return try Round.writeStore(Rows(count: sizes[0]), to: writeStore) }
    if let memoryOf, let folder {
      let place = URL(fileURLWithPath: folder)
      let bytes = try Memory.growth(of: memoryOf, rows: Rows(count: sizes[0]), folder: place)
      return print(bytes.map { "\($0)" } ?? "unknown")
    }
    let place = FileManager.default.temporaryDirectory.appendingPathComponent("tally-benchmarks-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: place) }
    if let count { return try Instructions.run(count, onStore: !plain, records: sizes[0], in: place) }
    try report(place)
  }

  private func report(_ folder: URL) throws {
    let programs = try external.map(External.init)
    var report: Report
    if let from {
      report = try Report(json: Data(contentsOf: URL(fileURLWithPath: from)))
    } else {
      // Before an hour is spent on what they cannot be compared with.
      for program in programs { try program.check(machine: Machine.currentName, records: sizes) }
      report = try measured(folder)
    }
    for program in programs { try program.check(report) }
    report.programs += programs
    try write(report)
    print(report.text)
    // What goes to a pipe waits in a buffer, and an error would overtake it.
    fflush(nil)
    if gate { try report.requireTargets(times: 2) }
  }

  private func measured(_ folder: URL) throws -> Report {
    var report = Report(machine: try Machine(folder: folder))
    if let warning = report.machine.warning { Self.say(warning) }
    try Self.warmUp(folder)
    for records in sizes {
      report.sections.append(Section(records: records))
      try measure(records, folder) { section in
        report.sections[report.sections.count - 1] = section
        report.machine.loadAfter = Machine.currentLoad
        // After each round, so that a run that is broken off leaves what it has found.
        try write(report)
      }
    }
    return report
  }

  /// What runs first pays for pages and memory that the process does not have yet, and in the first round that is the
  /// baseline.
  private static func warmUp(_ folder: URL) throws {
    let place = folder.appendingPathComponent("warm-up")
    let round = try Round(0, rows: Rows(count: 10_000), ledger: Ledger(), folder: place)
    try InsertWorkload.run(round)
    try round.remove()
  }

  /// Runs the workloads, and tells after each round all findings so far.
  private func measure(_ records: Int, _ folder: URL, found: (Section) throws -> Void) throws {
    let (rows, ledger) = (Rows(count: records), Ledger())
    for number in 1...runs {
      let place = folder.appendingPathComponent("round-\(number)")
      let round = try Round(number, rows: rows, ledger: ledger, folder: place)
      for workload in Workload.all where wanted.isEmpty ? !workload.isOnRequest : wanted.contains(workload.number) {
        try workload.run(round)
      }
      try round.remove()
      try found(Section(records: records, findings: ledger.sorted()))
      Self.say("round \(number) of \(runs) with \(records) records is done")
    }
    guard memory else { return }
    let amounts = try Memory.measure(ledger, rows: rows, folder: folder)
    var section = Section(records: records, findings: ledger.sorted())
    for index in section.findings.indices {
      section.findings[index].memory = amounts[section.findings[index].figure.id]
    }
    try found(section)
  }

  private func write(_ report: Report) throws {
    try json.map { try report.json().write(to: URL(fileURLWithPath: $0)) }
    try markdown.map { try Page(path: $0).update(report) }
  }

  private static func say(_ text: String) { FileHandle.standardError.write(Data("\(text)\n".utf8)) }

  private var sizes: [Int] { records.split(separator: ",").compactMap { Int($0.trimmingCharacters(in: .whitespaces)) } }

  private var wanted: Set<String> {
    Set(only.uppercased().split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) })
  }
}
