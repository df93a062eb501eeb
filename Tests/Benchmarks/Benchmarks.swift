import ArgumentParser
import Foundation
import Tally

/// Measures what replication costs, each figure beside plain SQLite in the same run.
@main
struct Benchmarks: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "Benchmarks", abstract: "Measures what replication costs, beside plain SQLite.")

  @Option(help: "How many records.")
  var records = 100_000
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
  @Flag(help: "Also with ten times the records, once, to see how costs grow.")
  var growth = false
  @Flag(help: "Fails if a figure is more than twice its target, or than what is accepted where the target is missed.")
  var gate = false

  @Option(help: "Only this workload, for a counter of instructions: \(Instructions.workloads.joined(separator: ", ")).")
  var count: String?
  @Flag(help: "With --count: on a plain database, not a store.")
  var plain = false

  func validate() throws {
    if let count { guard Instructions.workloads.contains(count) else { throw ValidationError("no such workload") } }
    guard records >= 1000, runs >= 1 else { throw ValidationError("at least 1,000 records and one run") }
    let known = Set(Workload.all.map(\.number))
    guard wanted.isSubset(of: known) else { throw ValidationError("workloads are \(known.sorted())") }
  }

  func run() throws {
    if let count {
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-count-\(UUID().uuidString)")
      return try Instructions.run(count, onStore: !plain, records: records, in: folder)
    }
    let report = try from.map { try Report(json: Data(contentsOf: URL(fileURLWithPath: $0))) } ?? measured()
    try write(report)
    print(report.text)
    // What goes to a pipe waits in a buffer, and an error would overtake it.
    fflush(nil)
    if gate { try report.requireTargets(times: 2) }
  }

  private func measured() throws -> Report {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-benchmarks-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    var report = Report(records: records)
    try Self.measure(records, runs, wanted, folder) { round, findings in
      (report.runs, report.findings, report.load) = (round, findings, Report.currentLoad())
      try write(report)
    }
    if growth { report.growth = try Growth.measure(from: records, in: folder) }
    return report
  }

  /// After each round, so that a run that is broken off leaves what it has found.
  private func write(_ report: Report) throws {
    try json.map { try report.json().write(to: URL(fileURLWithPath: $0)) }
    try markdown.map { try Page(path: $0).update(report) }
  }

  private var wanted: Set<String> {
    Set(only.uppercased().split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) })
  }

  /// Runs the workloads. After each round `afterRound` gets all findings so far, in the order of their numbers.
  static func measure(
    _ records: Int, _ runs: Int, _ wanted: Set<String>, _ folder: URL, afterRound: (Int, [Finding]) throws -> Void
  ) throws {
    let (rows, ledger) = (Rows(count: records), Ledger())
    for number in 1...runs {
      let round = try Round(number, rows: rows, ledger: ledger, folder: folder)
      for workload in Workload.all where wanted.isEmpty || wanted.contains(workload.number) {
        try workload.run(round)
      }
      try round.remove()
      try afterRound(number, ledger.sorted())
      FileHandle.standardError.write(Data("round \(number) of \(runs) with \(records) records is done\n".utf8))
    }
  }
}
