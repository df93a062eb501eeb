import ArgumentParser
import Foundation
import Tally

#if PlantedFaults
  import TallyFaults
#endif

struct ShellCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "shell",
    abstract: "Answers commands from standard input, one line of JSON each, on any number of stores in one process.",
    discussion: """
      For tests in any language. Each line is a command in words, with quotes where a word has spaces, as on the command line:
      \(ShellGuide.text)
      Each line gets one line: {"ok":…}, or {"error":{"code":…,"message":…,"status":…}} with the status of the exit codes; then \
      the stores are as they were, and the next line is read. Stores in memory disappear with the process or with reset.

      Example: printf '%s\\n' "new a" "put a 'SBGame|~|chess' name=Chess" "view a" | tally shell --schema schema.json
      """)

  @Option(
    help: ArgumentHelp("The schema of new stores; without it only existing files can be opened.", valueName: "file"))
  var schema: String?
  @Option(
    help: ArgumentHelp(
      "Draw the ids of replicas from this number, so that a run can be repeated. For stores in memory only.",
      valueName: "number"))
  var seed: UInt64?
  #if PlantedFaults
    @Option(help: .hidden) var planted: UInt64 = 0

    private var options: StoreOptions {
      var options = StoreOptions()
      options.planted = PlantedFault(rawValue: UInt128(planted))
      return options
    }
  #else
    private var options: StoreOptions { StoreOptions() }
  #endif

  private static let schemaLimit = 16 << 20

  func validate() throws {
    guard schema != "-" else { throw ValidationError("standard input holds the commands; --schema is a file") }
  }

  func run() throws {
    try Output.requireOpen()
    let settings = ShellSettings(schema: try schema.map(Self.read), seed: seed, options: options)
    let session = ShellSession(settings)
    var reader = LineReader(try InputFile("-"))
    let output = Output()
    while let line = try reader.next() {
      try output.line(session.answer(to: line))
      try output.flush()
    }
    try session.reset()
  }

  private static func read(_ path: String) throws -> Schema {
    let bytes = try InputFile(path).readAll(limit: schemaLimit)
    try SchemaKeys.check(bytes)
    let schema = try Schema(json: Data(bytes))
    try schema.validate()
    return schema
  }
}
