import Foundation
import Testing

/// What a run of a program left behind.
struct Outcome {
  /// The exit code, or the number of the signal that ended it, negative.
  var status: Int32
  var bytes: [UInt8]
  var errors: String
  /// The most bytes of memory that it had.
  var peak = 0
  /// The seconds of processor time that it used.
  var time = 0.0

  var output: String { String(decoding: bytes, as: UTF8.self) }
  var lines: [String] { output.split(separator: "\n").map(String.init) }
}

/// A folder of its own that disappears with the test, in which the built tool runs.
final class Bench {
  let url: URL
  /// Outside the folder, so that a test may look at what the tool left there.
  private let streams: URL

  static let schema = """
    {"entities":[{"type":"SBPerson","fields":{"name":"text","born":"date"}},
    {"type":"SBGame","fields":{"name":"text","rating":"real","isTeam":"bool","plays":"integer","since":"date",\
    "code":"uuid","rules":"json","icon":"blob"},
    "references":{"owner":{"to":"SBPerson","onDelete":"cascade"},"author":{"to":"SBPerson"},\
    "judge":{"to":"SBPerson","onDelete":"deny"}},"relationships":{"players":{"to":"SBPerson"}}}]}
    """

  /// A folder with these stores, all of the test schema.
  init(_ stores: String...) throws {
    let base = FileManager.default.temporaryDirectory.appendingPathComponent("tally-tool-\(UUID().uuidString)")
    url = base.appendingPathComponent("folder")
    streams = base.appendingPathComponent("streams")
    for folder in [url, streams] {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }
    try write(Self.schema, to: "schema.json")
    for store in stores { try done("new", store, "--schema", "schema.json") }
  }

  deinit { try? FileManager.default.removeItem(at: url.deletingLastPathComponent()) }

  // MARK: Running

  /// The built tool, which stands beside the test bundle.
  static let tool: String = {
    #if canImport(Darwin)
      let folder = Bundle(for: Bench.self).bundleURL.deletingLastPathComponent()
    #else
      let folder = (Bundle.main.executableURL ?? Bundle.main.bundleURL).deletingLastPathComponent()
    #endif
    return folder.appendingPathComponent("tally").path
  }()

  /// Runs the tool to its end.
  func tally(_ arguments: [String], input: String? = nil) throws -> Outcome {
    try run([Self.tool] + arguments, input: input)
  }

  /// Runs the tool to its end.
  func tally(_ arguments: String..., input: String? = nil) throws -> Outcome { try tally(arguments, input: input) }

  static let hasPython = access("/usr/bin/python3", X_OK) == 0

  /// Runs the tool as `tally` does, and measures its own peak of memory. What the system says of a child of this
  /// process is at least what this process has had, since `exec` keeps the greatest; so a small process stands between.
  func measured(_ arguments: [String]) throws -> Outcome {
    let script = """
      import os, resource, subprocess, sys
      # Memory that the allocator fills to find mistakes is not what a person's tool has.
      os.environ.pop("GLIBC_TUNABLES", None)
      done = subprocess.run(sys.argv[2:])
      open(sys.argv[1], "w").write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
      sys.exit(done.returncode)
      """
    let file = url.appendingPathComponent("peak")
    var outcome = try run(["/usr/bin/python3", "-c", script, file.path, Self.tool] + arguments)
    outcome.peak = 1024 * (Int(try String(contentsOf: file, encoding: .utf8)) ?? 0)
    return outcome
  }

  /// Runs a script in which `$0` is the tool.
  func shell(_ script: String) throws -> Outcome { try run(["/bin/sh", "-c", script, Self.tool]) }

  static let hasTerminals = access("/usr/bin/script", X_OK) == 0

  /// What a terminal shows of a script, which must succeed.
  func terminal(_ script: String, at location: SourceLocation = #_sourceLocation) throws -> String {
    try write(script, to: "run")
    #if canImport(Darwin)
      let terminal = "script -q shown sh run"
    #else
      let terminal = "script -qec 'sh run' shown"
    #endif
    #expect(try shell("\(terminal) >/dev/null").status == 0, "\(script)", sourceLocation: location)
    return String(decoding: try bytes("shown"), as: UTF8.self)
  }

  /// Runs any program to its end. Its streams are files: nothing can wait for the other.
  func run(_ command: [String], input: String? = nil) throws -> Outcome {
    let name = UUID().uuidString
    func stream(_ kind: String) -> URL { streams.appendingPathComponent(name + kind) }
    defer { for kind in ["in", "out", "err"] { try? FileManager.default.removeItem(at: stream(kind)) } }
    var files = Spawn.Files(output: stream("out").path, errors: stream("err").path)
    if let input {
      try Data(input.utf8).write(to: stream("in"))
      files.input = stream("in").path
    }
    // The shell that changes into the folder becomes the program.
    let (status, peak, time) = Spawn.waitMeasuring(try Spawn.start(command, in: url.path, files: files))
    return Outcome(
      status: status, bytes: Array(try Data(contentsOf: stream("out"))),
      errors: String(decoding: try Data(contentsOf: stream("err")), as: UTF8.self), peak: peak, time: time)
  }

  // MARK: Expecting

  /// Runs the tool, which must succeed without a complaint.
  @discardableResult
  func done(_ arguments: String..., input: String? = nil, at location: SourceLocation = #_sourceLocation) throws
    -> String
  {
    let outcome = try tally(arguments, input: input)
    #expect(outcome.status == 0, "\(arguments.first ?? "")", sourceLocation: location)
    #expect(outcome.errors.isEmpty, sourceLocation: location)
    return outcome.output
  }

  /// Runs the tool, which must refuse with this code, one line of complaint and no output.
  func refused(
    _ status: Int32, _ arguments: [String], saying part: String = "", input: String? = nil,
    at location: SourceLocation = #_sourceLocation
  ) throws {
    let outcome = try tally(arguments, input: input)
    let command = arguments.joined(separator: " ").prefix(100)
    #expect(outcome.status == status, "\(command)", sourceLocation: location)
    #expect(outcome.bytes.isEmpty, "\(command)", sourceLocation: location)
    #expect(outcome.errors.hasPrefix("tally: "), "\(command)", sourceLocation: location)
    #expect(outcome.errors.utf8.count { $0 == 0x0A } == 1, "\(command)", sourceLocation: location)
    #expect(outcome.errors.utf8.count < 5000, "\(command)", sourceLocation: location)
    #expect(part.isEmpty || outcome.errors.contains(part), "\(command)", sourceLocation: location)
  }

  /// Runs the tool, which must fail with this code and one line of complaint, whatever it has printed before.
  func refusedAfterOutput(
    _ status: Int32, _ arguments: [String], saying part: String, at location: SourceLocation = #_sourceLocation
  ) throws {
    let outcome = try tally(arguments)
    #expect(outcome.status == status, "\(arguments)", sourceLocation: location)
    #expect(
      outcome.errors.hasPrefix("tally: ") && outcome.errors.contains(part), "\(arguments): \(outcome.errors)",
      sourceLocation: location)
  }

  /// Runs the body, which must leave the store's content as it was and sound.
  func unchanged(_ store: String, at location: SourceLocation = #_sourceLocation, _ body: () throws -> Void) throws {
    let before = try done("dump", store, at: location)
    try body()
    #expect(try done("dump", store, at: location) == before, sourceLocation: location)
    #expect(try done("verify", store, at: location).hasPrefix("ok "), sourceLocation: location)
  }

  // MARK: Files

  func path(_ name: String) -> String { url.appendingPathComponent(name).path }

  func bytes(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: url.appendingPathComponent(name))) }

  func write(_ bytes: [UInt8], to name: String) throws { try Data(bytes).write(to: url.appendingPathComponent(name)) }

  func write(_ text: String, to name: String) throws { try write(Array(text.utf8), to: name) }

  func remove(_ name: String) throws { try FileManager.default.removeItem(at: url.appendingPathComponent(name)) }

  /// What stands in the folder, sorted.
  func contents() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() }
}
