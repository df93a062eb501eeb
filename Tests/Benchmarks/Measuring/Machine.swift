import Foundation

/// What a run's figures depend on beside the code.
struct Machine: Codable {
  /// The processor, its cores and the system: figures of another program are shown only if theirs is the same.
  var name: String
  /// Processes that ran or waited to, over a minute: before the first round and after the last.
  var loadBefore: Double?
  var loadAfter: Double?
  /// Seconds that the disk takes to sync a file of 4 KB: the median of twenty.
  var syncSeconds: Double

  /// Beyond this the ratios of small transactions rise, since caches are shared.
  static let quietLoad = 1.5

  init(folder: URL) throws {
    name = Self.currentName
    loadBefore = Self.currentLoad
    syncSeconds = try Self.syncSeconds(in: folder)
  }

  static var currentName: String {
    "\(processor), \(ProcessInfo.processInfo.activeProcessorCount) cores, \(ProcessInfo.processInfo.operatingSystemVersionString)"
  }

  static var currentLoad: Double? {
    var averages = [0.0, 0.0, 0.0]
    return getloadavg(&averages, 3) > 0 ? averages[0] : nil
  }

  var text: String {
    let loads = [loadBefore, loadAfter].compactMap { $0.map { String(format: "%.1f", $0) } }
    let sync = String(format: "%.2f ms", syncSeconds * 1000)
    return
      "\(name); load average \(loads.joined(separator: " before, ")) after; a sync of 4 KB to the disk takes \(sync)."
  }

  var warning: String? {
    guard let loadBefore, loadBefore > Self.quietLoad else { return nil }
    return String(
      format: "Warning: the load average was %.1f before the run; figures of a quiet machine are lower.", loadBefore)
  }

  private static var processor: String {
    let info = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
    let line = info.split(separator: "\n").first { $0.hasPrefix("model name") }
    return line?.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown processor"
  }

  private static func syncSeconds(in folder: URL) throws -> Double {
    let path = folder.appendingPathComponent("sync").path
    guard FileManager.default.createFile(atPath: path, contents: nil), let file = FileHandle(forWritingAtPath: path)
    else { throw Mistake("no file at \(path)") }
    defer { try? file.close() }
    let times = try (0..<20).map { number in
      try file.seek(toOffset: 0)
      try file.write(contentsOf: Data(repeating: UInt8(number), count: 4096))
      return try Meter.measure { try file.synchronize() }.wall
    }
    return times.median
  }
}
