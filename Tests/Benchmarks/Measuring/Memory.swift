import Foundation

/// Peak memory, each figure's in a process of its own: one that has done other work before holds heap that it uses
/// again, and would show no growth.
enum Memory {
  /// The files of one filled pair and its replicas, from which each process gets a copy.
  static func measure(_ ledger: Ledger, rows: Rows, folder: URL) throws -> [String: Int] {
    let prepared = folder.appendingPathComponent("prepared")
    let round = try Round(1, rows: rows, ledger: Ledger(), folder: prepared)
    _ = try round.replicas()
    try round.close()
    defer { try? FileManager.default.removeItem(at: prepared) }
    var found: [String: Int] = [:]
    for ids in ledger.stretches {
      guard let first = ids.first else { continue }
      let copy = folder.appendingPathComponent("copy")
      try FileManager.default.copyItem(at: prepared, to: copy)
      defer { try? FileManager.default.removeItem(at: copy) }
      let memory = try inFreshProcess(first, records: rows.items.count, folder: copy)
      for id in ids { found[id] = memory }
    }
    return found
  }

  private static func inFreshProcess(_ id: String, records: Int, folder: URL) throws -> Int? {
    let (process, output) = (Process(), Pipe())
    process.executableURL = Bundle.main.executableURL
    process.arguments = ["--records", "\(records)", "--memory-of", id, "--folder", folder.path]
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Mistake("no memory was measured for \(id)") }
    return Int(text.trimmingCharacters(in: .whitespacesAndNewlines))
  }

  /// What a fresh process does: our side of one figure, and nothing else that the workload measures.
  /// - Returns: Nil where the system does not tell.
  static func growth(of id: String, rows: Rows, folder: URL) throws -> Int? {
    let round = try Round(1, rows: rows, ledger: Ledger(), folder: folder, memoryOf: id)
    let workload = Workload.all.first { id.hasPrefix("\($0.number).") }
    do {
      try workload?.run(round)
    } catch let measured as Measured {
      return measured.bytes
    }
    throw Mistake("there is no figure \(id)")
  }

  /// Ends a workload as soon as the figure in question is measured.
  struct Measured: Error {
    var bytes: Int?

    init(_ body: () throws -> Void) throws {
      returnFreedMemory()
      let start = ResidentSet.startPeak() ? ResidentSet.current : nil
      try body()
      if let start, let peak = ResidentSet.peak { bytes = max(0, peak - start) }
    }
  }
}

/// Gives what the preparations have freed back to the system, so that it does not hide what comes: malloc_trim(3),
/// which Swift's module of the C library leaves out. Elsewhere there is none.
private func returnFreedMemory() {
  guard let symbol = dlsym(nil, "malloc_trim") else { return }
  typealias Trim = @convention(c) (Int) -> Int32
  _ = unsafeBitCast(symbol, to: Trim.self)(0)
}

/// The resident set as Linux tells it (proc(5), `/proc/self/status`).
private enum ResidentSet {
  static var current: Int? { value(of: "VmRSS:") }
  static var peak: Int? { value(of: "VmHWM:") }

  /// Lets the peak begin at what is resident now: "5" resets it, says proc(5) of `clear_refs`. False where it does not.
  static func startPeak() -> Bool {
    guard let file = FileHandle(forWritingAtPath: "/proc/self/clear_refs") else { return false }
    defer { try? file.close() }
    do { try file.write(contentsOf: Data("5".utf8)) } catch { return false }
    return true
  }

  private static func value(of key: String) -> Int? {
    guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return nil }
    let line = status.split(separator: "\n").first { $0.hasPrefix(key) }
    return line?.split { $0 == " " || $0 == "\t" }.compactMap { Int($0) }.first.map { $0 << 10 }
  }
}
