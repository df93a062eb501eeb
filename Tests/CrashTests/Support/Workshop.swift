import Foundation
import GRDB
import Tally
import Testing

/// What a run of the tool left behind.
struct Outcome {
  /// The exit code, or the number of the signal that ended it, negative.
  var status: Int32
  var output: String
  var errors: String

  /// The names that it acknowledged, with their transactions.
  var acknowledgements: [(name: String, dot: String)] { Self.acknowledgements(output) }

  static func acknowledgements(_ output: String) -> [(name: String, dot: String)] {
    // Whoever is killed may leave half a line, which acknowledges nothing.
    output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().compactMap { line in
      let words = line.split(separator: " ")
      return words.count == 3 && words[0] == "ACK" ? (String(words[1]), String(words[2])) : nil
    }
  }
}

/// A folder of its own that disappears with the test, in which the built tool runs.
final class Workshop {
  let folder: String
  private let base: URL

  static let schema = """
    {"entities":[{"type":"SBPerson","fields":{"name":"text"}},
    {"type":"SBGame","fields":{"name":"text","icon":"blob"},
    "references":{"owner":{"to":"SBPerson","onDelete":"cascade"}},"relationships":{"players":{"to":"SBPerson"}}}]}
    """

  init() throws {
    base = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
      .appendingPathComponent("tally-crash-\(UUID().uuidString)")
    folder = base.appendingPathComponent("folder").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data(Self.schema.utf8).write(to: url("schema.json"))
  }

  /// A folder with the same files.
  init(copyOf other: Workshop) throws {
    base = other.base.deletingLastPathComponent().appendingPathComponent("tally-crash-\(UUID().uuidString)")
    folder = base.appendingPathComponent("folder").path
    try FileManager.default.createDirectory(at: base, withIntermediateDirectories: true)
    try FileManager.default.copyItem(atPath: other.folder, toPath: folder)
    for name in try files() where name.hasSuffix("-incarnation") { try adoptToken(name) }
  }

  deinit { try? FileManager.default.removeItem(at: base) }

  /// The built tool, which stands beside the test bundle.
  static let tool: String = {
    #if canImport(Darwin)
      let folder = Bundle(for: Workshop.self).bundleURL.deletingLastPathComponent()
    #else
      let folder = (Bundle.main.executableURL ?? Bundle.main.bundleURL).deletingLastPathComponent()
    #endif
    return folder.appendingPathComponent("tally").path
  }()

  // MARK: Running

  /// Runs the tool to its end.
  func tally(_ arguments: [String], input: String = "", environment: [String: String] = [:]) throws -> Outcome {
    let name = UUID().uuidString
    func open(_ kind: String, _ text: String = "") throws -> Int32 {
      let path = base.appendingPathComponent(name + kind).path
      try Data(text.utf8).write(to: URL(fileURLWithPath: path))
      return Foundation.open(path, O_RDWR | O_CLOEXEC)
    }
    let streams = [try open("in", input), try open("out"), try open("err")]
    defer { for stream in streams { close(stream) } }
    let child = try Child([Self.tool] + arguments, in: folder, streams: streams, environment: environment)
    let status = child.wait()
    func text(_ stream: Int32) -> String {
      lseek(stream, 0, SEEK_SET)
      return String(decoding: Pipe.rest(of: stream), as: UTF8.self)
    }
    defer {
      for kind in ["in", "out", "err"] {
        try? FileManager.default.removeItem(at: base.appendingPathComponent(name + kind))
      }
    }
    return Outcome(status: status, output: text(streams[1]), errors: text(streams[2]))
  }

  /// Runs the tool, which must succeed.
  @discardableResult
  func done(_ arguments: String..., input: String = "", at location: SourceLocation = #_sourceLocation) throws
    -> Outcome
  {
    let outcome = try tally(arguments, input: input)
    #expect(outcome.status == 0, "\(arguments): \(outcome.errors)", sourceLocation: location)
    return outcome
  }

  // MARK: Files

  /// A file of the folder, or one elsewhere by its whole path.
  func url(_ name: String) -> URL {
    name.hasPrefix("/") ? URL(fileURLWithPath: name) : URL(fileURLWithPath: folder).appendingPathComponent(name)
  }

  func files() throws -> [String] { try FileManager.default.subpathsOfDirectory(atPath: folder).sorted() }

  func bytes(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: url(name))) }

  func write(_ bytes: [UInt8], to name: String) throws { try Data(bytes).write(to: url(name)) }

  func open(_ name: String) throws -> Store { try Store(existing: url(name).path, options: .quiet) }

  /// What a person sees in a store, which must be sound.
  func soundView(_ name: String, _ place: String, at location: SourceLocation = #_sourceLocation) throws -> String {
    let store = try open(name)
    #expect(try store.verify().problems == [], "\(place)", sourceLocation: location)
    let view = try store.view()
    try store.close()
    return view
  }

  /// Makes a copied token that of the copied store, which by rights would take another replica id
  /// (Docs/StorageFormat.md, section 2).
  private func adoptToken(_ name: String) throws {
    let text = String(decoding: try bytes(name), as: UTF8.self)
    let attributes = try FileManager.default.attributesOfItem(atPath: url(name).path)
    let number = try #require(attributes[.systemFileNumber] as? NSNumber)
    let handle = try FileHandle(forWritingTo: url(name))
    try handle.truncate(atOffset: 0)
    try handle.write(contentsOf: Data("\(text.prefix { $0 != " " }) \(number)\n".utf8))
    try handle.close()
    let store = url(String(name.dropLast("-incarnation".count))).path
    // Opening would empty a log; a store that is copied with one has been seen to before.
    guard !FileManager.default.fileExists(atPath: store + "-wal") else { return }
    let file = try DatabaseQueue(path: store)
    try file.write(Self.forgetWriting)
    try file.close()
  }

  /// Leaves the token alone in a store's database, as in those of earlier builds: it then counts in every file of its
  /// number.
  static func forgetWriting(_ db: Database) throws {
    try db.execute(sql: "UPDATE tally_meta SET value = substr(value, 1, 32) WHERE key = 'incarnation'")
  }
}
