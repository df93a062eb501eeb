import Foundation

/// libFuzzer on one target: `fuzz TARGET CORPUS… -max_total_time=60`. `fuzz list` prints the targets, `fuzz seeds
/// FOLDER` writes what to begin with.
@main
enum Fuzzer {
  static func main() throws {
    let arguments = CommandLine.arguments.dropFirst()
    switch arguments.first {
    case "list":
      for target in FuzzTarget.all { print(target.name) }
    case "seeds": try writeSeeds(to: arguments.dropFirst().first ?? "seeds")
    case let name?:
      guard let target = FuzzTarget.named(name) else { fatalError("there is no target \(name)") }
      exit(run(target, Array(arguments.dropFirst())))
    case nil: fatalError("fuzz list | seeds FOLDER | TARGET CORPUS…")
    }
  }

  private static func writeSeeds(to folder: String) throws {
    for target in FuzzTarget.all {
      let folder = URL(fileURLWithPath: folder).appendingPathComponent(target.name)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      for (number, bytes) in try target.seeds().enumerated() {
        try Data(bytes).write(to: folder.appendingPathComponent("seed-\(number)"))
      }
    }
  }

  private static func run(_ target: FuzzTarget, _ options: [String]) -> CInt {
    current = target
    // To merge corpora libFuzzer starts itself again, through a shell, by what stands first.
    let arguments = ["\(CommandLine.arguments[0]) \(target.name)", "-max_len=\(target.maximumLength)"] + options
    var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
    var count = CInt(arguments.count)
    return pointers.withUnsafeMutableBufferPointer { buffer in
      var start = buffer.baseAddress
      return withUnsafeMutablePointer(to: &start) { start in
        runDriver(&count, UnsafeMutableRawPointer(start)) { bytes, count in
          do {
            try current?.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
          } catch {
            fatalError("broken: \(error)")
          }
          return 0
        }
      }
    }
  }
}

/// What libFuzzer's callback, which can capture nothing, runs.
nonisolated(unsafe) private var current: FuzzTarget?

@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
  _ count: UnsafeMutablePointer<CInt>, _ arguments: UnsafeMutableRawPointer,
  _ callback: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt
