import Foundation
import GRDB
import Tally
import Testing

@Suite struct ContainerTests {
  private func folder() -> URL {
    FileManager.default.temporaryDirectory.appendingPathComponent("tally-\(UUID().uuidString)")
  }

  private func container(_ folder: URL, _ options: StoreOptions = StoreOptions()) throws -> Container {
    try Container(directory: folder, schema: Schema(Note.self), options: options)
  }

  private func aside(in folder: URL) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
      $0.hasPrefix("local-") && $0.hasSuffix(".sqlite")
    }
  }

  private func texts(_ store: Store) throws -> [String] {
    try store.read { try Note.fetchAll($0) }.compactMap(\.text).sorted()
  }

  @Test func signingOutAndInAsSomebodyElseLosesNothing() throws {
    let folder = folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let container = try container(folder)
    try World.insert(1, "nobody", container.store())
    try World.insert(1, "ann", container.signIn("ann", localData: .keepApart))
    #expect(try texts(container.store()) == ["ann 0"])
    try World.insert(1, "bob", container.signIn("bob/../ann", localData: .copy))
    #expect(try texts(container.store()) == ["bob 0", "nobody 0"])
    #expect(try texts(container.signOut()) == ["nobody 0"])
    #expect(try texts(container.signIn("ann", localData: .keepApart)) == ["ann 0"])
    #expect(container.people == ["ann", "bob/../ann"])
    for store in [Account.local, .person("ann"), .person("bob/../ann")] {
      #expect(try container.store(of: store).verify().problems == [])
    }
  }

  @Test func movedLocalDataIsInTheAccountAndPutAside() throws {
    let folder = folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let container = try container(folder)
    try World.insert(2, "nobody", container.store())
    #expect(try texts(container.signIn("ann", localData: .move)) == ["nobody 0", "nobody 1"])
    #expect(try texts(container.signOut()) == [])
    let aside = try aside(in: folder)
    #expect(aside.count == 1)
    let kept = try Store(existing: folder.appendingPathComponent(aside[0]).path)
    #expect(try texts(kept).count == 2)
    try World.insert(1, "again", container.store())
    #expect(try texts(container.signIn("ann", localData: .move)).count == 3)
  }

  @Test func theAccountIsRememberedAndErasedOnlyOnRequest() throws {
    let folder = folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    do {
      let first = try container(folder)
      try World.insert(1, "ann", first.signIn("ann", localData: .keepApart))
      try first.store().close()
    }
    let second = try container(folder)
    #expect(second.current == .person("ann"))
    #expect(try texts(second.store()) == ["ann 0"])
    _ = try second.signOut()
    try second.erase(.person("ann"))
    #expect(second.people == [])
    #expect(try texts(second.signIn("ann", localData: .keepApart)) == [])
  }

  @Test func aListOfANewerVersionIsRefusedAndLeftAlone() throws {
    let folder = folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let list = folder.appendingPathComponent("accounts.json")
    try Data(#"{"version":2,"people":{}}"#.utf8).write(to: list)
    #expect(throws: StoreError.self) { try container(folder) }
    try Data("x".utf8).write(to: list)
    #expect(throws: StoreError.self) { try container(folder) }
    #expect(try Data(contentsOf: list) == Data("x".utf8))
  }

  /// The account's file is locked by another program once the first join has been committed, so that the second fails.
  @Test func aSignInWhoseSecondJoinFailsLeavesTheShownStoreOpen() throws {
    let folder = folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    var options = StoreOptions()
    options.busyTimeout = 0.2
    let container = try container(folder, options)
    let (local, anns) = (try container.store(), try container.store(of: .person("ann")))
    try World.insert(1, "nobody", local)
    let locking = Locking(anns.path)
    anns.add(transactionObserver: locking, extent: .observerLifetime)
    #expect(throws: DatabaseError.self) { try container.signIn("ann", localData: .move) }
    #expect(locking.isLocked)
    #expect(container.current == .local)
    #expect(try container.store() === local)
    try World.insert(1, "later", local)
    #expect(try texts(local) == ["later 0", "nobody 0"])
    locking.unlock()
    #expect(try texts(container.signIn("ann", localData: .move)) == ["later 0", "nobody 0"])
    #expect(throws: StoreError.self) { try World.insert(1, "too late", local) }
    #expect(try aside(in: folder).count == 1)
    #expect(try texts(container.signOut()) == [])
  }

  /// The list of accounts cannot be written, as on a full disk: the last step of all fails.
  @Test func aSignInThatCannotBeNotedLeavesTheShownStoreOpen() throws {
    let folder = folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let container = try container(folder)
    let local = try container.store()
    try World.insert(1, "nobody", local)
    _ = try container.store(of: .person("ann"))
    let list = folder.appendingPathComponent("accounts.json")
    try FileManager.default.removeItem(at: list)
    try FileManager.default.createDirectory(at: list.appendingPathComponent("x"), withIntermediateDirectories: true)
    #expect(throws: (any Error).self) { try container.signIn("ann", localData: .move) }
    #expect(container.current == .local)
    #expect(try container.store() === local)
    try World.insert(1, "later", local)
    #expect(try texts(local) == ["later 0", "nobody 0"])
    try FileManager.default.removeItem(at: list)
    #expect(try texts(container.signIn("ann", localData: .move)) == ["later 0", "nobody 0"])
  }

  /// The app is ended between the sign-in and the moving of the local store's files, or in the midst of it.
  @Test(arguments: [false, true]) func whatWasNotPutAsideYetIsPutAsideLater(_ isHalfDone: Bool) throws {
    let folder = folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    try World.insert(1, "nobody", container(folder).store())
    let list = folder.appendingPathComponent("accounts.json")
    let name = "local-1.sqlite"
    try Data(#"{"version":1,"current":"ann","people":{},"aside":"\#(name)"}"#.utf8).write(to: list)
    if isHalfDone {
      let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      for file in files where file.hasPrefix("local.sqlite-") {
        let moved = folder.appendingPathComponent(file.replacing("local.sqlite", with: name))
        try FileManager.default.moveItem(at: folder.appendingPathComponent(file), to: moved)
      }
    }
    let again = try container(folder)
    #expect(try texts(again.signOut()) == [])
    #expect(try aside(in: folder) == [name])
    #expect(try texts(Store(existing: folder.appendingPathComponent(name).path)) == ["nobody 0"])
    try World.insert(1, "new", again.store())
    #expect(try texts(container(folder).store()) == ["new 0"])
  }
}

/// Has another program begin a transaction in a file as soon as something was committed there.
private final class Locking: TransactionObserver {
  private let path: String
  private var lock: DatabaseQueue?
  private var isOver = false

  init(_ path: String) { self.path = path }

  var isLocked: Bool { lock != nil }

  func unlock() { (lock, isOver) = (nil, true) }

  func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
  func databaseDidChange(with event: DatabaseEvent) {}
  func databaseDidRollback(_ db: Database) {}
  func databaseDidCommit(_ db: Database) {
    guard lock == nil, !isOver else { return }
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    do {
      let other = try DatabaseQueue(path: path, configuration: configuration)
      try other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
      lock = other
    } catch { Issue.record(error) }
  }
}
