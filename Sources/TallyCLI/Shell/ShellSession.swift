import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyWire

/// The settings that all stores of a shell share.
struct ShellSettings {
  var schema: Schema?
  /// The seed of replica ids; nil for the system's randomness.
  var seed: UInt64?
  /// The options of stores in memory, except for clocks and ids.
  var options = StoreOptions()
}

/// The stores of a shell and what it answers. Each answer is the text of one JSON value.
final class ShellSession {
  let settings: ShellSettings
  private var stores: [String: ShellStore] = [:]
  private var ids: ReplicaIDs

  init(_ settings: ShellSettings) {
    self.settings = settings
    ids = ReplicaIDs(seed: settings.seed)
  }

  /// The answer to a line. There is one for every line.
  func answer(to line: LineReader.Line) -> String {
    do {
      var line = try ShellLine(line)
      let result = try run(&line)
      return "{\"ok\":\(result)}"
    } catch {
      return Self.refusal(error)
    }
  }

  private static func refusal(_ error: any Error) -> String {
    let status = ExitStatus(of: error)
    let code =
      switch error {
      case let error as StoreError: error.code.rawValue
      case let error as WireError: error.code.rawValue
      case let error as SyncError: error.code.rawValue
      default: "\(status)"
      }
    let parts: [String: JSON] = [
      "code": .string(code), "message": .string(Failure.message(of: error)), "status": .integer(status.rawValue),
    ]
    return JSON.object(["error": .object(parts)]).text
  }

  private func run(_ line: inout ShellLine) throws -> String {
    try ShellGuide.check(line.command)
    switch line.command {
    case "help":
      let command = line.optionalWord()
      try line.end()
      if let command { try ShellGuide.check(command) }
      return ShellGuide.help(command).text
    case "new": try create(&line)
    case "open": try open(&line)
    case "copy": try copy(&line)
    case "close": try close(&line)
    case "reset":
      try line.end()
      try reset()
    case "stores":
      try line.end()
      return JSON.array(stores.keys.sorted().map(JSON.string)).text
    default: return try run(line.command, on: try store(&line), &line)
    }
    return "null"
  }

  // MARK: Stores

  /// The store that the next word names.
  func store(_ line: inout ShellLine) throws -> ShellStore { try store(named: line.word("a store")) }

  private func store(named name: String) throws -> ShellStore {
    guard let store = stores[name] else { throw Failure(.notFound, "there is no store \(shown(name)) here") }
    return store
  }

  /// A store's vector, by the store's name or as `vector` answers it.
  func vector(_ text: String) throws -> StateVector {
    if let store = stores[text] { return try store.store.vector }
    guard let vector = StateVector(text) else {
      throw Failure(.badData, "\(shown(text)) is neither a vector nor a store here")
    }
    return vector
  }

  private func newName(_ line: inout ShellLine) throws -> String {
    let name = try line.word("a name for the store")
    guard stores[name] == nil else { throw Failure(.cannotCreate, "there is a store \(shown(name)) already") }
    return name
  }

  private func create(_ line: inout ShellLine) throws {
    let name = try newName(&line)
    let path = line.optionalWord()
    try line.end()
    guard let schema = settings.schema else {
      throw Failure(.usage, "a new store needs a schema: tally shell --schema")
    }
    if let path {
      try NewStore(path).create { try Store(path: $0, schema: schema).close() }
      stores[name] = try fileStore { try Store(existing: path, options: $0) }
    } else {
      stores[name] = try memoryStore { try Store(inMemory: schema, options: $0) }
    }
  }

  private func open(_ line: inout ShellLine) throws {
    let name = try newName(&line)
    let path = try line.word("a file")
    try line.end()
    stores[name] = try fileStore { try Store(existing: path, options: $0) }
  }

  private func copy(_ line: inout ShellLine) throws {
    let source = try store(&line)
    let name = try newName(&line)
    let path = line.optionalWord()
    try line.end()
    if let path {
      try NewStore(path).create {
        let target = try DatabaseQueue(path: $0)
        try source.store.backup(to: target)
        try target.close()
      }
      stores[name] = try fileStore { try Store(existing: path, options: $0) }
    } else {
      stores[name] = try memoryStore { try Store(inMemoryCopyOf: source.store, options: $0) }
    }
  }

  private func close(_ line: inout ShellLine) throws {
    let name = try line.word("a store")
    try line.end()
    try store(named: name).store.close()
    stores[name] = nil
  }

  /// Closes all stores and draws replica ids from the start again.
  func reset() throws {
    for name in stores.keys.sorted() {
      try stores[name]?.store.close()
      stores[name] = nil
    }
    ids = ReplicaIDs(seed: settings.seed)
  }

  private func memoryStore(_ open: (StoreOptions) throws -> Store) throws -> ShellStore {
    let clock = ShellClock()
    var options = settings.options
    options.now = { clock.date }
    if settings.seed != nil {
      let ids = ids
      options.mintReplica = { ids.next() }
    }
    let store = try open(options)
    return ShellStore(store: store, schema: try store.schema, clock: clock)
  }

  /// Opens a store in a file; such a store has ids that nothing else has.
  private func fileStore(_ open: (StoreOptions) throws -> Store) throws -> ShellStore {
    let clock = ShellClock()
    var options = StoreOptions()
    options.now = { clock.date }
    let store = try open(options)
    return ShellStore(store: store, schema: try store.schema, clock: clock)
  }
}
