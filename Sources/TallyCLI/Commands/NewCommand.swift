import ArgumentParser
import Foundation
import Tally

struct NewCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "new",
    abstract: "Creates a store from a schema.",
    discussion: """
      The schema is JSON: {"entities":[{"type":"SBGame","fields":{"name":"text","rating":"real"}, \
      "references":{"owner":{"to":"SBPerson","onDelete":"cascade"}},"relationships":{"players":{"to":"SBPerson"}}}]}.
      Fields are \(FieldKind.allCases.map(\.rawValue).joined(separator: ", ")); onDelete is nullify, cascade or deny.

      Example: tally new scores.tally --schema schema.json
      """)

  @Argument(help: "The store's file; there must be none yet.") var store: String
  @Option(help: ArgumentHelp("The schema, or - for standard input.", valueName: "file")) var schema: String

  private static let schemaLimit = 16 << 20

  func run() throws {
    let bytes = try InputFile(schema).readAll(limit: Self.schemaLimit)
    try SchemaKeys.check(bytes)
    let schema = try Schema(json: Data(bytes))
    try NewStore(store).create(schema)
  }
}

/// A store that appears under its name when it is complete: whoever is killed before leaves nothing that looks like
/// one.
private struct NewStore {
  let path: String
  private let folder: URL
  private let temporary: String

  init(_ path: String) {
    self.path = path
    let url = URL(fileURLWithPath: path)
    folder = url.deletingLastPathComponent()
    let tail = String(UInt64.random(in: .min ... .max), radix: 16)
    temporary = folder.appendingPathComponent(".\(url.lastPathComponent.prefix(100)).\(tail).tmp").path
  }

  func create(_ schema: Schema) throws {
    var status = stat()
    guard lstat(path, &status) != 0 else { throw Failure(errno: EEXIST, .create, path) }
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw Failure(errno: errno, .create, path) }
    close(descriptor)
    defer {
      for suffix in ["", "-wal", "-shm", "-journal", "-incarnation", "-incarnation-new"] { unlink(temporary + suffix) }
    }
    try Store(path: temporary, schema: schema).close()
    try takeName()
  }

  /// Of two that create the same store, one fails.
  private func takeName() throws {
    if link(temporary, path) != 0 {
      // Some file systems, of memory cards for instance, know no second name of a file.
      guard [EPERM, ENOTSUP, EOPNOTSUPP, ENOSYS].contains(errno), access(path, F_OK) != 0, rename(temporary, path) == 0
      else { throw Failure(errno: errno, .create, path) }
    }
    // Without the token the store is nobody's copy yet, since it has written nothing.
    rename(temporary + "-incarnation", path + "-incarnation")
    let parent = open(folder.path, O_RDONLY | O_CLOEXEC)
    if parent >= 0 {
      fsync(parent)
      close(parent)
    }
  }
}
