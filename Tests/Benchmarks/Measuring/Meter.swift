import Foundation

/// What a stretch of work cost.
struct Cost: Codable {
  /// Seconds of processor time, of user and system, in all threads.
  var cpu = 0.0
  /// Seconds on the wall.
  var wall = 0.0
  /// Bytes by which the process grew at its peak; nil where the system does not tell.
  var memory: Int?
  /// Bytes made, where the work makes any.
  var bytes = 0.0
}

/// Measures the whole process.
enum Meter {
  static func measure(_ body: () throws -> Void) rethrows -> Cost {
    PeakMemory.reset()
    let (memory, cpu, start) = (PeakMemory.resident, processorSeconds(), ContinuousClock.now)
    try body()
    let wall = ContinuousClock.now - start
    let peak = PeakMemory.highest
    return Cost(
      cpu: processorSeconds() - cpu, wall: wall / .seconds(1),
      memory: memory.flatMap { memory in peak.map { max(0, $0 - memory) } })
  }

  private static func processorSeconds() -> Double {
    var usage = rusage()
    #if canImport(Glibc)
      getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    #else
      getrusage(RUSAGE_SELF, &usage)
    #endif
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
  }

  private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
}

/// The resident set as Linux tells it (proc(5), `/proc/self/status`).
private enum PeakMemory {
  static var resident: Int? { value(of: "VmRSS:") }
  static var highest: Int? { value(of: "VmHWM:") }

  /// Lets the peak begin at what is resident now: "5" resets it, says proc(5) of `clear_refs`.
  static func reset() {
    guard let file = FileHandle(forWritingAtPath: "/proc/self/clear_refs") else { return }
    try? file.write(contentsOf: Data("5".utf8))
    try? file.close()
  }

  private static func value(of key: String) -> Int? {
    guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return nil }
    let line = status.split(separator: "\n").first { $0.hasPrefix(key) }
    return line?.split { $0 == " " || $0 == "\t" }.compactMap { Int($0) }.first.map { $0 << 10 }
  }
}
