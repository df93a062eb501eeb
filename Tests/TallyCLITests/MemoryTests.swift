import Foundation
import Testing

/// Memory does not follow the size of what is read.
@Suite(.serialized, .timeLimit(.minutes(10))) struct MemoryTests {
  private static let mebibyte = 1 << 20

  /// What a command may have more of for 36,000 records more: 48 MiB for a million, and the noise of an allocator.
  @Test func whatReadsAStoreDoesNotGrowWithIt() throws {
    let bench = try Bench("small", "large")
    for (name, count) in [("small", 4000), ("large", 40_000)] {
      let lines = (0..<count).map { "{\"name\":\"SBPerson|~|\(name)\($0)\",\"fields\":{\"name\":\"number \($0)\"}}\n" }
      try bench.done("import", name, "-", input: lines.joined())
    }
    let commands = [["verify"], ["dump"], ["dump", "--view"], ["recover", "-o", "rescued-"]]
    for command in commands {
      let peaks = try ["small", "large"].map { name in
        var arguments = [command[0], name] + command.dropFirst()
        if command[0] == "recover" { arguments[arguments.count - 1] += name }
        let outcome = try bench.tally(arguments)
        #expect(outcome.status == 0, "\(arguments)")
        return outcome.peak
      }
      #expect(peaks[0] > Self.mebibyte)
      #expect(peaks[1] - peaks[0] < 6 * Self.mebibyte, "\(command): \(peaks)")
    }
  }

  /// 32 KB that become a gibibyte, whatever they say of themselves: as a stream, and in a folder.
  @Test func aHostileFrameCostsLittleMemory() throws {
    let bench = try Bench("a", "b", "c")
    try bench.done("put", "a", "SBPerson|~|ann", "name=Ann")
    try bench.done("delta", "a", "-o", "delta")
    try FileManager.default.createDirectory(atPath: bench.path("shared"), withIntermediateDirectories: false)
    let pass = ["--via", "folder:" + bench.path("shared")]
    #expect(try bench.tally(["sync", "a"] + pass).status == 0)
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: bench.path("shared")).first)
    let usual = (try bench.tally("apply", "b", "delta").peak, try bench.tally(["sync", "c"] + pass).peak)
    #expect(usual.0 > Self.mebibyte && usual.1 > Self.mebibyte)

    let frame = HostileDeltaTests.zeros(blocks: 8192)
    #expect(frame.count < 33_000)
    let header = try HostileDeltaTests.header(in: bench)
    for size in [UInt64(1 << 30), 64 << 20, 47 << 20, 1 << 20, 100] {
      let block = HostileDeltaTests.varint(size << 1 | 1) + HostileDeltaTests.varint(UInt64(frame.count)) + frame
      try bench.write(header + block, to: "hostile")
      let stream = try bench.tally("apply", "b", "hostile")
      #expect(stream.status == 65)
      #expect(stream.peak - usual.0 < 48 * Self.mebibyte, "\(size): \(stream.peak) beside \(usual.0)")
      try bench.write(header + block, to: "shared/" + name)
      let folder = try bench.tally(["sync", "b"] + pass)
      #expect(folder.peak - usual.1 < 48 * Self.mebibyte, "\(size): \(folder.peak) beside \(usual.1)")
      #expect(try bench.tally("get", "b", "SBPerson|~|zero").status == 66)
    }
  }
}
