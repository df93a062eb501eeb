import Foundation
import Tally
import TallyRelay

/// One device: a process with a store in a file of its own and an engine that knows the relay. It does what it reads
/// from standard input, a line each, and ends every answer with a line of one dot.
final class Device: Sendable {
  struct Failure: Error, CustomStringConvertible { var description: String }

  private let store: Store
  private let engine: SyncEngine

  init(_ name: String, folder: String, address: String, token: String) async throws {
    store = try Store(path: "\(folder)/\(name).tally", schema: Schema(Item.self))
    var settings = SyncEngine.Settings()
    // On a phone the usual minutes are right; here somebody watches.
    settings.longestRetry = .seconds(1)
    settings.logger.logLevel = .critical
    engine = SyncEngine(store, settings)
    await engine.add(try RelayMailbox(address, token: token), named: "relay")
    await engine.resume()
  }

  func run() async throws {
    for await line in Self.input() {
      do {
        for answer in try await answer(line.split(separator: " ").map(String.init)) { Self.say(answer) }
      } catch {
        Self.say("failed: \(error)")
      }
      Self.say(".")
    }
    await engine.pause()
    try store.close()
  }

  private func answer(_ words: [String]) async throws -> [String] {
    let (title, amount) = (words.dropFirst().first ?? "", words.count > 2 ? Int(words[2]) ?? 0 : 0)
    switch words.first {
    case "add": try await store.write { try Item(title, amount).insert($0) }
    case "amount": try await edit(title) { $0.amount = amount }
    case "buy": try await edit(title) { $0.isBought = true }
    case "delete": try await store.write { _ = try Item.filter(Column("title") == title).deleteAll($0) }
    case "offline": await engine.pause()
    case "online": await engine.resume()
    case "list": return try list()
    case "status": return [Self.line(await engine.status)]
    case "trouble":
      for await status in await engine.statusUpdates() where !status.isUpToDate && status.peers.first?.lastError != nil
      {
        return [Self.line(status)]
      }
    case "wait":
      let line = words.dropFirst().joined(separator: " ")
      try await wait { $0.contains(line) }
    case "gone": try await wait { !$0.contains { $0.hasSuffix(title) } }
    case "check": return try check()
    default: throw Failure(description: "there is no such command")
    }
    return []
  }

  private func edit(_ title: String, _ change: @escaping @Sendable (inout Item) -> Void) async throws {
    try await store.write { db in
      guard var item = try Item.filter(Column("title") == title).fetchOne(db) else {
        throw Failure(description: "no \(title) here")
      }
      change(&item)
      try item.update(db)
    }
  }

  private func list() throws -> [String] {
    try store.read { try Item.order(Column("title")).fetchAll($0) }.map { item in
      "\(item.amount ?? 0) \(item.title ?? "")\(item.isBought == true ? ", bought" : "")"
    }
  }

  /// Waits until the list is as wanted; whoever changes it, this device hears of it.
  private func wait(_ isWanted: ([String]) -> Bool) async throws {
    let changes = store.changes()
    if isWanted(try list()) { return }
    for await _ in changes where isWanted(try list()) { return }
  }

  private static func line(_ status: SyncStatus) -> String {
    guard let relay = status.peers.first else { return "no relay" }
    let pending = relay.pending.map { ", \($0) to send" } ?? ""
    return "\(relay.phase.rawValue)\(pending)\(relay.lastError.map { ", \($0)" } ?? "")"
  }

  /// Returns the data that must be the same on all devices, preceded by whether this one is sound.
  private func check() throws -> [String] {
    var text = ""
    try store.dump(.canonical) { text += $0 }
    return [try store.verify().isSound ? "sound" : "damaged"] + text.split(separator: "\n").map(String.init)
  }

  // MARK: Standard input and output

  private static func input() -> AsyncStream<String> {
    let (lines, feed) = AsyncStream.makeStream(of: String.self)
    Thread.detachNewThread {
      while let line = readLine() { feed.yield(line) }
      feed.finish()
    }
    return lines
  }

  private static func say(_ text: String) { FileHandle.standardOutput.write(Data("\(text)\n".utf8)) }
}
